/* The ONNX reader: what its ops mean, what it refuses, what it costs. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory.h"
#include "graph/onnx/onnx.h"
#include "onnx_models.h"
#include "ops/ops.h"

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

static sh_graph *model(const char *name) {
    size_t size;
    uint8_t *bytes = onnx_model_bytes(name, &size);
    sh_graph *graph = sh_parse_onnx(bytes, size, name);
    if (!graph) fprintf(stderr, "%s: %s\n", name, sh_error()->message);
    free(bytes);
    return graph;
}

static bool refused(onnx_builder *b, sh_status code, const char *part) {
    sh_graph *graph = parse(b);
    sh_graph_free(graph);
    return !graph && error_says(code, part);
}

/* Ends the graph; true if its text was this. */
static bool text_is(sh_graph *graph, const char *expected) {
    char *text = graph ? sh_graph_text(graph) : NULL;
    const bool same = text && strcmp(text, expected) == 0;
    if (!same) fprintf(stderr, "got:\n%s\nexpected:\n%s\n", text ? text : "-", expected);
    free(text);
    sh_graph_free(graph);
    return same;
}

/* ---- graphs ---- */

Test(onnx, a_model_prints_as_a_graph_with_its_own_names) {
    cr_expect(text_is(model("add"),
                      "graph():\n"
                      "    %x : [num_users=1] = placeholder[target=x]\n"
                      "    %w : [num_users=1] = get_attr[target=w]\n"
                      "    %sum_1 : [num_users=1] = call_function[target=add](args = (%x, %w), kwargs = {})\n"
                      "    return sum_1"));
    cr_expect(text_is(
        model("reshape_open"),
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %flat : [num_users=1] = call_function[target=flatten](args = (%x,), kwargs = {start_dim: 1})\n"
        "    return flat"));
}

Test(onnx, inputs_and_nodes_have_dtype_and_shape_where_the_model_gives_them) {
    sh_graph *g = model("reshape");
    const sh_spec *x = sh_node_spec(sh_graph_find(g, "x")), *flat = sh_node_spec(sh_graph_find(g, "flat"));
    cr_assert(x && flat);
    cr_expect(x->dtype == SH_F32 && x->ndim == 3 && x->sizes[1] == 3);
    cr_expect(flat->ndim == 2 && flat->sizes[0] == 2 && flat->sizes[1] == 12);
    sh_graph_free(g);
    g = model("reshape_open");
    cr_expect(eq(i64, sh_node_spec(sh_graph_find(g, "x"))->sizes[0], -1));
    cr_expect(sh_node_spec(sh_graph_find(g, "flat")) == NULL);
    sh_graph_free(g);
}

Test(onnx, outputs_keep_the_names_of_the_model) {
    sh_graph *g = model("transpose");
    cr_expect(eq(str, (char *)sh_graph_output_name(g, 0), "y"));
    cr_expect(eq(str, (char *)sh_graph_output_name(g, 1), "z"));
    cr_expect(sh_graph_output_name(g, 2) == NULL);
    sh_graph_free(g);
}

/* ---- values ---- */

/* Output `i` of a model has this dtype, these sizes and these values. */
static bool gives(sh_graph *graph, sh_tensors inputs, size_t i, sh_dtype dtype, sh_ints sizes,
                  const double *values) {
    sh_list *results = graph ? sh_graph_run(graph, inputs) : NULL;
    sh_tensor *y = results ? sh_list_at(results, i) : NULL;
    bool same = y && sh_tensor_dtype(y) == dtype && sh_tensor_ndim(y) == (int)sizes.n;
    if (!y) fprintf(stderr, "%s\n", sh_error()->message);
    for (int d = 0; same && d < (int)sizes.n; d++) same = sh_tensor_size(y, d) == sizes.at[d];
    if (!same) return false;
    y = sh_reshape(sh_contiguous(y), SH_SIZES(-1));
    for (int64_t k = 0; same && k < sh_tensor_numel(y); k++) same = sh_tensor_at(y, &k) == values[k];
    return same;
}

