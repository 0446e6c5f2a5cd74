/* test_custom_ops.c - ops defined at run time: their schemas, what is done for them, and that everything sees them. */
#include <stdlib.h>

#include "dispatch/memory.h"
#include "tests/fail_each.h"
#include "tests/graphs.h"
#include "tests/modes.h"
#include "tests/sample.h"

static char warned[512];
static void catch_warning(const char *line, void *user) {
    (void)user;
    snprintf(warned, sizeof warned, "%s", line);
}
static void quiet(void) { sh_set_warning_sink(catch_warning, NULL); }
TestSuite(custom_ops, .init = quiet);

static sh_status infer_first(const sh_value *args, sh_spec *results, void *user) {
    const sh_tensor *x = args[0].as.tensor;
    (void)user;
    results[0].dtype = sh_tensor_dtype(x);
    results[0].ndim = sh_tensor_ndim(x);
    memcpy(results[0].sizes, sh_tensor_sizes(x), (size_t)results[0].ndim * sizeof(int64_t));
    return SH_OK;
}

/* state = state * decay + x; the result is sigmoid(state) * x, filled in. */
static sh_status gate(sh_call *call, void *user) {
    (void)user;
    sh_tensor *x = sh_call_tensor(call, 0), *state = sh_call_tensor(call, 1);
    const double decay = sh_call_arg_named(call, "decay").as.f;
    sh_add_(sh_mul_(state, decay), x);
    sh_tensor *y = sh_mul(sh_sigmoid(state), x);
    return y && sh_copy_(sh_call_result(call, 0).as.tensor, y) ? SH_OK : sh_error()->code;
}

static sh_status twice(sh_call *call, void *user) {
    (void)user;
    sh_tensor *x = sh_call_tensor(call, 0);
    return sh_call_set_tensor(call, sh_add(x, x));
}

static sh_status nothing(sh_call *call, void *user) {
    (void)call;
    (void)user;
    return SH_OK;
}

/* Adds `by` (1) to each tensor of the first argument. */
static sh_status bump(sh_call *call, void *user) {
    (void)user;
    const sh_value v = sh_call_arg(call, 0);
    const sh_tensors list = sh_value_as_tensors(v);
    if (v.tag == SH_TAG_TENSOR) sh_add_(v.as.tensor, 1.0);
    for (size_t i = 0; i < list.n; i++) sh_add_(list.at[i], 1.0);
    return sh_error() ? sh_error()->code : SH_OK;
}

static sh_status define(const char *schema, sh_op_options options) {
    options.registrant = "the test";
    return sh_op_define(schema, &options, NULL);
}

static const char GATE[] = "mylib::fused_gate(Tensor x, Tensor(a!) state, *, float decay=0.5) -> Tensor";

/* ---- one call defines all ---- */

Test(custom_ops, one_call_defines_op_and_kernels_and_one_ends_them) {
    const sh_op *op;
    sh_tensor *x = number(1);
    sh_op_options o = SH_OP_OPTIONS_INIT;
    o.cpu = o.ref = twice;
    o.composite = twice;
    o.infer = infer_first;
    o.registrant = "the test";
    cr_assert(eq(int, sh_op_define("mylib::twice(Tensor x) -> Tensor", &o, &op), SH_OK));
    cr_assert(eq(dbl, first(sh_call_op("mylib::twice", x)), 2));
    SH_WITH_BACKEND("ref") cr_assert(eq(dbl, first(sh_call_op("mylib::twice", x)), 2));
    cr_assert(eq(str, TEXT(sh_op_registrant(op)), "the test"));
    cr_assert(eq(str, TEXT(sh_op_registrant(sh_op_find("add"))), "built-in"));
    cr_assert(ne(int, sh_op_tags(op) & SH_OP_COMPOSITE, 0));
    char *kernels = sh_op_describe(op);
    cr_assert(eq(str, kernels, "cpu: the test, ref: the test, composite: the test"));
    free(kernels);
    cr_assert(eq(int, sh_table_check(), SH_OK));
    cr_assert(eq(int, sh_op_undefine("mylib::twice"), SH_OK));
    kernels = sh_op_describe(op);
    cr_assert(eq(str, kernels, "nothing"));
    free(kernels);
    cr_assert(eq(int, sh_table_check(), SH_OK));
    cr_assert(eq(ptr, sh_call_op("mylib::twice", x), NULL));
    cr_assert(eq(int, (failed_with(SH_ERROR_OP, "mylib::twice")) ? 1 : 0, 1));
    cr_assert(eq(int, sh_op_undefine("mylib::twice"), SH_ERROR_OP));
    cr_assert(eq(int, (failed_with(SH_ERROR_OP, "there is no op mylib::twice")) ? 1 : 0, 1));
    cr_assert(eq(int, sh_op_undefine("add"), SH_ERROR_OP));
    cr_assert(eq(int, (failed_with(SH_ERROR_OP, "built in")) ? 1 : 0, 1));
}

