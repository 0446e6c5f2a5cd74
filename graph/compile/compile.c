/* compile.c - compiled objects: which plan a call takes, and the list of them.
 *
 * The list is in the order of last use. A run counts itself in its entry, so that one that is thrown out meanwhile ends
 * with its last run. The lock is held for looking and counting only; a second one sees to it that threads that miss
 * together make one plan. */
#include "graph/compile/compile.h"

#include <stdlib.h>
#include <string.h>

#include "graph/compile/compile_impl.h"
#include "graph/compile/report.h"
#include "graph/compile/run.h"
#include "graph/given.h"
#include "graph/trace_impl.h"

/* ---- making and ending ---- */

static sh_status take_options(sh_compiled *c, const sh_compile_options *options) {
    if (options && (options->size < sizeof options->size || options->size > sizeof *options))
        return sh_fail(SH_ERROR_VALUE, "sh_compile: options of %zu bytes, expected SH_COMPILE_OPTIONS_INIT",
                       options->size);
    if (options) memcpy(&c->options, options, options->size);
    if (!c->options.most_plans) c->options.most_plans = SH_COMPILE_PLANS;
    c->options.exact |= c->options.unfused;
    c->name = sh__strdup(c->options.name ? c->options.name : c->module->type->name);
    c->options.name = c->name;
    return c->name ? SH_OK : SH_ERROR_MEMORY;
}

/* Takes the reference to the module. */
static sh_compiled *make(sh_module *module, bool is_function, const sh_compile_options *options) {
    sh_compiled *c = module ? sh__calloc(1, sizeof *c) : NULL;
    if (!c) {
        sh_module_release(module);
        return NULL;
    }
    c->module = module;
    c->is_function = is_function;
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->compile_lock, NULL);
    if (take_options(c, options) >= 0) return c;
    sh_compiled_free(c);
    return NULL;
}

sh_compiled *sh_compile(sh_module *module, const sh_compile_options *options) {
    if (sh__error_pending()) return NULL;
    SH_GIVEN(module, NULL);
    return make(sh_module_keep(module), false, options);
}

sh_compiled *sh_compile_function(sh_traceable function, void *user, const sh_compile_options *options) {
    if (sh__error_pending()) return NULL;
    SH_GIVEN(function, NULL);
    return make(sh__module_of_function(function, user), true, options);
}

void sh_compiled_free(sh_compiled *c) {
    if (!c) return;
    for (sh_compiled_entry *e = c->entries, *next; e; e = next) {
        next = e->next;
        sh__compiled_entry_free(e);
    }
    for (sh_compiled_batch *b = c->batches, *next; b; b = next) {
        next = b->next;
        sh__compiled_batch_free(b);
    }
    if (!c->is_owned) sh_module_release(c->module);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->compile_lock);
    sh__free(c->name);
    sh__free(c);
}

/* ---- graph modules ---- */

static bool run_module(void *object, sh_values inputs, sh_value *result) {
    return sh__compiled_try(object, inputs, result);
}

static void free_runner(void *object) { sh_compiled_free(object); }

sh_status sh_graph_module_recompile(sh_module *module) {
    sh_compile_options options = SH_COMPILE_OPTIONS_INIT;
    options.unfused = true;
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(module, SH_ERROR_NULL);
    sh_graph_runner *runner = sh__graph_module_runner(module);
    if (!runner)
        return sh_fail(SH_ERROR_TYPE, "sh_graph_module_recompile: %s is no graph module", module->type->name);
    sh_compiled *c = make(sh_module_keep(module), false, &options);
    if (!c) return sh__error_ensure(SH_ERROR_MEMORY);
    c->is_owned = true;
    sh_module_release(module); /* it owns what it is compiled to, and not the other way */
    if (runner->free) runner->free(runner->object);
    *runner = (sh_graph_runner){c, run_module, free_runner};
    return SH_OK;
}

sh_compiled *sh_graph_module_compiled(const sh_module *module) {
    const sh_graph_runner *runner = sh__graph_module_runner((sh_module *)(uintptr_t)module);
    return runner && runner->run == run_module ? runner->object : NULL;
}

