/* Calls by name: what the typed function takes is taken, overloads are found, nesting stays cheap. */
#include "tests/modes.h"
#include "tests/sample.h"

TestSuite(by_name, .timeout = 60);

/* ---- nesting: each argument is expanded once, or this file would never compile ---- */

#define TWICE(x) sh_call_op("add", x, SH_NAMED("other", y))
#define NEST_5(x) TWICE(TWICE(TWICE(TWICE(TWICE(x)))))
#define NEST_30(x) NEST_5(NEST_5(NEST_5(NEST_5(NEST_5(NEST_5(x))))))
#define OTHER(x) sh_call_op("add", y, SH_NAMED("other", x))
#define OTHER_5(x) OTHER(OTHER(OTHER(OTHER(OTHER(x)))))
#define OTHER_30(x) OTHER_5(OTHER_5(OTHER_5(OTHER_5(OTHER_5(OTHER_5(x))))))
#define VALUE(x) SH_VALUE(sh_call_op("add", y, x))
#define VALUE_5(x) VALUE(VALUE(VALUE(VALUE(VALUE(x)))))
#define VALUE_30(x) VALUE_5(VALUE_5(VALUE_5(VALUE_5(VALUE_5(VALUE_5(x))))))
#define NODE(x) sh_graph_call_function(g, "relu", x)
#define NODE_5(x) NODE(NODE(NODE(NODE(NODE(x)))))
#define NODE_30(x) NODE_5(NODE_5(NODE_5(NODE_5(NODE_5(NODE_5(x))))))

Test(by_name, calls_nest_thirty_deep) {
    sh_tensor *x = number(1), *y = number(1);
    sh_tensor *positional = NEST_30(x), *keyword = OTHER_30(x), *value = VALUE_30(x).as.tensor;
    cr_assert(eq(dbl, first(positional), 31));
    cr_assert(eq(dbl, first(keyword), 31));
    cr_assert(eq(dbl, first(value), 31));
    sh_graph *g = sh_graph_new();
    sh_node *last = NODE_30(sh_graph_placeholder(g, "x"));
    sh_graph_output(g, SH_ARG(last));
    size_t n = 0;
    SH_EACH_NODE(node, g) n++;
    cr_assert(eq(sz, n, 32));
    sh_graph_free(g);
}

Test(by_name, a_list_in_a_value_lives_as_long_as_the_block_it_stands_in) {
    sh_tensor *x = number(1), *y = number(2);
    const sh_value shape = SH_VALUE(SH_SIZES(2, 2)), list = SH_VALUE(SH_LIST(x, y)),
                   named = SH_NAMED("shape", SH_SIZES(4, 1)).value;
    sh_tensor *joined = sh_call_op("cat", list);
    cr_assert(eq(dbl, sh_tensor_at(sh_call_op("reshape", joined, shape), (const int64_t[]){1, 0}), 2));
    cr_assert(eq(i64, sh_tensor_sizes(sh_call_op("reshape", joined, named))[0], 4));
}

/* ---- what is taken ---- */

Test(by_name, a_dtype_may_be_the_enum) {
    sh_tensor *x = number(3);
    cr_assert(eq(int, sh_tensor_dtype(sh_call_op("to", x, SH_F64)), SH_F64));
    cr_assert(eq(int, sh_tensor_dtype(sh_call_op("sum", x, SH_NAMED("dtype", SH_F64))), SH_F64));
    cr_assert(eq(int, sh_tensor_dtype(sh_call_op("sum", x, SH_NAMED("dtype", SH_NO_DTYPE))), SH_F32));
    cr_assert(eq(ptr, sh_call_op("to", x, SH_DTYPE_COUNT), NULL));
    cr_assert(failed_with(SH_ERROR_TYPE, "to: argument dtype: got int, expected ScalarType"));
    cr_assert(eq(ptr, sh_call_op("to", x, -1), NULL));
    cr_assert(failed_with(SH_ERROR_TYPE, "dtype"));
}

Test(by_name, a_flag_may_be_zero_or_one_and_an_axis_a_list) {
    sh_tensor *x = sh_ones(SH_SIZES(2, 3));
    cr_assert(eq(int, sh_tensor_ndim(sh_call_op("any", x, 0, true)), 2));
    cr_assert(eq(int, sh_tensor_ndim(sh_call_op("any", x, 0, false)), 1));
    cr_assert(eq(ptr, sh_call_op("any", x, 0, 2), NULL));
    cr_assert(failed_with(SH_ERROR_TYPE, "any: argument keepdim: got int, expected bool"));
    cr_assert(eq(dbl, first(sh_call_op("sum", x, SH_DIMS(0, -1))), 6));
    cr_assert(eq(dbl, first(sh_call_op("sum", x, 1)), 3));
    cr_assert(eq(dbl, first(sh_call_op("sum", x, SH_NO_INT)), 6));
    cr_assert(eq(dbl, first(sh_call_op("clamp", x, SH_NO_NUMBER, 0.5)), 0.5));
}