Test(custom_ops, kernels_that_were_registered_apart_outlive_a_definition) {
    sh_tensor *x = number(1);
    sh_kernel k;
    sh_kernel_register("mylib::kept", "cpu", twice, NULL, "apart", &k);
    cr_assert(eq(int, define("mylib::kept(Tensor x) -> Tensor", (sh_op_options){.cpu = bump}), SH_OK));
    cr_assert(eq(int, sh_op_undefine("mylib::kept"), SH_OK));
    cr_assert(eq(int, define("mylib::kept(Tensor x) -> Tensor", (sh_op_options){.cpu = NULL}), SH_OK));
    cr_assert(eq(dbl, first(sh_call_op("mylib::kept", x)), 2));
}

Test(custom_ops, an_options_struct_of_an_older_caller_leaves_what_it_lacks) {
    sh_op_options o = {.size = offsetof(sh_op_options, cpu), .tags = SH_OP_PURE, .cpu = twice};
    cr_assert(eq(int, sh_op_define("mylib::old(Tensor x) -> Tensor", &o, NULL), SH_OK));
    cr_assert(eq(ptr, sh_call_op("mylib::old", number(1)), NULL));
    cr_assert(eq(int, (failed_with(SH_ERROR_KERNEL, "registered: nothing")) ? 1 : 0, 1));
}