/* ---- the list ---- */

static bool is_stamped(sh_compiled_entry *e, uint64_t stamp) {
    bool found = false;
    for (int i = 0; stamp && i < SH_STAMPS; i++)
        found |= atomic_load_explicit(&e->stamps[i], memory_order_relaxed) == stamp;
    return found;
}

static bool unchanged(const sh_compiled_entry *e) {
    for (size_t i = 0; i < e->nwatched; i++)
        if (sh_tensor_version(e->watched[i].tensor) != e->watched[i].version ||
            (e->watched[i].tensor->flags & SH_TENSOR_OVERRIDE))
            return false;
    return true;
}

static bool holds(sh_compiled_entry *e, const sh_module *module, sh_values inputs, uint64_t stamp) {
    const bool stamped = is_stamped(e, stamp);
    if (!unchanged(e) || !sh__guard_holds(&e->guard, module, inputs, stamped)) return false;
    if (stamp && !stamped) atomic_store_explicit(&e->stamps[stamp % SH_STAMPS], stamp, memory_order_relaxed);
    return true;
}

static void move_to_front(sh_compiled *c, sh_compiled_entry **link) {
    sh_compiled_entry *e = *link;
    if (e == c->entries) return;
    *link = e->next;
    e->next = c->entries;
    c->entries = e;
}

static sh_compiled_entry *find(sh_compiled *c, sh_values inputs, uint64_t stamp) {
    for (sh_compiled_entry **link = &c->entries; *link; link = &(*link)->next) {
        sh_compiled_entry *e = *link;
        if (!holds(e, c->module, inputs, stamp)) continue;
        move_to_front(c, link);
        e->users++;
        e->calls++;
        return e;
    }
    return NULL;
}

static bool may_hold(const sh_compiled *c, const sh_compiled_entry *e) {
    return unchanged(e) && sh__guard_may_hold(&e->guard, c->module);
}

/* Those that can never hold again go, whose weights have changed since, and those that were used least recently. */
static sh_compiled_entry *trim(sh_compiled *c) {
    sh_compiled_entry **link = &c->entries, *gone = NULL;
    for (size_t kept = 0; *link;) {
        sh_compiled_entry *e = *link;
        if (kept < c->options.most_plans && may_hold(c, e)) {
            kept++;
            link = &e->next;
            continue;
        }
        *link = e->next;
        c->nentries--;
        e->gone = true;
        if (e->users) continue;
        e->next = gone;
        gone = e;
    }
    return gone;
}

/* Against the plan used last. */
static const char *why(const sh_compiled *c, const sh_guard *guard) {
    static const char *const reasons[] = {
        [SH_GUARD_TABLE] = "the dispatch table, a function or a default backend was another",
        [SH_GUARD_THREAD] = "switches or the chosen backend were others",
        [SH_GUARD_MODES] = "other modes were pushed, or one was configured anew",
        [SH_GUARD_SCOPE] = "other names were open around the call, which a mode that is baked in looks at",
        [SH_GUARD_MODULE] = "the module's configuration was another",
        [SH_GUARD_CONTENTS] = "a tensor of the module was replaced or written to, or its graph edited",
        [SH_GUARD_INPUTS] = "the inputs were others in dtype, shape or layout",
    };
    if (!c->entries) return "it was called for the first time";
    const sh_guard_section section = sh__guard_difference(&c->entries->guard, guard);
    return section == SH_GUARD_SECTIONS ? "a tensor that it was made from was written to" : reasons[section];
}

static void add(sh_compiled *c, sh_compiled_entry *e) {
    pthread_mutex_lock(&c->lock);
    e->why = why(c, &e->guard);
    e->next = c->entries;
    c->entries = e;
    c->nentries++;
    c->compilations += !e->resized;
    c->resized += e->resized;
    e->users = 1;
    e->calls = 1;
    sh_compiled_entry *gone = trim(c);
    pthread_mutex_unlock(&c->lock);
    for (sh_compiled_entry *next; gone; gone = next) {
        next = gone->next;
        sh__compiled_entry_free(gone);
    }
}

