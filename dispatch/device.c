/* device.c - devices by number: who they are, their memory, copies to and from it.
 *
 * A number is given again only to a device of the same name, and only when no storage of the old one is left; so what a
 * storage's number leads to is always who allocated it. Copies move bytes as they lie: a strided tensor goes with all
 * that lies between its elements, and is written by reading that, changing it and writing it back. */
#include "dispatch/device.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/device_impl.h"
#include "dispatch/journal.h"
#include "dispatch/no_data.h"
#include "dispatch/registry.h"

typedef struct device {
    char name[32];
    sh_device_vtable vtable;
    atomic_bool alive;
    atomic_int_fast64_t live_bytes, peak_bytes, live_storages, allocations, to_host, to_device;
} device;

static device devices[SH_MAX_DEVICES] = {
    [SH_HOST] = {.name = "host", .alive = true}, [SH_META] = {.name = "meta", .alive = true}};
static _Atomic uint32_t device_count = SH_META + 1;

uint32_t sh_device_count(void) { return atomic_load_explicit(&device_count, memory_order_acquire); }

static device *device_at(int i) { return i >= 0 && (uint32_t)i < sh_device_count() ? &devices[i] : NULL; }

static bool is_alive(int i) {
    const device *d = device_at(i);
    return d && atomic_load_explicit(&d->alive, memory_order_acquire);
}

bool sh_device_is_alive(sh_device i) { return is_alive((int)i); }

const char *sh_device_name(sh_device i) {
    const device *d = device_at((int)i);
    return d ? d->name : "no device";
}
const char *sh__device_name(int i) { return sh_device_name((sh_device)i); }

sh_device sh_device_find(const char *name) {
    if (name && strcmp(name, "cpu") == 0) return SH_HOST;
    for (uint32_t i = 0; name && i < sh_device_count(); i++)
        if (is_alive((int)i) && strcmp(devices[i].name, name) == 0) return (sh_device)i;
    return SH_NO_DEVICE;
}

sh_status sh__device_check(int i, const char *what) {
    if (is_alive(i)) return SH_OK;
    if (!device_at(i)) return sh_fail(SH_ERROR_DEVICE, "%s: device %d is not known", what, i);
    return sh_fail(SH_ERROR_DEVICE, "%s: device %s was removed", what, sh__device_name(i));
}

/* ---- adding and removing ---- */

static sh_status check_vtable(const char *name, const sh_device_vtable *v) {
    if (!name || !*name || !v)
        return sh_fail(SH_ERROR_NULL, "sh_device_register: the %s is missing", v ? "name" : "vtable");
    if (v->size < sizeof *v)
        return sh_fail(SH_ERROR_VALUE,
                       "sh_device_register: the vtable of %s is %zu bytes, expected %zu (begin it with "
                       "SH_DEVICE_VTABLE_INIT)",
                       name, v->size, sizeof *v);
    const char *missing = !v->allocate ? "allocate" : !v->free ? "free" : !v->copy ? "copy" : NULL;
    if (missing) return sh_fail(SH_ERROR_NULL, "sh_device_register: device %s has no %s", name, missing);
    if (strlen(name) >= sizeof devices->name || strpbrk(name, " \t\n:,;@[]\"'"))
        return sh_fail(SH_ERROR_VALUE, "sh_device_register: '%s' can't be a device's name", name);
    return SH_OK;
}

/* The number of an earlier device of this name that left nothing, or a new one; -1 if there are too many. */
static int free_place(const char *name) {
    const uint32_t n = sh_device_count();
    for (uint32_t i = SH_META + 1; i < n; i++)
        if (!is_alive((int)i) && strcmp(devices[i].name, name) == 0 &&
            atomic_load(&devices[i].live_storages) == 0)
            return (int)i;
    return n < SH_MAX_DEVICES ? (int)n : -1;
}

static sh_status register_locked(const char *name, const sh_device_vtable *vtable, int *place) {
    if (sh_device_find(name) != SH_NO_DEVICE)
        return sh_fail(SH_ERROR_VALUE, "sh_device_register: there is a device %s already", name);
    const int i = free_place(name);
    if (i < 0)
        return sh_fail(SH_ERROR_VALUE, "sh_device_register: %s is one too many: the most is %d", name,
                       SH_MAX_DEVICES);
    int backend;
    SH_TRY(sh__backend_add(name, i, &backend));
    snprintf(devices[i].name, sizeof devices[i].name, "%s", name);
    devices[i].vtable = *vtable;
    atomic_store(&devices[i].peak_bytes, 0);
    atomic_store(&devices[i].allocations, 0);
    atomic_store(&devices[i].to_host, 0);
    atomic_store(&devices[i].to_device, 0);
    atomic_store(&sh__default_backend[i], (uint8_t)backend);
    atomic_store_explicit(&devices[i].alive, true, memory_order_release);
    if ((uint32_t)i == sh_device_count())
        atomic_store_explicit(&device_count, (uint32_t)i + 1, memory_order_release);
    sh__slots_publish_all();
    *place = i;
    return SH_OK;
}