Test(custom_ops, a_schema_that_can_not_be_kept_is_refused_when_it_is_defined) {
    static const struct {
        const char *schema;
        uint32_t tags;
        sh_status code;
        const char *says;
    } cases[] = {
        {"m::a(Tensor x) -> int", 0, SH_ERROR_SCHEMA, "Tensor or a Tensor[]"},
        {"m::a(Tensor x) -> Tensor?", 0, SH_ERROR_SCHEMA, "Tensor or a Tensor[]"},
        {"m::a(Tensor x) -> (Tensor[], Tensor)", 0, SH_ERROR_SCHEMA, "the only result"},
        {"m::a(Tensor(a) x) -> Tensor(a!)", 0, SH_ERROR_SCHEMA, "nothing writes to argument x"},
        {"m::a(Tensor(a!) x, Tensor(a!) y) -> Tensor(a!)", 0, SH_ERROR_SCHEMA, "at several"},
        {"m::a(Tensor(a!)[] x) -> Tensor(a!)", 0, SH_ERROR_SCHEMA, "of another type"},
        {"m::a(Tensor x) -> Tensor(b)", 0, SH_ERROR_SCHEMA, "alias letter"},
        {"m::a(int(a!) x) -> Tensor", 0, SH_ERROR_SCHEMA, "column"},
        {"m::a(Tensor(a!) x) -> Tensor", SH_OP_PURE, SH_ERROR_ARGUMENT, "pure, but it writes"},
        {"m::a(Tensor x) -> Tensor", SH_OP_PURE | SH_OP_RANDOM, SH_ERROR_ARGUMENT, "pure and as random"},
        {"m::a(Tensor x) -> (Tensor, Tensor)", SH_OP_OUT, SH_ERROR_ARGUMENT, "one new result"},
        {"m::a(int n) -> Tensor", SH_OP_INPLACE, SH_ERROR_ARGUMENT, "first argument is no Tensor"},
        {"m::a(int n) -> Tensor", SH_OP_VIEW, SH_ERROR_ARGUMENT, "first argument is no Tensor"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect(eq(int, define(cases[i].schema, (sh_op_options){.tags = cases[i].tags}), cases[i].code),
                  "%s", cases[i].schema);
        cr_expect(eq(int, (failed_with(cases[i].code, cases[i].says)) ? 1 : 0, 1), "%s", cases[i].schema);
        cr_expect(eq(int, (!sh_op_find("m::a") || !sh_op_schema(sh_op_find("m::a"))) ? 1 : 0, 1));
    }
    cr_expect(eq(int, sh_table_check(), SH_OK));
}

/* ---- what is marked ---- */

Test(custom_ops, written_arguments_raise_versions_and_results_are_new) {
    sh_tensor *x = number(1), *state = number(2);
    define(GATE, (sh_op_options){.cpu = gate, .infer = infer_first});
    const uint64_t before = sh_tensor_version(state), before_x = sh_tensor_version(x);
    sh_tensor *y = sh_call_op("mylib::fused_gate", x, state, SH_NAMED("decay", 0.25));
    cr_assert(eq(dbl, first(state), 1.5));
    cr_assert(epsilon_eq(dbl, first(y), 0.8175744762, 1e-6));
    cr_assert(gt(u64, sh_tensor_version(state), before));
    cr_assert(eq(u64, sh_tensor_version(x), before_x));
    cr_assert(eq(int, (!sh_tensor_same_storage(y, state) && !sh_tensor_same_storage(y, x)) ? 1 : 0, 1));
    cr_assert(eq(ptr, sh_call_op("mylib::fused_gate", x), NULL));
    cr_assert(eq(int, (failed_with(SH_ERROR_ARGUMENT, "argument state is missing")) ? 1 : 0, 1));
    cr_assert(eq(ptr, sh_call_op("mylib::fused_gate", x, state, 0.25), NULL));
    cr_assert(eq(int, (failed_with(SH_ERROR_ARGUMENT, "too many")) ? 1 : 0, 1));
}

/* Counts versions from inside: a kernel that writes by plain stores. */
static sh_status stores(sh_call *call, void *user) {
    (void)user;
    const sh_tensors list = sh_value_as_tensors(sh_call_arg(call, 0));
    for (size_t i = 0; i < list.n; i++) ((float *)sh_tensor_data(list.at[i]))[0] = 7;
    return SH_OK;
}

Test(custom_ops, entries_of_a_written_list_raise_versions_too) {
    sh_tensor *a = number(1), *b = number(2);
    sh_value results[SH_MAX_RESULTS];
    define("mylib::fill(Tensor(a!)[] xs) -> ()", (sh_op_options){.cpu = stores});
    const uint64_t before_a = sh_tensor_version(a), before_b = sh_tensor_version(b);
    const sh_arguments args = SH_ARGUMENTS(SH_LIST(a, b));
    cr_assert(eq(int, sh_call_by_name("mylib::fill", args.at, args.n, results), SH_OK));
    cr_assert(eq(int, results[0].tag, SH_TAG_NONE));
    cr_assert(eq(int, (first(a) == 7 && first(b) == 7) ? 1 : 0, 1));
    cr_assert(eq(int, (sh_tensor_version(a) > before_a && sh_tensor_version(b) > before_b) ? 1 : 0, 1));
    cr_assert(eq(int, (sh_call_op("mylib::fill", SH_LIST(a)) == NULL && !sh_error()) ? 1 : 0, 1));
}

Test(custom_ops, a_result_that_is_marked_as_written_is_the_argument) {
    sh_tensor *x = number(1), *y = number(5), *meta = sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(3));
    sh_value results[SH_MAX_RESULTS];
    define("mylib::bump(Tensor(a!) x) -> Tensor(a!)", (sh_op_options){.cpu = bump});
    cr_assert(eq(ptr, sh_call_op("mylib::bump", x), x));
    cr_assert(eq(dbl, first(x), 2));
    cr_assert(eq(ptr, sh_call_op("mylib::bump", meta), meta), "no infer function is needed");
    SH_WITH_MODE(noting) cr_assert(eq(ptr, sh_call_op("mylib::bump", x), x));
    define("mylib::bump_all(Tensor(a!)[] xs) -> Tensor(a!)[]", (sh_op_options){.cpu = bump});
    const sh_arguments args = SH_ARGUMENTS(SH_LIST(x, y));
    cr_assert(eq(int, sh_call_by_name("mylib::bump_all", args.at, args.n, results), SH_OK));
    cr_assert(eq(u32, results[0].count, 2));
    cr_assert(eq(int, (results[0].as.tensors[0] == x && results[0].as.tensors[1] == y) ? 1 : 0, 1));
    cr_assert(eq(dbl, first(y), 6));
}