static void leave(sh_compiled *c, sh_compiled_entry *e) {
    pthread_mutex_lock(&c->lock);
    const bool last = --e->users == 0 && e->gone;
    pthread_mutex_unlock(&c->lock);
    if (last) sh__compiled_entry_free(e);
}

static sh_compiled_entry *look(sh_compiled *c, sh_values inputs, uint64_t stamp) {
    pthread_mutex_lock(&c->lock);
    sh_compiled_entry *e = find(c, inputs, stamp);
    if (e) c->hits++;
    pthread_mutex_unlock(&c->lock);
    return e;
}

/* The new one is the first; those that can never hold again go, and the oldest. */
static void keep_batch(sh_compiled *c, sh_compiled_batch *b) {
    size_t kept = 0;
    b->next = c->batches;
    c->batches = b;
    for (sh_compiled_batch **link = &c->batches; (b = *link);) {
        if (kept < c->options.most_plans && sh__guard_may_hold(&b->guard, c->module)) {
            kept++;
            link = &b->next;
            continue;
        }
        *link = b->next;
        sh__compiled_batch_free(b);
    }
}

/* What a plan writes to in each run makes no other trace. */
static sh_status share_written(const sh_compiled *c, sh_values inputs, sh_compiled_batch *b,
                               const sh_compiled_entry *e) {
    SH_TRY(sh__guard_share_written(&b->guard, &e->guard));
    return sh__guard_take(&b->guard, c->module, inputs);
}

/* From a trace that holds for any batch, if there is one for such inputs; else one is made. */
static sh_compiled_entry *compile_any(sh_compiled *c, sh_values inputs, bool *eager) {
    sh_compiled_batch *b = c->batches;
    while (b && !sh__guard_holds(&b->guard, c->module, inputs, false)) b = b->next;
    const bool found = b != NULL;
    if (!found && !(b = sh__compiled_batch_new(c, inputs))) return NULL;
    sh_compiled_entry *e = sh__entry_compile(c, inputs, b, eager);
    if (!found && e && share_written(c, inputs, b, e) < 0) {
        sh__compiled_entry_free(e);
        e = NULL;
    }
    if (!found) keep_batch(c, b);
    if (e) e->resized = found;
    return e;
}

static sh_compiled_entry *compile(sh_compiled *c, sh_values inputs, bool *eager) {
    if (!c->module) {
        sh_fail(SH_ERROR_VALUE,
                c->entries ? "%s is frozen, and is called under another guard than its plan's"
                           : "%s is frozen, and its module went when its plan could not be made",
                c->name);
        return NULL;
    }
    const bool batch = c->options.any_batch && !c->options.frozen && sh__batch_size(inputs);
    sh_compiled_entry *e = batch ? compile_any(c, inputs, eager) : sh__entry_compile(c, inputs, NULL, eager);
    if (e) add(c, e);
    return e;
}

/* Somebody else may have made it while this thread waited. NULL and an error, or `*eager`. */
static sh_compiled_entry *take_entry(sh_compiled *c, sh_values inputs, bool *eager) {
    sh_compiled_entry *e = look(c, inputs, sh__guard_stamp());
    if (SH_LIKELY(e != NULL)) return e;
    pthread_mutex_lock(&c->compile_lock);
    e = look(c, inputs, sh__guard_stamp());
    if (!e) e = compile(c, inputs, eager);
    pthread_mutex_unlock(&c->compile_lock);
    return e;
}

/* ---- calls ---- */

enum { NO_PLAN = SH_TENSOR_SPECIAL | SH_TENSOR_WRAPPED }; /* what only the dispatcher knows how to take */

