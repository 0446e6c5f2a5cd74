/* test_compile_calls.c - a compiled call gives what the eager one gives: writes, views, lists, state, and what can go wrong. */
#include <stdlib.h>

#include "tests/compile.h"
#include "tests/modes.h"

TestSuite(compile_calls);

/* ---- functions, each with what it is about ---- */

FUNCTION(gives_its_input, return sh_value_tensor(x);)
FUNCTION(gives_a_view_of_its_input, return sh_value_tensor(sh_narrow(x, 0, 1, 2));)
FUNCTION(gives_a_constant, return sh_value_tensor(sh_full(SH_SIZES(2, 3), 4));)
FUNCTION(writes_its_input, sh_add_(x, 1); return sh_value_tensor(sh_mul(x, y));)
FUNCTION(writes_through_a_view, sh_tensor *z = sh_mul(x, 2.0);
         sh_mul_(sh_select(z, 0, 1), sh_select(y, 0, 0)); return sh_value_tensor(sh_add(z, x));)
FUNCTION(writes_a_view_of_its_input, sh_mul_(sh_narrow(x, 0, 0, 1), 0.0); return sh_value_tensor(sh_exp(x));)
FUNCTION(reads_before_and_after_a_write, sh_tensor *a = sh_add(y, 1.0); sh_add_(x, 1);
         sh_tensor *b = sh_add(y, 1.0); return sh_value_tensor(sh_sub(a, b));)
FUNCTION(reshapes_what_lies_across,
         return sh_value_tensor(sh_add(sh_reshape(sh_transpose(x, 0, 1), SH_SIZES(-1)), 1.0));)
FUNCTION(casts, return sh_value_tensor(sh_to(sh_add(sh_to(x, SH_F64), 0.1), SH_F16));)
FUNCTION(counts, return sh_value_tensor(sh_sum(sh_gt(x, 0.2)));)
FUNCTION(joins, return sh_value_tensor(sh_cat(SH_LIST(x, sh_neg(y), x), .dim = 1));)
FUNCTION(takes_parts, sh_list *parts = sh_split(x, 1, .dim = 0);
         return sh_value_tensor(sh_sub(sh_list_at(parts, 0), sh_list_at(parts, 2)));)
FUNCTION(takes_the_largest, return sh_value_tensor(sh_mul(sh_max_dim(x, 1).values, 2.0));)
FUNCTION(draws_nothing_in_evaluation, return sh_value_tensor(sh_dropout(x, .training = false));)
FUNCTION(is_composite, return sh_value_tensor(sh_addmm(y, sh_matmul(x, sh_transpose(x, 0, 1)), y));)
FUNCTION(gives_a_list, return sh_list_value(SH_LIST(sh_add(x, y), x, sh_transpose(x, 0, 1)));)
FUNCTION(gives_parts, return sh_list_value(sh_list_view(sh_chunk(sh_add(x, 1.0), 3)));)
FUNCTION(fills_an_out, sh_tensor *z = sh_empty(SH_SIZES(3, 3)); sh_add(x, y, .out = z);
         return sh_value_tensor(sh_mul(z, z));)
FUNCTION(finds_the_nonzero, return sh_value_tensor(sh_nonzero(sh_ones(SH_SIZES(2, 2))));)

static const struct {
    const char *name;
    sh_traceable function;
} functions[] = {
#define ROW(name) \
    { #name, name }
    ROW(gives_its_input),
    ROW(gives_a_view_of_its_input),
    ROW(gives_a_constant),
    ROW(writes_its_input),
    ROW(writes_through_a_view),
    ROW(writes_a_view_of_its_input),
    ROW(reads_before_and_after_a_write),
    ROW(reshapes_what_lies_across),
    ROW(casts),
    ROW(counts),
    ROW(joins),
    ROW(takes_parts),
    ROW(takes_the_largest),
    ROW(draws_nothing_in_evaluation),
    ROW(is_composite),
    ROW(gives_a_list),
    ROW(gives_parts),
    ROW(fills_an_out),
};

static void expect_same(const char *name, sh_value got, sh_value expected) {
    cr_assert(eq(u32, got.tag, expected.tag), "%s", name);
    cr_assert(eq(u32, got.count, expected.count), "%s", name);
    if (got.tag == SH_TAG_TENSOR) cr_expect(same_bits(got.as.tensor, expected.as.tensor), "%s", name);
    for (uint32_t i = 0; got.tag == SH_TAG_TENSORS && i < got.count; i++)
        cr_expect(same_bits(got.as.tensors[i], expected.as.tensors[i]), "%s, entry %u", name, i);
}

/* The inputs of the compiled call and those of the eager one, which may be written to. `which`: how they lie. */
static void make_inputs(int which, sh_value *inputs) {
    sh_tensor *x = some(3, 3), *y = sh_neg(some(3, 3));
    if (which == 1) y = x;                                                   /* one tensor twice */
    if (which == 2) y = sh_transpose(x, 0, 1);                               /* the same memory */
    if (which == 3) x = sh_narrow(sh_cat(SH_LIST(x, x), .dim = 1), 1, 2, 3); /* with gaps */
    inputs[0] = sh_value_tensor(x);
    inputs[1] = sh_value_tensor(y);
}

Test(compile_calls, all_kinds_of_functions_give_what_they_give_eagerly_and_write_what_they_write) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        sh_compiled *c = compile_exactly(functions[i].function, NULL);
        for (int which = 0; which < 4; which++)
            for (int call = 0; call < 3; call++) SH_SCOPE {
                    sh_value a[2], b[2];
                    make_inputs(which, a);
                    make_inputs(which, b);
                    const sh_value expected = functions[i].function((sh_values){b, 2}, NULL);
                    const sh_value got = sh_compiled_call(c, (sh_values){a, 2});
                    no_error();
                    expect_same(functions[i].name, got, expected);
                    for (int k = 0; k < 2; k++)
                        cr_expect(same_bits(a[k].as.tensor, b[k].as.tensor), "%s writes input %d, layout %d",
                                  functions[i].name, k, which);
                }
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 4), "%s", functions[i].name);
        sh_compiled_free(c);
    }
}

