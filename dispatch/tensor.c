/* tensor.c - making tensors and views, and looking at them.
 *
 * Layout facts (contiguous, numel, element size) are computed when a layout is set and never after.
 * No kernel is called here: filling and converting is the ops' work. */
#include "dispatch/tensor.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/device_impl.h"
#include "dispatch/no_data.h"
#include "dispatch/tensor_impl.h"

sh_status sh__spec_check(const sh_spec *spec, const char *what) {
    if (spec->ndim < 0 || spec->ndim > SH_MAX_DIMS)
        return sh_fail(SH_ERROR_SHAPE, "%s: %d dimensions, the most is %d", what, spec->ndim, SH_MAX_DIMS);
    if (!sh_dtype_size(spec->dtype)) return sh_fail(SH_ERROR_DTYPE, "%s: %d is no dtype", what, spec->dtype);
    int64_t bytes = (int64_t)sh_dtype_size(spec->dtype);
    bool empty = false;
    for (int i = 0; i < spec->ndim; i++) {
        if (spec->sizes[i] < 0)
            return sh_fail(SH_ERROR_SHAPE, "%s: size %lld of dimension %d is negative", what,
                           (long long)spec->sizes[i], i);
        empty |= spec->sizes[i] == 0;
    }
    for (int i = 0; i < spec->ndim && !empty; i++)
        if (__builtin_mul_overflow(bytes, spec->sizes[i], &bytes))
            return sh_fail(SH_ERROR_SHAPE, "%s: the sizes multiply to more bytes than there are", what);
    return SH_OK;
}

/* Sets row-major strides and what follows from the sizes; false when the bytes do not fit in 63 bits. */
static bool set_contiguous(sh_tensor *t, int ndim, const int64_t *sizes) {
    int64_t stride = 1, bytes;
    bool overflow = false, empty = false;
    t->ndim = (uint8_t)ndim;
    for (int i = ndim - 1; i >= 0; i--) {
        const int64_t size = sizes[i];
        t->sizes[i] = size;
        t->strides[i] = stride;
        empty |= size == 0;
        overflow |= __builtin_mul_overflow(stride, size ? size : 1, &stride);
    }
    t->numel = empty ? 0 : stride;
    t->flags |= SH_TENSOR_CONTIGUOUS;
    overflow |= __builtin_mul_overflow(stride, (int64_t)t->element, &bytes);
    return !overflow || empty;
}

/* The sizes of a tensor that has elements multiply to a number; those of an empty one need not. */
static int64_t numel_of(int ndim, const int64_t *sizes) {
    int64_t numel = 1;
    for (int i = 0; i < ndim; i++)
        if (!sizes[i]) return 0;
    for (int i = 0; i < ndim; i++) numel *= sizes[i];
    return numel;
}

static bool layout_is_contiguous(const sh_tensor *t) {
    int64_t expected = 1;
    for (int i = t->ndim - 1; i >= 0 && t->numel; i--) {
        if (t->sizes[i] != 1 && t->strides[i] != expected) return false;
        expected *= t->sizes[i];
    }
    return true;
}

void sh__tensor_set_layout(sh_tensor *t, int ndim, const int64_t *sizes, const int64_t *strides,
                           int64_t offset) {
    t->ndim = (uint8_t)ndim;
    t->numel = numel_of(ndim, sizes);
    for (int i = 0; i < ndim; i++) {
        t->sizes[i] = sizes[i];
        t->strides[i] = strides[i];
    }
    if (t->data)
        t->data += offset * (int64_t)t->element;
    else if (t->storage)
        t->address += offset * (int64_t)t->element;
    t->flags &= ~(uint32_t)SH_TENSOR_CONTIGUOUS;
    if (layout_is_contiguous(t)) t->flags |= SH_TENSOR_CONTIGUOUS;
}

void sh__spec_fill(sh_spec *spec) {
    const sh_tensor *like = spec->like;
    if (!like) return;
    spec->dtype = (sh_dtype)like->dtype;
    spec->ndim = like->ndim;
    memcpy(spec->sizes, like->sizes, sizeof spec->sizes);
}

