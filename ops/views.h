/* views.h - how view ops make their result: a layout worked out from self's, laid over self's storage. */
#ifndef SH_OPS_VIEWS_H
#define SH_OPS_VIEWS_H

#include <string.h>

#include "ops/promote.h"

typedef struct sh_layout {
    int ndim;
    int64_t sizes[SH_MAX_DIMS], strides[SH_MAX_DIMS];
    int64_t offset; /* in elements, from the first of self */
} sh_layout;

static inline sh_layout sh_layout_of(const sh_tensor *t) {
    sh_layout layout = {.ndim = t->ndim};
    memcpy(layout.sizes, t->sizes, sizeof t->sizes);
    memcpy(layout.strides, t->strides, sizeof t->strides);
    return layout;
}

static inline void sh_layout_append(sh_layout *layout, int64_t size, int64_t stride) {
    layout->sizes[layout->ndim] = size;
    layout->strides[layout->ndim++] = stride;
}

/* A view of self with one reference that is the caller's; NULL and an error without memory. */
sh_tensor *sh_layout_view(const sh_tensor *self, const sh_layout *layout);
/* The view as the op's result. */
sh_status sh_give_view(sh_value *results, const sh_tensor *self, const sh_layout *layout);
/* A tensor that the caller holds a reference on, as the op's result; NULL: the error of its making. */
sh_status sh_give(sh_value *results, sh_tensor *t);

#endif