static void undo_register(uint64_t i) { sh_device_remove((sh_device)i); }

sh_status sh_device_register(const char *name, const sh_device_vtable *vtable, sh_device *out) {
    int place = -1;
    if (sh__error_pending()) return sh_error()->code;
    SH_TRY(check_vtable(name, vtable));
    SH_TRY(sh__journal_reserve());
    sh__table_lock();
    const sh_status status = register_locked(name, vtable, &place);
    sh__table_unlock();
    SH_TRY(status);
    sh__journal_note(undo_register, (uint64_t)place);
    if (out) *out = (sh_device)place;
    return SH_OK;
}

sh_status sh_device_remove(sh_device i) {
    if ((int)i == SH_HOST || i == SH_META)
        return sh_fail(SH_ERROR_DEVICE, "sh_device_remove: %s is built in", sh_device_name(i));
    sh__table_lock();
    sh_status status = sh__device_check((int)i, "sh_device_remove");
    if (status >= 0) {
        atomic_store_explicit(&devices[i].alive, false, memory_order_release);
        sh__backends_end((int)i);
    }
    sh__table_unlock();
    return status;
}

/* ---- memory ---- */

sh_device_stats sh_device_stats_get(sh_device i) {
    const device *d = device_at((int)i);
    if (!d) return (sh_device_stats){0};
    return (sh_device_stats){.live_bytes = atomic_load(&d->live_bytes),
                             .peak_bytes = atomic_load(&d->peak_bytes),
                             .live_storages = atomic_load(&d->live_storages),
                             .allocations = atomic_load(&d->allocations),
                             .bytes_to_host = atomic_load(&d->to_host),
                             .bytes_to_device = atomic_load(&d->to_device)};
}

sh_status sh_device_synchronise(sh_device i) {
    if (sh__error_pending()) return sh_error()->code;
    SH_TRY(sh__device_check((int)i, "sh_device_synchronise"));
    const sh_device_vtable *v = &devices[i].vtable;
    if (!v->synchronise) return SH_OK;
    const sh_status status = v->synchronise(v->user);
    return status >= 0 ? SH_OK : sh_fail(SH_ERROR_DEVICE, "device %s: can't wait for it", sh_device_name(i));
}

static void count_bytes(device *d, int64_t bytes) {
    const int64_t live = atomic_fetch_add(&d->live_bytes, bytes) + bytes;
    int_fast64_t peak = atomic_load(&d->peak_bytes);
    while (live > peak && !atomic_compare_exchange_weak(&d->peak_bytes, &peak, live)) continue;
}

static void *allocate(device *d, size_t bytes) {
    void *memory = bytes ? d->vtable.allocate(d->vtable.user, bytes) : NULL;
    if (memory || !bytes) return memory;
    const long long live = (long long)atomic_load(&d->live_bytes);
    if (!sh__error_pending())
        sh_fail(SH_ERROR_MEMORY, "device %s has no memory for %zu bytes; tensors hold %lld bytes there",
                d->name, bytes, live);
    return NULL;
}

/* Counted before the device is asked, so that its number can't be given away meanwhile. */
sh_storage *sh__device_storage(int i, size_t bytes) {
    device *d = &devices[i];
    size_t capacity;
    sh_storage *storage = sh__block_alloc(sizeof *storage, &capacity);
    if (!storage) return NULL;
    memset(storage, 0, sizeof *storage);
    atomic_fetch_add(&d->live_storages, 1);
    if (sh__device_check(i, "a new tensor") >= 0) storage->data = allocate(d, bytes);
    if (sh__error_pending()) {
        if (storage->data) d->vtable.free(d->vtable.user, storage->data, bytes);
        atomic_fetch_sub(&d->live_storages, 1);
        sh__block_free(storage, capacity);
        return NULL;
    }
    atomic_init(&storage->refs, 1);
    storage->kind = SH_STORAGE_DEVICE;
    storage->device = (uint8_t)i;
    storage->size = bytes;
    storage->capacity = capacity;
    count_bytes(d, (int64_t)bytes);
    atomic_fetch_add(&d->allocations, 1);
    return storage;
}

void sh__device_storage_free(sh_storage *storage) {
    device *d = &devices[storage->device];
    if (storage->data) d->vtable.free(d->vtable.user, storage->data, storage->size);
    count_bytes(d, -(int64_t)storage->size);
    atomic_fetch_sub(&d->live_storages, 1);
    sh__block_free(storage, storage->capacity);
}

