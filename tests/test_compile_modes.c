/* test_compile_modes.c - under a compiled call modes see, change and fail what they would under the eager one. */
#include <stdlib.h>

#include "tests/compile.h"
#include "tests/modes.h"

TestSuite(compile_modes);

/* ---- functions ---- */

static sh_value mixed(sh_values in, void *user) {
    (void)user;
    sh_tensor *x = in.at[0].as.tensor;
    sh_tensor *y = sh_linear(x, sh_ones(SH_SIZES(2, 2)), .bias = sh_full(SH_SIZES(2), 0.5));
    y = sh_add(y, sh_mul(x, 2.0));
    sh_add_(y, x);
    return sh_value_tensor(sh_relu(sh_transpose(y, 0, 1)));
}

/* ---- modes ---- */

static sh_mode *swapping(sh_level level, sh_callback callback) {
    return sh_mode_new(callback,
                       &(sh_mode_options){.name = "swap", .kind = SH_MODE_REWRITING, .level = level});
}

static sh_mode *noting_at(const char *who, sh_level level, sh_mode_kind kind, const char *const *ops) {
    return sh_mode_new(
        noting, &(sh_mode_options){
                    .name = who, .user = (void *)(uintptr_t)who, .level = level, .kind = kind, .ops = ops});
}

static sh_status doubles_mul(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) != SH_OP_mul) return SH_PASS;
    SH_TRY(sh_next(call));
    return sh_call_set_tensor(call,
                              sh_add(sh_call_result(call, 0).as.tensor, sh_call_result(call, 0).as.tensor));
}

static sh_status next_twice(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_next(call));
    return sh_next(call);
}

enum { MOST = 3 };
typedef struct stack {
    const char *name;
    sh_mode *modes[MOST];
} stack;

static void push(const stack *s) {
    for (int i = 0; i < MOST; i++)
        if (s->modes[i]) sh_push_mode(s->modes[i]);
}
static void pop(const stack *s) {
    for (int i = MOST; i-- > 0;)
        if (s->modes[i]) sh_pop_mode(s->modes[i]);
}

static void as_eager(const stack *s, sh_traceable function, sh_compiled *c) {
    static char eager_saw[sizeof seen];
    sh_tensor *x = sh_tensor_copy_of((const float[]){1, -2, 3, 0.5f}, SH_F32, SH_SIZES(2, 2));
    push(s);
    seen[0] = 0;
    sh_tensor *expected = call_eager(function, NULL, x, NULL);
    strcpy(eager_saw, seen);
    for (int i = 0; i < 3; i++) {
        seen[0] = 0;
        sh_tensor *got = sh_compiled_run(c, x);
        no_error();
        if (i) cr_expect(eq(str, seen, eager_saw), "%s, call %d", s->name, i);
        sh_switch off;
        sh_switch_off(&off, SH_OFF_ALL);
        cr_expect(same_bits(got, expected), "%s, call %d", s->name, i);
        sh_switch_end(&off);
    }
    pop(s);
    cr_expect(eq(sz, sh_mode_depth(), 0));
}

Test(compile_modes, watching_ones_see_and_stateful_ones_do_what_they_would) {
    SH_SCOPE {
        static const char *const only_mul[] = {"mul", "relu", NULL};
        const sh_level function = SH_LEVEL_FUNCTION, dispatch = SH_LEVEL_DISPATCH;
        sh_mode *swap = swapping(function, add_to_mul), *swap_low = swapping(dispatch, mul_to_sub);
        sh_mode *log = noting_at("A", function, SH_MODE_WATCHING, NULL);
        sh_mode *log_low = noting_at("B", dispatch, SH_MODE_WATCHING, NULL);
        sh_mode *some = noting_at("C", function, SH_MODE_STATEFUL, only_mul);
        sh_mode *doubles = sh_mode_new(doubles_mul, NULL), *twice = sh_mode_new(next_twice, NULL);
        const stack stacks[] = {
            {"none", {NULL}},
            {"swap", {swap}},
            {"swap at dispatch level", {swap_low}},
            {"both swaps", {swap, swap_low}},
            {"log", {log}},
            {"log at dispatch level", {log_low}},
            {"log above swap", {swap, log}},
            {"log below swap", {log, swap}},
            {"logs at both levels", {log, log_low}},
            {"swap between logs", {log, swap, some}},
            {"some ops", {some}},
            {"some ops above swap at dispatch level", {swap_low, some}},
            {"a mode that calls ops and answers", {doubles}},
            {"the same below a log", {doubles, log}},
            {"the same above a log", {log, doubles}},
            {"the same above a swap", {swap, doubles}},
            {"next twice above a log", {log, twice}},
            {"the same mode twice", {log, log}},
        };
        sh_compiled *c = compile_exactly(mixed, NULL);
        for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) as_eager(&stacks[i], mixed, c);
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, sizeof stacks / sizeof *stacks));
        sh_mode *const all[] = {swap, swap_low, log, log_low, some, doubles, twice};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) sh_mode_release(all[i]);
        sh_compiled_free(c);
    }
}

