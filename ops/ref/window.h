/* window.h - where windows (infer_window.h) meet the input: what falls outside is skipped. */
#ifndef SH_OPS_REF_WINDOW_H
#define SH_OPS_REF_WINDOW_H

#include "ops/infer_window.h"

/* The inputs that window `o` meets along one axis: from + k * step, for those k in [first, last). */
typedef struct sh_span {
    int64_t from, step, first, last;
} sh_span;

static inline sh_span sh_span_of(const sh_window *w, int64_t o) {
    sh_span s = {o * w->stride - w->padding, w->dilation, 0, w->kernel};
    while (s.first < w->kernel && s.from + s.first * s.step < 0) s.first++;
    while (s.last > s.first && s.from + (s.last - 1) * s.step >= w->in) s.last--;
    return s;
}

static inline const char *sh_at2(const sh_tensor *t, const char *plane, int64_t y, int64_t x) {
    const int64_t row = t->ndim > 1 ? t->strides[t->ndim - 2] : 0;
    return plane + (y * row + x * t->strides[t->ndim - 1]) * (int64_t)t->element;
}

static inline const char *sh_advance(const sh_tensor *t, const char *at, int dim, int64_t n) {
    return at + n * t->strides[dim] * (int64_t)t->element;
}

#endif
