/* test_onnx_custom.c - nodes of other domains become calls of the ops that were defined at run time. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/onnx/onnx.h"
#include "shunt.h"
#include "tests/onnx_builder.h"

static bool error_says(sh_status code, const char *part) {
    const bool says = sh_error() && sh_error()->code == code && strstr(sh_error()->message, part);
    if (!says)
        fprintf(stderr, "expected %s with \"%s\", got: %s\n", sh_status_name(code), part,
                sh_error() ? sh_error()->message : "-");
    sh_clear_error();
    return says;
}

static sh_graph *parse(onnx_builder *b) {
    size_t size;
    uint8_t *bytes = onnx_pack(b, &size);
    sh_graph *graph = sh_parse_onnx(bytes, size, "m.onnx");
    free(bytes);
    return graph;
}

static bool refused(onnx_builder *b, sh_status code, const char *part) {
    sh_graph *graph = parse(b);
    sh_graph_free(graph);
    return !graph && error_says(code, part);
}

static sh_status infer_first(const sh_value *args, sh_spec *results, void *user) {
    const sh_tensor *x = args[0].as.tensor;
    (void)user;
    results[0].dtype = sh_tensor_dtype(x);
    results[0].ndim = sh_tensor_ndim(x);
    memcpy(results[0].sizes, sh_tensor_sizes(x), (size_t)results[0].ndim * sizeof(int64_t));
    return SH_OK;
}

/* x * scale + bias, in each result. */
static sh_status scales(sh_call *call, void *user) {
    (void)user;
    const sh_value bias = sh_call_arg_named(call, "bias");
    sh_tensor *r = sh_mul(sh_call_tensor(call, 0), sh_call_arg_named(call, "scale").as.f);
    if (bias.tag == SH_TAG_TENSOR) r = sh_add(r, bias.as.tensor);
    for (uint32_t i = 0; i < sh_call_nresults(call); i++)
        SH_TRY(sh_call_set_result(call, i, sh_value_tensor(sh_mul(r, (double)(i + 1)))));
    return SH_OK;
}

static void define(const char *schema, sh_infer infer) {
    cr_assert(
        eq(int,
           sh_op_define(schema, &(sh_op_options){.cpu = scales, .infer = infer, .registrant = "test"}, NULL),
           SH_OK));
}

/* A model of one node in a domain; the node is for attributes. */
static onnx_builder *model(const char *domain, const char *type, const char *inputs, const char *outputs,
                           Onnx__NodeProto **node) {
    onnx_builder *b = onnx_new(13);
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(2));
    onnx_input(b, "y", ONNX_FLOAT, SH_SIZES(2));
    *node = onnx_node(b, type, "n", inputs, outputs);
    (*node)->domain = onnx_text(b, domain);
    onnx_result(b, "z");
    return b;
}

