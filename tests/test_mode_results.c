/* Whose the results of a call are while callbacks run: a call never shows, and never returns, what is gone. */
#include "tests/modes.h"

TestSuite(mode_results, .timeout = 60);

static void begin(void) { seen[0] = 0; }

/* ---- after a failure below ---- */

static sh_status next_then_fail(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_next(call));
    return sh_fail(SH_ERROR_VALUE, "refused after the fact");
}

static int has_result;
static sh_status forgives(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_next(call) >= 0) return SH_PASS;
    sh_clear_error();
    has_result = sh_call_has_result(call);
    return sh_call_set_tensor(call, sh_call_tensor(call, 0));
}

Test(mode_results, a_failed_next_leaves_no_result) {
    sh_tensor *x = number(3), *y = NULL;
    has_result = -1;
    SH_WITH_MODE(next_then_fail)
        SH_WITH_MODE(forgives) { y = sh_add(x, x); }
    cr_assert(eq(int, has_result, 0));
    cr_assert(eq(ptr, y, x));
}

/* ---- answers in parts ---- */

static sh_tensor *parts[2];

static sh_status sets_one(sh_mode *mode, sh_call *call) {
    const uint32_t i = sh_mode_user(mode) ? 1 : 0;
    sh_tensor *copy = NULL;
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    copy = sh_clone(parts[i]);
    sh_switch_end(&off);
    SH_TRY(sh_call_set_result(call, i, sh_value_tensor(copy)));
    has_result = sh_call_has_result(call);
    return SH_PASS;
}

static sh_status sets_both(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_call_set_result(call, 1, sh_value_tensor(parts[1])));
    cr_assert(not(sh_call_has_result(call)));
    return sh_call_set_result(call, 0, sh_value_tensor(parts[0]));
}

/* The first mode's half is gone by the time that the second sets the other. */
Test(mode_results, half_an_answer_is_none) {
    sh_mode *values = sh_mode_new(sets_one, NULL),
            *indices = sh_mode_new(sets_one, &(sh_mode_options){.user = &has_result});
    sh_tensor *x = sh_full(SH_SIZES(2, 2), 5, .dtype = SH_F32);
    parts[0] = sh_full(SH_SIZES(2), 9, .dtype = SH_F32);
    parts[1] = sh_full(SH_SIZES(2), 1, .dtype = SH_I64);
    SH_WITH_MODE(indices)
        SH_WITH_MODE(values) {
            has_result = -1;
            const sh_max_dim_result r = sh_max_dim(x, 0);
            cr_assert(eq(int, has_result, 0));
            cr_assert(eq(dbl, first(r.values), 5));
            cr_assert(eq(dbl, first(r.indices), 0));
        }
    SH_WITH_MODE(sets_both) { cr_assert(eq(dbl, first(sh_max_dim(x, 0).values), 9)); }
    sh_mode_release(values);
    sh_mode_release(indices);
}

/* ---- scopes around them ---- */

static sh_status next_in_a_scope(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_SCOPE {
        sh_mul(sh_call_tensor(call, 0), 2.0);
        SH_TRY(sh_next(call));
    }
    return SH_PASS;
}

static sh_status next_and_clear(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_next(call));
    sh_scope_clear();
    return SH_PASS;
}

static sh_status answers_in_a_scope(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_SCOPE { SH_TRY(sh_call_set_tensor(call, sh_mul(sh_call_tensor(call, 0), 2.0))); }
    return SH_OK;
}

Test(mode_results, a_scope_in_a_callback_keeps_the_results_of_the_call) {
    static const sh_callback callbacks[] = {next_in_a_scope, next_and_clear, answers_in_a_scope};
    sh_tensor *x = sh_full(SH_SIZES(2, 2), 3, .dtype = SH_F32);
    for (int i = 0; i < 3; i++) {
        const int64_t live = sh_memory_stats_get().live_tensors;
        SH_SCOPE {
            sh_tensor *y = NULL, *other;
            SH_WITH_MODE(callbacks[i]) { y = sh_add(x, x); }
            other = sh_full(SH_SIZES(2, 2), 1, .dtype = SH_F32);
            cr_assert(ne(ptr, y, other));
            cr_assert(eq(dbl, first(y), 6));
        }
        cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live));
    }
    SH_WITH_MODE(next_in_a_scope) { cr_assert(eq(sz, sh_list_size(sh_split(x, 1)), 2)); }
}

static sh_status kernel_with_a_scope(sh_call *call, void *user) {
    (void)user;
    SH_SCOPE { SH_TRY(sh_call_set_tensor(call, sh_mul(sh_call_tensor(call, 0), 2.0))); }
    return SH_OK;
}

Test(mode_results, a_scope_in_a_kernel_keeps_its_results) {
    sh_tensor *x = number(3);
    sh_op_define("mylib::twice(Tensor x) -> Tensor", NULL, NULL);
    sh_kernel_register("mylib::twice", "cpu", kernel_with_a_scope, NULL, "test", NULL);
    sh_tensor *y = sh_call_op("mylib::twice", x), *other = number(1);
    cr_assert(ne(ptr, y, other));
    cr_assert(eq(dbl, first(y), 6));
}

/* ---- a run on another backend ---- */