Test(compile_modes, global_ones_are_guarded_baked_and_kept_too) {
    SH_SCOPE {
        sh_mode *swap = swapping(SH_LEVEL_FUNCTION, add_to_mul);
        sh_mode *log = noting_at("G", SH_LEVEL_FUNCTION, SH_MODE_WATCHING, NULL);
        sh_compiled *c = compile_exactly(mixed, NULL);
        const stack none = {"global modes alone", {NULL}};
        sh_push_mode_global(log);
        as_eager(&none, mixed, c);
        sh_push_mode_global(swap);
        as_eager(&none, mixed, c);
        sh_pop_mode_global(swap);
        as_eager(&(stack){"a global log below a swap", {swap}}, mixed, c);
        sh_pop_mode_global(log);
        as_eager(&none, mixed, c);
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 4));
        sh_mode_release(swap);
        sh_mode_release(log);
        sh_compiled_free(c);
    }
}

Test(compile_modes, switches_are_guarded) {
    SH_SCOPE {
        sh_mode *swap = swapping(SH_LEVEL_FUNCTION, add_to_mul);
        sh_compiled *c = compile_exactly(x_plus_yx, NULL);
        sh_tensor *x = number(3), *y = number(2);
        SH_WITH_MODE(swap) {
            sh_switch off;
            cr_expect(eq(dbl, first(call_compiled(c, x, y)), 18));
            sh_switch_off(&off, SH_OFF_ALL);
            cr_expect(eq(dbl, first(call_compiled(c, x, y)), 9));
            sh_switch_end(&off);
            sh_switch_mode_off(&off, swap);
            cr_expect(eq(dbl, first(call_compiled(c, x, y)), 9));
            sh_switch_end(&off);
            cr_expect(eq(dbl, first(call_compiled(c, x, y)), 18));
        }
        no_error();
        sh_mode_release(swap);
        sh_compiled_free(c);
    }
}

/* ---- called from a callback ---- */

static sh_compiled *inner;
static sh_status calls_compiled(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) != SH_OP_sub) return SH_PASS;
    sh_tensor *z = call_compiled(inner, sh_call_tensor(call, 0), sh_call_tensor(call, 1));
    return z ? sh_call_set_tensor(call, z) : SH_ERROR_CALLBACK;
}

Test(compile_modes, a_call_from_a_callback_meets_the_modes_below_it) {
    SH_SCOPE {
        sh_mode *log = noting_at("L", SH_LEVEL_FUNCTION, SH_MODE_WATCHING, NULL);
        sh_mode *swap = swapping(SH_LEVEL_FUNCTION, add_to_mul);
        sh_mode *outer = sh_mode_new(calls_compiled, NULL);
        inner = compile_exactly(x_plus_yx, NULL);
        sh_push_mode(swap);
        sh_push_mode(outer);
        sh_push_mode(log);
        for (int i = 0; i < 2; i++) cr_expect(eq(dbl, first(sh_sub(number(3), number(2))), 18));
        sh_pop_mode(log);
        sh_pop_mode(outer);
        sh_pop_mode(swap);
        no_error();
        cr_expect(eq(u64, sh_compiled_stats(inner).compilations, 1));
        sh_mode_release(log);
        sh_mode_release(swap);
        sh_mode_release(outer);
        sh_compiled_free(inner);
    }
}

/* ---- errors ---- */

static bool fails;
static sh_status fails_at_times(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (fails && sh_call_family(call) == SH_OP_mul) return sh_fail(SH_ERROR_VALUE, "no mul today");
    return SH_PASS;
}

/* Case 53. */
Test(compile_modes, a_callback_that_fails_leaves_everything_as_it_was) {
    SH_SCOPE {
        sh_mode *mode = sh_mode_new(fails_at_times, &(sh_mode_options){.name = "fussy"});
        sh_compiled *c = compile_exactly(mixed, NULL);
        sh_tensor *x = sh_ones(SH_SIZES(2, 2));
        SH_WITH_MODE(mode) {
            for (int i = 0; i < 4; i++) {
                fails = i % 2;
                const size_t held = sh_scope_held();
                sh_tensor *y = sh_compiled_run(c, x);
                cr_expect(eq(sz, sh_mode_depth(), 1));
                if (!fails) {
                    cr_expect(same_bits(y, call_eager(mixed, NULL, x, NULL)));
                    continue;
                }
                cr_expect(y == NULL && sh_scope_held() == held);
                expect_error("no mul today");
            }
        }
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        cr_expect(eq(str, TEXT(sh_scope_path()), TEXT("")));
        sh_mode_release(mode);
        sh_compiled_free(c);
    }
}