static void embed_storage(sh_tensor *t, size_t bytes) {
    t->storage = &t->own;
    t->data = t->bytes;
    atomic_store_explicit(&t->own.refs, 1, memory_order_relaxed);
    atomic_store_explicit(&t->own.version, 0, memory_order_relaxed);
    t->own.size = bytes;
}

static sh_tensor *attach_remote(sh_tensor *t, size_t bytes) {
    t->storage = sh__device_storage(t->device, bytes);
    if (t->storage) {
        t->address = t->storage->data;
        return t;
    }
    sh__record_free(t);
    return NULL;
}

static __attribute__((noinline)) sh_tensor *attach_storage(sh_tensor *t, size_t bytes) {
    t->data = NULL;
    t->storage = NULL;
    if (t->device == SH_META) return t;
    if (t->device != SH_HOST) return attach_remote(t, bytes);
    if (bytes <= SH_EMBEDDED_BYTES) {
        embed_storage(t, bytes);
        return t;
    }
    t->storage = sh__storage_alloc(bytes);
    if (SH_LIKELY(t->storage != NULL)) {
        t->data = t->storage->data;
        return t;
    }
    sh__record_free(t);
    return NULL;
}

/* Fixed lengths copy in a few instructions; most tensors have four dimensions or fewer. */
static inline void set_like(sh_tensor *t, const sh_tensor *like) {
    memcpy(&t->dtype, &like->dtype, offsetof(sh_tensor, data) - offsetof(sh_tensor, dtype));
    memcpy(t->sizes, like->sizes, sizeof t->sizes / 2);
    memcpy(t->strides, like->strides, sizeof t->strides / 2);
    if (SH_LIKELY(like->ndim <= SH_MAX_DIMS / 2)) return;
    memcpy(t->sizes, like->sizes, sizeof t->sizes);
    memcpy(t->strides, like->strides, sizeof t->strides);
}

static uint32_t flags_of(sh_dtype dtype) { return dtype >= SH_REAL_DTYPE_END ? SH_TENSOR_COMPLEX : 0; }

static __attribute__((noinline)) sh_tensor *alloc_by_sizes(const sh_spec *spec, int device) {
    sh_tensor *t = sh__record_alloc();
    if (!t) return NULL;
    t->device = (uint8_t)device;
    t->dtype = (uint8_t)spec->dtype;
    t->element = (uint32_t)sh_dtype_size(spec->dtype);
    t->flags = flags_of(spec->dtype);
    if (SH_LIKELY(set_contiguous(t, spec->ndim, spec->sizes)))
        return attach_storage(t, (size_t)t->numel * t->element);
    sh__record_free(t);
    sh_fail(SH_ERROR_SHAPE, "the sizes of the result multiply to more bytes than there are");
    return NULL;
}

sh_tensor *sh__tensor_alloc_any(const sh_spec *spec, int device) {
    return spec->like ? sh__tensor_alloc(spec, device) : alloc_by_sizes(spec, device);
}

static __attribute__((noinline, cold)) sh_tensor *no_complex(const sh_spec *spec) {
    sh_fail(SH_ERROR_DTYPE, "a result of %s: built-in ops don't compute in complex numbers",
            sh_dtype_name(spec->dtype));
    return NULL;
}

sh_tensor *sh__tensor_alloc(const sh_spec *spec, int device) {
    const sh_tensor *like = spec->like;
    if (!like)
        return SH_LIKELY(spec->dtype < SH_REAL_DTYPE_END) ? alloc_by_sizes(spec, device) : no_complex(spec);
    sh_tensor *t = sh__record_alloc();
    if (SH_UNLIKELY(!t)) return NULL;
    set_like(t, like);
    t->flags = SH_TENSOR_CONTIGUOUS;
    t->device = (uint8_t)device;
    const size_t bytes = (size_t)t->numel * t->element;
    if (SH_UNLIKELY(bytes > SH_EMBEDDED_BYTES || device != SH_HOST)) return attach_storage(t, bytes);
    embed_storage(t, bytes);
    return t;
}

