/* inputs.c - inputs that a model is given when there are none. */
#include "cli/cli.h"

sh_tensor *cli_random_input(const sh_spec *spec) {
    int64_t sizes[SH_MAX_DIMS] = {0};
    const int ndim = spec ? spec->ndim : 0;
    for (int i = 0; i < ndim; i++) sizes[i] = spec->sizes[i] < 0 ? 1 : spec->sizes[i];
    const sh_dtype dtype = spec ? spec->dtype : SH_F32;
    const sh_ints size = {sizes, (size_t)ndim};
    if (sh_dtype_kind_of(dtype) == SH_KIND_FLOAT) return sh_rand(size, .dtype = dtype);
    return sh_randint(2, size, .dtype = dtype);
}
