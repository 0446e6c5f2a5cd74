/* guard.c - a kernel under its policy.
 *
 * `verify`: the reference runs first, on copies of what the call writes; then the kernel; then they are compared. `ref` is
 * the reference, where it has none or is the kernel's own column the kernel's predecessor. A kernel that differs, or fails
 * where the reference did not, is taken out for good. `fallback`: a kernel that fails hands on. In both cases what it wrote
 * is undone before the next one runs. Random ops and calls that the reference can't do are not judged. */
#include <stdio.h>
#include <string.h>

#include "dispatch/candidates.h"
#include "dispatch/registry.h"

typedef struct guard {
    const sh_registration *r;
    sh_shadow reference; /* holds what the call is to write */
    sh_shadow before;    /* holds what stood there */
    bool judges, undoes;
} guard;

/* ---- the reference ---- */

/* A place whose next candidate is no less than ref's kernel, and not the guarded one. False: there is none. */
static bool find_reference(const sh_call *call, const sh_registration *r, const sh_place *after,
                           bool predecessor, sh_place *found) {
    sh_place p = predecessor || call->device != SH_HOST || r->column == SH_BACKEND_REF
                     ? *after
                     : sh__place_begin(call->op, SH_BACKEND_REF);
    for (;;) {
        *found = p;
        const sh_slot *slot = sh__candidate_next(&p, call, false);
        if (!slot) return false;
        if (slot != &r->slot) return true;
    }
}

/* The kernel itself, further down, is no witness: its own condition may hold there too. */
static sh_status run_reference(guard *g, const sh_call *call, const sh_place *after, bool predecessor) {
    sh_place place;
    if (!find_reference(call, g->r, after, predecessor, &place))
        return sh_fail(SH_ERROR_KERNEL, "no other kernel takes this call");
    sh_status status = sh__shadow_begin(&g->reference, call);
    if (status >= 0) status = sh__shadow_run(&g->reference, place);
    if (status < 0) sh__shadow_free(&g->reference);
    return status;
}

static void tell_unverified(const sh_registration *r, const sh_call *call) {
    if (!atomic_exchange(&r->hook->told, true))
        sh_warn("verify: kernel %s (%s) of %s runs unverified: %s", r->slot.registrant, r->slot.backend,
                call->op->name, sh_error()->message);
}

/* SH_OK with `judges` unset where the reference can't tell; an error when memory is out. */
static sh_status begin_judging(guard *g, const sh_call *call, const sh_place *after) {
    sh_hook *hook = g->r->hook;
    if (!hook->policy.verify || call->device == SH_META || (call->op->tags & SH_OP_RANDOM)) return SH_OK;
    const int64_t number = atomic_fetch_add_explicit(&hook->verified, 1, memory_order_relaxed) + 1;
    if (!sh_sampling_takes(&hook->policy.sampling, number)) return SH_OK;
    for (int predecessor = 0; predecessor < 2; predecessor++) {
        const sh_status status = run_reference(g, call, after, predecessor);
        g->judges = status >= 0;
        if (g->judges) return SH_OK;
        if (status == SH_ERROR_MEMORY) return status;
        if (predecessor) tell_unverified(g->r, call);
        sh_clear_error();
    }
    return SH_OK;
}

static sh_status begin_undo(guard *g, const sh_call *call) {
    if (!g->judges && !g->r->hook->policy.fallback) return SH_OK;
    const sh_status status = sh__shadow_begin(&g->before, call);
    g->undoes = status >= 0;
    if (g->undoes || status == SH_ERROR_MEMORY) return status;
    sh__shadow_free(&g->before); /* a device's memory: it stays as the kernel left it */
    sh_clear_error();
    return SH_OK;
}

/* ---- the verdict ---- */

static void report(const guard *g, const sh_call *call, const sh_difference *d) {
    const sh_slot *slot = &g->r->slot;
    sh_finding f;
    char kernel[160], text[96] = "";
    if (!sh__kernel_take_out(g->r)) return;
    snprintf(kernel, sizeof kernel, "kernel %s (%s)", slot->registrant, slot->backend);
    sh__difference_tell(d, call, "verify", kernel, "the reference", &f);
    sh_finding_keep(&f);
    if (d->total)
        snprintf(text, sizeof text, "; %lld of %lld elements", (long long)d->bad, (long long)d->total);
    sh_warn("verify: %s: %s: %s: %s%s%s%s; it is taken out", f.call, kernel, f.index, f.inputs,
            *f.why ? "; " : "", f.why, text);
}

static void report_failure(const guard *g, const sh_call *call, const char *message) {
    sh_difference d = {.differs = true};
    snprintf(d.what, sizeof d.what, "it failed");
    snprintf(d.got, sizeof d.got, "%.63s", message);
    snprintf(d.expected, sizeof d.expected, "a result");
    report(g, call, &d);
}

/* SH_PASS: on to the next kernel. */
static sh_status judge(guard *g, sh_call *call, sh_status status, sh_tried *tried) {
    const sh_policy *policy = &g->r->hook->policy;
    if (status == SH_OK && g->judges) {
        sh_difference d;
        sh__shadow_compare(&g->reference, call, &policy->tolerance, &d);
        if (!d.differs) return SH_OK;
        report(g, call, &d);
        sh__tried_add(tried, &g->r->slot, "found wrong by verify");
        return SH_PASS;
    }
    if (status == SH_PASS) sh__tried_add(tried, &g->r->slot, "declined");
    if (status >= 0 || !(g->judges || policy->fallback)) return status;
    snprintf(tried->failure, sizeof tried->failure, "%s", sh_error()->message);
    sh_clear_error();
    if (g->judges) report_failure(g, call, tried->failure);
    sh__tried_add(tried, &g->r->slot, g->judges ? "failed under verify" : "failed");
    return SH_PASS;
}

static sh_status run_policy(guard *g, sh_call *call, const sh_place *after, sh_sight sight, sh_tried *tried) {
    sh_status status = begin_judging(g, call, after);
    if (status >= 0) status = begin_undo(g, call);
    if (status < 0) return status;
    sh__fills_results = g->judges;
    status = sh__run_turn(call, &g->r->slot, after, sight);
    sh__fills_results = false;
    status = judge(g, call, status, tried);
    if (status == SH_PASS && g->undoes) sh__shadow_restore(&g->before);
    return status;
}

sh_status sh__run_guarded(sh_call *call, const sh_slot *slot, const sh_place *after, sh_sight sight,
                          sh_tried *tried) {
    const sh_registration *r = sh__registration_of(slot);
    if (!r || !r->hook || !(r->hook->policy.verify || r->hook->policy.fallback)) {
        const sh_status status = sh__run_turn(call, slot, after, sight);
        if (status == SH_PASS) sh__tried_add(tried, slot, "declined");
        return status;
    }
    const uint32_t mark = sh__thread.nitems;
    guard g;
    g.r = r;
    g.judges = g.undoes = false;
    g.reference.nwritten = g.before.nwritten = 0;
    memset(g.reference.lists, 0, sizeof g.reference.lists);
    memset(g.before.lists, 0, sizeof g.before.lists);
    const sh_status status = run_policy(&g, call, after, sight, tried);
    sh__shadow_free(&g.reference);
    sh__shadow_free(&g.before);
    sh__scope_release(mark, call->results, status == SH_OK ? call->nresults : 0);
    return status;
}
