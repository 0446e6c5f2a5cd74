/* test_picture.c - graphs drawn: what is folded, what is cut, colours, and names that Graphviz must not obey. */
#include "graph/picture/dot.h"
#include "tests/fail_each.h"
#include "tests/fx_nets.h"
#include "tests/graphs.h"
#include "tests/resnet.h"

#define DRAW(graph, ...) sh_graph_dot(graph, &(sh_picture_options){__VA_ARGS__})

/* Graphviz takes it, without a word. */
static bool parses(const char *dot) {
    FILE *pipe = popen("! dot -Tsvg 2>&1 >/dev/null | grep .", "w");
    if (!pipe || !dot) return false;
    fputs(dot, pipe);
    return pclose(pipe) == 0;
}

static size_t count(const char *text, const char *part) {
    size_t n = 0;
    for (; text && (text = strstr(text, part)) != NULL; text++) n++;
    return n;
}

static bool has(const char *text, const char *part) {
    if (text && strstr(text, part)) return true;
    fprintf(stderr, "no \"%s\" in:\n%s\n", part, text ? text : message());
    return false;
}

/* n times relu -> sigmoid -> add of both. */
static sh_graph *repeating(int n) {
    sh_graph *g = sh_graph_new();
    sh_node *at = sh_graph_placeholder(g, "x");
    for (int i = 0; i < n; i++) {
        sh_node *relu = sh_graph_call_function(g, "relu", at);
        at = sh_graph_call_function(g, "add", sh_graph_call_function(g, "sigmoid", relu), relu);
    }
    sh_graph_output(g, SH_ARG(at));
    return g;
}

/* ---- folding ---- */

Test(picture, up_to_eighty_nodes_each_is_drawn) {
    sh_graph *g = repeating(26);
    char *dot = sh_graph_dot(g, NULL);
    cr_expect(has(dot, "80 nodes<"));
    cr_expect(eq(sz, count(dot, "fillcolor"), 80));
    cr_expect(parses(dot));
    free(dot);
    sh_graph_free(g);
}

Test(picture, above_that_what_repeats_is_one_box) {
    sh_graph *g = repeating(27);
    char *dot = sh_graph_dot(g, NULL), *full = DRAW(g, .full = true);
    cr_expect(has(dot, "<b>27 \u00d7 relu \u2192 sigmoid \u2192 add</b>"));
    cr_expect(has(dot, "81 nodes: 27 relu, 27 sigmoid, 27 add"));
    cr_expect(has(dot, "83 nodes in 3 boxes"));
    cr_expect(eq(sz, count(dot, "fillcolor"), 3));
    cr_expect(eq(sz, count(dot, " -> "), 2));
    cr_expect(eq(sz, count(full, "fillcolor"), 83));
    cr_expect(parses(dot) && parses(full));
    free(dot);
    free(full);
    sh_graph_free(g);
}

Test(picture, runs_that_hang_together_in_another_way_are_not_one) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *at = x, *before = x;
    for (int i = 0; i < 90; i++) {
        sh_node *next = sh_graph_call_function(g, "add", at, i % 7 == 3 ? x : before);
        before = at;
        at = next;
    }
    sh_graph_output(g, SH_ARG(at));
    char *dot = sh_graph_dot(g, NULL);
    cr_expect(not(strstr(dot, "90 \u00d7") != NULL), "%s", dot);
    cr_expect(parses(dot));
    free(dot);
    sh_graph_free(g);
}

static bool no_leaf(const char *path, const sh_module *module, void *user) {
    (void)path, (void)module, (void)user;
    return false;
}

Test(picture, resnet18_is_its_blocks_whichever_way_it_was_recorded) {
    SH_SCOPE {
        sh_module *net = resnet18();
        sh_module_eval(net);
        const sh_value image = sh_value_tensor(resnet_image(1));
        sh_graph *leaves = sh_trace(net, (sh_values){&image, 1}, NULL);
        sh_graph *ops = sh_trace(net, (sh_values){&image, 1}, &(sh_trace_options){.is_leaf = no_leaf});
        char *framed = DRAW(leaves, .title = "ResNet18"), *folded = sh_graph_dot(ops, NULL);
        cr_expect(has(framed, "<b>ResNet18</b>"));
        cr_expect(has(framed, "71 nodes, 11,689,512 parameters"));
        cr_expect(eq(sz, count(framed, "subgraph cluster_"), 8), "one frame a block");
        cr_expect(
            has(framed, "<b>%layer1_0_conv1</b><br/>Conv2d<br/>f32[1, 64, 56, 56]<br/>36,864 parameters"));
        cr_expect(has(folded, "173 nodes in 17 boxes, 11,689,512 parameters"));
        cr_expect(has(
            folded, "<b>layer4.1</b> \u00b7 BasicBlock<br/>7 nodes: 2 conv2d, 2 batch_norm, 2 relu_, 1 add"));
        cr_expect(eq(sz, count(folded, "BasicBlock"), 8));
        cr_expect(has(folded, "label=< f32[1, 512, 7, 7]>"));
        cr_expect(parses(framed) && parses(folded));
        free(framed);
        free(folded);
        sh_graph_free(leaves);
        sh_graph_free(ops);
        sh_module_release(net);
    }
}