Test(compile_calls, what_is_an_input_is_given_back_itself_and_what_is_not_is_fresh_each_time) {
    SH_SCOPE {
        sh_compiled *same = compile_exactly(gives_its_input, NULL), *fresh = compile_exactly(x_plus_yx, NULL);
        sh_tensor *x = some(2, 2);
        cr_expect(sh_compiled_run(same, x) == x);
        sh_tensor *a = call_compiled(fresh, x, x), *b = call_compiled(fresh, x, x);
        cr_expect(a != b && !sh_tensor_same_storage(a, b));
        sh_mul_(a, 7.0);
        cr_expect(same_bits(b, call_compiled(fresh, x, x)));
        no_error();
        sh_compiled_free(same);
        sh_compiled_free(fresh);
    }
}

Test(compile_calls, a_read_of_data_is_an_error_that_names_the_result) {
    SH_SCOPE {
        sh_compiled *c = compile_exactly(finds_the_nonzero, NULL);
        cr_expect(sh_compiled_run(c, some(2, 2)) == NULL);
        expect_error("nonzero");
        sh_compiled_free(c);
    }
}

FUNCTION(looks_up, return sh_value_tensor(sh_neg(sh_embedding(y, x)));)

/* Case 53. */
Test(compile_calls, a_kernel_that_fails_names_the_node_and_the_plan_runs_again) {
    SH_SCOPE {
        sh_compiled *c = compile_exactly(looks_up, NULL);
        sh_tensor *table = some(4, 3);
        sh_tensor *good = sh_tensor_copy_of((const int64_t[]){0, 3}, SH_I64, SH_SIZES(2));
        sh_tensor *bad = sh_tensor_copy_of((const int64_t[]){0, 9}, SH_I64, SH_SIZES(2));
        for (int i = 0; i < 3; i++) {
            const size_t held = sh_scope_held();
            cr_expect(call_compiled(c, bad, table) == NULL);
            cr_expect(eq(sz, sh_scope_held(), held));
            cr_assert(sh_error() != NULL);
            cr_expect(strstr(sh_error()->where, "node of a plan embedding") != NULL, "%s", sh_error()->where);
            expect_error("9");
            cr_expect(same_bits(call_compiled(c, good, table), call_eager(looks_up, NULL, good, table)));
            no_error();
        }
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        sh_compiled_free(c);
    }
}

FUNCTION(draws, return sh_value_tensor(sh_add(sh_dropout(x, .p = 0.5, .training = true),
                                              sh_sub(sh_rand(SH_SIZES(3, 3)), sh_rand(SH_SIZES(3, 3)))));)

Test(compile_calls, random_numbers_are_drawn_anew_in_the_order_of_the_eager_call) {
    SH_SCOPE {
        sh_compiled *c = compile_exactly(draws, NULL);
        sh_tensor *x = some(3, 3), *eager[3];
        sh_manual_seed(7);
        for (int i = 0; i < 3; i++) eager[i] = call_eager(draws, NULL, x, NULL);
        sh_manual_seed(7);
        for (int i = 0; i < 3; i++) cr_expect(same_bits(sh_compiled_run(c, x), eager[i]), "draw %d", i);
        cr_expect(eq(int, same_bits(eager[0], eager[1]), 0));
        no_error();
        sh_compiled_free(c);
    }
}

FUNCTION(gives_a_number, return sh_value_int(3);)

