/* test_compile_kernels.c - kernels of the user's own, rules, backends and ops defined at run time under compiled calls. */
#include "tests/compile.h"
#include "tests/modes.h"

TestSuite(compile_kernels);

static int runs;

static sh_status subtracts(sh_call *call, void *user) {
    const float *a = sh_tensor_data(sh_call_tensor(call, 0)), *b = sh_tensor_data(sh_call_tensor(call, 1));
    float *z = sh_tensor_data(sh_call_result(call, 0).as.tensor);
    (void)user;
    runs++;
    for (int64_t i = 0; i < sh_tensor_numel(sh_call_tensor(call, 0)); i++) z[i] = a[i] - b[i];
    return SH_OK;
}

static double run(sh_compiled *c) { return first(call_compiled(c, number(3), number(2))); }

Test(compile_kernels, one_that_is_registered_or_removed_counts_from_the_next_call) {
    SH_SCOPE {
        sh_kernel mine;
        sh_set_warning_sink(sh_warnings_off, NULL);
        sh_compiled *c = compile_exactly(x_plus_yx, NULL);
        cr_expect(eq(dbl, run(c), 9));
        cr_assert(eq(int, sh_kernel_register("add", "cpu", subtracts, NULL, "the test", &mine), SH_OK));
        for (int i = 0; i < 3; i++) cr_expect(eq(dbl, run(c), -3));
        cr_expect(eq(int, runs, 3));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 2));
        sh_kernel_remove(mine);
        cr_expect(eq(dbl, run(c), 9));
        cr_expect(eq(int, runs, 3));
        no_error();
        sh_compiled_free(c);
    }
}

Test(compile_kernels, one_under_a_condition_is_asked_at_each_call) {
    SH_SCOPE {
        sh_kernel mine;
        const sh_kernel_options options = {.where = "call=2..3"};
        sh_set_warning_sink(sh_warnings_off, NULL);
        sh_compiled *c = compile_exactly(x_plus_yx, NULL);
        cr_assert(eq(int, sh_kernel_register_with("add", subtracts, &options, &mine), SH_OK));
        const double expected[] = {9, -3, -3, 9};
        for (int i = 0; i < 4; i++) cr_expect(eq(dbl, run(c), expected[i]), "call %d", i);
        no_error();
        sh_kernel_remove(mine);
        sh_compiled_free(c);
    }
}

Test(compile_kernels, backends_and_rules_are_guarded) {
    SH_SCOPE {
        sh_rule_handle rule;
        sh_compiled *c = compile_exactly(x_plus_yx, NULL);
        cr_expect(eq(dbl, run(c), 9));
        SH_WITH_BACKEND("ref") cr_expect(eq(dbl, run(c), 9));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 2));
        cr_expect(eq(dbl, run(c), 9));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 2));
        cr_assert(eq(int, sh_rule_add(&(sh_rule){.ops = "mul", .backend = "ref"}, &rule), SH_OK));
        cr_expect(eq(dbl, run(c), 9));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 3));
        sh_rule_remove(rule);
        cr_assert(eq(int, sh_backend_set_default("ref"), SH_OK));
        cr_expect(eq(dbl, run(c), 9));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 4));
        sh_backend_set_default("cpu");
        no_error();
        sh_compiled_free(c);
    }
}

/* ---- an op of the user's ---- */

static sh_status accumulates(sh_call *call, void *user) {
    (void)user;
    sh_tensor *x = sh_call_tensor(call, 0), *state = sh_call_tensor(call, 1);
    sh_add_(state, x);
    return sh_call_set_tensor(call, sh_mul(x, state));
}

static sh_status like_x(const sh_value *args, sh_spec *results, void *user) {
    (void)user;
    const sh_tensor *x = args[0].as.tensor;
    results[0] = (sh_spec){.dtype = sh_tensor_dtype(x), .ndim = 1, .sizes = {sh_tensor_size(x, 0)}};
    return SH_OK;
}

static sh_value remembers(sh_values in, void *user) {
    return sh_value_tensor(sh_neg(sh_call_op("mylib::accumulate", in.at[0].as.tensor, (sh_tensor *)user)));
}

Test(compile_kernels, an_op_that_writes_to_what_it_is_given_does_so_in_each_run) {
    SH_SCOPE {
        sh_op_options o = SH_OP_OPTIONS_INIT;
        o.cpu = accumulates;
        o.infer = like_x;
        cr_assert(eq(int, sh_op_define("mylib::accumulate(Tensor x, Tensor(a!) state) -> Tensor", &o, NULL),
                     SH_OK));
        sh_tensor *state = number(0), *same = number(0);
        sh_compiled *c = compile_exactly(remembers, state);
        for (int i = 0; i < 4; i++)
            cr_expect(same_bits(sh_compiled_run(c, number(3)), call_eager(remembers, same, number(3), NULL)));
        cr_expect(same_bits(state, same));
        no_error();
        sh_compiled_free(c);
        sh_op_undefine("mylib::accumulate");
    }
}
