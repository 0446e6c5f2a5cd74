/* recompute.c - preloaded behind the interposer: runs each BLAS call once more by what its tensors say, in layouts that the
 * program didn't choose, and compares. At the end one line: how many agreed, differed, were refused. */
#include <math.h>
#include <shunt.h>
#include <stdio.h>
#include <string.h>

static int agreed, differed, refused;

static bool is_bad(const sh_tensor *t, double *to, int64_t at) {
    const sh_dtype dtype = sh_tensor_dtype(t);
    const char *data = sh_tensor_data(t);
    to[1] = 0;
    switch (dtype) {
    case SH_F32: to[0] = ((const float *)data)[at]; break;
    case SH_F64: to[0] = ((const double *)data)[at]; break;
    case SH_I64: to[0] = (double)((const int64_t *)data)[at]; break;
    case SH_C64: to[0] = ((const float *)data)[2 * at], to[1] = ((const float *)data)[2 * at + 1]; break;
    default: to[0] = ((const double *)data)[2 * at], to[1] = ((const double *)data)[2 * at + 1];
    }
    return isnan(to[0]) || isnan(to[1]);
}

static bool counts(const sh_tensor *t, int64_t i, int64_t j) {
    const unsigned part = sh_tensor_part(t);
    return i == j || !(part & (i > j ? SH_PART_UPPER : SH_PART_LOWER));
}

static double distance(const sh_tensor *a, const sh_tensor *b) {
    const int n = sh_tensor_ndim(a);
    const int64_t *size = sh_tensor_sizes(a), *sa = sh_tensor_strides(a), *sb = sh_tensor_strides(b);
    const int64_t rows = n > 1 ? size[0] : 1, columns = n ? size[n - 1] : 1;
    double worst = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double x[2], y[2];
            if (n == 2 && !counts(a, i, j)) continue;
            if (is_bad(a, x, n ? (n > 1 ? i * sa[0] : 0) + j * sa[n - 1] : 0) |
                is_bad(b, y, n ? (n > 1 ? i * sb[0] : 0) + j * sb[n - 1] : 0))
                return INFINITY;
            worst = fmax(worst, fmax(fabs(x[0] - y[0]), fabs(x[1] - y[1])));
        }
    return worst;
}

static sh_status on_call(sh_mode *mode, sh_call *call) {
    (void)mode;
    sh_value again[SH_MAX_RESULTS];
    char text[512];
    if (sh_call_nresults(call) != 1) return SH_PASS;
    const sh_status status = sh_call_run_on(call, "ref", again);
    sh_call_print(call, text, sizeof text);
    if (status < 0) {
        refused++;
        fprintf(stderr, "refused %s: %s\n", text, sh_error()->message);
        sh_clear_error();
        return SH_PASS;
    }
    SH_TRY(sh_next(call));
    const double d = distance(sh_call_result(call, 0).as.tensor, again[0].as.tensor);
    if (d < 1e-4) {
        agreed++;
    } else {
        differed++;
        fprintf(stderr, "differs by %g: %s\n", d, text);
    }
    return SH_PASS;
}

static sh_mode *mode;
__attribute__((constructor)) static void begin(void) {
    mode = sh_mode_new(on_call, &(sh_mode_options){.name = "recompute"});
    sh_push_mode_global(mode);
}
__attribute__((destructor)) static void end(void) {
    fprintf(stderr, "%d agreed, %d differed, %d refused\n", agreed, differed, refused);
}
