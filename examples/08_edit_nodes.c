/* Nodes put in, moved and taken out by hand: what keeps a graph right, and what is refused. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>

static void show(const char *what, const sh_graph *graph) {
    char *text = sh_graph_text(graph);
    printf("%s\n%s\n\n", what, text ? text : sh_error()->message);
    free(text);
}

static sh_value forward(sh_values inputs, void *user) {
    sh_tensor *x = inputs.at[0].as.tensor;
    (void)user;
    return SH_VALUE(sh_relu(sh_mul(sh_add(x, 1.0), x)));
}

int main(void) {
    SH_SCOPE {
        sh_tensor *x = sh_full(SH_SIZES(2), 3.0);
        sh_graph *graph = sh_trace_function(forward, NULL, SH_INPUTS(x), NULL);
        show("relu((x + 1) * x):", graph);

        sh_node *add = sh_graph_find(graph, "add"), *mul = sh_graph_find(graph, "mul"), *neg = NULL;
        SH_INSERTING_AFTER(add) { neg = sh_graph_call_function(graph, "neg", add); }
        sh_node_replace_input_with(mul, add, neg); /* mul alone; what else used add would go on doing so */
        show("a neg between add and mul:", graph);

        sh_graph_erase_node(neg);
        printf("erase it at once: %s\n\n", sh_error()->message);
        sh_clear_error();

        sh_node_replace_all_uses_with(neg, add);
        sh_graph_erase_node(neg);
        show("the uses first, then the node:", graph);

        sh_node *dead = NULL;
        SH_INSERTING_BEFORE(mul) { dead = sh_graph_call_function(graph, "exp", add); }
        printf("%%%s has %zu users, ", sh_node_name(dead), sh_node_users(dead, NULL, 0));
        printf("dead code is %zu node\n", sh_graph_eliminate_dead_code(graph, NULL, NULL));

        sh_node_append(mul, add); /* add behind mul, which uses it */
        sh_graph_lint(graph);
        printf("lint: %s\n", sh_error()->message);
        sh_clear_error();
        sh_node_prepend(mul, add);

        sh_list *result = sh_graph_run(graph, SH_LIST(x));
        printf("relu((3 + 1) * 3) is %g\n", sh_item(sh_max(sh_list_at(result, 0))));
        sh_graph_free(graph);
    }
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    return sh_error() != NULL;
}
