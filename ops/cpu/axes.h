/* axes.h - the dimensions of a tensor as loops see them: a size and a stride in each of two tensors. */
#ifndef SH_OPS_CPU_AXES_H
#define SH_OPS_CPU_AXES_H

#include <stdlib.h>

#include "dispatch/tensor_impl.h"

typedef struct sh_axis {
    int64_t size, in, out; /* strides in the tensor that is read and the one that is written, in elements */
} sh_axis;

typedef struct sh_axes {
    int n;
    sh_axis at[SH_MAX_DIMS];
} sh_axes;

/* How far apart neighbours lie in what is read. An axis that repeats one element has nothing to gain inside. */
static inline int64_t sh__axis_reach(const sh_axis *axis) { return axis->in ? llabs(axis->in) : INT64_MAX; }
/* By falling reach. */
void sh__axes_sort(sh_axes *list);
/* Joins neighbours that one stride goes through. At least one axis is left, of size 1 if there was none. */
void sh__axes_join(sh_axes *list);
static inline const sh_axis *sh__axes_last(const sh_axes *list) { return &list->at[list->n - 1]; }

/* n elements of `element` bytes; strides in elements, 0 repeats the first. */
void sh__copy_strided(char *to, int64_t to_stride, const char *from, int64_t from_stride, size_t element,
                      int64_t n);
/* n elements, `stride` apart, rounded to dtype `as` and then as `type`: in place if they lie so, else in `buffer`. */
const void *sh__load(const sh_tensor *t, const char *at, int64_t stride, int64_t n, sh_dtype as,
                     sh_dtype type, void *buffer);
/* n numbers of `type` into elements `stride` apart of a tensor. */
void sh__store(const sh_tensor *t, char *at, int64_t stride, int64_t n, sh_dtype type, const void *numbers);

#endif
