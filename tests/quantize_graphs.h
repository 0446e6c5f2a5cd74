/* quantize_graphs.h - what the tests of quantisation quantise: nets and graphs in small, and what to ask of them. */
#ifndef SH_TESTS_QUANTIZE_GRAPHS_H
#define SH_TESTS_QUANTIZE_GRAPHS_H

#include "tests/graphs.h"
#include "tests/quantize_net.h"

static inline sh_module *traced_net(void) {
    sh_module *net = quantize_net();
    sh_module *traced = net ? sh_symbolic_trace(net, SH_INPUTS(quantize_net_images(0)), NULL) : NULL;
    sh_module_release(net);
    return traced;
}

/* A graph without modules, as a graph module in eval mode. */
static inline sh_module *module_of(sh_graph *graph) {
    static const sh_module_type type = {.name = "Root"};
    sh_module *root = sh_module_new(&type);
    if (root) sh_module_eval(root);
    sh_module *module = sh_graph_module_new(root, graph);
    sh_module_release(root);
    return module;
}

static inline sh_node *call(sh_graph *g, const char *op, sh_node *x) {
    return sh_graph_call_function(g, op, x);
}

static inline sh_node *constant(sh_graph *g, const char *name, sh_tensor *value) {
    sh_graph_set_attr(g, name, value);
    return sh_graph_get_attr(g, name);
}

static inline sh_node *linear(sh_graph *g, sh_node *x, sh_node *weight) {
    return sh_graph_call_function(g, "linear", x, weight);
}

static inline sh_module *prepared_of(sh_graph *g, const sh_qconfig_mapping *mapping) {
    sh_module *module = module_of(g), *prepared = sh_quantize_prepare(module, mapping, NULL);
    cr_assert(prepared != NULL, "%s", message());
    cr_expect(sh_graph_lint(sh_graph_module_graph(prepared)) == SH_OK, "%s", message());
    sh_module_release(module);
    return prepared;
}

static inline size_t observers(const sh_module *m) {
    size_t n = 0;
    SH_EACH_NODE(node, sh_graph_module_graph(m)) n += sh_is_observer(sh_node_module(node));
    return n;
}

/* The observer of the value of this node; NULL if there is none. */
static inline sh_module *observer_of(const sh_module *m, const char *name) {
    sh_node *users[16], *node = sh_graph_find(sh_graph_module_graph(m), name);
    const size_t n = node ? sh_node_users(node, users, 16) : 0;
    for (size_t i = 0; i < n; i++)
        if (sh_is_observer(sh_node_module(users[i]))) return sh_node_module(users[i]);
    return NULL;
}

static inline size_t calls(const sh_module *m, const char *op) {
    return sh_graph_find_nodes(sh_graph_module_graph(m), SH_CALL_FUNCTION, op, NULL, 0);
}

#endif
