/* scan.c - running sums of the cpu backend: floats in f64, integers in 64 bits, each rounded as it is written. */
#include "ops/cpu/lines.h"
#include "ops/kernels.h"

static void make_sums(const sh_lines *l, const char *x, char *y, int64_t n) {
    uint64_t sums[SH_LINE_PIECE] = {0}, in[SH_LINE_PIECE], out[SH_LINE_PIECE]; /* zero in f64 too */
    const sh_reduce_table *table = sh__reduce_table();
    sh_scan_fn *scan = (l->across ? table->scan_across : table->scan_along)[l->type];
    for (int64_t p = 0; p < sh__pieces(l); p++) {
        void *to = sh__piece_target(l, y, p, out);
        scan(to, sh__piece_load(l, x, p, n, in), sh__piece_size(l, p, n), sums);
        sh__piece_store(l, y, p, n, to);
    }
}

sh_status sh_cpu_cumsum(sh_tensor *r, sh_tensor *self, int64_t dim, sh_dtype dtype) {
    (void)dtype;
    const sh_dtype to = (sh_dtype)r->dtype;
    const bool is_float = sh_dtype_kind_of(to) == SH_KIND_FLOAT;
    sh_lines lines = {.self = self, .r = r, .as = to, .make = make_sums};
    lines.type = !is_float ? SH_I64 : to == SH_F64 ? SH_F64 : SH_F32;
    return sh__lines(&lines, dim);
}
