/* What holds at the edges of the mode stack: under a pending error, thousands deep, with a self that a mode replaced. */
#include <pthread.h>

#include "tests/modes.h"

TestSuite(mode_limits, .timeout = 60);

static void begin(void) { seen[0] = 0; }

/* ---- under a pending error ---- */

static sh_tensor *clear_and_add(sh_tensor *x) {
    sh_clear_error();
    return sh_add(x, x);
}

Test(mode_limits, a_push_needs_nothing_from_the_error_state, .init = begin) {
    sh_tensor *x = number(3), *y = NULL;
    sh_mode *kept = noting_mode("kept");
    sh_fail(SH_ERROR_VALUE, "pending");
    SH_WITH_MODE(add_to_mul) {
        cr_assert(eq(ptr, sh_add(x, x), NULL));
        y = clear_and_add(x);
    }
    cr_assert(eq(dbl, first(y), 9));
    sh_fail(SH_ERROR_VALUE, "pending");
    cr_assert(eq(int, sh_push_mode(kept), SH_OK));
    cr_assert(eq(int, sh_push_mode_global(kept), SH_OK));
    cr_assert(failed_with(SH_ERROR_VALUE, "pending"));
    sh_relu(x);
    cr_assert(eq(str, seen, "kept:relu kept:relu "));
    sh_fail(SH_ERROR_VALUE, "pending");
    cr_assert(eq(int, sh_pop_mode(kept), SH_OK));
    cr_assert(eq(int, sh_pop_mode_global(kept), SH_OK));
    cr_assert(failed_with(SH_ERROR_VALUE, "pending"));
    cr_assert(eq(sz, sh_mode_depth(), 0));
    sh_mode_release(kept);
}

Test(mode_limits, backends_switches_contexts_and_names_open_and_close_under_a_pending_error, .init = begin) {
    sh_tensor *x = number(3);
    sh_mode *m = noting_mode("M");
    sh_context_guard guard;
    sh_switch off;
    SH_WITH_MODE(m) {
        sh_fail(SH_ERROR_VALUE, "pending");
        sh_context *context = sh_context_capture();
        cr_assert(eq(int, sh_context_enter(context, &guard), SH_OK));
        sh_switch_off(&off, SH_OFF_ALL);
        SH_WITH_BACKEND("ref") {
            cr_assert(eq(int, sh_name_push("here"), SH_OK));
            sh_clear_error();
            cr_assert(ne(ptr, sh_relu(x), NULL));
            cr_assert(eq(str, TEXT(sh_scope_path()), "here"));
            sh_fail(SH_ERROR_VALUE, "pending");
            sh_name_pop();
        }
        cr_assert(eq(int, sh_switch_end(&off), SH_OK));
        sh_context_leave(&guard);
        sh_context_free(context);
        cr_assert(failed_with(SH_ERROR_VALUE, "pending"));
        sh_relu(x);
    }
    cr_assert(eq(str, seen, "M:relu "));
    sh_mode_release(m);
}

static int chosen;
static sh_status counts_ref(sh_call *call, void *user) {
    (void)user;
    chosen++;
    return sh_call_set_tensor(call, sh_full(SH_SIZES(1), 7.0));
}

Test(mode_limits, a_backend_block_that_began_under_an_error_chooses_its_backend) {
    sh_kernel kernel;
    sh_set_warning_sink(sh_warnings_off, NULL);
    cr_assert(eq(int, sh_op_define("test::which(Tensor x) -> Tensor", NULL, NULL), SH_OK));
    cr_assert(eq(int, sh_kernel_register("test::which", "ref", counts_ref, NULL, "test", &kernel), SH_OK));
    sh_tensor *x = number(1);
    sh_fail(SH_ERROR_VALUE, "pending");
    SH_WITH_BACKEND("ref") {
        sh_clear_error();
        cr_assert(eq(dbl, first(sh_call_op("test::which", x)), 7));
    }
    cr_assert(eq(int, chosen, 1));
}

/* ---- deep ---- */