Test(onnx, ops_that_move_elements_or_make_them_give_what_onnx_says) {
    sh_tensor *const x = sh_reshape(SH_FLOATS(0, 1, 2, 3, 4, 5), SH_SIZES(2, 3));
    sh_tensor *const x3 = sh_reshape(sh_arange(24), SH_SIZES(2, 3, 4));
    sh_graph *g = model("concat");
    cr_expect(gives(g, SH_LIST(x), 0, SH_F32, SH_SIZES(2, 7),
                    (double[]){0, 1, 2, -0.75, 0, 1, 2, 3, 4, 5, -0.484375, 3, 4, 5}));
    sh_graph_free(g);
    g = model("transpose");
    cr_expect(gives(
        g, SH_LIST(x3), 0, SH_I64, SH_SIZES(3, 4, 2),
        (double[]){0, 12, 1, 13, 2, 14, 3, 15, 4, 16, 5, 17, 6, 18, 7, 19, 8, 20, 9, 21, 10, 22, 11, 23}));
    cr_expect(gives(
        g, SH_LIST(x3), 1, SH_I64, SH_SIZES(2, 4, 3),
        (double[]){0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23}));
    sh_graph_free(g);
    g = model("reshape_open");
    cr_expect(gives(
        g, SH_LIST(x3), 0, SH_I64, SH_SIZES(2, 12),
        (double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
    sh_graph_free(g);
    g = model("constant");
    cr_expect(gives(g, (sh_tensors){NULL, 0}, 0, SH_F16, SH_SIZES(1, 2), (double[]){1, -2}));
    cr_expect(gives(g, (sh_tensors){NULL, 0}, 1, SH_I64, SH_SCALAR_SHAPE, (double[]){7}));
    sh_graph_free(g);
    g = model("constant_of_shape");
    cr_expect(gives(g, (sh_tensors){NULL, 0}, 0, SH_I32, SH_SIZES(2, 3), (double[]){-5, -5, -5, -5, -5, -5}));
    cr_expect(gives(g, (sh_tensors){NULL, 0}, 1, SH_F32, SH_SIZES(2, 3), (double[]){0, 0, 0, 0, 0, 0}));
    sh_graph_free(g);
}

static onnx_builder *reshape_to(sh_ints shape, int64_t allowzero) {
    onnx_builder *b = onnx_new(14);
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(2, 0, 6));
    onnx_int64s(b, "shape", SH_SIZES((int64_t)shape.n), shape.at);
    onnx_set_int(b, onnx_node(b, "Reshape", "r", "x shape", "y"), "allowzero", allowzero);
    onnx_result(b, "y");
    return b;
}

Test(onnx, zeros_in_a_shape_keep_a_size_unless_they_are_allowed) {
    sh_graph *g = parse(reshape_to(SH_SIZES(0, 0, 3, 2), 0));
    cr_assert(g != NULL);
    cr_expect(eq(i64, sh_node_spec(sh_graph_find(g, "r"))->sizes[0], 2));
    sh_graph_free(g);
    g = parse(reshape_to(SH_SIZES(0, 5), 1));
    cr_assert(g != NULL);
    cr_expect(eq(i64, sh_node_spec(sh_graph_find(g, "r"))->sizes[0], 0));
    sh_graph_free(g);
    cr_expect(refused(reshape_to(SH_SIZES(0, -1), 1), SH_ERROR_FORMAT, "both 0 and -1"));
    cr_expect(refused(reshape_to(SH_SIZES(-1, -1), 0), SH_ERROR_FORMAT, "-1 2 times"));
    cr_expect(refused(reshape_to(SH_SIZES(-2), 0), SH_ERROR_FORMAT, "size -2"));
}

/* ---- tensors ---- */

/* What a tensor of this type with these values reads as; each value once in its own field and once raw. */
static bool reads(int type, sh_dtype dtype, const void *raw, const double *values) {
    bool same = true;
    for (int by_field = 0; by_field < 2; by_field++) {
        onnx_builder *b = onnx_new(13);
        Onnx__TensorProto *t = onnx_tensor(b, "t", type, SH_SIZES(3));
        const size_t item = sh_dtype_size(dtype);
        if (!by_field)
            onnx_raw(b, t, raw, 3 * item);
        else if (dtype == SH_F32)
            t->n_float_data = 3, t->float_data = memcpy(onnx_memory(b, 12), raw, 12);
        else if (dtype == SH_F64)
            t->n_double_data = 3, t->double_data = memcpy(onnx_memory(b, 24), raw, 24);
        else if (dtype == SH_I64)
            t->n_int64_data = 3, t->int64_data = memcpy(onnx_memory(b, 24), raw, 24);
        else {
            t->n_int32_data = 3;
            t->int32_data = onnx_memory(b, 12);
            const bool bits = dtype == SH_F16 || dtype == SH_BF16;
            for (int i = 0; i < 3; i++)
                t->int32_data[i] = bits ? ((const uint16_t *)raw)[i] : (int32_t)values[i];
        }
        size_t size;
        uint8_t *bytes = onnx_pack_tensor(b, t, &size);
        sh_tensor *read = sh_parse_onnx_tensor(bytes, size, "t.pb");
        free(bytes);
        same &= read && sh_tensor_dtype(read) == dtype;
        for (int64_t i = 0; read && i < 3; i++) same &= sh_tensor_at(read, &i) == values[i];
    }
    return same;
}

Test(onnx, tensors_of_every_dtype_read_from_raw_data_and_from_their_field) {
    cr_expect(reads(ONNX_FLOAT, SH_F32, (float[]){1, -2.5f, 3}, (double[]){1, -2.5, 3}));
    cr_expect(reads(ONNX_DOUBLE, SH_F64, (double[]){1, -2.5, 1e300}, (double[]){1, -2.5, 1e300}));
    cr_expect(reads(ONNX_FLOAT16, SH_F16, (uint16_t[]){0x3c00, 0xc000, 0}, (double[]){1, -2, 0}));
    cr_expect(reads(ONNX_BFLOAT16, SH_BF16, (uint16_t[]){0x3f80, 0xc000, 0}, (double[]){1, -2, 0}));
    cr_expect(reads(ONNX_INT64, SH_I64, (int64_t[]){1, -2, 1ll << 40}, (double[]){1, -2, 1ll << 40}));
    cr_expect(reads(ONNX_INT32, SH_I32, (int32_t[]){1, -2, INT32_MIN}, (double[]){1, -2, INT32_MIN}));
    cr_expect(reads(ONNX_INT16, SH_I16, (int16_t[]){1, -2, INT16_MIN}, (double[]){1, -2, INT16_MIN}));
    cr_expect(reads(ONNX_INT8, SH_I8, (int8_t[]){1, -2, INT8_MIN}, (double[]){1, -2, INT8_MIN}));
    cr_expect(reads(ONNX_UINT8, SH_U8, (uint8_t[]){1, 2, 255}, (double[]){1, 2, 255}));
    cr_expect(reads(ONNX_BOOL, SH_B8, (uint8_t[]){1, 0, 2}, (double[]){1, 0, 1}));
}

/* A model whose initializer `change` has spoilt is refused. */
static bool initializer_refused(void (*change)(onnx_builder *b, Onnx__TensorProto *t), sh_status code,
                                const char *part) {
    onnx_builder *b = onnx_new(13);
    Onnx__TensorProto *t = onnx_initializer(b, "w", ONNX_FLOAT, SH_SIZES(2, 2));
    onnx_raw(b, t, (float[]){1, 2, 3, 4}, 16);
    onnx_node(b, "Relu", "r", "w", "y");
    onnx_result(b, "y");
    change(b, t);
    return refused(b, code, part);
}

static void make_external(onnx_builder *b, Onnx__TensorProto *t) {
    (void)b;
    t->raw_data.len = 0;
    t->has_data_location = true;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}
static void cut_raw(onnx_builder *b, Onnx__TensorProto *t) { (void)b, t->raw_data.len = 15; }
static void make_negative(onnx_builder *b, Onnx__TensorProto *t) { (void)b, t->dims[1] = -2; }
static void make_huge(onnx_builder *b, Onnx__TensorProto *t) {
    (void)b, t->dims[0] = t->dims[1] = INT64_C(1) << 32;
}
static void make_string(onnx_builder *b, Onnx__TensorProto *t) { (void)b, t->data_type = ONNX_STRING; }
static void make_unknown(onnx_builder *b, Onnx__TensorProto *t) { (void)b, t->data_type = 77; }
static void make_deep(onnx_builder *b, Onnx__TensorProto *t) {
    t->n_dims = 9;
    t->dims = onnx_memory(b, 9 * sizeof *t->dims);
}
static void add_other_field(onnx_builder *b, Onnx__TensorProto *t) {
    t->n_int64_data = 4;
    t->int64_data = onnx_memory(b, 32);
}
static void make_segment(onnx_builder *b, Onnx__TensorProto *t) {
    t->segment = onnx_memory(b, sizeof *t->segment);
    *t->segment = (Onnx__TensorProto__Segment)ONNX__TENSOR_PROTO__SEGMENT__INIT;
}
static void make_narrow(onnx_builder *b, Onnx__TensorProto *t) {
    t->has_raw_data = false;
    t->data_type = ONNX_INT8;
    t->n_int32_data = 4;
    t->int32_data = onnx_memory(b, 16);
    t->int32_data[2] = 128;
}

Test(onnx, initializers_that_are_not_what_they_say_are_refused) {
    cr_expect(initializer_refused(make_external, SH_ERROR_UNSUPPORTED,
                                  "initializer w has its values in another file"));
    cr_expect(
        initializer_refused(cut_raw, SH_ERROR_FORMAT, "w has 15 bytes of raw_data, its shape asks for 16"));
    cr_expect(initializer_refused(make_negative, SH_ERROR_FORMAT, "a dimension of -2"));
    cr_expect(initializer_refused(make_huge, SH_ERROR_FORMAT, "more elements than can be counted"));
    cr_expect(initializer_refused(make_string, SH_ERROR_UNSUPPORTED, "elements of STRING"));
    cr_expect(initializer_refused(make_unknown, SH_ERROR_UNSUPPORTED, "a type unknown here"));
    cr_expect(initializer_refused(make_deep, SH_ERROR_UNSUPPORTED, "9 dimensions"));
    cr_expect(initializer_refused(add_other_field, SH_ERROR_FORMAT, "a field that is not for them"));
    cr_expect(initializer_refused(make_segment, SH_ERROR_UNSUPPORTED, "segment"));
    cr_expect(initializer_refused(make_narrow, SH_ERROR_FORMAT, "the value 128 at 2"));
}

/* ---- models that are refused ---- */

static onnx_builder *one_node(int64_t opset, const char *op, const char *inputs) {
    onnx_builder *b = onnx_new(opset);
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(1, 3, 4, 4));
    onnx_node(b, op, "the/node", inputs, "y");
    onnx_result(b, "y");
    return b;
}

static Onnx__NodeProto *its_node(onnx_builder *b) { return b->graph.node[0]; }

Test(onnx, an_unknown_op_is_an_error_that_names_it_its_node_and_the_opset) {
    cr_expect(refused(one_node(17, "Foo", "x"), SH_ERROR_UNSUPPORTED,
                      "m.onnx: node the/node (Foo): the op Foo of opset 17 is not known"));
    onnx_builder *b = one_node(17, "Relu", "x");
    its_node(b)->domain = onnx_text(b, "com.microsoft");
    cr_expect(refused(b, SH_ERROR_UNSUPPORTED, "there is no op com.microsoft::Relu or com.microsoft::relu"));
    cr_expect(refused(one_node(5, "Relu", "x"), SH_ERROR_UNSUPPORTED, "it is read from opset 6 on"));
    cr_expect(refused(one_node(99, "Relu", "x"), SH_ERROR_UNSUPPORTED, "opset 99"));
    cr_expect(refused(one_node(0, "Relu", "x"), SH_ERROR_FORMAT, "which opset"));
}

Test(onnx, values_that_nothing_makes_or_two_make_are_refused) {
    cr_expect(
        refused(one_node(13, "Relu", "z"), SH_ERROR_FORMAT, "its input z is made by nothing before it"));
    cr_expect(
        refused(one_node(13, "Relu", "y"), SH_ERROR_FORMAT, "its input y is made by nothing before it"));
    cr_expect(refused(one_node(13, "Relu", "-"), SH_ERROR_FORMAT, "input 0 is missing"));
    cr_expect(refused(one_node(13, "Relu", "x x"), SH_ERROR_FORMAT, "2 inputs"));
    onnx_builder *b = one_node(13, "Relu", "x");
    onnx_node(b, "Relu", "again", "x", "y");
    cr_expect(refused(b, SH_ERROR_FORMAT, "the value y is made twice"));
    b = one_node(13, "Relu", "x");
    onnx_node(b, "Relu", "over", "y", "x");
    cr_expect(refused(b, SH_ERROR_FORMAT, "the value x is made twice"));
    b = one_node(13, "Relu", "x");
    onnx_result(b, "nowhere");
    cr_expect(refused(b, SH_ERROR_FORMAT, "nothing makes the output nowhere"));
    b = onnx_new(13);
    cr_expect(refused(b, SH_ERROR_FORMAT, "no output"));
    b = onnx_new(13);
    b->model.graph = NULL;
    cr_expect(refused(b, SH_ERROR_FORMAT, "no ONNX model"));
}

Test(onnx, names_that_are_no_text_are_refused) {
    static const char *const names[] = {"caf\xe9", "\x1b[2J"};
    for (int i = 0; i < 2; i++) {
        onnx_builder *b = onnx_new(13);
        onnx_input(b, names[i], ONNX_FLOAT, SH_SIZES(2));
        onnx_result(b, names[i]);
        cr_expect(refused(b, SH_ERROR_FORMAT, "is no text in UTF-8"));
    }
}

Test(onnx, inputs_that_initializers_give_are_constants) {
    onnx_builder *b = one_node(13, "Relu", "x");
    onnx_floats(b, "x", SH_SIZES(1), (float[]){2});
    sh_graph *g = parse(b);
    cr_assert(g != NULL);
    cr_expect(sh_node_opcode(sh_graph_first(g)) == SH_GET_ATTR);
    sh_graph_free(g);
}

static bool with_ints(const char *op, const char *name, sh_ints list, sh_status code, const char *part) {
    onnx_builder *b = one_node(13, op, strcmp(op, "Conv") == 0 ? "x w" : "x");
    onnx_floats(b, "w", SH_SIZES(2, 3, 2, 2), (float[24]){0});
    if (strcmp(op, "MaxPool") == 0 && strcmp(name, "kernel_shape") != 0)
        onnx_set_ints(b, its_node(b), "kernel_shape", SH_SIZES(2, 2));
    onnx_set_ints(b, its_node(b), name, list);
    return refused(b, code, part);
}

Test(onnx, attributes_are_checked) {
    cr_expect(with_ints("Conv", "pads", SH_SIZES(1, 1), SH_ERROR_FORMAT, "pads has 2 entries, expected 4"));
    cr_expect(with_ints("Conv", "pads", SH_SIZES(1, 1, -1, 1), SH_ERROR_FORMAT, "the entry -1"));
    cr_expect(with_ints("Conv", "strides", SH_SIZES(0, 1), SH_ERROR_FORMAT, "the entry 0"));
    cr_expect(with_ints("Conv", "strides", SH_SIZES(1, INT64_MAX), SH_ERROR_FORMAT, "strides has the entry"));
    cr_expect(with_ints("Conv", "kernel_shape", SH_SIZES(2, 3), SH_ERROR_FORMAT, "the weight's size 2"));
    cr_expect(
        with_ints("Conv", "colour", SH_SIZES(2), SH_ERROR_UNSUPPORTED, "its attribute colour is not known"));
    cr_expect(
        with_ints("Conv", "group", SH_SIZES(2), SH_ERROR_FORMAT, "attribute group has type 7, expected 2"));
    cr_expect(with_ints("MaxPool", "kernel_shape", SH_SIZES(2), SH_ERROR_UNSUPPORTED, "1 spatial axes"));
    cr_expect(with_ints("Transpose", "perm", SH_SIZES(0, 1, 1, 3), SH_ERROR_FORMAT, "no permutation"));
    cr_expect(with_ints("Transpose", "perm", SH_SIZES(0, 1, 2, 7), SH_ERROR_FORMAT, "no permutation"));
    onnx_builder *b = one_node(13, "Relu", "x");
    its_node(b)->op_type = onnx_text(b, "Concat");
    cr_expect(refused(b, SH_ERROR_FORMAT, "attribute axis is missing"));
    b = one_node(13, "MaxPool", "x");
    cr_expect(refused(b, SH_ERROR_FORMAT, "kernel_shape is missing"));
    b = one_node(13, "MaxPool", "x");
    onnx_set_ints(b, its_node(b), "kernel_shape", SH_SIZES(2, 2));
    its_node(b)->n_output = 2;
    its_node(b)->output = (char *[]){its_node(b)->output[0], onnx_text(b, "indices")};
    cr_expect(refused(b, SH_ERROR_UNSUPPORTED, "Indices"));
    b = one_node(13, "Concat", "x");
    onnx_set_int(b, its_node(b), "axis", 0);
    onnx_set_int(b, its_node(b), "axis", 1);
    cr_expect(refused(b, SH_ERROR_FORMAT, "given twice"));
}

Test(onnx, auto_pad_is_a_known_word_and_excludes_pads) {
    onnx_builder *b = one_node(13, "MaxPool", "x");
    onnx_set_ints(b, its_node(b), "kernel_shape", SH_SIZES(2, 2));
    onnx_set_string(b, its_node(b), "auto_pad", "SAME");
    cr_expect(refused(b, SH_ERROR_FORMAT, "auto_pad is SAME, expected"));
    b = one_node(13, "MaxPool", "x");
    onnx_set_ints(b, its_node(b), "kernel_shape", SH_SIZES(2, 2));
    onnx_set_ints(b, its_node(b), "pads", SH_SIZES(0, 0, 1, 1));
    onnx_set_string(b, its_node(b), "auto_pad", "SAME_UPPER");
    cr_expect(refused(b, SH_ERROR_FORMAT, "both given"));
}

Test(onnx, shapes_that_do_not_fit_are_refused_where_they_are_known) {
    onnx_builder *b = onnx_new(13);
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(2, 3));
    onnx_input(b, "w", ONNX_FLOAT, SH_SIZES(2, 4));
    onnx_node(b, "Add", "bad_sum", "x w", "y");
    onnx_result(b, "y");
    cr_expect(refused(b, SH_ERROR_SHAPE, "node bad_sum (Add): "));
}