sh_tensor *sh__tensor_view(const sh_tensor *t) {
    sh_tensor *view = sh__record_alloc();
    if (!view) return NULL;
    view->flags = t->flags & (uint32_t)(SH_TENSOR_CONTIGUOUS | SH_TENSOR_COMPLEX);
    view->dtype = t->dtype;
    view->device = t->device;
    view->element = t->element;
    view->data = t->data;
    if (!t->data) view->address = t->address;
    view->storage = t->storage;
    if (t->storage) atomic_fetch_add_explicit(&t->storage->refs, 1, memory_order_relaxed);
    view->ndim = t->ndim;
    view->numel = t->numel;
    memcpy(view->sizes, t->sizes, sizeof t->sizes);
    memcpy(view->strides, t->strides, sizeof t->strides);
    return view;
}

/* ---- looking ---- */

int sh_tensor_ndim(const sh_tensor *t) { return t->ndim; }
const int64_t *sh_tensor_sizes(const sh_tensor *t) { return t->sizes; }
const int64_t *sh_tensor_strides(const sh_tensor *t) { return t->strides; }
int64_t sh_tensor_numel(const sh_tensor *t) { return t->numel; }
sh_dtype sh_tensor_dtype(const sh_tensor *t) { return (sh_dtype)t->dtype; }
sh_device sh_tensor_device(const sh_tensor *t) { return (sh_device)t->device; }
bool sh_tensor_is_contiguous(const sh_tensor *t) { return (t->flags & SH_TENSOR_CONTIGUOUS) != 0; }
bool sh_tensor_is_wrapped_number(const sh_tensor *t) { return (t->flags & SH_TENSOR_WRAPPED) != 0; }
void *sh_tensor_data(const sh_tensor *t) {
    sh__expose(t);
    return sh__address(t);
}
bool sh_tensor_same_storage(const sh_tensor *a, const sh_tensor *b) {
    return a->storage && a->storage == b->storage;
}
int sh_tensor_refs(const sh_tensor *t) { return atomic_load_explicit(&t->refs, memory_order_relaxed); }

uint64_t sh_tensor_version(const sh_tensor *t) {
    return t->storage ? atomic_load_explicit(&t->storage->version, memory_order_relaxed) : 0;
}

static int checked_dim(const sh_tensor *t, int dim) {
    const int wrapped = dim < 0 ? dim + t->ndim : dim;
    if (wrapped >= 0 && wrapped < t->ndim) return wrapped;
    sh_fail(SH_ERROR_INDEX, "dimension %d of a tensor with %d", dim, t->ndim);
    return -1;
}

int64_t sh_tensor_size(const sh_tensor *t, int dim) {
    const int i = checked_dim(t, dim);
    return i < 0 ? 0 : t->sizes[i];
}

int64_t sh_tensor_stride(const sh_tensor *t, int dim) {
    const int i = checked_dim(t, dim);
    return i < 0 ? 0 : t->strides[i];
}

static double load_double(sh_dtype dtype, const void *at) {
    switch (dtype) {
    case SH_F32: return *(const float *)at;
    case SH_F64: return *(const double *)at;
    case SH_F16: return sh_f16_to_f32(*(const uint16_t *)at);
    case SH_BF16: return sh_bf16_to_f32(*(const uint16_t *)at);
    case SH_I64: return (double)*(const int64_t *)at;
    case SH_I32: return *(const int32_t *)at;
    case SH_I16: return *(const int16_t *)at;
    case SH_I8: return *(const int8_t *)at;
    case SH_U8: return *(const uint8_t *)at;
    case SH_B8: return *(const uint8_t *)at != 0;
    default: return NAN;
    }
}

static bool is_real(const sh_tensor *t, const char *what) {
    if (!(t->flags & SH_TENSOR_COMPLEX)) return true;
    sh_fail(SH_ERROR_DTYPE, "%s: an element of %s is no real number", what,
            sh_dtype_name((sh_dtype)t->dtype));
    return false;
}

