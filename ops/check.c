/* check.c - a call of check_array, where some mode wants to see one. */
#include "ops/check.h"

#include "ops/fast.h"
#include "ops/kernels.h"

sh_status sh_any_check_array(sh_value *results, sh_tensor *self, const char *name) {
    (void)name;
    results[0] = sh_value_tensor(sh__own(sh_keep(self)));
    return results[0].tag == SH_TAG_TENSOR ? SH_OK : SH_ERROR_MEMORY;
}

static inline bool nobody_looks(void) { return SH_LIKELY(sh__undisturbed(&sh__thread, SH_OP_check_array)); }

static sh_status show_tensor(sh_tensor *t, const char *name, const void *caller) {
    sh_value args[SH_MAX_ARGS] = {sh_value_tensor(t), sh_value_string(name ? name : "?")};
    if (sh__error_pending()) return sh_error()->code;
    return sh__call_functional(&sh__ops[SH_OP_check_array], args, -1, caller) ? SH_OK : sh_error()->code;
}

static sh_status show(const void *data, sh_dtype dtype, sh_ints sizes, sh_ints strides, const char *name,
                      const void *caller) {
    sh_status status = SH_OK;
    SH_SCOPE {
        sh_tensor *t = sh_from_data((void *)(uintptr_t)data, dtype, sizes, strides, NULL, NULL);
        status = show_tensor(t, name, caller);
    }
    return status;
}

sh_status sh_check_data(const void *data, sh_dtype dtype, sh_ints sizes, sh_ints strides, const char *name) {
    if (nobody_looks()) return SH_OK;
    return show(data, dtype, sizes, strides, name, __builtin_frame_address(0));
}

sh_status sh__check_array(const void *data, sh_dtype dtype, int64_t n, const char *name) {
    if (nobody_looks()) return SH_OK;
    return show(data, dtype, (sh_ints){&n, 1}, (sh_ints){NULL, 0}, name, __builtin_frame_address(0));
}

sh_status sh__check_real(double number, const char *name) {
    static const int64_t none[1] = {0};
    if (nobody_looks()) return SH_OK;
    return show(&number, SH_F64, (sh_ints){none, 0}, (sh_ints){NULL, 0}, name, __builtin_frame_address(0));
}

sh_status sh__check_whole(int64_t number, const char *name) {
    static const int64_t none[1] = {0};
    if (nobody_looks()) return SH_OK;
    return show(&number, SH_I64, (sh_ints){none, 0}, (sh_ints){NULL, 0}, name, __builtin_frame_address(0));
}

sh_status sh__check_tensor(sh_tensor *t, const char *name) {
    sh_status status = SH_OK;
    if (nobody_looks()) return SH_OK;
    SH_SCOPE { status = show_tensor(t, name, __builtin_frame_address(0)); }
    return status;
}