Test(onnx, inputs_of_unknown_kinds_are_refused) {
    onnx_builder *b = one_node(13, "Relu", "x");
    b->graph.input[0]->type->tensor_type->elem_type = ONNX_COMPLEX64;
    cr_expect(refused(b, SH_ERROR_UNSUPPORTED, "input x has elements of COMPLEX64"));
    b = one_node(13, "Relu", "x");
    b->graph.input[0]->type->tensor_type->shape->dim[1]->dim_value = -3;
    cr_expect(refused(b, SH_ERROR_FORMAT, "input x has a dimension of -3"));
    b = one_node(13, "Relu", "x");
    b->graph.input[0]->type = NULL;
    sh_graph *g = parse(b);
    cr_expect(g && !sh_node_spec(sh_graph_find(g, "x")));
    sh_graph_free(g);
}

/* ---- bytes ---- */

enum { HEAD = 12 }; /* of a field, at most */

/* Makes the `size` bytes at `inner` field `number` of a message, by length: its head goes in front of them. */
static uint8_t *wrapped(uint8_t *inner, size_t size, int number) {
    uint8_t head[HEAD], *to = head;
    *to++ = (uint8_t)(number << 3 | 2);
    for (; size >= 128; size >>= 7) *to++ = (uint8_t)(size | 128);
    *to++ = (uint8_t)size;
    const size_t n = (size_t)(to - head);
    return memcpy(inner - n, head, n);
}

