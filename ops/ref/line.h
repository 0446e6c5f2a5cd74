/* line.h - the elements of `self` that one result of a reduction or scan is made of, in row-major order.
 *
 *     SH_EACH_ELEMENT(r, at) {
 *         sh_line line = sh_line_of(self, mask, r, at);
 *         SH_EACH_OF_LINE(line) total += sh_line_f64(&line, dtype);
 *     }
 *
 * Elements are cast to `dtype` first, as PyTorch does where a reduction is given one. */
#ifndef SH_OPS_REF_LINE_H
#define SH_OPS_REF_LINE_H

#include "ops/element.h"

typedef struct sh_line {
    const sh_tensor *t;
    uint32_t mask; /* bits of the axes that the line runs along */
    int64_t index[SH_MAX_DIMS];
    int64_t count;
} sh_line;

/* The line behind element `at` of `r`, which has kept the axes of the mask with size 1 or more, or dropped them. */
static inline sh_line sh_line_of(const sh_tensor *t, uint32_t mask, const sh_tensor *r, const int64_t *at) {
    sh_line line = {t, mask, {0}, 1};
    int next = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (mask >> i & 1)
            line.count *= t->sizes[i];
        else
            line.index[i] = at[r->ndim == t->ndim ? i : next++];
    }
    return line;
}

static inline bool sh_line_next(sh_line *line) {
    for (int i = line->t->ndim; i-- > 0;) {
        if (!(line->mask >> i & 1)) continue;
        if (++line->index[i] < line->t->sizes[i]) return true;
        line->index[i] = 0;
    }
    return false;
}

#define SH_EACH_OF_LINE(line) \
    for (bool line##_go = (line).count > 0; line##_go; line##_go = sh_line_next(&(line)))

/* The current element cast to `dtype`, in `at` (8 bytes). */
static inline const void *sh_line_cast(const sh_line *line, sh_dtype dtype, void *at) {
    const sh_dtype from = (sh_dtype)line->t->dtype;
    const void *element = sh_element(line->t, line->index, line->t->ndim);
    if (sh_dtype_kind_of(from) == SH_KIND_FLOAT)
        sh_store_f64(dtype, at, sh_load_f64(from, element));
    else
        sh_store_i64(dtype, at, sh_load_i64(from, element));
    return at;
}

static inline double sh_line_f64(const sh_line *line, sh_dtype dtype) {
    uint64_t at;
    return sh_load_f64(dtype, sh_line_cast(line, dtype, &at));
}

static inline int64_t sh_line_i64(const sh_line *line, sh_dtype dtype) {
    uint64_t at;
    return sh_load_i64(dtype, sh_line_cast(line, dtype, &at));
}

/* What the arithmetic of `dtype` would keep of v: f16 and bf16 compute in f32. */
static inline double sh_line_round(sh_dtype dtype, double v) { return dtype == SH_F64 ? v : (float)v; }

#endif