Test(compile_calls, bad_inputs_and_options_are_errors_that_say_what_was_wrong) {
    SH_SCOPE {
        sh_compile_options options = SH_COMPILE_OPTIONS_INIT;
        cr_expect(sh_compile(NULL, NULL) == NULL);
        expect_error("module is NULL");
        cr_expect(sh_compile_function(NULL, NULL, NULL) == NULL);
        expect_error("function is NULL");
        options.size = 1 << 20;
        cr_expect(sh_compile_function(gives_its_input, NULL, &options) == NULL);
        expect_error("SH_COMPILE_OPTIONS_INIT");
        cr_expect(sh_compiled_run(NULL, NULL) == NULL);
        expect_error("is NULL");
        sh_compiled *c = sh_compile_function(gives_a_number, NULL, NULL);
        cr_expect(sh_compiled_plan_text(c) == NULL);
        expect_error("never called");
        cr_expect(sh_compiled_run(c, NULL) == NULL);
        expect_error("input 0 is NULL");
        cr_expect(sh_compiled_run(c, some(2, 2)) == NULL);
        sh_clear_error();
        sh_compiled_free(c);
        sh_compiled_free(NULL);
    }
}

/* ---- state outside ---- */

static sh_value keeps_a_sum(sh_values in, void *user) {
    sh_tensor *state = user;
    sh_add_(state, in.at[0].as.tensor);
    return sh_value_tensor(sh_mul(sh_copy_(state, sh_mul(state, 0.5)), 3.0));
}

Test(compile_calls, state_outside_is_written_in_each_run_and_never_while_tracing) {
    SH_SCOPE {
        sh_tensor *state = sh_zeros(SH_SIZES(2, 2)), *same = sh_zeros(SH_SIZES(2, 2));
        sh_compiled *c = compile_exactly(keeps_a_sum, state);
        for (int i = 0; i < 4; i++) {
            cr_expect(
                same_bits(sh_compiled_run(c, some(2, 2)), call_eager(keeps_a_sum, same, some(2, 2), NULL)));
            no_error();
            cr_expect(same_bits(state, same));
        }
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        sh_compiled_free(c);
    }
}

/* ---- the cache ---- */

Test(compile_calls, the_plan_used_least_recently_goes_when_there_are_too_many) {
    SH_SCOPE {
        sh_compile_options two = SH_COMPILE_OPTIONS_INIT;
        two.most_plans = 2;
        sh_compiled *c = sh_compile_function(x_plus_yx, NULL, &two);
        const int64_t sizes[] = {1, 2, 1, 3, 1, 2};
        const uint64_t expected[] = {1, 2, 2, 3, 3, 4};
        for (int i = 0; i < 6; i++) {
            sh_tensor *x = some(1, sizes[i]);
            cr_expect(same_bits(call_compiled(c, x, x), call_eager(x_plus_yx, NULL, x, x)));
            cr_expect(eq(u64, sh_compiled_stats(c).compilations, expected[i]), "call %d", i);
            cr_expect(le(sz, sh_compiled_stats(c).plans, 2));
        }
        sh_compiled_free(c);
    }
}

/* ---- inside others ---- */

static sh_value calls_another(sh_values in, void *user) { return sh_compiled_call(user, in); }

Test(compile_calls, inside_a_trace_it_is_traced_through) {
    SH_SCOPE {
        sh_compiled *inside = compile_exactly(x_plus_yx, NULL), *c = compile_exactly(calls_another, inside);
        sh_tensor *x = some(2, 2), *y = some(2, 2);
        for (int i = 0; i < 2; i++)
            cr_expect(same_bits(call_compiled(c, x, y), call_eager(x_plus_yx, NULL, x, y)));
        no_error();
        cr_expect(eq(u64, sh_compiled_stats(inside).eager, 1));
        cr_expect(eq(u64, sh_compiled_stats(inside).compilations, 0));
        sh_compiled_free(c);
        sh_compiled_free(inside);
    }
}

/* ---- constants that are written to ---- */

/* Reads one number, then changes it. */
static sh_value reads_and_doubles(sh_values in, void *user) {
    sh_tensor *y = sh_exp(sh_mul(in.at[0].as.tensor, user));
    sh_add_(user, user);
    return sh_value_tensor(y);
}

Test(compile_calls, a_number_that_is_written_to_is_read_in_each_run) {
    SH_SCOPE {
        sh_tensor *fast = SH_FLOATS(0.3), *slow = SH_FLOATS(0.3);
        sh_compiled *c = sh_compile_function(reads_and_doubles, fast, NULL);
        const sh_value x = sh_value_tensor(some(2, 3));
        for (int i = 0; i < 3; i++) {
            sh_tensor *y = sh_value_as_tensor(sh_compiled_call(c, (sh_values){&x, 1}));
            cr_expect(same_bits(y, reads_and_doubles((sh_values){&x, 1}, slow).as.tensor), "run %d", i);
            cr_expect(same_bits(fast, slow), "run %d", i);
        }
        no_error();
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        sh_compiled_free(c);
    }
}