static sh_status first_row(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_select(sh_call_tensor(call, 0), 0, 0));
}
static sh_status infer_row(const sh_value *args, sh_spec *results, void *user) {
    SH_TRY(infer_first(args, results, user));
    results[0].ndim--;
    memmove(results[0].sizes, results[0].sizes + 1, (size_t)results[0].ndim * sizeof(int64_t));
    return SH_OK;
}

Test(custom_ops, a_view_is_left_to_the_kernel_and_has_its_shape_without_data) {
    sh_tensor *x = sh_rand(SH_SIZES(2, 3)), *meta = sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(4, 5));
    define("mylib::row(Tensor(a) x) -> Tensor(a)", (sh_op_options){.cpu = first_row, .infer = infer_row});
    cr_assert(eq(int, (sh_tensor_same_storage(sh_call_op("mylib::row", x), x)) ? 1 : 0, 1));
    cr_assert(eq(i64, sh_tensor_numel(sh_call_op("mylib::row", meta)), 5));
    define("mylib::forgets(Tensor(a) x) -> Tensor(a)", (sh_op_options){.cpu = nothing, .infer = infer_row});
    cr_assert(eq(ptr, sh_call_op("mylib::forgets", x), NULL));
    cr_assert(eq(int, (failed_with(SH_ERROR_RESULT, "without result 0")) ? 1 : 0, 1));
}

Test(custom_ops, without_an_infer_function_a_call_without_data_says_what_is_missing) {
    define("mylib::blind(Tensor x) -> Tensor", (sh_op_options){.cpu = twice});
    cr_assert(eq(ptr, sh_call_op("mylib::blind", sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(2))), NULL));
    cr_assert(failed_with(SH_ERROR_KERNEL, "need an infer function"));
}

static sh_status all_kinds(sh_call *call, void *user) {
    snprintf(user, 400, "%s", "");
    sh_call_print(call, user, 400);
    return sh_call_set_tensor(call, sh_zeros(SH_SCALAR_SHAPE));
}

Test(custom_ops, every_kind_of_argument_arrives) {
    char text[400];
    sh_tensor *x = number(1);
    define(
        "mylib::kinds(Tensor?[] list, int[2] size, Tensor? mask=None, *, str mode='fast', ScalarType? dtype=None, "
        "bool flag=False, Scalar by=1, int[] dims=[], float eps=1e-5, int? k=None) -> Tensor",
        (sh_op_options){.cpu = all_kinds, .kernel_user = text});
    cr_assert(ne(ptr, sh_call_op("mylib::kinds", SH_LIST(x, NULL), 3), NULL));
    cr_assert(eq(str, text, "mylib::kinds([f32[2], None], [3, 3])"));
    cr_assert(ne(ptr,
                 sh_call_op("mylib::kinds", SH_LIST(x), SH_SIZES(1, 2), x, SH_NAMED("mode", "slow"),
                            SH_NAMED("dtype", sh_value_dtype(SH_F64)), SH_NAMED("flag", true),
                            SH_NAMED("by", 2.5), SH_NAMED("dims", SH_SIZES(4)), SH_NAMED("k", 9)),
                 NULL));
    cr_assert(eq(
        str, text,
        "mylib::kinds([f32[2]], [1, 2], mask=f32[2], mode='slow', dtype=f64, flag=True, by=2.5, dims=[4], k=9)"));
}

/* ---- modes ---- */

static sh_status counting(sh_mode *mode, sh_call *call) {
    (void)call;
    ++*(int *)sh_mode_user(mode);
    return SH_PASS;
}

Test(custom_ops, a_mode_that_named_the_op_before_it_was_defined_sees_it_and_its_successor) {
    int calls = 0;
    const char *const ops[] = {"mylib::later", NULL};
    sh_tensor *x = number(1);
    sh_mode *m = sh_mode_new(counting, &(sh_mode_options){.ops = ops, .user = &calls});
    SH_WITH_MODE(m) {
        define("mylib::later(Tensor x) -> Tensor", (sh_op_options){.cpu = twice});
        sh_call_op("mylib::later", x);
        sh_add(x, x);
        cr_assert(eq(int, calls, 1));
        sh_op_undefine("mylib::later");
        define("mylib::later(Tensor x, Tensor y) -> Tensor", (sh_op_options){.cpu = twice});
        sh_call_op("mylib::later", x, x);
    }
    cr_assert(eq(int, calls, 2));
    sh_mode_release(m);
}