static sh_status nexts(sh_mode *mode, sh_call *call) {
    (void)mode;
    return sh_next(call);
}

/* Pushes as many modes that call sh_next, then adds; the error or SH_OK. */
static sh_status add_below(size_t modes) {
    sh_mode *m = sh_mode_new(nexts, &(sh_mode_options){.name = "deep"});
    sh_status status = SH_OK;
    SH_SCOPE {
        sh_tensor *x = number(2);
        for (size_t i = 0; i < modes; i++) sh_push_mode(m);
        sh_tensor *y = sh_add(x, x);
        status = y ? SH_OK : sh_error()->code;
        if (y) cr_assert(eq(dbl, first(y), 4));
        if (!y) cr_assert(failed_with(SH_ERROR_NESTING, "deep"));
        cr_assert(eq(sz, sh_mode_depth(), modes));
        for (size_t i = 0; i < modes; i++) cr_assert(eq(int, sh_pop_mode(m), SH_OK));
        cr_assert(eq(dbl, first(sh_add(x, x)), 4));
    }
    sh_mode_release(m);
    return status;
}

static void *add_on_a_small_stack(void *unused) {
    (void)unused;
    cr_assert(eq(int, add_below(256), SH_OK));
    cr_assert(eq(int, add_below(100000), SH_ERROR_NESTING));
    return NULL;
}

Test(mode_limits, more_modes_than_the_c_stack_holds_are_an_error_that_names_one) {
    cr_assert(eq(int, add_below(256), SH_OK));
    cr_assert(eq(int, add_below(100000), SH_ERROR_NESTING));
}

Test(mode_limits, the_stack_of_a_thread_is_measured) {
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 512 << 10);
    cr_assert(eq(int, pthread_create(&thread, &small, add_on_a_small_stack, NULL), 0));
    pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
}

/* A callback with a large frame that calls an op which meets it again. */
static sh_status large_frames(sh_mode *mode, sh_call *call) {
    volatile char frame[64 << 10];
    frame[0] = frame[sizeof frame - 1] = 1;
    SH_MODE_HERE(mode);
    sh_tensor *y = sh_add(sh_call_tensor(call, 0), (double)frame[0]);
    return y ? sh_call_set_tensor(call, y) : sh_error()->code;
}

static void *add_under_large_frames(void *mode) {
    SH_SCOPE {
        sh_tensor *x = number(1);
        SH_WITH_MODE((sh_mode *)mode) {
            cr_assert(eq(ptr, sh_add(x, x), NULL));
            cr_assert(failed_with(SH_ERROR_NESTING, "large"));
        }
        cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    }
    return NULL;
}

Test(mode_limits, calls_in_calls_that_fill_the_c_stack_are_an_error_that_names_the_mode) {
    sh_mode *large = sh_mode_new(large_frames, &(sh_mode_options){.name = "large"});
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 20);
    cr_assert(eq(int, pthread_create(&thread, &small, add_under_large_frames, large), 0));
    pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
    sh_mode_release(large);
}

/* ---- an in-place self that a mode replaces ---- */

static sh_status other_self(sh_mode *mode, sh_call *call) {
    sh_tensor *other = sh_mode_user(mode) ? sh_mode_user(mode) : number(10);
    SH_TRY(sh_call_set_arg(call, 0, sh_value_tensor(other)));
    return SH_PASS;
}

Test(mode_limits, an_in_place_op_writes_and_returns_the_self_that_a_mode_put_there) {
    sh_tensor *x = number(1), *other = number(5);
    sh_mode *m = sh_mode_new(other_self, &(sh_mode_options){.user = other});
    SH_WITH_MODE(m) { cr_assert(eq(ptr, sh_add_(x, 2.0), other)); }
    cr_assert(eq(dbl, first(x), 1));
    cr_assert(eq(dbl, first(other), 7));
    sh_mode_release(m);
}

