/* test_memory.c - every allocation fails once: an error each time, nothing leaked, and the next call works. Scopes. */
#include <stdlib.h>

#include "tests/modes.h"

TestSuite(memory);

typedef bool (*action)(void);

/* Makes the n-th allocation of `act` fail for every n, until one run meets no failure. */
static void fail_each(const char *what, action act) {
    for (size_t n = 1; n < 2000; n++) {
        const int64_t live = sh_memory_stats_get().live_tensors, bytes = sh_memory_stats_get().live_bytes;
        const size_t held = sh_scope_held();
        bool worked;
        sh_memory_fail_after(n);
        SH_SCOPE { worked = act(); }
        const size_t counted = sh_memory_fail_after(0);
        const bool hit = counted >= n;
        if (hit && sh_error()) {
            cr_assert(eq(int, sh_error()->code, SH_ERROR_MEMORY), "%s: allocation %zu: %s", what, n,
                      sh_error()->message);
            cr_assert(not(worked), "%s: allocation %zu", what, n);
        }
        cr_assert(worked || sh_error(), "%s: allocation %zu failed without an error", what, n);
        sh_clear_error();
        cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live), "%s: allocation %zu leaks tensors", what,
                  n);
        cr_assert(eq(i64, sh_memory_stats_get().live_bytes, bytes), "%s: allocation %zu leaks bytes", what,
                  n);
        cr_assert(eq(sz, sh_scope_held(), held), "%s: allocation %zu", what, n);
        cr_assert(eq(sz, sh_mode_depth(), 0), "%s: allocation %zu leaves a mode", what, n);
        if (!hit) return;
    }
    cr_assert(false, "%s never ends", what);
}

static sh_tensor *a, *b, *big;

static bool add(void) { return sh_add(a, b) != NULL; }
static bool add_large(void) { return sh_add(big, big) != NULL; }
static bool add_in_place(void) { return sh_add_(a, b) == a; }
static bool add_out(void) { return sh_add(a, 2.0, .out = b) == b; }
static bool add_number(void) { return sh_add(a, 2.0, .alpha = 3) != NULL; }
static bool broadcast(void) { return sh_mul(big, sh_full(SH_SIZES(1), 2.0)) != NULL; }
static bool view(void) { return sh_transpose(big, 0, 1) != NULL; }
static bool split(void) { return sh_split(big, 7) != NULL; }
static bool copying_view(void) { return sh_reshape(sh_transpose(big, 0, 1), SH_SIZES(-1)) != NULL; }
static bool joined(void) { return sh_cat(sh_list_view(sh_chunk(big, 3)), .dim = -1) != NULL; }
static bool unknown_size(void) { return sh_nonzero(big) != NULL; }
static bool composite(void) {
    sh_tensor *y = NULL;
    SH_WITH_BACKEND("ref") y = sh_linear(big, big, .bias = sh_full(SH_SIZES(40), 1.0));
    return y != NULL;
}
static bool by_name(void) { return sh_call_op("add", a, b, SH_NAMED("alpha", 2)) != NULL; }

static bool under_modes(void) {
    sh_tensor *y = NULL;
    SH_WITH_MODE(add_to_mul)
        SH_WITH_MODE(noting) { y = sh_add(a, b); }
    return y != NULL;
}

static sh_status edits(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_call_set_arg(call, 1, sh_value_float(2)));
    SH_TRY(sh_next(call));
    sh_tensor *r = sh_mul(sh_call_result(call, 0).as.tensor, 2.0);
    return r ? sh_call_set_tensor(call, r) : sh_error()->code;
}

static bool edited(void) {
    sh_tensor *y = NULL;
    SH_WITH_MODE(edits) { y = sh_add(a, b); }
    return y != NULL;
}

static bool push_pop(void) {
    static const char *const ops[] = {"add", "mul", NULL};
    sh_mode *m = sh_mode_new(noting, &(sh_mode_options){.ops = ops});
    const bool pushed = m && sh_push_mode(m) == SH_OK;
    if (pushed) sh_pop_mode(m);
    sh_mode_release(m);
    return pushed;
}

static bool push_global(void) {
    sh_mode *m = sh_mode_new(noting, NULL);
    const bool pushed = m && sh_push_mode_global(m) == SH_OK;
    const sh_status popped = pushed ? sh_pop_mode_global(m) : SH_OK;
    if (pushed && popped < 0) { /* the pop met the failure: nothing changed, so it can be done again */
        sh_clear_error();
        sh_pop_mode_global(m);
        sh_fail(SH_ERROR_MEMORY, "the first pop failed");
    }
    sh_mode_release(m);
    return pushed && popped == SH_OK;
}

static bool spec(void) {
    if (sh_mode_push_spec("swap:from=add,to=mul,scope=[a.*b],set=[alpha=1];log:out=/dev/null,ops=!mul") < 0)
        return false;
    sh_mode_info infos[2];
    sh_modes(infos, 2);
    sh_pop_mode(infos[0].mode);
    sh_modes(infos, 2);
    sh_pop_mode(infos[0].mode);
    return true;
}

static bool context(void) {
    sh_context *c = NULL;
    SH_WITH_MODE(noting) c = sh_context_capture();
    sh_context_guard guard;
    const bool entered = c && sh_context_enter(c, &guard) == SH_OK;
    if (entered) sh_context_leave(&guard);
    sh_context_free(c);
    return entered && !sh_error(); /* a block whose push failed runs all the same */
}