static sh_status answers(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    return SH_OK;
}

Test(custom_ops, an_op_without_results_is_watched_and_answered) {
    sh_tensor *x = number(1);
    define("mylib::poke(Tensor(a!) x) -> ()", (sh_op_options){.cpu = bump});
    SH_WITH_MODE(noting) sh_call_op("mylib::poke", x);
    cr_assert(eq(dbl, first(x), 2));
    SH_WITH_MODE(answers) sh_call_op("mylib::poke", x);
    cr_assert(eq(int, (!sh_error() && first(x) == 2) ? 1 : 0, 1));
}

Test(custom_ops, specifications_swap_to_and_from_ops_that_come_later) {
    sh_tensor *x = number(3);
    sh_mode *m = NULL;
    cr_assert(eq(int, sh_mode_from_spec("swap:from=relu,to=mylib::act", &m), SH_OK));
    SH_WITH_MODE(m) cr_assert(eq(ptr, sh_relu(x), NULL));
    cr_assert(eq(int, (failed_with(SH_ERROR_OP, "mylib::act, which is not defined")) ? 1 : 0, 1));
    define("mylib::act(Tensor x) -> Tensor", (sh_op_options){.cpu = twice});
    SH_WITH_MODE(m) cr_assert(eq(dbl, first(sh_relu(x)), 6));
    sh_mode_release(m);
    cr_assert(eq(int, sh_mode_from_spec("swap:from=mylib::act,to=neg", &m), SH_OK));
    SH_WITH_MODE(m) cr_assert(eq(dbl, first(sh_call_op("mylib::act", x)), -3));
    sh_mode_release(m);
    char *text;
    cr_assert(eq(int, sh_mode_explain("swap:from=relu,to=sni", &text), SH_ERROR_SPEC));
    cr_assert(eq(int, (failed_with(SH_ERROR_SPEC, "there is no op 'sni'; did you mean sin")) ? 1 : 0, 1));
}

static sh_status divides(sh_call *call, void *user) {
    (void)user;
    ((float *)sh_tensor_data(sh_call_tensor(call, 1)))[1] /= 0.0f * first(sh_call_tensor(call, 0)) * 0.0f;
    return SH_OK;
}

Test(custom_ops, nancheck_scans_what_an_op_wrote_to) {
    sh_tensor *x = number(1), *state = sh_zeros(SH_SIZES(2));
    sh_mode *m = NULL;
    sh_value results[SH_MAX_RESULTS];
    define("mylib::into(Tensor x, Tensor(a!) state) -> ()", (sh_op_options){.cpu = divides});
    cr_assert(eq(int, sh_mode_from_spec("nancheck:out=/dev/null", &m), SH_OK));
    const sh_arguments args = SH_ARGUMENTS(x, state);
    SH_WITH_MODE(m) sh_call_by_name("mylib::into", args.at, args.n, results);
    cr_assert(eq(int, (failed_with(SH_ERROR_FINDING, "NaN born in mylib::into")) ? 1 : 0, 1));
    sh_mode_release(m);
}

static void costs(const sh_call *call, double *flops, double *bytes, void *user) {
    *flops = 1e6 * (double)sh_tensor_numel(sh_call_tensor(call, 0));
    *bytes = *(const double *)user;
}

Test(custom_ops, profile_counts_by_the_ops_own_cost_function) {
    double bytes = 12345;
    char path[] = "/tmp/shunt_costXXXXXX", spec[100], text[4000] = "";
    const int fd = mkstemp(path);
    sh_mode *m = NULL;
    define("mylib::dear(Tensor x) -> Tensor", (sh_op_options){.cpu = twice, .cost = costs, .user = &bytes});
    snprintf(spec, sizeof spec, "profile:out=%s", path);
    cr_assert(eq(int, sh_mode_from_spec(spec, &m), SH_OK));
    SH_WITH_MODE(m) sh_call_op("mylib::dear", number(1));
    sh_mode_release(m);
    FILE *file = fdopen(fd, "r");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    remove(path);
    cr_assert(eq(int, (strstr(text, "0.012") && strstr(text, "2.000")) ? 1 : 0, 1), "%s", text);
}

