/* override.c - tensors that answer calls themselves (M12).
 *
 * The kinds among the arguments are asked left to right, each distinct kind once, a kind before its
 * base. One that declines returns SH_PASS. */
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"

struct sh_override_kind {
    const sh_override_kind *base;
    sh_override callback;
    void *user;
    char name[64];
};

sh_override_kind *sh_override_kind_new(const char *name, sh_override callback, const sh_override_kind *base,
                                       void *user) {
    if (sh__error_pending()) return NULL;
    if (!name || !callback) {
        sh_fail(SH_ERROR_NULL, "sh_override_kind_new: %s is NULL", name ? "callback" : "name");
        return NULL;
    }
    sh_override_kind *kind = sh__calloc(1, sizeof *kind);
    if (!kind) return NULL;
    snprintf(kind->name, sizeof kind->name, "%s", name);
    kind->base = base;
    kind->callback = callback;
    kind->user = user;
    return kind;
}

void sh_override_kind_free(sh_override_kind *kind) { sh__free(kind); }

const char *sh_override_kind_name(const sh_override_kind *kind) { return kind->name; }

sh_status sh_tensor_set_override(sh_tensor *t, const sh_override_kind *kind) {
    if (!t) return sh_fail(SH_ERROR_NULL, "sh_tensor_set_override: the tensor is NULL");
    t->u.override = kind;
    t->flags = kind ? t->flags | SH_TENSOR_OVERRIDE : t->flags & ~(uint32_t)SH_TENSOR_OVERRIDE;
    return SH_OK;
}

const sh_override_kind *sh_tensor_override(const sh_tensor *t) {
    return t->flags & SH_TENSOR_OVERRIDE ? t->u.override : NULL;
}

enum { MAX_KINDS = 32 };

static bool derives(const sh_override_kind *kind, const sh_override_kind *base) {
    for (kind = kind->base; kind; kind = kind->base)
        if (kind == base) return true;
    return false;
}

/* Keeps left-to-right order, but a kind goes before the first one that it derives from. */
static size_t insert(const sh_override_kind **kinds, size_t n, const sh_override_kind *kind) {
    size_t at = n;
    for (size_t i = 0; i < n; i++) {
        if (kinds[i] == kind) return n;
        if (at == n && derives(kind, kinds[i])) at = i;
    }
    if (n == MAX_KINDS) return n;
    memmove(&kinds[at + 1], &kinds[at], (n - at) * sizeof *kinds);
    kinds[at] = kind;
    return n + 1;
}

static size_t collect(const sh_call *call, const sh_override_kind **kinds) {
    size_t n = 0;
    for (uint32_t i = 0; i < call->nargs; i++) {
        const sh_value v = call->args[i];
        sh_tensor *const *list = v.tag == SH_TAG_TENSOR    ? &v.as.tensor
                                 : v.tag == SH_TAG_TENSORS ? v.as.tensors
                                                           : NULL;
        const size_t count = v.tag == SH_TAG_TENSOR ? 1 : v.tag == SH_TAG_TENSORS ? v.count : 0;
        for (size_t k = 0; k < count; k++)
            if (list[k] && (list[k]->flags & SH_TENSOR_OVERRIDE)) n = insert(kinds, n, list[k]->u.override);
    }
    if (call->target && (call->target->flags & SH_TENSOR_OVERRIDE))
        n = insert(kinds, n, call->target->u.override);
    return n;
}

static sh_status ask(sh_call *call, const sh_override_kind *kind) {
    sh_thread *thread = &sh__thread;
    const uint32_t mark = thread->nitems;
    const sh_state state = thread->state;
    call->frame->mark = mark;
    thread->state.start = SH_POS_DISPATCH;
    thread->state.start_entry = thread->top[SH_POS_DISPATCH];
    thread->state.switches |= SH_OFF_OVERRIDES;
    call->turn = NULL;
    call->in_kernel = 1; /* it answers with sh_call_set_result, as a kernel does */
    memset(call->results, 0, sizeof call->results);
    sh_status status = kind->callback(kind, call, kind->user);
    call->in_kernel = 0;
    if (status >= 0 && sh__error_pending()) status = sh_error()->code;
    if (status >= 0 && thread->state.balance != state.balance)
        status = sh_fail(SH_ERROR_MODE, "override %s left a mode, scope or switch open", kind->name);
    if (status == SH_OK && call->results[0].tag == SH_TAG_NONE)
        status = sh_fail(SH_ERROR_RESULT, "override %s returned SH_OK for %s without a result", kind->name,
                         call->op->name);
    thread->state = state;
    call->has_result = status == SH_OK;
    sh__scope_release(mark, call->results, call->has_result ? call->nresults : 0);
    if (status < 0) sh__error_at(call->op->name, "override", kind->name);
    return status < 0 ? sh__error_ensure(status) : status;
}

sh_status sh__run_override(sh_call *call) {
    const sh_override_kind *kinds[MAX_KINDS];
    const size_t n = collect(call, kinds);
    if (!n) return SH_PASS;
    for (size_t i = 0; i < n; i++) {
        const sh_status status = ask(call, kinds[i]);
        if (status != SH_PASS) return status;
    }
    char names[256] = "";
    for (size_t i = 0, at = 0; i < n && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, i ? ", %s" : "%s", kinds[i]->name);
    return sh_fail(SH_ERROR_DECLINED, "%s: every override declined: %s", call->op->name, names);
}
