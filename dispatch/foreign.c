#include "dispatch/foreign.h"

#include "dispatch/chain.h"

/* A longjmp may have left chains behind, which hide nothing any more. */
static bool is_hidden(sh_thread *thread) {
    if (SH_LIKELY(!thread->depth)) return false;
    sh__recover_here(thread);
    return thread->depth && thread->shown != thread->depth;
}

static bool is_wanted(const sh_thread *thread, const sh_op *op) {
    const uint64_t wants =
        thread->wants[op->word] | atomic_load_explicit(&sh__global_wants[op->word], memory_order_relaxed);
    return wants >> op->bit % 64 & 1;
}

bool sh_op_undisturbed(const sh_op *op, sh_boxed kernel) {
    sh_thread *thread = &sh__thread;
    if (is_hidden(thread) || sh__error_pending()) return true;
    if (SH_UNLIKELY(is_wanted(thread, op) || thread->depth)) return false;
    if (SH_UNLIKELY(thread->gate & SH_GATE_BACKEND)) return false;
    const sh_slot *slot = sh__default_slot(op, SH_HOST);
    return slot && slot->boxed == kernel;
}

sh_status sh_op_call(const sh_op *op, sh_value *args, sh_tensor *out, sh_value *results, const void *site) {
    const void *frame[2] = {NULL, site};
    return sh__call_results(op, out ? SH_OUT : SH_FUNCTIONAL, out, args, results, -1, frame);
}

void sh_inside_show(sh_inside *inside) {
    sh_thread *thread = &sh__thread;
    *inside = (sh_inside){thread->state.start_entry, thread->state.start, thread->shown};
    thread->state.start = 0;
    thread->state.start_entry = thread->top[0];
    thread->shown = thread->depth;
}

void sh_inside_end(const sh_inside *inside) {
    sh_thread *thread = &sh__thread;
    thread->state.start = inside->start;
    thread->state.start_entry = inside->start_entry;
    thread->shown = inside->shown;
}