/* ---- graphs ---- */

static sh_graph *capture_gate(sh_tensor *x, sh_tensor *state) {
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *y = NULL;
    sh_capture_input(c, x, "x");
    sh_capture_input(c, state, "state");
    SH_WITH_MODE(sh_capture_mode(c)) {
        y = sh_call_op("mylib::fused_gate", x, state, SH_NAMED("decay", 0.25));
        y = sh_add(y, state);
    }
    sh_graph *g = sh_capture_graph(c, SH_LIST(y));
    sh_capture_free(c);
    return g;
}

Test(custom_ops, graphs_capture_print_run_save_and_load_them) {
    define(GATE, (sh_op_options){.cpu = gate, .infer = infer_first});
    sh_graph *g = capture_gate(number(1), number(2));
    cr_assert(ne(ptr, g, NULL));
    char *text = sh_graph_text(g), *code = sh_graph_code(g, "forward");
    cr_expect(eq(int,
                 (strstr(text, "%mylib_fused_gate") ||
                  strstr(text, "fused_gate : [num_users=1] = call_function[target=mylib::fused_gate](args = "
                               "(%x, %state), kwargs = {decay: 0.25})"))
                     ? 1
                     : 0,
                 1),
              "%s", text);
    cr_expect(eq(int, (strstr(code, "sh_call_op(\"mylib::fused_gate\"") != NULL) ? 1 : 0, 1), "%s", code);
    free(text);
    free(code);
    sh_tensor *state = number(2);
    const sh_list *out = sh_graph_run(g, SH_LIST(number(1), state));
    cr_assert(epsilon_eq(dbl, first(sh_list_at(out, 0)), 0.8175744762 + 1.5, 1e-6));
    cr_assert(eq(dbl, first(state), 1.5));
    char *ir = sh_graph_ir(g);
    sh_op_undefine("mylib::fused_gate");
    cr_expect(eq(ptr, sh_graph_parse(ir, strlen(ir), "it"), NULL));
    cr_expect(eq(int, (failed_with(SH_ERROR_OP, "mylib::fused_gate")) ? 1 : 0, 1));
    define(GATE, (sh_op_options){.cpu = gate, .infer = infer_first});
    sh_graph *again = sh_graph_parse(ir, strlen(ir), "it");
    cr_assert(ne(ptr, again, NULL));
    free(ir);
    sh_graph_free(again);
    sh_graph_free(g);
}

Test(custom_ops, no_pass_drops_merges_or_overtakes_a_write) {
    define(GATE, (sh_op_options){.cpu = gate, .infer = infer_first});
    define("mylib::poke_all(Tensor(a!)[] xs) -> ()", (sh_op_options){.cpu = bump, .tags = SH_OP_RANDOM});
    define("mylib::pick(Tensor(a)[] xs) -> Tensor(a)", (sh_op_options){.tags = SH_OP_PURE});
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *s = sh_graph_call_function(g, "relu", x);
    sh_graph_call_function(g, "mylib::fused_gate", x, s);
    sh_graph_call_function(g, "mylib::fused_gate", x, s);
    const sh_arg list = sh_arg_list(SH_ARGS(s));
    sh_graph_create_node(g, SH_CALL_FUNCTION, "mylib::poke_all", (sh_args){&list, 1}, SH_NO_KWARGS, NULL);
    sh_node *picked =
        sh_graph_create_node(g, SH_CALL_FUNCTION, "mylib::pick", (sh_args){&list, 1}, SH_NO_KWARGS, NULL);
    sh_node *neg = sh_graph_call_function(g, "neg", s);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", neg, picked)));
    const size_t before = sh_graph_size(g);
    size_t changes = 0;
    cr_assert(eq(sz, sh_graph_eliminate_dead_code(g, NULL, NULL), 0));
    cr_assert(eq(int, sh_pass_cse(g, &changes), SH_OK));
    cr_assert(eq(int, sh_pass_reinplace(g, &changes), SH_OK));
    cr_assert(eq(int, sh_pass_functionalize(g, &changes), SH_OK));
    cr_assert(eq(sz, sh_graph_size(g), before));
    cr_assert(eq(str, TEXT(sh_node_target(neg)), "neg"), "pick may give s itself, which is used later");
    sh_graph_free(g);
}