static const void *only_element(const sh_tensor *t, const char *what) {
    if (sh__error_pending()) return NULL;
    if (!t)
        sh_fail(SH_ERROR_NULL, "%s: the tensor is NULL", what);
    else if (t->numel != 1)
        sh_fail(SH_ERROR_SHAPE, "%s: a tensor with %lld elements, expected 1", what, (long long)t->numel);
    else if (!t->data)
        sh__no_data(t, what);
    else
        return t->data;
    return NULL;
}

double sh_item(const sh_tensor *t) {
    if (t && sh__is_remote(t) && t->numel == 1) {
        SH_SCOPE_HERE;
        const sh_tensor *near = sh__on_host(t, "sh_item");
        return near ? sh_item(near) : NAN;
    }
    const void *at = only_element(t, "sh_item");
    return at && is_real(t, "sh_item") ? load_double((sh_dtype)t->dtype, at) : NAN;
}

int64_t sh_item_int(const sh_tensor *t) {
    if (t && sh__is_remote(t) && t->numel == 1) {
        SH_SCOPE_HERE;
        const sh_tensor *near = sh__on_host(t, "sh_item_int");
        return near ? sh_item_int(near) : 0;
    }
    const void *at = only_element(t, "sh_item_int");
    if (!at || !is_real(t, "sh_item_int")) return 0;
    if (t->dtype == SH_I64) return *(const int64_t *)at;
    const double value = load_double((sh_dtype)t->dtype, at);
    if (value >= -0x1p63 && value < 0x1p63) return (int64_t)value;
    sh_fail(SH_ERROR_VALUE, "sh_item_int: %g is no 64-bit integer", value);
    return 0;
}

double sh_tensor_at(const sh_tensor *t, const int64_t *index) {
    SH_SCOPE_HERE;
    if (!t->data && !(t = sh__on_host(t, "sh_tensor_at"))) return NAN;
    if (!is_real(t, "sh_tensor_at")) return NAN;
    int64_t offset = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (index[i] < 0 || index[i] >= t->sizes[i]) {
            sh_fail(SH_ERROR_INDEX, "sh_tensor_at: index %lld in dimension %d of size %lld",
                    (long long)index[i], i, (long long)t->sizes[i]);
            return NAN;
        }
        offset += index[i] * t->strides[i];
    }
    return load_double((sh_dtype)t->dtype, t->data + offset * (int64_t)t->element);
}

sh_status sh_tensor_set_part(sh_tensor *t, unsigned part) {
    if (!t) return sh_fail(SH_ERROR_NULL, "sh_tensor_set_part: t is NULL");
    if (part > (SH_PART_LOWER | SH_PART_UPPER | SH_PART_UNIT) ||
        (part & (SH_PART_LOWER | SH_PART_UPPER)) == (SH_PART_LOWER | SH_PART_UPPER))
        return sh_fail(SH_ERROR_VALUE, "sh_tensor_set_part: %u is no part of a matrix", part);
    if (part && t->ndim < 2)
        return sh_fail(SH_ERROR_SHAPE, "sh_tensor_set_part: a tensor of %d dimensions is no matrix", t->ndim);
    t->flags = (t->flags & ~SH_TENSOR_PART) | part * SH_TENSOR_LOWER;
    return SH_OK;
}

unsigned sh_tensor_part(const sh_tensor *t) { return (t->flags & SH_TENSOR_PART) / SH_TENSOR_LOWER; }

static const char *part_text(const sh_tensor *t) {
    static const char *const texts[] = {"",      ":lower",      ":upper",      NULL,
                                        ":unit", ":lower:unit", ":upper:unit", NULL};
    return texts[sh_tensor_part(t)];
}