Test(onnx, deep_nesting_is_refused_before_anything_recurses) {
    enum { DEPTH = 30000, ROOM = (3 * DEPTH + 1) * HEAD };
    /* graph (7) of node (1) of attribute (5) of graph (6) of node ... */
    static const int inside_out[] = {6, 5, 1};
    uint8_t *bytes = malloc(ROOM), *end = bytes + ROOM, *at = end;
    for (int i = 0; i < 3 * DEPTH; i++) at = wrapped(at, (size_t)(end - at), inside_out[i % 3]);
    at = wrapped(at, (size_t)(end - at), 7);
    cr_expect(sh_parse_onnx(at, (size_t)(end - at), "deep.onnx") == NULL);
    cr_expect(error_says(SH_ERROR_FORMAT, "deep.onnx: messages nest deeper than 64"));
    free(bytes);
}

Test(onnx, many_small_messages_are_refused_when_they_would_take_too_much_memory) {
    enum { NODES = 2000000, ROOM = HEAD + 2 * NODES };
    uint8_t *bytes = calloc(1, ROOM), *end = bytes + ROOM;
    for (uint8_t *at = bytes + HEAD; at < end; at += 2) *at = 1 << 3 | 2; /* an empty node */
    uint8_t *at = wrapped(bytes + HEAD, 2 * NODES, 7);
    cr_expect(sh_parse_onnx(at, (size_t)(end - at), "many.onnx") == NULL);
    cr_expect(error_says(SH_ERROR_FORMAT, "out of proportion"));
    free(bytes);
}

