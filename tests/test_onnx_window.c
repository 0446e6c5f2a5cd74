/* Conv and MaxPool of ONNX models, against plain loops over the formulas of ONNX's own description. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/onnx/onnx.h"
#include "onnx_models.h"
#include "ops/ops.h"

static sh_graph *model(const char *name) {
    size_t size;
    uint8_t *bytes = onnx_model_bytes(name, &size);
    sh_graph *graph = sh_parse_onnx(bytes, size, name);
    if (!graph) fprintf(stderr, "%s: %s\n", name, sh_error()->message);
    free(bytes);
    return graph;
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

typedef struct geometry {
    int64_t kernel[2], pads[4], strides[2], dilations[2], group;
    bool pool;
} geometry;

static float at(const sh_tensor *t, int64_t n, int64_t c, int64_t h, int64_t w) {
    const int64_t index[] = {n, c, h, w};
    return (float)sh_tensor_at(t, index);
}

/* One element of the output: a sum over the window, or its largest element. */
static double window_value(const geometry *g, const sh_tensor *x, const sh_tensor *weight,
                           const sh_tensor *bias, const int64_t *out) {
    const int64_t cin = g->pool ? 1 : sh_tensor_size(weight, 1),
                  cout = g->pool ? 1 : sh_tensor_size(weight, 0);
    const int64_t first = g->pool ? out[1] : out[1] / (cout / g->group) * cin;
    double value = g->pool ? -INFINITY : bias ? sh_tensor_at(bias, &out[1]) : 0;
    for (int64_t c = 0; c < cin; c++)
        for (int64_t kh = 0; kh < g->kernel[0]; kh++)
            for (int64_t kw = 0; kw < g->kernel[1]; kw++) {
                const int64_t h = out[2] * g->strides[0] + kh * g->dilations[0] - g->pads[0];
                const int64_t w = out[3] * g->strides[1] + kw * g->dilations[1] - g->pads[1];
                if (h < 0 || w < 0 || h >= sh_tensor_size(x, 2) || w >= sh_tensor_size(x, 3)) continue;
                if (g->pool)
                    value = fmax(value, at(x, out[0], first, h, w));
                else
                    value += (double)at(x, out[0], first + c, h, w) * at(weight, out[1], c, kh, kw);
            }
    return value;
}

/* The model's output has these sizes and the values of the formula. */
static bool windows_agree(const char *name, geometry g, int64_t height, int64_t width) {
    sh_graph *graph = model(name);
    bool agree = graph != NULL;
    SH_SCOPE {
        sh_tensor *x = sh_sub(sh_rand(SH_SIZES(1, 3, 9, 8)), 0.5);
        sh_tensor *w = graph ? sh_graph_attr(graph, "w") : NULL,
                  *bias = graph ? sh_graph_attr(graph, "bias") : NULL;
        sh_list *results = graph ? sh_graph_run(graph, SH_LIST(x)) : NULL;
        sh_tensor *y = results ? sh_list_at(results, 0) : NULL;
        if (!g.group) g.group = 1;
        agree = y && sh_tensor_size(y, 2) == height && sh_tensor_size(y, 3) == width;
        if (!y) fprintf(stderr, "%s: %s\n", name, sh_error()->message);
        if (!agree && y)
            fprintf(stderr, "%s: %" PRId64 " x %" PRId64 "\n", name, sh_tensor_size(y, 2),
                    sh_tensor_size(y, 3));
        int64_t out[4] = {0};
        for (out[1] = 0; agree && out[1] < sh_tensor_size(y, 1); out[1]++)
            for (out[2] = 0; out[2] < height; out[2]++)
                for (out[3] = 0; out[3] < width; out[3]++)
                    agree &= fabs(sh_tensor_at(y, out) - window_value(&g, x, w, bias, out)) < 1e-5;
    }
    sh_graph_free(graph);
    return agree;
}

Test(onnx_window, conv_places_its_windows_as_onnx_says) {
    cr_expect(windows_agree("conv", (geometry){{3, 2}, {0}, {1, 1}, {1, 1}, 0, false}, 7, 7));
    cr_expect(windows_agree("conv_pads", (geometry){{3, 2}, {1, 0, 2, 3}, {2, 1}, {1, 2}, 0, false}, 5, 9));
    cr_expect(
        windows_agree("conv_same_upper", (geometry){{3, 2}, {1, 0, 1, 0}, {2, 3}, {1, 1}, 0, false}, 5, 3));
    cr_expect(
        windows_agree("conv_same_lower", (geometry){{3, 2}, {1, 1, 1, 0}, {1, 1}, {1, 1}, 0, false}, 9, 8));
    cr_expect(windows_agree("conv_valid", (geometry){{3, 2}, {0}, {1, 1}, {1, 1}, 0, false}, 7, 7));
    cr_expect(windows_agree("conv_group", (geometry){{3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 3, false}, 9, 8));
}

Test(onnx_window, max_pool_places_its_windows_as_onnx_says) {
    cr_expect(windows_agree("max_pool", (geometry){{2, 2}, {0}, {2, 2}, {1, 1}, 0, true}, 4, 4));
    cr_expect(
        windows_agree("max_pool_pads", (geometry){{3, 2}, {0, 1, 2, 1}, {1, 1}, {2, 1}, 0, true}, 7, 9));
    cr_expect(windows_agree("max_pool_ceil", (geometry){{2, 3}, {0}, {2, 2}, {1, 1}, 0, true}, 5, 4));
    cr_expect(
        windows_agree("max_pool_ceil_pads", (geometry){{3, 3}, {0, 0, 2, 1}, {3, 2}, {1, 1}, 0, true}, 3, 4));
    cr_expect(
        windows_agree("max_pool_same", (geometry){{3, 3}, {1, 0, 1, 1}, {2, 2}, {1, 1}, 0, true}, 5, 4));
}

Test(onnx_window, padding_that_differs_by_side_is_a_node_of_its_own) {
    cr_expect(text_is(
        model("conv_pads"),
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %w : [num_users=1] = get_attr[target=w]\n"
        "    %bias : [num_users=1] = get_attr[target=bias]\n"
        "    %conv_pad : [num_users=1] = call_function[target=pad](args = (%x, [0, 3, 1, 2]), kwargs = {})\n"
        "    %conv : [num_users=1] = call_function[target=conv2d](args = (%conv_pad, %w), kwargs = {bias: %bias, "
        "stride: [2, 1], dilation: [1, 2]})\n"
        "    return conv"));
}

Test(onnx_window, the_planted_fault_is_a_nan_born_in_the_sum) {
    sh_graph *g = model("planted");
    cr_assert(g != NULL);
    sh_list *out = sh_graph_run(g, SH_LIST(sh_rand(SH_SIZES(1, 3, 16, 16))));
    cr_assert(out != NULL, "%s", sh_error()->message);
    cr_expect(isnan(sh_item(sh_sum(sh_list_at(out, 0)))));
    cr_expect(sh_graph_find(g, "sum_1") && sh_graph_find(g, "conv2"));
    sh_graph_free(g);
}