Test(custom_ops, a_capture_keeps_what_an_op_writes_to_as_it_was) {
    define("mylib::poke(Tensor(a!) x) -> ()", (sh_op_options){.cpu = bump});
    sh_tensor *x = number(1), *outside = number(10);
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *y = NULL;
    sh_capture_input(c, x, "x");
    SH_WITH_MODE(sh_capture_mode(c)) {
        sh_call_op("mylib::poke", outside);
        y = sh_add(x, outside);
    }
    sh_graph *g = sh_capture_graph(c, SH_LIST(y));
    cr_assert(eq(dbl, first(y), 12));
    const sh_list *out = sh_graph_run(g, SH_LIST(x));
    cr_assert(eq(dbl, first(sh_list_at(out, 0)), 12), "the graph begins with what was there before");
    sh_graph_free(g);
    sh_capture_free(c);
}

static sh_status gate_by_ops(sh_call *call, void *user) {
    (void)user;
    sh_tensor *x = sh_call_tensor(call, 0);
    return sh_call_set_tensor(call, sh_mul(sh_sigmoid(x), x));
}

Test(custom_ops, decompose_takes_the_composite_form_apart) {
    define("mylib::swish(Tensor x) -> Tensor",
           (sh_op_options){.composite = gate_by_ops, .infer = infer_first, .tags = SH_OP_PURE});
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node_set_spec(x, &(sh_spec){.dtype = SH_F32, .ndim = 1, .sizes = {4}});
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "mylib::swish", x)));
    size_t changes = 0;
    cr_assert(eq(int, sh_pass_decompose(g, &changes), SH_OK));
    cr_assert(eq(sz, changes, 1));
    cr_assert(eq(sz, sh_graph_find_nodes(g, SH_CALL_FUNCTION, "mylib::swish", NULL, 0), 0));
    cr_assert(eq(sz, sh_graph_find_nodes(g, SH_CALL_FUNCTION, "sigmoid", NULL, 0), 1));
    sh_graph_free(g);
}

/* ---- kernels (cases 24 and 25) ---- */

static sh_status negates(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_neg(sh_call_tensor(call, 0)));
}

static sh_status fills(sh_call *call, void *user) {
    sh_tensor *r = sh_tensor_new(SH_F32, SH_SIZES(1));
    if (!r) return sh_error()->code;
    *(float *)sh_tensor_data(r) = (float)*(const double *)user;
    return sh_call_set_tensor(call, r);
}

Test(custom_ops, fallthrough_and_newer_kernels_work_as_for_built_in_ops) {
    sh_tensor *x = number(3);
    static double six = 6, three = 3;
    sh_kernel v2, through;
    define("mylib::v(Tensor x) -> Tensor", (sh_op_options){.cpu = fills, .kernel_user = &six});
    cr_assert(eq(int, sh_kernel_register("mylib::v", "cpu", fills, &three, "version 2", &v2), SH_OK));
    cr_assert(eq(int, (strstr(warned, "version 2") && strstr(warned, "the test")) ? 1 : 0, 1), "%s", warned);
    cr_assert(eq(dbl, first(sh_call_op("mylib::v", x)), 3));
    cr_assert(eq(int, sh_kernel_remove(v2), SH_OK));
    cr_assert(eq(dbl, first(sh_call_op("mylib::v", x)), 6));
    cr_assert(eq(int, sh_backend_register("newer", SH_HOST, "test"), SH_OK));
    cr_assert(eq(int, sh_kernel_register("mylib::v", "newer", fills, &three, "test", NULL), SH_OK));
    cr_assert(eq(int, sh_kernel_fallthrough("mylib::v", "newer", "test", &through), SH_OK));
    SH_WITH_BACKEND("newer") cr_assert(eq(dbl, first(sh_call_op("mylib::v", x)), 6));
    cr_assert(eq(int, sh_kernel_remove(through), SH_OK));
    SH_WITH_BACKEND("newer") cr_assert(eq(dbl, first(sh_call_op("mylib::v", x)), 3));
    cr_assert(eq(int, sh_table_check(), SH_OK));
}