size_t sh__tensor_print_type(const sh_tensor *t, char *text, size_t size) {
    int n = snprintf(text, size, "%s[", sh_dtype_name((sh_dtype)t->dtype));
    for (int i = 0; i < t->ndim; i++) {
        const size_t at = (size_t)n < size ? (size_t)n : size;
        n += snprintf(text + at, size - at, i ? ", %lld" : "%lld", (long long)t->sizes[i]);
    }
    const size_t at = (size_t)n < size ? (size_t)n : size;
    n += snprintf(text + at, size - at, "]%s%s%s", part_text(t), t->device == SH_HOST ? "" : "@",
                  t->device == SH_HOST ? "" : sh_device_name((sh_device)t->device));
    return (size_t)n;
}

/* ---- making ---- */

static sh_status spec_of(sh_spec *spec, sh_dtype dtype, sh_ints sizes, const char *what) {
    spec->like = NULL;
    if (sizes.n > SH_MAX_DIMS)
        return sh_fail(SH_ERROR_SHAPE, "%s: %zu dimensions, the most is %d", what, sizes.n, SH_MAX_DIMS);
    spec->dtype = dtype;
    spec->ndim = (int32_t)sizes.n;
    for (size_t i = 0; i < sizes.n; i++) spec->sizes[i] = sizes.at[i];
    return sh__spec_check(spec, what);
}

sh_tensor *sh_tensor_new_on(sh_device device, sh_dtype dtype, sh_ints sizes) {
    sh_spec spec;
    if (sh__error_pending() || spec_of(&spec, dtype, sizes, "sh_tensor_new") < 0) return NULL;
    if (sh__device_check((int)device, "sh_tensor_new_on") < 0) return NULL;
    sh_tensor *t = sh__tensor_alloc_any(&spec, (int)device);
    return t ? sh__own(t) : NULL;
}

sh_tensor *sh_tensor_new(sh_dtype dtype, sh_ints sizes) { return sh_tensor_new_on(SH_HOST, dtype, sizes); }

sh_tensor *sh_tensor_copy_of(const void *data, sh_dtype dtype, sh_ints sizes) {
    sh_tensor *t = sh_tensor_new(dtype, sizes);
    if (t && t->numel) memcpy(t->data, data, (size_t)t->numel * t->element);
    return t;
}

bool sh__layout_reach(int ndim, const int64_t *sizes, const int64_t *strides, int64_t *low, int64_t *high) {
    *low = *high = 0;
    for (int i = 0; i < ndim; i++) {
        int64_t span;
        if (sizes[i] == 0) return true;
        if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &span)) return false;
        if (__builtin_add_overflow(span < 0 ? *low : *high, span, span < 0 ? low : high)) return false;
    }
    return true;
}

sh_tensor *sh_from_data(void *data, sh_dtype dtype, sh_ints sizes, sh_ints strides,
                        void (*deleter)(void *context), void *context) {
    sh_spec spec;
    if (sh__error_pending() || spec_of(&spec, dtype, sizes, "sh_from_data") < 0) return NULL;
    if (strides.at && strides.n != sizes.n) {
        sh_fail(SH_ERROR_SHAPE, "sh_from_data: %zu strides for %zu sizes", strides.n, sizes.n);
        return NULL;
    }
    size_t capacity;
    sh_storage *storage = sh__block_alloc(sizeof *storage, &capacity); /* aligned as the type asks */
    if (storage) memset(storage, 0, sizeof *storage);
    sh_tensor *t = storage ? sh__record_alloc() : NULL;
    if (!t) {
        sh__free(storage);
        return NULL;
    }
    t->dtype = (uint8_t)dtype;
    t->device = SH_HOST;
    t->element = (uint32_t)sh_dtype_size(dtype);
    t->flags = flags_of(dtype);
    t->data = data;
    t->storage = storage;
    set_contiguous(t, spec.ndim, spec.sizes);
    if (strides.at) sh__tensor_set_layout(t, spec.ndim, spec.sizes, strides.at, 0);
    int64_t low, high;
    const bool sound = sh__layout_reach(t->ndim, t->sizes, t->strides, &low, &high);
    atomic_init(&storage->refs, 1);
    storage->kind = SH_STORAGE_FOREIGN;
    storage->data = sound ? (char *)data + low * (int64_t)t->element : data;
    storage->size = sound && t->numel ? (size_t)(high - low + 1) * t->element : 0;
    if ((data || !t->numel) && sound) {
        storage->u.deleter = deleter;
        storage->context = context;
        return sh__own(t);
    }
    sh__tensor_free(t);
    sh_fail(data ? SH_ERROR_SHAPE : SH_ERROR_NULL, "sh_from_data: %s",
            data ? "the strides reach too far" : "data is NULL");
    return NULL;
}

