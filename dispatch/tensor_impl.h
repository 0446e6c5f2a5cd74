/* tensor_impl.h - the layout of tensors and storages, and the short paths that ops take.
 *
 * Counts are atomic, but a holder that sees 1 is alone and needs no locked instruction. A tensor on a
 * free list keeps nothing. `data` is storage data plus offset; it is NULL where the host can't read: on meta, and on a
 * device with memory of its own, where `address` takes its place. */
#ifndef SH_DISPATCH_TENSOR_IMPL_H
#define SH_DISPATCH_TENSOR_IMPL_H

#include <stdatomic.h>

#include "dispatch/memory_impl.h"
#include "dispatch/thread.h"

enum {
    SH_TENSOR_CONTIGUOUS = 1, /* row-major without gaps */
    SH_TENSOR_WRAPPED = 2,    /* stands for a number */
    SH_TENSOR_OVERRIDE = 4,   /* carries an override */
    SH_TENSOR_UNBOUND = 8,    /* reserved: holds shape and dtype but stands for no value */
    SH_TENSOR_COMPLEX = 16,   /* its dtype is complex, which no built-in op takes */
    SH_TENSOR_LOWER = 32,     /* only part of its last two dimensions counts: see sh_tensor_set_part */
    SH_TENSOR_UPPER = 64,
    SH_TENSOR_UNIT = 128
};
#define SH_TENSOR_PART ((uint32_t)(SH_TENSOR_LOWER | SH_TENSOR_UPPER | SH_TENSOR_UNIT))
/* What an op must look at before it may call its slot. */
#define SH_TENSOR_SPECIAL \
    ((uint32_t)(SH_TENSOR_OVERRIDE | SH_TENSOR_UNBOUND | SH_TENSOR_COMPLEX | SH_TENSOR_PART))

struct sh_storage {
    atomic_int refs;
    uint8_t kind; /* a size class of the free lists, or one of SH_STORAGE_... */
    uint8_t device;
    atomic_bool exposed; /* who holds a pointer to the data can write there unseen: see known.h */
    atomic_uint_fast64_t version;
    atomic_uint_fast64_t fact; /* see known.c; this and `exposed` mean nothing where embedded or foreign */
    size_t size;               /* bytes at `data` that views may reach */
    size_t capacity;           /* of the block, for large ones */
    char *data;
    union {
        sh_storage *next;               /* on a free list */
        void (*deleter)(void *context); /* of foreign memory */
    } u;
    void *context;
} __attribute__((aligned(64)));
enum { SH_STORAGE_DEVICE = 252, SH_STORAGE_EMBEDDED = 253, SH_STORAGE_LARGE = 254, SH_STORAGE_FOREIGN = 255 };
_Static_assert(sizeof(struct sh_storage) == 64, "data follows the header, 64-byte aligned");

enum { SH_EMBEDDED_BYTES = 64 };

/* A tensor of up to 64 bytes keeps its storage and data in its own record. Views of it hold that storage, and so
 * the record, after the tensor itself is gone. */
struct sh_tensor {
    atomic_int refs;
    uint32_t flags;
    uint8_t dtype, device, ndim, unused;
    uint32_t element; /* bytes of one */
    int64_t numel;
    char *data;
    sh_storage *storage;
    union {
        const sh_override_kind *override;
        sh_tensor *next; /* on the free list */
    } u;
    int64_t sizes[SH_MAX_DIMS], strides[SH_MAX_DIMS];
    char *address; /* set where data is NULL and there is a storage */
    sh_storage own;
    char bytes[SH_EMBEDDED_BYTES];
};

/* A count that other threads may read while this one changes it. */
static inline void sh__count(int64_t *counter, int64_t by) {
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + by, __ATOMIC_RELAXED);
}

/* A list result: `n` tensors, each with a reference held here. */
struct sh_list {
    atomic_int refs;
    uint32_t n;
    sh_tensor *at[];
};

/* A storage of `size` bytes on the host with one reference. */
sh_storage *sh__storage_alloc(size_t size);
void sh__storage_free(sh_storage *storage);
static inline void sh__storage_release(sh_storage *storage) {
    if (atomic_load_explicit(&storage->refs, memory_order_acquire) == 1 ||
        atomic_fetch_sub_explicit(&storage->refs, 1, memory_order_acq_rel) == 1)
        sh__storage_free(storage);
}

/* Before a pointer to t's data leaves the library. */
static inline void sh__expose(const sh_tensor *t) {
    sh_storage *storage = t->storage;
    if (storage && !atomic_load_explicit(&storage->exposed, memory_order_relaxed))
        atomic_store_explicit(&storage->exposed, true, memory_order_relaxed);
}