Test(custom_ops, an_undefined_op_goes_from_rules_and_calls_alike) {
    sh_rule_handle rule;
    sh_tensor *x = number(3);
    define("mylib::ruled(Tensor x) -> Tensor", (sh_op_options){.cpu = twice, .ref = negates});
    sh_rule_add(&(sh_rule){.ops = "mylib::*", .backend = "ref"}, &rule);
    cr_assert(eq(dbl, first(sh_call_op("mylib::ruled", x)), -3));
    sh_op_undefine("mylib::ruled");
    cr_assert(eq(ptr, sh_call_op("mylib::ruled", x), NULL));
    cr_assert(failed_with(SH_ERROR_OP, "mylib::ruled"));
    sh_rule_remove(rule);
    cr_assert(eq(int, sh_table_check(), SH_OK));
}

/* ---- the table holds ---- */

Test(custom_ops, random_definitions_and_registrations_keep_the_table_right) {
    static const char *const names[] = {"r::a", "r::b", "r::b.over", "r::c"};
    static const char *const backends[] = {"cpu", "ref", "meta", SH_COMPOSITE};
    sh_kernel kernels[64];
    size_t live = 0;
    bool defined[4] = {false};
    sh_tensor *x = number(1);
    for (int step = 0; step < 3000; step++) {
        const int64_t i = sample_int(0, 3), what = sample_int(0, 4);
        char schema[80];
        snprintf(schema, sizeof schema,
                 sample_int(0, 1) ? "%s(Tensor x) -> Tensor" : "%s(Tensor(a!) x) -> Tensor(a!)", names[i]);
        sh_status status = SH_OK;
        if (what == 0)
            status = define(schema, (sh_op_options){.cpu = sample_int(0, 1) ? twice : NULL,
                                                    .composite = sample_int(0, 1) ? twice : NULL,
                                                    .infer = sample_int(0, 1) ? infer_first : NULL});
        if (what == 0) {
            cr_assert(eq(int, status < 0, defined[i]));
            defined[i] = true;
        }
        if (what == 1) {
            cr_assert(eq(int, sh_op_undefine(names[i]) >= 0, defined[i]));
            defined[i] = false;
        }
        if (what == 2 && live < 64)
            cr_assert(eq(
                int,
                sh_kernel_register(names[i], backends[sample_int(0, 3)], twice, NULL, "r", &kernels[live++]),
                SH_OK));
        if (what == 3 && live) cr_assert(eq(int, sh_kernel_remove(kernels[--live]), SH_OK));
        sh_clear_error();
        if (what == 4) SH_SCOPE {
                const bool worked = sh_call_op(names[i], x) != NULL;
                cr_assert(eq(int, (worked || sh_error()) ? 1 : 0, 1));
                cr_assert(eq(int, (defined[i] || i == 1 || !worked) ? 1 : 0, 1));
                sh_clear_error();
            }
        cr_assert(eq(int, sh_table_check(), SH_OK), "step %d", step);
    }
}

static bool define_and_end(void) {
    const bool defined =
        define("f::each(Tensor x, Tensor(a!)[] ys, *, int[2] n=[1, 2]) -> Tensor(a!)[]",
               (sh_op_options){.cpu = bump, .ref = bump, .composite = bump, .infer = infer_first}) >= 0;
    if (!defined) {
        const sh_op *op = sh_op_find("f::each");
        cr_assert(eq(int, (!op || !sh_op_schema(op)) ? 1 : 0, 1));
    }
    return defined && sh_op_undefine("f::each") >= 0;
}

Test(custom_ops, each_allocation_of_a_definition_may_fail) {
    fail_each("define", define_and_end);
    cr_assert(eq(int, sh_table_check(), SH_OK));
}

Test(custom_ops, stay_as_they_are_when_their_name_is_taken) {
    cr_assert(eq(int, define("add(Tensor x) -> Tensor", (sh_op_options){.cpu = twice}), SH_ERROR_OP));
    cr_assert(eq(int, (failed_with(SH_ERROR_OP, "defined already: add(Tensor self")) ? 1 : 0, 1));
    cr_assert(eq(dbl, first(sh_add(number(1), number(2))), 3));
    cr_assert(eq(int, sh_table_check(), SH_OK));
}