static void set_float(onnx_builder *b, Onnx__NodeProto *node, const char *name, float value) {
    Onnx__AttributeProto *a = onnx_attribute(b, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    a->has_f = true;
    a->f = value;
}

static double run(sh_graph *g) {
    if (!g) return -1;
    const sh_list *out = sh_graph_run(g, SH_LIST(sh_full(SH_SIZES(2), 3.0), sh_full(SH_SIZES(2), 1.0)));
    const double first = out ? sh_tensor_at(sh_list_at(out, 0), (const int64_t[]){0}) : -2;
    sh_graph_free(g);
    return first;
}

Test(onnx_custom, inputs_are_tensors_in_order_and_attributes_the_rest_by_name) {
    Onnx__NodeProto *node;
    define("mylib::scaled_add(Tensor x, Tensor? bias=None, *, float scale=1.0) -> Tensor", infer_first);
    onnx_builder *b = model("mylib", "ScaledAdd", "x y", "z", &node);
    set_float(b, node, "scale", 2);
    sh_graph *g = parse(b);
    cr_assert(ne(ptr, g, NULL), "%s", sh_error() ? sh_error()->message : "");
    char *text = sh_graph_text(g);
    cr_expect(
        ne(ptr,
           strstr(text, "call_function[target=mylib::scaled_add](args = (%x, %y), kwargs = {scale: 2.0})"),
           NULL),
        "%s", text);
    free(text);
    const sh_node *call = sh_graph_find(g, "n");
    cr_expect(eq(int, (call && sh_node_spec(call) && sh_node_spec(call)->sizes[0] == 2) ? 1 : 0, 1),
              "its shape is inferred");
    cr_expect(eq(dbl, run(g), 7));
    cr_expect(eq(dbl, run(parse(model("mylib", "ScaledAdd", "x", "z", &node))), 3));
    cr_expect(eq(dbl, run(parse(model("mylib", "scaled_add", "x -", "z", &node))), 3));
}

Test(onnx_custom, the_very_name_goes_before_snake_case_and_capitals_stay_together) {
    Onnx__NodeProto *node;
    define("m::my_rnn(Tensor x, *, float scale=2.0, Tensor? bias=None) -> Tensor", NULL);
    cr_expect(eq(dbl, run(parse(model("m", "MyRNN", "x", "z", &node))), 6));
    define("m::MyRNN(Tensor x, *, float scale=3.0, Tensor? bias=None) -> Tensor", NULL);
    cr_expect(eq(dbl, run(parse(model("m", "MyRNN", "x", "z", &node))), 9));
    cr_expect(eq(dbl, run(parse(model("m", "MyRNN", "x y", "z", &node))), 10));
}

Test(onnx_custom, several_results_and_lists_are_parts) {
    Onnx__NodeProto *node;
    define("m::both(Tensor x, *, float scale=1.0, Tensor? bias=None) -> (Tensor first, Tensor second)", NULL);
    cr_expect(eq(dbl, run(parse(model("m", "Both", "x", "w z", &node))), 6));
    cr_expect(eq(int,
                 (refused(model("m", "Both", "x", "z a b", &node), SH_ERROR_FORMAT,
                          "it has 3 outputs, the op gives 2"))
                     ? 1
                     : 0,
                 1));
}

Test(onnx_custom, a_missing_op_is_named_with_what_its_domain_has) {
    Onnx__NodeProto *node;
    cr_expect(eq(
        int,
        (refused(model("mylib", "FusedGate", "x", "z", &node), SH_ERROR_UNSUPPORTED,
                 "there is no op mylib::FusedGate or mylib::fused_gate; of domain mylib are defined: none"))
            ? 1
            : 0,
        1));
    define("mylib::other(Tensor x, *, float scale=1.0, Tensor? bias=None) -> Tensor", infer_first);
    cr_expect(eq(int,
                 (refused(model("mylib", "FusedGate", "x", "z", &node), SH_ERROR_UNSUPPORTED,
                          "are defined: mylib::other"))
                     ? 1
                     : 0,
                 1));
}

Test(onnx_custom, what_does_not_fit_the_schema_is_refused_by_name) {
    Onnx__NodeProto *node;
    define(
        "m::op(Tensor x, Tensor y, *, int[2] size=[1, 1], str mode='a', bool flag=False, float scale) -> Tensor",
        NULL);
    cr_expect(eq(
        int,
        (refused(model("m", "Op", "x", "z", &node), SH_ERROR_FORMAT, "input 1, argument y, is missing")) ? 1
                                                                                                         : 0,
        1));
    cr_expect(eq(
        int,
        (refused(model("m", "Op", "x y x", "z", &node), SH_ERROR_FORMAT, "it has 3 inputs, the op takes 2"))
            ? 1
            : 0,
        1));
    cr_expect(eq(
        int,
        (refused(model("m", "Op", "x y", "z", &node), SH_ERROR_FORMAT, "attribute scale is missing")) ? 1 : 0,
        1));
    onnx_builder *b = model("m", "Op", "x y", "z", &node);
    onnx_set_int(b, node, "mode", 1);
    cr_expect(eq(int,
                 (refused(b, SH_ERROR_FORMAT, "attribute mode is of kind INT, argument mode is str")) ? 1 : 0,
                 1));
    b = model("m", "Op", "x y", "z", &node);
    onnx_set_ints(b, node, "size", SH_SIZES(1, 2, 3));
    cr_expect(eq(int, (refused(b, SH_ERROR_FORMAT, "attribute size has 3 integers, expected 2")) ? 1 : 0, 1));
    b = model("m", "Op", "x y", "z", &node);
    onnx_set_int(b, node, "sized", 1);
    cr_expect(eq(int, (refused(b, SH_ERROR_FORMAT, "the op takes no attribute sized")) ? 1 : 0, 1));
    b = model("m", "Op", "x y", "z", &node);
    onnx_set_int(b, node, "flag", 1);
    onnx_set_int(b, node, "flag", 1);
    cr_expect(eq(int, (refused(b, SH_ERROR_FORMAT, "attribute flag is given twice")) ? 1 : 0, 1));
    b = model("m", "Op", "x y", "z", &node);
    onnx_set_int(b, node, "flag", 1);
    onnx_set_string(b, node, "mode", "slow");
    onnx_set_ints(b, node, "size", SH_SIZES(4, 5));
    set_float(b, node, "scale", 1);
    sh_graph *g = parse(b);
    cr_assert(ne(ptr, g, NULL), "%s", sh_error() ? sh_error()->message : "");
    char *text = sh_graph_text(g);
    cr_expect(ne(ptr, strstr(text, "mode: slow, size: [4, 5], scale: 1.0"), NULL), "%s", text);
    free(text);
    sh_graph_free(g);
}

static sh_status adds_up(sh_call *call, void *user) {
    (void)user;
    const sh_tensors list = sh_value_as_tensors(sh_call_arg(call, 0));
    sh_tensor *sum = sh_zeros_like(list.at[0]);
    for (size_t i = 0; i < list.n; i++) sum = sh_add(sum, list.at[i]);
    return sh_call_set_tensor(call, sum);
}

Test(onnx_custom, a_list_takes_the_inputs_that_are_left) {
    Onnx__NodeProto *node;
    sh_op_define("m::sum_all(Tensor[] xs) -> Tensor", &(sh_op_options){.cpu = adds_up}, NULL);
    cr_expect(eq(dbl, run(parse(model("m", "SumAll", "x y x", "z", &node))), 7));
}