Test(onnx, a_field_that_stands_once_is_not_merged) {
    const uint8_t twice[] = {7 << 3 | 2, 0, 7 << 3 | 2, 0};
    cr_expect(sh_parse_onnx(twice, sizeof twice, "twice") == NULL && error_says(SH_ERROR_FORMAT, "repeated"));
    const uint8_t group[] = {7 << 3 | 3};
    cr_expect(sh_parse_onnx(group, sizeof group, "group") == NULL &&
              error_says(SH_ERROR_FORMAT, "unknown kind"));
    const uint8_t zero[] = {0, 0};
    cr_expect(sh_parse_onnx(zero, sizeof zero, "zero") == NULL &&
              error_says(SH_ERROR_FORMAT, "no valid number"));
}

Test(onnx, models_cut_off_anywhere_or_changed_are_read_or_refused) {
    for (size_t m = 0; m < onnx_model_count; m++) {
        size_t size;
        uint8_t *bytes = onnx_model_bytes(onnx_models[m].name, &size);
        const size_t step = size > 4000 ? size / 400 : 1;
        for (size_t cut = 0; cut < size; cut += step) {
            sh_graph_free(sh_parse_onnx(bytes, cut, "cut"));
            cr_expect(cut == 0 || sh_error() != NULL || true);
            sh_clear_error();
            const uint8_t before = bytes[cut];
            bytes[cut] ^= (uint8_t)(1u << cut % 8);
            sh_graph_free(sh_parse_onnx(bytes, size, "changed"));
            sh_clear_error();
            bytes[cut] = before;
        }
        free(bytes);
    }
}