Test(picture, a_scope_that_holds_all_is_opened) {
    sh_graph *g = sh_graph_new();
    sh_node *at = sh_graph_placeholder(g, "x");
    for (int i = 0; i < 100; i++) {
        static const char *const scopes[] = {"model", "model.a", "model.b.c"};
        at = sh_graph_call_function(g, i % 2 ? "relu" : "sigmoid", at);
        sh_node_set_scope(at, scopes[i < 4 ? 0 : i < 60 ? 1 : 2]);
    }
    sh_graph_output(g, SH_ARG(at));
    char *dot = sh_graph_dot(g, NULL);
    cr_expect(has(dot, "<b>model.a</b>") && has(dot, "56 nodes: 28 "));
    cr_expect(has(dot, "<b>model.b.c</b>") && has(dot, "40 nodes: 20 "));
    free(dot);
    sh_graph_free(g);
}

Test(picture, hundred_thousand_nodes_are_no_trouble) {
    sh_graph *g = repeating(33333);
    char *dot = sh_graph_dot(g, NULL), *near = DRAW(g, .around = sh_graph_find(g, "relu_20000"), .depth = 2);
    cr_expect(has(dot, "33333 \u00d7 relu"));
    cr_expect(has(near, " of 100,001 nodes"));
    free(dot);
    free(near);
    sh_graph_free(g);
}

/* ---- around a node ---- */

Test(picture, around_a_node_is_what_is_near_and_stubs_where_it_goes_on) {
    sh_graph *g = repeating(40);
    char *one = DRAW(g, .around = sh_graph_find(g, "relu_5"), .depth = 1);
    cr_expect(has(one, "4 of 122 nodes: up to 1 from %relu_5"));
    cr_expect(eq(sz, count(one, "fillcolor"), 4));
    cr_expect(has(one, "<b>%relu_5</b>") && has(one, "<b>%add_4</b>") && has(one, "<b>%sigmoid_5</b>") &&
              has(one, "<b>%add_5</b>"));
    cr_expect(has(one, "label=<%sigmoid_4 \u2026>") && has(one, "label=<%relu_6 \u2026>"));
    cr_expect(parses(one));
    char *itself = DRAW(g, .around = sh_graph_find(g, "relu_5"));
    cr_expect(eq(sz, count(itself, "fillcolor"), 1));
    cr_expect(eq(sz, count(itself, "style=\"dashed\""), 3));
    char *all = DRAW(g, .around = sh_graph_find(g, "relu_5"), .depth = 1000);
    cr_expect(eq(sz, count(all, "fillcolor"), 122));
    cr_expect(eq(sz, count(all, "style=\"dashed\""), 0));
    free(one);
    free(itself);
    free(all);
    sh_graph_free(g);
}

Test(picture, of_many_neighbours_some_are_named) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *at = x;
    for (int i = 0; i < 50; i++) at = sh_graph_call_function(g, "relu", x);
    sh_graph_output(g, SH_ARG(at));
    char *dot = DRAW(g, .around = x);
    cr_expect(has(dot, "46 more \u2026"));
    cr_expect(parses(dot));
    free(dot);
    sh_graph_free(g);
}

/* ---- colours ---- */

Test(picture, dtypes_have_colours_and_a_legend) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_call_function(g, "relu", x),
            *z = sh_graph_call_function(g, "neg", y);
    sh_node_set_spec(x, &(sh_spec){.dtype = SH_F32, .ndim = 1, .sizes = {4}});
    sh_node_set_spec(y, &(sh_spec){.dtype = SH_BF16, .ndim = 1, .sizes = {4}});
    sh_graph_output(g, SH_ARG(z));
    char *dot = DRAW(g, .color = SH_COLOR_DTYPE);
    cr_expect(has(dot, ">f32</td>") && has(dot, ">bf16</td>") && has(dot, ">not known</td>") &&
              has(dot, "bf16[4]"));
    cr_expect(not(strstr(dot, ">i64</td>") != NULL));
    cr_expect(parses(dot));
    free(dot);
    sh_graph_free(g);
}

