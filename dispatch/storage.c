/* storage.c - tensor records and storages, from per-thread free lists.
 *
 * A storage is a 64-byte header with its data behind it, one block. Small ones come in classes of 64
 * << k bytes, each with a list; larger ones go through the block cache (memory.c). A record or storage
 * freed by another thread than its maker's joins the freeing thread's list: nothing needs a lock.
 * While allocations are counted, and with caching off, the lists stay empty. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/cold.h"

static bool may_cache(const sh_thread *thread, size_t size) {
    sh_thread_cold *cold = thread->cold;
    if (!cold || (thread->gate & SH_GATE_FAULT) || cold->cached + size > cold->cache_limit) return false;
    cold->cached += size;
    return true;
}

sh_tensor *sh__record_alloc(void) {
    sh_thread *thread = &sh__thread;
    sh_tensor *t = thread->free_tensors;
    if (SH_LIKELY(t != NULL)) {
        thread->free_tensors = t->u.next;
        thread->cold->cached -= sizeof *t;
    } else if (!(t = sh__alloc(sizeof *t))) {
        return NULL;
    }
    sh__count(&thread->live_tensors, 1);
    atomic_store_explicit(&t->refs, 1, memory_order_relaxed);
    t->flags = 0;
    t->u.override = NULL;
    return t;
}

void sh__record_free(sh_tensor *t) {
    sh_thread *thread = &sh__thread;
    sh__count(&thread->live_tensors, -1);
    if (!may_cache(thread, sizeof *t)) {
        sh__free(t);
        return;
    }
    t->u.next = thread->free_tensors;
    thread->free_tensors = t;
}

static size_t class_bytes(uint32_t size_class) { return SH_STORAGE_HEADER + ((size_t)64 << size_class); }

static uint32_t class_of(size_t size) {
    return size <= 64 ? 0 : (uint32_t)(64 - __builtin_clzll((unsigned long long)(size - 1) >> 6));
}

static sh_storage *small_alloc(sh_thread *thread, uint32_t size_class) {
    sh_storage *storage = thread->free_storages[size_class];
    if (SH_LIKELY(storage != NULL)) {
        thread->free_storages[size_class] = storage->u.next;
        thread->cold->cached -= class_bytes(size_class);
        return storage;
    }
    size_t capacity;
    storage = sh__block_alloc(class_bytes(size_class), &capacity);
    if (!storage) return NULL;
    storage->size_class = (uint8_t)size_class;
    storage->capacity = capacity;
    storage->data = (char *)storage + SH_STORAGE_HEADER;
    return storage;
}

static sh_storage *large_alloc(size_t size) {
    size_t capacity;
    sh_storage *storage = sh__block_alloc(size + SH_STORAGE_HEADER, &capacity);
    if (!storage) return NULL;
    storage->size_class = SH_STORAGE_LARGE;
    storage->capacity = capacity;
    storage->data = (char *)storage + SH_STORAGE_HEADER;
    return storage;
}

sh_storage *sh__storage_alloc(size_t size) {
    sh_thread *thread = &sh__thread;
    const uint32_t size_class = class_of(size);
    sh_storage *storage = size_class < SH_SMALL_CLASSES ? small_alloc(thread, size_class) : large_alloc(size);
    if (!storage) return NULL;
    sh__count(&thread->live_bytes, (int64_t)size);
    atomic_store_explicit(&storage->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&storage->version, 0, memory_order_relaxed);
    storage->device = SH_HOST;
    storage->size = size;
    return storage;
}

static void storage_free(sh_storage *storage) {
    sh_thread *thread = &sh__thread;
    if (storage->size_class == SH_STORAGE_FOREIGN) {
        if (storage->u.deleter) storage->u.deleter(storage->context);
        sh__free(storage);
        return;
    }
    sh__count(&thread->live_bytes, -(int64_t)storage->size);
    if (storage->size_class == SH_STORAGE_LARGE || !may_cache(thread, class_bytes(storage->size_class))) {
        sh__block_free(storage, storage->capacity);
        return;
    }
    storage->u.next = thread->free_storages[storage->size_class];
    thread->free_storages[storage->size_class] = storage;
}

void sh__storage_release(sh_storage *storage) {
    if (atomic_load_explicit(&storage->refs, memory_order_acquire) == 1 ||
        atomic_fetch_sub_explicit(&storage->refs, 1, memory_order_acq_rel) == 1)
        storage_free(storage);
}

void sh__records_trim(void) {
    sh_thread *thread = &sh__thread;
    for (sh_tensor *t; (t = thread->free_tensors);) {
        thread->free_tensors = t->u.next;
        thread->cold->cached -= sizeof *t;
        sh__free(t);
    }
    for (uint32_t c = 0; c < SH_SMALL_CLASSES; c++)
        for (sh_storage *storage; (storage = thread->free_storages[c]);) {
            thread->free_storages[c] = storage->u.next;
            thread->cold->cached -= class_bytes(c);
            free(storage);
        }
}