Test(onnx, each_failed_allocation_is_an_error_and_leaves_nothing) {
    size_t size;
    uint8_t *bytes = onnx_model_bytes("conv_pads", &size);
    const int64_t live = sh_memory_stats_get().live_tensors;
    sh_graph *graph = NULL;
    for (size_t n = 1; !graph && n < 100000; n++) {
        sh_memory_fail_after(n);
        SH_SCOPE graph = sh_parse_onnx(bytes, size, "m");
        sh_memory_fail_after(0);
        if (graph) break;
        cr_assert(sh_error() && sh_error()->code == SH_ERROR_MEMORY, "allocation %zu: %s", n,
                  sh_error()->message);
        sh_clear_error();
        cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live));
    }
    cr_expect(graph != NULL);
    sh_graph_free(graph);
    free(bytes);
}

Test(onnx, files_that_are_not_there_or_no_files_are_errors) {
    cr_expect(sh_load_onnx("/nowhere/m.onnx") == NULL && error_says(SH_ERROR_FILE, "/nowhere/m.onnx"));
    cr_expect(sh_load_onnx("/") == NULL && error_says(SH_ERROR_FILE, "regular file"));
    cr_expect(sh_load_onnx(NULL) == NULL && error_says(SH_ERROR_NULL, "sh_load_onnx"));
    cr_expect(sh_load_onnx_tensor("/nowhere/t.pb") == NULL && error_says(SH_ERROR_FILE, "/nowhere/t.pb"));
}