Test(picture, time_is_in_the_label_too) {
    SH_SCOPE {
        sh_graph *g = repeating(3);
        sh_timing *timing = sh_timing_new(g);
        sh_value result;
        cr_expect(DRAW(g, .color = SH_COLOR_TIME) == NULL);
        cr_expect(error_says(SH_ERROR_VALUE, "timing is NULL"));
        cr_expect(DRAW(g, .color = SH_COLOR_TIME, .timing = timing) == NULL);
        cr_expect(error_says(SH_ERROR_VALUE, "nothing has run"));
        for (int i = 0; i < 3; i++) sh_timing_run(timing, SH_ARGUMENTS(sh_rand(SH_SIZES(8))), &result);
        char *dot = DRAW(g, .color = SH_COLOR_TIME, .timing = timing);
        cr_expect(has(dot, "share of a run") && has(dot, " ms a run") && has(dot, "\u00b5s \u00b7 "));
        cr_expect(parses(dot));
        free(dot);
        sh_timing_free(timing);
        sh_graph_free(g);
    }
}

/* ---- what comes from outside ---- */

Test(picture, hostile_names_are_drawn_and_not_obeyed) {
    static const char *const names[] = {"{ } | < > \" \\ \\n \n \t & &lt; <b> </b> --> ]; }", "\xff\xfe",
                                        "\u00e9\xf0\x9f\x98\x80", "\x1b[2J", "%s"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sh_graph *g = sh_graph_new();
        sh_node *at = sh_graph_placeholder(g, names[i]);
        for (int k = 0; k < 100; k++) {
            at = sh_graph_create_node(g, SH_CALL_FUNCTION, names[i], SH_ARGS(at), SH_NO_KWARGS, names[i]);
            if (k > 50) sh_node_set_scope(at, names[i]);
        }
        sh_graph_output(g, SH_ARG(at));
        char *folded = DRAW(g, .title = names[i]), *full = DRAW(g, .full = true),
             *near = DRAW(g, .around = at);
        cr_expect(parses(folded) && parses(full) && parses(near), "%zu: %s", i, folded);
        free(folded);
        free(full);
        free(near);
        sh_graph_free(g);
    }
}

Test(picture, odd_graphs_are_drawn) {
    sh_graph *empty = sh_graph_new(), *alone = sh_graph_new();
    sh_graph_placeholder(alone, "x");
    char *nothing = sh_graph_dot(empty, NULL), *one = sh_graph_dot(alone, NULL);
    cr_expect(parses(nothing) && parses(one));
    cr_expect(sh_graph_dot(NULL, NULL) == NULL);
    cr_expect(error_says(SH_ERROR_NULL, "graph is NULL"));
    cr_expect(DRAW(empty, .around = sh_graph_first(alone)) == NULL);
    cr_expect(error_says(SH_ERROR_VALUE, "%x is of another graph"));
    cr_expect(DRAW(alone, .around = sh_graph_first(alone), .depth = -1) == NULL);
    cr_expect(error_says(SH_ERROR_VALUE, "depth is -1"));
    free(nothing);
    free(one);
    sh_graph_free(empty);
    sh_graph_free(alone);
}

static bool draw_a_graph(void) {
    sh_value room[3];
    sh_module *net = fx_nets[2].make();
    sh_graph *g = net ? sh_trace(net, fx_net_inputs(&fx_nets[2], room), NULL) : NULL;
    sh_node *last = g ? sh_graph_last(g) : NULL;
    for (int i = 0; last && i < 90; i++)
        SH_INSERTING_BEFORE(last) sh_graph_call_function(g, "relu", sh_graph_first(g));
    char *folded = g && !sh_error() ? sh_graph_dot(g, NULL) : NULL;
    char *full = folded ? DRAW(g, .full = true, .color = SH_COLOR_DTYPE) : NULL;
    char *near = full ? DRAW(g, .around = sh_graph_first(g), .depth = 1) : NULL;
    const bool done = near != NULL;
    free(folded);
    free(full);
    free(near);
    sh_graph_free(g);
    sh_module_release(net);
    return done;
}

Test(picture, survives_each_failing_allocation) { fail_each("picture", draw_a_graph); }
