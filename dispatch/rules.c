/* rules.c - where a backend is used: by op, dtype, size, shape, scope path, call number (D2).
 *
 * An op that any rule's op filter matches has a ruled slot, which sends its calls to sh__rules_choose;
 * all others never look here. A rule that was removed stays allocated and dead. */
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/journal.h"
#include "dispatch/where.h"

typedef struct rule {
    sh_selection where, also; /* the fields, the text */
    uint32_t backend, generation;
    atomic_bool live;
    atomic_int_fast64_t calls;
} rule;

enum { MAX_RULES = 256 };
static rule *_Atomic rules[MAX_RULES];
static _Atomic uint32_t rule_count;

bool sh__rules_touch(const sh_op *op) {
    const uint32_t n = atomic_load_explicit(&rule_count, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        const rule *r = atomic_load(&rules[i]);
        if (atomic_load(&r->live) && sh_selection_takes_op(&r->where, op)) return true;
    }
    return false;
}

/* One matcher for rules, kernels and modes: where.c. */
static bool matches(rule *r, const sh_call *call, int device, bool counts) {
    if (!atomic_load_explicit(&r->live, memory_order_relaxed) || (int)sh_backend_device(r->backend) != device)
        return false;
    if (!sh_selection_holds(&r->where, call, NULL, 0) || !sh_selection_holds(&r->also, call, NULL, 0))
        return false;
    if (!sh_selection_counts(&r->where) && !sh_selection_counts(&r->also)) return true;
    const int64_t number = (counts ? atomic_fetch_add_explicit(&r->calls, 1, memory_order_relaxed)
                                   : atomic_load_explicit(&r->calls, memory_order_relaxed)) +
                           1;
    return sh_selection_has_number(&r->where, number) && sh_selection_has_number(&r->also, number);
}

int sh__rules_choose(const sh_call *call, int device, bool counts) {
    for (uint32_t i = atomic_load_explicit(&rule_count, memory_order_acquire); i-- > 0;) {
        rule *r = atomic_load(&rules[i]);
        if (matches(r, call, device, counts)) return (int)r->backend;
    }
    return -1;
}

static void free_rule(rule *r) {
    sh_selection_free(&r->where);
    sh_selection_free(&r->also);
    sh__free(r);
}

static sh_status read_fields(sh_selection *where, const sh_rule *given) {
    SH_TRY(sh_selection_parse(where, NULL));
    sh_selection_free(where);
    where->dtype = given->dtype;
    where->min_numel = given->min_numel;
    if (given->max_numel) where->max_numel = given->max_numel;
    where->counts = given->first || given->last;
    where->first_call = given->first;
    if (given->last) where->last_call = given->last;
    where->ops = sh_filter_new(given->ops, SH_FILTER_GLOB);
    where->scope = where->ops ? sh_filter_new(given->scopes, SH_FILTER_ERE) : NULL;
    return where->scope ? SH_OK : sh__error_ensure(SH_ERROR_VALUE);
}

static sh_status make_rule(const sh_rule *given, rule **made) {
    const int backend = sh_backend_find(given->backend);
    if (backend < 0)
        return sh_fail(SH_ERROR_VALUE, "sh_rule_add: there is no backend %s",
                       given->backend ? given->backend : "NULL");
    rule *r = sh__calloc(1, sizeof *r);
    if (!r) return SH_ERROR_MEMORY;
    r->backend = (uint32_t)backend;
    r->generation = 1;
    atomic_init(&r->live, true);
    sh_status status = sh_selection_parse(&r->also, given->where);
    if (status >= 0) status = read_fields(&r->where, given);
    if (status >= 0) {
        *made = r;
        return SH_OK;
    }
    free_rule(r);
    return sh__error_ensure(SH_ERROR_VALUE);
}

static void undo_add(uint64_t what) {
    sh_rule_remove((sh_rule_handle){(uint32_t)what, (uint32_t)(what >> 32)});
}

sh_status sh_rule_add(const sh_rule *given, sh_rule_handle *handle) {
    rule *r = NULL;
    if (sh__error_pending()) return sh_error()->code;
    if (!given) return sh_fail(SH_ERROR_NULL, "sh_rule_add: rule is NULL");
    SH_TRY(sh__journal_reserve());
    SH_TRY(make_rule(given, &r));
    sh__table_lock();
    const uint32_t i = atomic_load(&rule_count);
    if (i < MAX_RULES) {
        atomic_store(&rules[i], r);
        atomic_store_explicit(&rule_count, i + 1, memory_order_release);
        sh__slots_publish_all();
        if (handle) *handle = (sh_rule_handle){i, r->generation};
    }
    sh__table_unlock();
    if (i < MAX_RULES) {
        sh__journal_note(undo_add, (uint64_t)r->generation << 32 | i);
        return SH_OK;
    }
    free_rule(r);
    return sh_fail(SH_ERROR_VALUE, "sh_rule_add: the most is %d rules in a process", MAX_RULES);
}

sh_status sh_rule_remove(sh_rule_handle handle) {
    sh__table_lock();
    rule *r = handle.index < atomic_load(&rule_count) ? atomic_load(&rules[handle.index]) : NULL;
    const bool alive = r && atomic_load(&r->live) && r->generation == handle.generation;
    if (alive) {
        atomic_store(&r->live, false);
        sh__slots_publish_all();
    }
    sh__table_unlock();
    return alive ? SH_OK
                 : sh_fail(SH_ERROR_HANDLE, "rule handle %u is not valid: it was removed or never made",
                           handle.index);
}
