/* storage.c - tensor records and storages, from per-thread free lists.
 *
 * A storage of its own is a 64-byte header with its data behind it, one block. Small ones come in classes
 * of 64 << k bytes, each with a list; larger ones go through the block cache (memory.c). A record or storage
 * freed by another thread than its maker's joins the freeing thread's list: nothing needs a lock. While
 * allocations are counted, and with caching off, the lists stay empty. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/cold.h"
#include "dispatch/device_impl.h"

/* ---- records ---- */

/* A thread's first tensor, or first release, comes this way: it is attached then, so that its counts are not lost. */
sh_tensor *sh__record_alloc_slow(void) {
    size_t capacity;
    if (!sh__cold()) return NULL;
    sh_tensor *t = sh__block_alloc(sizeof *t, &capacity);
    if (!t) return NULL;
    sh__count(&sh__thread.live_tensors, 1);
    t->own.kind = SH_STORAGE_EMBEDDED;
    atomic_init(&t->own.exposed, false);
    atomic_init(&t->own.fact, 0);
    t->own.device = SH_HOST;
    t->own.data = t->bytes;
    t->own.capacity = capacity;
    atomic_init(&t->refs, 1);
    t->flags = 0;
    t->u.override = NULL;
    return t;
}

void sh__record_free_slow(sh_tensor *t) {
    sh__cold();
    sh__count(&sh__thread.live_tensors, -1);
    free(t);
}

void sh__records_room(int32_t room) {
    sh_thread *thread = &sh__thread;
    for (sh_tensor *t; (t = thread->free_tensors);) {
        thread->free_tensors = t->u.next;
        free(t);
    }
    thread->free_room = room;
}

/* ---- storages ---- */

static bool may_cache(const sh_thread *thread, size_t size) {
    sh_thread_cold *cold = thread->cold;
    if (!cold || (thread->gate & SH_GATE_FAULT) || cold->cached + size > cold->cache_limit) return false;
    cold->cached += size;
    return true;
}

static size_t class_bytes(uint32_t kind) { return sizeof(sh_storage) + ((size_t)64 << kind); }

static uint32_t class_of(size_t size) {
    return size <= 64 ? 0 : (uint32_t)(64 - __builtin_clzll((unsigned long long)(size - 1) >> 6));
}

static sh_storage *block_storage(size_t size, uint8_t kind) {
    size_t capacity;
    sh_storage *storage = sh__block_alloc(size, &capacity);
    if (!storage) return NULL;
    storage->kind = kind;
    storage->capacity = capacity;
    storage->data = (char *)storage + sizeof *storage;
    return storage;
}

static sh_storage *small_storage(sh_thread *thread, uint32_t kind) {
    sh_storage *storage = thread->free_storages[kind];
    if (!storage) return block_storage(class_bytes(kind), (uint8_t)kind);
    thread->free_storages[kind] = storage->u.next;
    thread->cold->cached -= class_bytes(kind);
    return storage;
}

sh_storage *sh__storage_alloc(size_t size) {
    sh_thread *thread = &sh__thread;
    const uint32_t kind = class_of(size);
    sh_storage *storage = kind < SH_SMALL_CLASSES ? small_storage(thread, kind)
                                                  : block_storage(size + sizeof *storage, SH_STORAGE_LARGE);
    if (!storage) return NULL;
    sh__count(&thread->live_bytes, (int64_t)size);
    atomic_store_explicit(&storage->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&storage->version, 0, memory_order_relaxed);
    atomic_store_explicit(&storage->fact, 0, memory_order_relaxed);
    atomic_store_explicit(&storage->exposed, false, memory_order_relaxed);
    storage->device = SH_HOST;
    storage->size = size;
    return storage;
}

void sh__storage_free(sh_storage *storage) {
    sh_thread *thread = &sh__thread;
    if (SH_LIKELY(storage->kind == SH_STORAGE_EMBEDDED)) {
        sh__record_free((sh_tensor *)((char *)storage - offsetof(struct sh_tensor, own)));
        return;
    }
    if (storage->kind == SH_STORAGE_FOREIGN) {
        if (storage->u.deleter) storage->u.deleter(storage->context);
        sh__free(storage);
        return;
    }
    if (storage->kind == SH_STORAGE_DEVICE) {
        sh__device_storage_free(storage);
        return;
    }
    sh__count(&thread->live_bytes, -(int64_t)storage->size);
    if (storage->kind == SH_STORAGE_LARGE || !may_cache(thread, class_bytes(storage->kind))) {
        sh__block_free(storage, storage->capacity);
        return;
    }
    storage->u.next = thread->free_storages[storage->kind];
    thread->free_storages[storage->kind] = storage;
}

void sh__storages_trim(void) {
    sh_thread *thread = &sh__thread;
    for (uint32_t c = 0; c < SH_SMALL_CLASSES; c++)
        for (sh_storage *storage; (storage = thread->free_storages[c]);) {
            thread->free_storages[c] = storage->u.next;
            thread->cold->cached -= class_bytes(c);
            free(storage);
        }
}