static sh_status check_inputs(const sh_compiled *c, sh_values inputs) {
    for (size_t i = 0; i < inputs.n; i++) {
        const sh_value v = inputs.at[i];
        bool missing = v.tag == SH_TAG_NONE || (v.tag == SH_TAG_TENSOR && !v.as.tensor);
        for (uint32_t k = 0; v.tag == SH_TAG_TENSORS && k < v.count; k++) missing |= !v.as.tensors[k];
        if (missing) return sh_fail(SH_ERROR_NULL, "%s: input %zu is NULL", c->name, i);
    }
    return SH_OK;
}

static sh_value call_eager(sh_compiled *c, sh_values inputs) {
    pthread_mutex_lock(&c->lock);
    c->eager++;
    sh_module *module = sh_module_keep(c->module);
    pthread_mutex_unlock(&c->lock);
    sh_value result = sh_none();
    if (!module)
        sh_fail(SH_ERROR_UNSUPPORTED, "%s is frozen and can't be called on such inputs, or inside a trace",
                c->name);
    else /* no trace knows a function as a module */
        result = c->is_function ? sh__module_run(module, inputs) : sh_module_call(module, inputs);
    sh_module_release(module);
    return result;
}

static bool goes_eager(sh_tensor *const *tensors, size_t n) {
    uint32_t flags = 0;
    for (size_t i = 0; i < n; i++) flags |= tensors[i]->flags;
    return flags & NO_PLAN;
}

static sh_value run(sh_compiled *c, sh_compiled_entry *e, sh_tensor *const *tensors) {
    sh_value result = sh_none();
    sh_workspace *w = sh__workspace_take(&e->workspaces, e->plan);
    if (w) {
        sh__plan_run(e->plan, w, tensors, &result);
        sh__workspace_give_back(&e->workspaces, w);
    }
    leave(c, e);
    return result;
}

bool sh__compiled_try(sh_compiled *c, sh_values inputs, sh_value *result) {
    sh_tensor *tensors[SH_MOST_INPUTS];
    *result = sh_none();
    if (!sh__cold() || check_inputs(c, inputs) < 0) return true;
    sh__recover_here(&sh__thread);
    const size_t n = sh__open_inputs(inputs, tensors, SH_MOST_INPUTS);
    if (n > SH_MOST_INPUTS) {
        sh_fail(SH_ERROR_ARGUMENT, "%s: %zu tensors among the inputs, the most is %d", c->name, n,
                SH_MOST_INPUTS);
        return true;
    }
    if (sh__tracing || goes_eager(tensors, n)) return false;
    bool eager = false;
    sh_compiled_entry *e = take_entry(c, inputs, &eager);
    if (e) *result = run(c, e, tensors);
    return !eager;
}

sh_value sh_compiled_call(sh_compiled *c, sh_values inputs) {
    sh_value result;
    if (sh__error_pending()) return sh_none();
    SH_GIVEN(c, sh_none());
    return sh__compiled_try(c, inputs, &result) ? result : call_eager(c, inputs);
}

sh_tensor *sh_compiled_run(sh_compiled *compiled, sh_tensor *x) {
    const sh_value input = sh_value_tensor(x);
    const sh_value result = sh_compiled_call(compiled, (sh_values){&input, 1});
    if (result.tag == SH_TAG_TENSORS)
        sh_fail(SH_ERROR_TYPE, "sh_compiled_run: the result is a list: sh_compiled_call gives it");
    return sh_value_as_tensor(result);
}

sh_compile_stats sh_compiled_stats(sh_compiled *c) {
    sh_compile_stats stats = {0};
    SH_GIVEN(c, stats);
    pthread_mutex_lock(&c->lock);
    const sh_compiled_entry *e = c->entries;
    stats = (sh_compile_stats){.compilations = c->compilations,
                               .hits = c->hits,
                               .eager = c->eager,
                               .resized = c->resized,
                               .plans = c->nentries};
    if (e) {
        stats.steps = e->plan->steps.n;
        stats.arena_bytes = e->plan->arena;
        stats.constant_bytes = sh__plan_constant_bytes(e->plan);
        stats.trace_ns = e->trace_ns;
        stats.compile_ns = e->compile_ns;
    }
    pthread_mutex_unlock(&c->lock);
    return stats;
}