static sh_status recomputes(sh_mode *mode, sh_call *call) {
    (void)mode;
    sh_value results[SH_MAX_RESULTS];
    if (sh_call_family(call) != SH_OP_linear) return SH_PASS;
    SH_SCOPE {
        sh_relu(sh_call_tensor(call, 0));
        SH_TRY(sh_call_run_on(call, "ref", results));
    }
    return SH_PASS;
}

Test(mode_results, a_run_on_another_backend_is_below_every_mode, .init = begin) {
    sh_mode *log = noting_mode("log");
    sh_tensor *x = sh_rand(SH_SIZES(2, 3)), *w = sh_rand(SH_SIZES(4, 3)), *y = NULL;
    SH_WITH_MODE(log)
        SH_WITH_MODE(recomputes) { y = sh_linear(x, w); }
    cr_assert(ne(ptr, y, NULL));
    cr_assert(eq(str, seen, "log:relu log:linear "));
    sh_mode_release(log);
}

/* ---- calls in calls ---- */

static sh_call *outer_call;
static sh_status goes_on_outside(sh_mode *mode, sh_call *call) {
    (void)mode;
    return sh_call_family(call) == SH_OP_mul ? sh_next(outer_call) : SH_PASS;
}

static sh_status issues_a_mul(sh_mode *mode, sh_call *call) {
    (void)mode;
    outer_call = call;
    sh_mul(sh_call_tensor(call, 0), 2.0);
    return SH_PASS;
}

Test(mode_results, an_outer_call_cannot_go_on_inside_an_inner_one) {
    sh_tensor *x = number(3);
    SH_WITH_MODE(goes_on_outside)
        SH_WITH_MODE(issues_a_mul) { cr_assert(eq(ptr, sh_add(x, x), NULL)); }
    cr_assert(failed_with(SH_ERROR_MODE, "add is not the innermost call"));
}

static sh_status pushes_and_pops(sh_mode *mode, sh_call *call) {
    (void)call;
    SH_TRY(sh_push_mode(mode));
    return sh_pop_mode(mode) < 0 ? SH_ERROR_MODE : SH_PASS;
}

static sh_status issues_a_relu(sh_mode *mode, sh_call *call) {
    note("issues", call);
    (void)mode;
    sh_relu(sh_call_tensor(call, 0));
    return SH_PASS;
}

/* Also in the general walk, which times modes. */
Test(mode_results, a_push_inside_a_callback_does_not_lift_the_stack_of_the_next, .init = begin) {
    sh_mode *bottom = noting_mode("bottom");
    sh_tensor *x = number(3);
    for (int timed = 0; timed < 2; timed++) {
        seen[0] = 0;
        sh_mode_time(timed);
        SH_WITH_MODE(bottom)
            SH_WITH_MODE(issues_a_relu)
                SH_WITH_MODE(pushes_and_pops) { sh_add(x, x); }
        cr_assert(eq(str, seen, "issues:add bottom:relu bottom:add "));
    }
    sh_mode_time(false);
    sh_mode_release(bottom);
}

/* The value that the kernel for ref gives, read after another tensor was made. */
static double on_ref;
static sh_status asks_ref(sh_mode *mode, sh_call *call) {
    (void)mode;
    sh_value results[SH_MAX_RESULTS];
    SH_TRY(sh_call_run_on(call, "ref", results));
    const sh_tensor *other = number(1);
    on_ref = results[0].as.tensor == other ? 0 : first(results[0].as.tensor);
    return SH_PASS;
}

Test(mode_results, a_scope_in_a_kernel_that_a_mode_runs_keeps_its_results, .init = begin) {
    sh_tensor *x = number(3);
    sh_op_define("mylib::twice(Tensor x) -> Tensor", NULL, NULL);
    sh_kernel_register("mylib::twice", "cpu", kernel_with_a_scope, NULL, "test", NULL);
    sh_kernel_register("mylib::twice", "ref", kernel_with_a_scope, NULL, "test", NULL);
    SH_WITH_MODE(asks_ref) { cr_assert(eq(dbl, first(sh_call_op("mylib::twice", x)), 6)); }
    cr_assert(eq(dbl, on_ref, 6));
}

static sh_status in_scope(sh_call *call, void *user) {
    (void)user;
    SH_SCOPE { SH_TRY(sh_call_set_tensor(call, sh_call_tensor(call, 0))); }
    return SH_OK;
}

static sh_status calls_next(sh_mode *mode, sh_call *call) {
    (void)mode;
    return sh_next(call) < 0 ? sh_error()->code : SH_PASS;
}

Test(mode_results, a_kernel_may_open_a_scope_below_a_mode_that_is_itself_called_in_one) {
    sh_kernel kernel;
    const sh_op_options options = {.registrant = "test"};
    cr_assert(eq(int, sh_op_define("mine::same(Tensor x) -> Tensor", &options, NULL), SH_OK));
    cr_assert(eq(int, sh_kernel_register("mine::same", "cpu", in_scope, NULL, "test", &kernel), SH_OK));
    SH_SCOPE {
        sh_tensor *x = number(3);
        SH_WITH_MODE(calls_next) cr_expect(sh_call_op("mine::same", x) != NULL);
        cr_expect(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
    }
}