Test(mode_limits, a_self_that_the_callback_made_outlives_the_call_in_the_callers_scope) {
    const int64_t live = sh_memory_stats_get().live_tensors;
    SH_SCOPE {
        sh_tensor *x = number(1), *y = NULL;
        SH_WITH_MODE(other_self) { y = sh_add_(x, 2.0); }
        cr_assert(ne(ptr, y, x));
        for (int i = 0; i < 10; i++) number(i); /* takes what was freed too early */
        cr_assert(eq(dbl, first(y), 12));
        cr_assert(eq(dbl, first(x), 1));
    }
    cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live));
}

Test(mode_limits, so_does_what_an_op_returns_of_an_argument_that_the_callback_made) {
    SH_SCOPE {
        sh_tensor *x = number(1), *same = NULL, *flat = NULL, *to = NULL;
        SH_WITH_MODE(other_self) {
            same = sh_contiguous(x);
            flat = sh_flatten(x);
            to = sh_to(x, SH_F32);
        }
        for (int i = 0; i < 10; i++) number(i);
        cr_assert(eq(dbl, first(same), 10));
        cr_assert(eq(dbl, first(flat), 10));
        cr_assert(eq(dbl, first(to), 10));
    }
}

/* ---- one axis for a list of one ---- */

static sh_status prod_to_sum(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_prod) SH_TRY(sh_call_swap(call, SH_OP_sum));
    return SH_PASS;
}

static sh_status amax_to_argmax(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_amax) SH_TRY(sh_call_swap(call, SH_OP_argmax));
    return SH_PASS;
}

Test(mode_limits, a_swap_takes_one_axis_for_a_list_of_one_and_back) {
    sh_tensor *x = sh_reshape(sh_add(sh_arange(4), 1.0), SH_SIZES(2, 2));
    SH_WITH_MODE(prod_to_sum) {
        sh_tensor *y = sh_prod(x, .dim = 0, .keepdim = true);
        cr_assert(eq(i64, sh_tensor_sizes(y)[0], 1));
        cr_assert(eq(dbl, first(y), 4));
    }
    SH_WITH_MODE(amax_to_argmax) {
        cr_assert(eq(dbl, first(sh_amax(x, .dim = 1)), 1));
        cr_assert(eq(ptr, sh_amax(x, .dim = SH_DIMS(0, 1)), NULL));
        cr_assert(failed_with(SH_ERROR_ARGUMENT, "argmax does not take argument dim, which is [0, 1]"));
    }
}

/* ---- switches ---- */

static sh_status answers_five(const sh_override_kind *kind, sh_call *call, void *user) {
    (void)kind;
    return sh_call_set_tensor(call, user);
}

/* What a call meets: the mode, the override. */
static const char *met(sh_tensor *x) {
    static char text[16];
    seen[0] = 0;
    const double y = first(sh_add(x, x));
    snprintf(text, sizeof text, "%s%s", *seen ? "mode " : "", y == 5 ? "override" : "");
    return text;
}

Test(mode_limits, all_off_inside_overrides_off_inside_on_each_restores_what_was, .init = begin) {
    sh_mode *m = noting_mode("M");
    sh_override_kind *kind = sh_override_kind_new("five", answers_five, NULL, number(5));
    sh_tensor *x = number(3);
    sh_switch on, overrides, all;
    sh_tensor_set_override(x, kind);
    SH_WITH_MODE(m) {
        sh_switch_on(&on);
        cr_assert(eq(str, TEXT(met(x)), "mode override"));
        sh_switch_off(&overrides, SH_OFF_OVERRIDES);
        cr_assert(eq(str, TEXT(met(x)), "mode "));
        sh_switch_off(&all, SH_OFF_ALL);
        cr_assert(eq(str, TEXT(met(x)), ""));
        sh_switch_end(&all);
        cr_assert(eq(str, TEXT(met(x)), "mode "));
        sh_switch_end(&overrides);
        cr_assert(eq(str, TEXT(met(x)), "mode override"));
        sh_switch_end(&on);
        cr_assert(eq(str, TEXT(met(x)), "mode override"));
    }
    sh_tensor_set_override(x, NULL);
    sh_override_kind_free(kind);
    sh_mode_release(m);
}