Test(compile_modes, an_error_while_tracing_names_the_read_and_leaves_the_stack) {
    SH_SCOPE {
        sh_mode *mode = swapping(SH_LEVEL_FUNCTION, add_to_mul);
        sh_compiled *c = compile_exactly(mixed, NULL);
        sh_tensor *wrong = sh_ones(SH_SIZES(2, 3));
        SH_WITH_MODE(mode) {
            for (int i = 0; i < 2; i++) {
                cr_expect(sh_compiled_run(c, wrong) == NULL);
                expect_error("linear");
                cr_expect(eq(sz, sh_mode_depth(), 1));
            }
            cr_expect(sh_compiled_run(c, sh_ones(SH_SIZES(2, 2))) != NULL);
        }
        no_error();
        sh_mode_release(mode);
        sh_compiled_free(c);
    }
}

/* ---- results that the trace did not foresee ---- */

static sh_status answers_shape(sh_mode *mode, sh_call *call) {
    const int *n = sh_mode_user(mode);
    if (sh_call_family(call) != SH_OP_mul) return SH_PASS;
    return sh_call_set_tensor(call, sh_zeros(sh_ints_of((const int64_t[]){*n}, 1)));
}

Test(compile_modes, a_result_of_another_shape_than_when_compiled_is_an_error_that_names_it) {
    SH_SCOPE {
        int n = 2;
        sh_mode *mode = sh_mode_new(answers_shape, &(sh_mode_options){.name = "shape", .user = &n});
        sh_compiled *c = compile_exactly(x_plus_yx, NULL);
        SH_WITH_MODE(mode) {
            cr_expect(eq(dbl, first(call_compiled(c, number(3), number(2))), 3));
            n = 1;
            cr_expect(call_compiled(c, number(3), number(2)) == NULL);
            expect_error("%mul is f32[1], and was f32[2] when it was compiled");
            n = 2;
            cr_expect(eq(dbl, first(call_compiled(c, number(3), number(2))), 3));
        }
        no_error();
        sh_mode_release(mode);
        sh_compiled_free(c);
    }
}

/* ---- captures and user functions ---- */

Test(compile_modes, a_capture_around_a_compiled_call_records_what_it_would_record) {
    SH_SCOPE {
        sh_compiled *c = compile_exactly(x_plus_yx, NULL);
        sh_tensor *x = number(3), *y = number(2);
        call_compiled(c, x, y);
        sh_capture *capture = sh_capture_new(NULL);
        sh_tensor *z = NULL;
        sh_capture_input(capture, x, "x");
        sh_capture_input(capture, y, "y");
        SH_WITH_MODE(sh_capture_mode(capture)) z = call_compiled(c, x, y);
        sh_graph *graph = sh_capture_graph(capture, SH_LIST(z));
        cr_assert(graph != NULL);
        char *text = sh_graph_text(graph);
        cr_expect(strstr(text, "add") && strstr(text, "mul"), "%s", text);
        free(text);
        sh_graph_free(graph);
        sh_capture_free(capture);
        sh_compiled_free(c);
    }
}

static sh_status gate(void *user, sh_arguments args, sh_value *result) {
    ++*(int *)user;
    *result = sh_value_tensor(sh_add(sh_arguments_tensor(args, 0), 1.0));
    return SH_OK;
}

static sh_value gated(sh_values in, void *user) {
    (void)user;
    return sh_value_tensor(sh_neg(sh_function_call("test::gate", sh_neg(in.at[0].as.tensor))));
}

Test(compile_modes, a_user_function_runs_each_time_and_its_ops_meet_the_modes) {
    SH_SCOPE {
        int calls = 0;
        sh_function_register("test::gate", gate, &(sh_function_options){.user = &calls});
        sh_mode *swap = swapping(SH_LEVEL_FUNCTION, add_to_mul);
        sh_compiled *c = compile_exactly(gated, NULL);
        for (int i = 0; i < 3; i++) cr_expect(eq(dbl, first(sh_compiled_run(c, number(3))), 2));
        no_error();
        calls = 0;
        for (int i = 0; i < 3; i++) sh_compiled_run(c, number(3));
        cr_expect(eq(int, calls, 3));
        SH_WITH_MODE(swap) cr_expect(eq(dbl, first(sh_compiled_run(c, number(3))), 3));
        no_error();
        sh_mode_release(swap);
        sh_compiled_free(c);
        sh_function_remove("test::gate");
    }
}