/* ---- copying ---- */

static sh_status copy_bytes(int i, void *to, const void *from, size_t bytes, sh_copy_kind kind) {
    static const char *const kinds[] = {"to it", "to the host", "on it"};
    device *d = &devices[i];
    if (!bytes) return SH_OK;
    const sh_status status = d->vtable.copy(d->vtable.user, to, from, bytes, kind);
    if (status < 0 && !sh__error_pending())
        return sh_fail(SH_ERROR_DEVICE, "device %s: copying %zu bytes %s failed", d->name, bytes,
                       kinds[kind]);
    SH_TRY(status);
    if (kind == SH_COPY_TO_HOST) atomic_fetch_add(&d->to_host, (int_fast64_t)bytes);
    if (kind == SH_COPY_TO_DEVICE) atomic_fetch_add(&d->to_device, (int_fast64_t)bytes);
    return SH_OK;
}

/* All bytes from a tensor's first to its last, on the device and in a host tensor that has them. */
typedef struct stretch {
    char *from;
    sh_tensor *bytes; /* scope-owned */
    int64_t first;    /* the tensor's first element in `bytes`, counted in elements */
} stretch;

static sh_status stretch_of(const sh_tensor *t, stretch *s) {
    int64_t low, high;
    sh__layout_reach(t->ndim, t->sizes, t->strides, &low, &high);
    const int64_t n = t->numel ? (high - low + 1) * (int64_t)t->element : 0;
    s->from = t->address + low * (int64_t)t->element;
    s->first = -low;
    s->bytes = sh_tensor_new(SH_U8, (sh_ints){&n, 1});
    return s->bytes ? SH_OK : sh_error()->code;
}

static sh_status read_stretch(const sh_tensor *t, const stretch *s) {
    return copy_bytes(t->device, s->bytes->data, s->from, (size_t)s->bytes->numel, SH_COPY_TO_HOST);
}

/* The bytes of a stretch as a tensor like t, scope-owned. */
static sh_tensor *shaped_like(const sh_tensor *t, const stretch *s) {
    sh_tensor *view = sh__tensor_view(s->bytes);
    if (!view) return NULL;
    view->flags |= t->flags & (uint32_t)(SH_TENSOR_COMPLEX | SH_TENSOR_PART);
    view->dtype = t->dtype;
    view->element = t->element;
    sh__tensor_set_layout(view, t->ndim, t->sizes, t->strides, t->numel ? s->first : 0);
    return sh__own(view);
}

const sh_tensor *sh__on_host(const sh_tensor *t, const char *what) {
    stretch s;
    if (!t || t->device == SH_HOST) return t;
    if (t->device == SH_META) {
        sh__no_data(t, what);
        return NULL;
    }
    if (sh__error_pending() || stretch_of(t, &s) < 0 || read_stretch(t, &s) < 0) return NULL;
    return shaped_like(t, &s);
}

static bool same_layout(const sh_tensor *a, const sh_tensor *b) {
    return a->dtype == b->dtype && a->ndim == b->ndim && (a->flags & b->flags & SH_TENSOR_CONTIGUOUS) &&
           memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof *a->sizes) == 0;
}

/* From the host, in whatever form. */
static sh_status store(const sh_tensor *to, const sh_tensor *from) {
    stretch s;
    const size_t bytes = (size_t)to->numel * to->element;
    if (same_layout(to, from))
        return copy_bytes(to->device, to->address, from->data, bytes, SH_COPY_TO_DEVICE);
    SH_TRY(stretch_of(to, &s));
    const bool gaps = (size_t)s.bytes->numel != bytes || (to->flags & SH_TENSOR_PART);
    if (gaps) SH_TRY(read_stretch(to, &s));
    sh_tensor *image = shaped_like(to, &s);
    if (!image) return sh_error()->code;
    SH_TRY(sh__host_copy(image, from));
    return copy_bytes(to->device, s.from, s.bytes->data, (size_t)s.bytes->numel, SH_COPY_TO_DEVICE);
}

sh_status sh__device_copy(sh_tensor *to, const sh_tensor *from) {
    if (sh__error_pending()) return sh_error()->code;
    if (to->device == SH_META) return SH_OK;
    if (sh__is_remote(to) && to->device == from->device && same_layout(to, from))
        return copy_bytes(to->device, to->address, from->address, (size_t)to->numel * to->element,
                          SH_COPY_ON_DEVICE);
    sh_status status = SH_OK;
    SH_SCOPE {
        const sh_tensor *near = sh__on_host(from, "copy");
        if (!near)
            status = sh__error_ensure(SH_ERROR_DEVICE);
        else
            status = sh__is_remote(to) ? store(to, near) : sh__host_copy(to, near);
    }
    return status;
}