/* A tensor record with one reference, nothing else set but flags = 0. */
sh_tensor *sh__record_alloc_slow(void);
void sh__record_free_slow(sh_tensor *t);
static inline sh_tensor *sh__record_alloc(void) {
    sh_thread *thread = &sh__thread;
    sh_tensor *t = thread->free_tensors;
    if (SH_UNLIKELY(!t)) return sh__record_alloc_slow();
    thread->free_tensors = t->u.next;
    thread->free_room++;
    sh__count(&thread->live_tensors, 1);
    atomic_store_explicit(&t->refs, 1, memory_order_relaxed);
    t->flags = 0;
    t->u.override = NULL;
    return t;
}
static inline void sh__record_free(sh_tensor *t) {
    sh_thread *thread = &sh__thread;
    if (SH_UNLIKELY(thread->free_room <= 0)) {
        sh__record_free_slow(t);
        return;
    }
    thread->free_room--;
    sh__count(&thread->live_tensors, -1);
    t->u.next = thread->free_tensors;
    thread->free_tensors = t;
}
/* How many records the free list may hold from now on; it is emptied first. */
void sh__records_room(int32_t room);
enum { SH_RECORDS_KEPT = 4096 };

/* An uninitialised tensor of this spec, with one reference that is the caller's; NULL and an error. The first is for
 * built-in ops, of which none has complex results. */
sh_tensor *sh__tensor_alloc(const sh_spec *spec, int device);
sh_tensor *sh__tensor_alloc_any(const sh_spec *spec, int device);
/* A view on t's storage with its dtype; the caller sets sizes, strides, data through sh__tensor_set_layout. */
sh_tensor *sh__tensor_view(const sh_tensor *t);
void sh__tensor_set_layout(sh_tensor *t, int ndim, const int64_t *sizes, const int64_t *strides,
                           int64_t offset);
static inline void sh__tensor_free(sh_tensor *t) {
    sh_storage *storage = t->storage;
    if (SH_UNLIKELY(storage != &t->own)) {
        if (storage) sh__storage_release(storage);
        sh__record_free(t);
    } else {
        sh__storage_release(storage);
    }
}
/* Sizes and dtype from `like`, where it is set. */
void sh__spec_fill(sh_spec *spec);
/* Checks rank and sizes and that the bytes fit in 63 bits. `what` names the op or argument. */
sh_status sh__spec_check(const sh_spec *spec, const char *what);
/* Lowest and highest element offset that a layout reaches; false on overflow. An empty one reaches none. */
bool sh__layout_reach(int ndim, const int64_t *sizes, const int64_t *strides, int64_t *low, int64_t *high);
/* Where the first element is, on whatever device; NULL on meta. Not to be followed. */
static inline char *sh__address(const sh_tensor *t) { return t->data || !t->storage ? t->data : t->address; }
/* Do the bytes that a and b reach overlap other than element on element? */
bool sh__tensor_overlap(const sh_tensor *a, const sh_tensor *b);

/* Do the elements at this index count? The last two entries choose a triangle's. */
static inline bool sh__in_part(const sh_tensor *t, const int64_t *index) {
    const uint32_t part = t->flags & SH_TENSOR_PART;
    if (SH_LIKELY(!part) || t->ndim < 2) return true;
    const int64_t row = index[t->ndim - 2], column = index[t->ndim - 1];
    return row == column ? !(part & SH_TENSOR_UNIT)
                         : !(part & (row > column ? SH_TENSOR_UPPER : SH_TENSOR_LOWER));
}

/* "f32[2, 3]"; meta tensors "f32[2, 3]@meta". */
size_t sh__tensor_print_type(const sh_tensor *t, char *text, size_t size);

/* ---- scopes ---- */
/* Gives the reference of `t` to the innermost scope and returns t; on failure releases t, NULL and an error. */
sh_tensor *sh__own_slow(sh_tensor *t);
static inline sh_tensor *sh__own(sh_tensor *t) {
    sh_thread *thread = &sh__thread;
    if (SH_UNLIKELY(thread->nitems == thread->items_capacity)) return sh__own_slow(t);
    thread->items[thread->nitems++] = (uintptr_t)t;
    return t;
}
sh_list *sh__list_new(size_t n); /* entries NULL; the caller fills them with owned references */
sh_list *sh__own_list(sh_list *list);
void sh__list_release(sh_list *list);
/* Releases the results after `mark`, except those in `kept`, which move down to the mark. */
void sh__scope_release(uint32_t mark, const sh_value *kept, uint32_t nkept);

static inline void sh__release(sh_tensor *t) {
    if (atomic_load_explicit(&t->refs, memory_order_acquire) == 1 ||
        atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1)
        sh__tensor_free(t);
}

/* The list behind a scope item or a value: lists travel as values of tag TENSORS whose array is list->at. */
static inline sh_list *sh__list_of(sh_value v) {
    return (sh_list *)((char *)(uintptr_t)v.as.tensors - offsetof(struct sh_list, at));
}

#endif