Test(by_name, null_is_none_and_a_number_too_large_is_an_error) {
    sh_tensor *x = sh_ones(SH_SIZES(2, 3));
    cr_assert(eq(dbl, first(sh_call_op("linear", x, x, NULL)), 3));
    cr_assert(eq(ptr, sh_call_op("relu", NULL), NULL));
    cr_assert(failed_with(SH_ERROR_TYPE, "relu: argument self: got None, expected Tensor"));
    cr_assert(eq(ptr, sh_call_op("add", x, UINT64_MAX), NULL));
    cr_assert(failed_with(SH_ERROR_VALUE, "18446744073709551615"));
    cr_assert(eq(ptr, sh_full(SH_SIZES(1), UINT64_MAX), NULL));
    cr_assert(failed_with(SH_ERROR_VALUE, "18446744073709551615"));
    cr_assert(eq(dbl, first(sh_call_op("add", x, 1.5L)), 2.5));
    cr_assert(eq(dbl, first(sh_add(x, 1.5L)), 2.5));
    cr_assert(eq(dbl, first(sh_full(SH_SIZES(1), 1.5L)), 1.5));
}

static sh_status edits_axes(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) != SH_OP_sum) return SH_PASS;
    SH_TRY(sh_call_set_arg_named(call, "dim", SH_VALUE(SH_DIMS(0, 1))));
    SH_TRY(sh_call_set_arg_named(call, "keepdim", SH_VALUE(1)));
    SH_TRY(sh_call_set_arg_named(call, "dtype", SH_VALUE(SH_F64)));
    return SH_PASS;
}

Test(by_name, an_edit_takes_the_same) {
    sh_tensor *y = NULL, *x = sh_ones(SH_SIZES(2, 3));
    SH_WITH_MODE(edits_axes) { y = sh_sum(x); }
    cr_assert(eq(dbl, first(y), 6));
    cr_assert(eq(int, sh_tensor_ndim(y), 2));
    cr_assert(eq(int, sh_tensor_dtype(y), SH_F64));
}

/* ---- overloads ---- */

Test(by_name, a_name_without_overload_means_the_one_that_takes_the_arguments) {
    sh_tensor *x = sh_reshape(sh_arange(6.0), SH_SIZES(2, 1, 3)), *low = number(1);
    cr_assert(eq(i64, sh_tensor_sizes(sh_call_op("eye", 2, 3))[1], 3));
    cr_assert(eq(i64, sh_tensor_sizes(sh_call_op("eye", 2))[1], 2));
    cr_assert(eq(dbl, first(sh_call_op("max", x)), 5));
    cr_assert(eq(dbl, first(sh_call_op("max", x, -1)), 2));
    cr_assert(eq(int, sh_tensor_ndim(sh_call_op("squeeze", x, 0)), 3));
    cr_assert(eq(int, sh_tensor_ndim(sh_call_op("squeeze", x)), 2));
    cr_assert(eq(i64, sh_tensor_numel(sh_call_op("arange", 1, 5, 2)), 2));
    cr_assert(eq(i64, sh_tensor_numel(sh_call_op("randint", 1, 5, SH_SIZES(7))), 7));
    cr_assert(eq(dbl, first(sh_call_op("clamp", number(0), low)), 1));
    sh_tensor *self = number(0);
    cr_assert(eq(ptr, sh_call_op("clamp_", self, low), self));
    cr_assert(eq(dbl, first(self), 1));
    sh_value results[SH_MAX_RESULTS];
    const sh_argument sizes[] = {{NULL, sh_value_tensor(x)}, SH_NAMED("split_sizes", SH_SIZES(1, 1))};
    cr_assert(eq(int, sh_call_by_name("split", sizes, 2, results), SH_OK));
    cr_assert(eq(sz, results[0].count, 2));
}

Test(by_name, when_none_does_the_error_is_that_of_the_plain_name) {
    sh_tensor *x = number(1);
    const size_t held = sh_scope_held();
    cr_assert(eq(ptr, sh_call_op("squeeze", x, "text"), NULL));
    cr_assert(failed_with(SH_ERROR_ARGUMENT, "squeeze: argument number 2 is too many"));
    cr_assert(eq(ptr, sh_call_op("clamp", 1.0, "low"), NULL));
    cr_assert(failed_with(SH_ERROR_TYPE, "clamp: argument min: got str, expected Scalar?"));
    cr_assert(eq(ptr, sh_call_op("max.dim", x), NULL));
    cr_assert(failed_with(SH_ERROR_ARGUMENT, "max.dim: argument dim is missing"));
    cr_assert(eq(ptr, sh_call_op("any.dim", x, 0), NULL));
    cr_assert(failed_with(SH_ERROR_OP, "there is no op any.dim; did you mean any"));
    cr_assert(eq(sz, sh_scope_held(), held));
}

static sh_status doubled(sh_call *call, void *user) {
    (void)user;
    sh_tensor *y = sh_add(sh_call_tensor(call, 0), sh_call_tensor(call, 0));
    return y ? sh_call_set_tensor(call, y) : sh_error()->code;
}

Test(by_name, a_family_of_overloads_alone_is_found_by_its_name) {
    sh_kernel kernel;
    cr_assert(eq(int, sh_op_define("test::only.one(Tensor x) -> Tensor", NULL, NULL), SH_OK));
    cr_assert(eq(int, sh_op_define("test::only.two(Tensor x, Tensor y) -> Tensor", NULL, NULL), SH_OK));
    cr_assert(eq(int, sh_kernel_register("test::only.two", "cpu", doubled, NULL, "test", &kernel), SH_OK));
    sh_tensor *x = number(4);
    cr_assert(eq(dbl, first(sh_call_op("test::only", x, x)), 8));
    cr_assert(eq(ptr, sh_call_op("test::only", x, x, x), NULL));
    cr_assert(failed_with(SH_ERROR_OP, "test::only"));
}