static bool wrap(void) {
    static float data[6];
    return sh_from_data(data, SH_F32, SH_SIZES(2, 3), (sh_ints){NULL, 0}, NULL, NULL) != NULL;
}

static bool overridden(void) {
    sh_override_kind *k = sh_override_kind_new("k", NULL, NULL, NULL);
    sh_clear_error();
    sh_override_kind_free(k);
    sh_tensor *t = sh_full(SH_SIZES(2), 1.0);
    return t && sh_relu(t);
}

Test(memory, every_allocation_may_fail, .timeout = 120) {
    sh_set_warning_sink(sh_warnings_off, NULL);
    a = sh_keep(number(1));
    b = sh_keep(number(2));
    big = sh_keep(sh_rand(SH_SIZES(40, 40)));
    static const struct {
        const char *what;
        action act;
    } all[] = {{"add", add},
               {"add_large", add_large},
               {"add_", add_in_place},
               {"add out", add_out},
               {"number", add_number},
               {"broadcast", broadcast},
               {"view", view},
               {"split", split},
               {"reshape", copying_view},
               {"cat", joined},
               {"nonzero", unknown_size},
               {"composite", composite},
               {"by name", by_name},
               {"modes", under_modes},
               {"edits", edited},
               {"push", push_pop},
               {"global", push_global},
               {"spec", spec},
               {"context", context},
               {"wrap", wrap},
               {"override", overridden}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) fail_each(all[i].what, all[i].act);
    sh_release(a);
    sh_release(b);
    sh_release(big);
}

/* ---- scopes ---- */

Test(memory, results_die_with_their_scope_and_escape_to_the_outer_one) {
    const int64_t live = sh_memory_stats_get().live_tensors;
    sh_tensor *kept = NULL;
    SH_SCOPE {
        sh_tensor *escaped = NULL;
        SH_SCOPE {
            sh_tensor *x = number(2);
            escaped = sh_escape(sh_add(x, x));
            for (int i = 0; i < 10; i++) sh_mul(x, x);
        }
        cr_assert(eq(dbl, first(escaped), 4));
        kept = sh_keep(escaped);
    }
    cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live + 1));
    cr_assert(eq(dbl, first(kept), 4));
    sh_release(kept);
    cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live));
}

static double leaves_early(int how) {
    for (int i = 0; i < 3; i++) {
        SH_SCOPE_HERE;
        sh_tensor *x = number(i);
        if (how == 0) continue;
        if (how == 1) break;
        if (how == 2) return first(x);
        if (how == 3) goto out;
    }
out:
    return 0;
}

Test(memory, scopes_end_on_continue_break_return_and_goto) {
    const int64_t live = sh_memory_stats_get().live_tensors;
    const size_t held = sh_scope_held();
    for (int how = 0; how < 4; how++) leaves_early(how);
    cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live));
    cr_assert(eq(sz, sh_scope_held(), held));
}

static char warned[512];
static int warnings;
static void catch_warning(const char *line, void *user) {
    (void)user;
    warnings++;
    snprintf(warned, sizeof warned, "%s", line);
}

Test(memory, a_scope_that_grows_past_the_limit_warns_once_with_its_line) {
    sh_set_warning_sink(catch_warning, NULL);
    sh_scope_set_limit(100);
    const int line = __LINE__ + 1;
    SH_SCOPE {
        for (int i = 0; i < 1000; i++) number(1);
    }
    char expected[64];
    snprintf(expected, sizeof expected, "test_memory.c:%d", line);
    cr_assert(eq(int, warnings, 1));
    cr_assert(ne(ptr, strstr(warned, expected), NULL), "%s", warned);
}

Test(memory, a_view_keeps_the_storage_of_a_small_tensor_alive) {
    sh_tensor *v = NULL;
    SH_SCOPE { v = sh_keep(sh_transpose(sh_full(SH_SIZES(2, 2), 5.0), 0, 1)); }
    SH_SCOPE {
        for (int i = 0; i < 100; i++) sh_full(SH_SIZES(2, 2), 6.0);
    }
    cr_assert(eq(dbl, first(v), 5));
    sh_release(v);
}

static int deleted;
static void deleter(void *context) {
    (void)context;
    deleted++;
}

Test(memory, wrapped_memory_is_given_back_once_when_the_last_view_dies) {
    float data[4] = {1, 2, 3, 4};
    sh_tensor *v = NULL;
    SH_SCOPE {
        sh_tensor *t = sh_from_data(data, SH_F32, SH_SIZES(2, 2), (sh_ints){NULL, 0}, deleter, NULL);
        v = sh_keep(sh_transpose(t, 0, 1));
        sh_mul_(t, 2.0);
    }
    cr_assert(eq(int, deleted, 0));
    cr_assert(eq(flt, data[3], 8));
    sh_release(v);
    cr_assert(eq(int, deleted, 1));
}

Test(memory, sizes_that_do_not_fit_are_errors) {
    cr_assert(eq(ptr, sh_rand(SH_SIZES((int64_t)1 << 40, (int64_t)1 << 40)), NULL));
    cr_assert(failed_with(SH_ERROR_SHAPE, "bytes"));
    cr_assert(eq(ptr, sh_rand(SH_SIZES(-1)), NULL));
    cr_assert(failed_with(SH_ERROR_SHAPE, "negative"));
    cr_assert(eq(ptr, sh_rand(SH_SIZES((int64_t)1 << 46)), NULL));
    cr_assert(failed_with(SH_ERROR_MEMORY, "bytes"));
    cr_assert(ne(ptr, sh_rand(SH_SIZES(0, (int64_t)1 << 60)), NULL));
}
