/* rules.c - where a backend is used: by op, dtype, size, scope path, call number (D2).
 *
 * An op that any rule's op filter matches has a ruled slot, which sends its calls to sh__rules_choose;
 * all others never look here. A rule that was removed stays allocated and dead. */
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/filter.h"

typedef struct rule {
    sh_rule rule;
    sh_filter *ops, *scopes;
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
        if (atomic_load(&r->live) && sh_filter_match(r->ops, op->name)) return true;
    }
    return false;
}

static const sh_tensor *first_tensor(const sh_call *call, int64_t *largest) {
    sh_tensor *tensors[64];
    size_t n = sh_call_tensors(call, tensors, 64);
    if (n > 64) n = 64;
    *largest = 0;
    for (size_t i = 0; i < n; i++)
        if (tensors[i]->numel > *largest) *largest = tensors[i]->numel;
    return n ? tensors[0] : NULL;
}

static bool in_range(int64_t value, int64_t low, int64_t high) {
    return (!low || value >= low) && (!high || value <= high);
}

static bool matches(rule *r, const sh_call *call, int device) {
    if (!atomic_load_explicit(&r->live, memory_order_relaxed) || (int)sh_backend_device(r->backend) != device)
        return false;
    if (!sh_filter_match(r->ops, call->op->name) || !sh_filter_match(r->scopes, sh_scope_path()))
        return false;
    int64_t largest;
    const sh_tensor *first = first_tensor(call, &largest);
    if (r->rule.dtype && (!first || first->dtype != r->rule.dtype)) return false;
    if (!in_range(largest, r->rule.min_numel, r->rule.max_numel)) return false;
    const int64_t number = atomic_fetch_add_explicit(&r->calls, 1, memory_order_relaxed) + 1;
    return in_range(number, r->rule.first, r->rule.last);
}

int sh__rules_choose(const sh_call *call, int device) {
    for (uint32_t i = atomic_load_explicit(&rule_count, memory_order_acquire); i-- > 0;) {
        rule *r = atomic_load(&rules[i]);
        if (matches(r, call, device)) return (int)r->backend;
    }
    return -1;
}

static void free_rule(rule *r) {
    sh_filter_free(r->ops);
    sh_filter_free(r->scopes);
    sh__free(r);
}

static sh_status make_rule(const sh_rule *given, rule **made) {
    const int backend = sh_backend_find(given->backend);
    if (backend < 0)
        return sh_fail(SH_ERROR_VALUE, "sh_rule_add: there is no backend %s",
                       given->backend ? given->backend : "NULL");
    rule *r = sh__calloc(1, sizeof *r);
    if (!r) return SH_ERROR_MEMORY;
    r->rule = *given;
    r->rule.ops = r->rule.scopes = r->rule.backend = NULL;
    r->backend = (uint32_t)backend;
    r->generation = 1;
    atomic_init(&r->live, true);
    r->ops = sh_filter_new(given->ops, SH_FILTER_GLOB);
    r->scopes = r->ops ? sh_filter_new(given->scopes, SH_FILTER_ERE) : NULL;
    if (r->scopes) {
        *made = r;
        return SH_OK;
    }
    free_rule(r);
    return sh__error_ensure(SH_ERROR_VALUE);
}

sh_status sh_rule_add(const sh_rule *given, sh_rule_handle *handle) {
    rule *r = NULL;
    if (sh__error_pending()) return sh_error()->code;
    if (!given) return sh_fail(SH_ERROR_NULL, "sh_rule_add: rule is NULL");
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
    if (i < MAX_RULES) return SH_OK;
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
