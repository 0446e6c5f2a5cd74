/* known.c - facts on storages: one word each, of version, dtype and what is known, so that a reader sees all three or none. */
#include "dispatch/known.h"

#include "dispatch/chain.h"
#include "dispatch/tensor_impl.h"

static uint64_t fact_of(const sh_tensor *t, sh_known what) {
    const uint64_t version = atomic_load_explicit(&t->storage->version, memory_order_relaxed);
    return version << 8 | (uint64_t)t->dtype << 2 | what;
}
_Static_assert(SH_KNOWN_FINITE < 4, "in two bits");
_Static_assert(SH_DTYPE_COUNT <= 64, "in six bits");

static bool may_be_known(const sh_tensor *t) {
    const sh_storage *storage = t->storage;
    return storage && storage->kind != SH_STORAGE_EMBEDDED && storage->kind != SH_STORAGE_FOREIGN &&
           storage->kind != SH_STORAGE_DEVICE &&
           !atomic_load_explicit(&storage->exposed, memory_order_relaxed);
}

sh_known sh__known(const sh_tensor *t) {
    if (!may_be_known(t)) return SH_KNOWN_NOTHING;
    const uint64_t fact = atomic_load_explicit(&t->storage->fact, memory_order_relaxed);
    const sh_known what = (sh_known)(fact & 3);
    return fact == fact_of(t, what) ? what : SH_KNOWN_NOTHING;
}

void sh__know(const sh_tensor *t, sh_known what) {
    if (!may_be_known(t) || !(t->flags & SH_TENSOR_CONTIGUOUS) || t->data != t->storage->data ||
        (size_t)t->numel * t->element != t->storage->size)
        return;
    atomic_store_explicit(&t->storage->fact, fact_of(t, what), memory_order_relaxed);
}

void sh__forget(const sh_tensor *t) {
    if (t->storage) atomic_store_explicit(&t->storage->fact, 0, memory_order_relaxed);
}

/* ---- calls ---- */

static bool is_last(const sh_call *call) {
    const sh_entry *entry = call->at;
    return entry && !entry->below && !(sh__thread.live >> entry->position >> 1) &&
           !(call->frame->changed & SH_FRAME_MOVED);
}

/* Only kernels that came with the library are leaves. */
static bool is_builtin_leaf(const sh_slot *slot) {
    return slot && slot->leaf == SH_LEAF_PLAIN && !slot->ruled && !slot->composite && !slot->hooked;
}

bool sh__runs_builtin_next(sh_call *call) {
    if (!is_last(call) || (call->op->tags & SH_OP_COMPOSITE)) return false;
    if (sh__call_scan(call) < 0 || call->special) return false;
    const uint8_t chosen = sh__thread.state.backend[call->device];
    return is_builtin_leaf(chosen ? atomic_load_explicit(&call->op->slots[chosen - 1u], memory_order_acquire)
                                  : sh__default_slot(call->op, (uint32_t)call->device));
}