sh_tensor *sh_tensor_as_strided(const sh_tensor *t, sh_ints sizes, sh_ints strides, int64_t offset) {
    sh_spec spec;
    if (sh__error_pending()) return NULL;
    if (!t || sizes.n != strides.n) {
        sh_fail(t ? SH_ERROR_SHAPE : SH_ERROR_NULL,
                t ? "as_strided: as many strides as sizes" : "as_strided: self is NULL");
        return NULL;
    }
    if (spec_of(&spec, (sh_dtype)t->dtype, sizes, "as_strided") < 0) return NULL;
    int64_t low, high;
    const int64_t first = t->storage ? (sh__address(t) - t->storage->data) / (int64_t)t->element : 0;
    const int64_t limit = t->storage ? (int64_t)(t->storage->size / t->element) : INT64_MAX;
    bool empty = false;
    for (int i = 0; i < spec.ndim; i++) empty |= spec.sizes[i] == 0;
    if (!sh__layout_reach(spec.ndim, spec.sizes, strides.at, &low, &high) ||
        __builtin_add_overflow(low, first + offset, &low) ||
        __builtin_add_overflow(high, first + offset, &high) || (!empty && (low < 0 || high >= limit))) {
        sh_fail(SH_ERROR_INDEX, "as_strided: sizes, strides and offset %lld reach outside the storage",
                (long long)offset);
        return NULL;
    }
    sh_tensor *view = sh__tensor_view(t);
    if (!view) return NULL;
    sh__tensor_set_layout(view, spec.ndim, spec.sizes, strides.at, empty ? 0 : offset);
    return sh__own(view);
}

sh_tensor *sh_tensor_from_number(sh_scalar number) {
    if (sh__error_pending()) return NULL;
    if (!sh_value_is_number(number)) {
        sh_fail(SH_ERROR_TYPE, "a number was expected");
        return NULL;
    }
    const sh_spec spec = {NULL,
                          number.tag == SH_TAG_FLOAT ? SH_F64
                          : number.tag == SH_TAG_INT ? SH_I64
                                                     : SH_B8,
                          0,
                          {0}};
    sh_tensor *t = sh__tensor_alloc(&spec, SH_HOST);
    if (!t) return NULL;
    t->flags |= SH_TENSOR_WRAPPED;
    if (number.tag == SH_TAG_FLAG)
        *(uint8_t *)t->data = number.as.i != 0;
    else
        memcpy(t->data, &number.as, 8);
    return sh__own(t);
}

bool sh__tensor_overlap(const sh_tensor *a, const sh_tensor *b) {
    const char *a_at = sh__address(a), *b_at = sh__address(b);
    if (!a_at || !b_at || !a->numel || !b->numel || a->device != b->device) return false;
    if (a_at == b_at && a->element == b->element && a->ndim == b->ndim &&
        memcmp(a->sizes, b->sizes, (size_t)a->ndim * 8) == 0 &&
        memcmp(a->strides, b->strides, (size_t)a->ndim * 8) == 0)
        return false;
    int64_t low[2], high[2];
    sh__layout_reach(a->ndim, a->sizes, a->strides, &low[0], &high[0]);
    sh__layout_reach(b->ndim, b->sizes, b->strides, &low[1], &high[1]);
    const char *a_low = a_at + low[0] * (int64_t)a->element,
               *a_end = a_at + (high[0] + 1) * (int64_t)a->element;
    const char *b_low = b_at + low[1] * (int64_t)b->element,
               *b_end = b_at + (high[1] + 1) * (int64_t)b->element;
    return a_low < b_end && b_low < a_end;
}
