/* candidates.c - walking the registrations of an op in order. Lists only grow and their links never change, so a walk
 * needs no lock; what is removed while it goes on is passed over. */
#include "dispatch/candidates.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/registry.h"

enum { STAGE_COLUMN, STAGE_INFER, STAGE_COMPOSITE, STAGE_FALLBACK, STAGE_END };

static const sh_slot infer_slot = {
    .form = SH_FORM_INFER_ONLY, .leaf = 1, .registrant = "built-in", .backend = "meta"};

static const sh_registration *column(const sh_op *op, uint32_t i) {
    return atomic_load_explicit(&op->columns[i], memory_order_acquire);
}

sh_place sh__place_begin(const sh_op *op, uint32_t backend) {
    return (sh_place){op, column(op, backend), backend, STAGE_COLUMN};
}

/* The next of the same list that is alive. */
static const sh_registration *next_live(sh_place *p) {
    while (p->next) {
        const sh_registration *r = p->next;
        p->next = r->older;
        if (atomic_load_explicit(&r->state, memory_order_acquire) != SH_KERNEL_REMOVED) return r;
    }
    return NULL;
}

const sh_slot *sh__place_step(sh_place *p) {
    for (;;) {
        const sh_registration *r = next_live(p);
        if (r) return &r->slot;
        if (p->stage == STAGE_END) return NULL;
        const bool infers = p->stage == STAGE_COLUMN && sh_backend_device(p->backend) == SH_META;
        p->stage++;
        if (infers && sh__op_infers(p->op)) return &infer_slot;
        if (p->stage == STAGE_COMPOSITE) p->next = column(p->op, SH_COLUMN_COMPOSITE);
        if (p->stage == STAGE_FALLBACK) p->next = sh__fallback_of(p->backend);
    }
}

void sh__place_composites(sh_place *p) {
    p->next = column(p->op, SH_COLUMN_COMPOSITE);
    p->stage = STAGE_COMPOSITE;
}

/* Where a fallthrough leads. */
static void pass_on(sh_place *p) {
    const int next = sh__backend_next(p->backend);
    if (next >= 0)
        *p = sh__place_begin(p->op, (uint32_t)next);
    else
        *p = (sh_place){p->op, NULL, p->backend, STAGE_END};
}

const sh_slot *sh__place_next(sh_place *p) {
    for (;;) {
        const sh_slot *slot = sh__place_step(p);
        const sh_registration *r = slot ? sh__registration_of(slot) : NULL;
        if (!r) return slot;
        if (r->fallthrough)
            pass_on(p);
        else if (atomic_load_explicit(&r->state, memory_order_acquire) == SH_KERNEL_LIVE)
            return slot;
    }
}

/* One that was removed in the meantime is in no walk, but its place in its own list is known. */
sh_place sh__place_after(const sh_op *op, uint32_t backend, const sh_slot *slot) {
    const sh_registration *r = sh__registration_of(slot);
    sh_place p = sh__place_begin(op, backend);
    for (const sh_slot *at; (at = sh__place_next(&p));)
        if (at == slot) return p;
    p.next = r ? r->older : NULL;
    p.stage = !r                                 ? STAGE_INFER
              : !r->op                           ? STAGE_FALLBACK
              : r->column == SH_COLUMN_COMPOSITE ? STAGE_COMPOSITE
                                                 : STAGE_COLUMN;
    p.backend = r && r->column != SH_COLUMN_COMPOSITE ? r->column : backend;
    return p;
}

const sh_slot *sh__slot_resolve(const sh_op *op, uint32_t backend) {
    sh_place p = sh__place_begin(op, backend);
    return sh__place_next(&p);
}

/* ---- conditions ---- */

bool sh__slot_is_special(const sh_slot *slot) {
    const sh_registration *r = sh__registration_of(slot);
    return r && r->hook;
}

static bool number_fits(sh_hook *hook, bool counts) {
    if (!sh_selection_counts(&hook->where)) return true;
    const int64_t before = counts ? atomic_fetch_add_explicit(&hook->calls, 1, memory_order_relaxed)
                                  : atomic_load_explicit(&hook->calls, memory_order_relaxed);
    return sh_selection_has_number(&hook->where, before + 1);
}

static bool holds(const sh_registration *r, const sh_call *call, bool counts) {
    sh_hook *hook = r->hook;
    if (!hook || !hook->conditional) return true;
    return sh_selection_holds(&hook->where, call, NULL, 0) && number_fits(hook, counts);
}

const sh_slot *sh__candidate_next(sh_place *p, const sh_call *call, bool counts) {
    for (;;) {
        const sh_slot *slot = sh__place_next(p);
        const sh_registration *r = slot ? sh__registration_of(slot) : NULL;
        if (!r || holds(r, call, counts)) return slot;
    }
}

bool sh__candidate_refused(const sh_slot *slot, const sh_call *call, char *why, size_t size) {
    const sh_registration *r = sh__registration_of(slot);
    if (!r) return false;
    snprintf(why, size, r->fallthrough ? "fallthrough" : "taken out by verify");
    if (r->fallthrough || atomic_load(&r->state) == SH_KERNEL_OUT) return true;
    if (!r->hook || !r->hook->conditional) return false;
    if (!sh_selection_holds(&r->hook->where, call, why, size)) return true;
    const int64_t number = atomic_load(&r->hook->calls); /* this call is counted */
    snprintf(why, size, "call %lld is not in %lld..%lld", (long long)number,
             (long long)r->hook->where.first_call, (long long)r->hook->where.last_call);
    return !sh_selection_has_number(&r->hook->where, number);
}

uint32_t sh__backend_of(const sh_call *call, bool counts) {
    const int ruled = sh__rules_choose(call, call->device, counts);
    return ruled >= 0 ? (uint32_t)ruled : sh__backend_here((uint32_t)call->device);
}

void sh__call_kernel_print(sh_call *call, char *text, size_t size) {
    *text = 0;
    if (!call->scanned && sh__call_scan(call) < 0) {
        sh_clear_error(); /* the kernel's to tell */
        return;
    }
    sh_place p = sh__place_begin(call->op, sh__backend_of(call, false));
    const sh_slot *slot = sh__candidate_next(&p, call, false);
    if (slot) snprintf(text, size, "%s (%s)", slot->registrant, slot->backend);
}

/* ---- what was tried ---- */

void sh__tried_add(sh_tried *tried, const sh_slot *slot, const char *why) {
    if (tried->n == SH_MOST_TRIED) return;
    tried->at[tried->n] = slot;
    tried->why[tried->n++] = why;
}

static const char *why_of(const sh_tried *tried, const sh_slot *slot) {
    for (uint32_t i = 0; i < tried->n; i++)
        if (tried->at[i] == slot) return tried->why[i];
    return NULL;
}

size_t sh__candidates_print(const sh_call *call, uint32_t backend, const sh_slot *ran, const sh_tried *tried,
                            char *text, size_t size) {
    sh_place p = sh__place_begin(call->op, backend);
    const sh_slot *slot;
    size_t n = 0;
    *text = 0;
    while ((slot = sh__place_step(&p)) && slot != ran && n < size) {
        char refusal[256] = "";
        const char *why = why_of(tried, slot);
        const bool refused = sh__candidate_refused(slot, call, refusal, sizeof refusal);
        if (!why) why = refused ? refusal : "not asked";
        n += (size_t)snprintf(text + n, size - n, "%s%s (%s): %s", n ? "; " : "", slot->registrant,
                              slot->backend, why);
        if (refused && sh__registration_of(slot)->fallthrough) pass_on(&p);
    }
    return n < size ? n : size - 1;
}
