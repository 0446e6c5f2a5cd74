/* Lint: each fault is told apart from the others and names its node. Faults that the setters refuse are made by hand. */
#include "graph/graph_impl.h"
#include "tests/graphs.h"

static sh_graph *small(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *sin = sh_graph_call_function(g, "sin", x);
    sh_graph_set_attr(g, "w", SH_FLOATS(1));
    sh_node *add = sh_graph_call_function(g, "add", sin, sh_graph_get_attr(g, "w"));
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "neg", add)));
    return g;
}

/* What lint says about the graph after `spoil`; the graph is mended by `mend` before it is freed. */
static bool lint_says(void (*spoil)(sh_graph *g), sh_status code, const char *text,
                      void (*mend)(sh_graph *g)) {
    sh_graph *g = small();
    cr_assert(sh_graph_lint(g) == SH_OK);
    spoil(g);
    const bool says = sh_graph_lint(g) == code && error_says(code, text);
    sh_clear_error();
    if (mend) mend(g);
    sh_graph_free(g);
    return says;
}

static sh_node *find(sh_graph *g, const char *name) { return sh_graph_find(g, name); }

static void too_early(sh_graph *g) { sh_node_prepend(find(g, "sin"), find(g, "neg")); }
static void dangling(sh_graph *g) { sh_node_set_target(find(g, "w"), "gone"); }
static void no_op(sh_graph *g) { sh_node_set_target(find(g, "sin"), "sine"); }
static void one_too_many(sh_graph *g) { sh_node_insert_arg(find(g, "sin"), 1, SH_ARG(1)); }
static void wrong_kind(sh_graph *g) { sh_node_set_arg(find(g, "add"), 1, SH_ARG("one")); }
static void wrong_entry(sh_graph *g) {
    sh_node_set_target(find(g, "sin"), "view");
    sh_node_insert_arg(find(g, "sin"), 1, sh_arg_list(SH_ARGS(2, 1.5)));
}
static void unknown_keyword(sh_graph *g) { sh_node_set_kwarg(find(g, "add"), "beta", SH_ARG(1)); }
static void no_item(sh_graph *g) { sh_node_set_target(find(g, "sin"), SH_GETITEM); }
static void behind_output(sh_graph *g) { sh_graph_call_function(g, "cos", find(g, "x")); }

Test(graph_lint, faults_that_editing_can_make_are_told_apart) {
    cr_expect(lint_says(too_early, SH_ERROR_VALUE, "%neg uses %add before it is defined", NULL));
    cr_expect(lint_says(dangling, SH_ERROR_VALUE, "%w: there is no attribute gone", NULL));
    cr_expect(lint_says(no_op, SH_ERROR_OP, "%sin: there is no op or function sine", NULL));
    cr_expect(lint_says(one_too_many, SH_ERROR_ARGUMENT, "%sin: sin: argument number 2 is too many", NULL));
    cr_expect(
        lint_says(wrong_kind, SH_ERROR_TYPE, "%add: add: argument other: got str, expected Tensor", NULL));
    cr_expect(
        lint_says(wrong_entry, SH_ERROR_TYPE, "%sin: view: argument size: got a list with float", NULL));
    cr_expect(lint_says(unknown_keyword, SH_ERROR_ARGUMENT, "%add: add has no argument beta", NULL));
    cr_expect(
        lint_says(no_item, SH_ERROR_ARGUMENT, "%sin: operator.getitem takes a node and an integer", NULL));
    cr_expect(lint_says(behind_output, SH_ERROR_VALUE, "%cos stands behind the output", NULL));
}

static void foreign_node(sh_graph *g) { find(g, "add")->graph = NULL; }
static void foreign_node_back(sh_graph *g) { find(g, "add")->graph = g; }
static sh_graph *other;
static sh_node *own;
static void foreign_input(sh_graph *g) {
    other = small();
    sh_arg *arg = (sh_arg *)(uintptr_t)&find(g, "add")->args.at[0];
    own = arg->as.node;
    arg->as.node = find(other, "sin");
}
static void foreign_input_back(sh_graph *g) {
    ((sh_arg *)(uintptr_t)&find(g, "add")->args.at[0])->as.node = own;
    sh_graph_free(other);
}
static sh_symbol *name;
static void twice_named(sh_graph *g) {
    sh_node *add = find(g, "add");
    name = add->name;
    add->name = find(g, "sin")->name;
}
static void twice_named_back(sh_graph *g) { sh_node_prev(find(g, "neg"))->name = name; }
static void unseen_input(sh_graph *g) {
    ((sh_arg *)(uintptr_t)&find(g, "neg")->args.at[0])->as.node = find(g, "sin");
}
static void lost_argument(sh_graph *g) { find(g, "neg")->args.n = 0; }
static void miscounted(sh_graph *g) { find(g, "sin")->nusers++; }
static void unlinked(sh_graph *g) {
    own = find(g, "neg");
    own->uses[0].user = find(g, "sin");
}
static void linked(sh_graph *g) {
    (void)g;
    own->uses[0].user = own;
}
static void second_output(sh_graph *g) {
    sh_node *more = sh_graph_call_function(g, "cos", find(g, "x"));
    more->opcode = SH_OUTPUT;
}

Test(graph_lint, faults_in_the_links_are_told_apart) {
    cr_expect(lint_says(foreign_node, SH_ERROR_VALUE, "%add stands in the graph but belongs to another",
                        foreign_node_back));
    cr_expect(lint_says(foreign_input, SH_ERROR_VALUE, "%add uses %sin, which is of another graph",
                        foreign_input_back));
    cr_expect(lint_says(twice_named, SH_ERROR_VALUE, "two nodes have the name %sin", twice_named_back));
    cr_expect(lint_says(unseen_input, SH_ERROR_VALUE, "%neg uses %sin, which is not among its inputs", NULL));
    cr_expect(lint_says(lost_argument, SH_ERROR_VALUE,
                        "%neg has the input %add, which none of its arguments is", NULL));
    cr_expect(lint_says(miscounted, SH_ERROR_VALUE, "%sin counts 2 users and lists fewer", NULL));
    cr_expect(lint_says(unlinked, SH_ERROR_VALUE, "%neg uses %add and is not among its users", linked));
    cr_expect(lint_says(second_output, SH_ERROR_VALUE, "there are two outputs: %output and %cos", NULL));
}

static bool has_one(void *object, const char *path) { return strcmp(path, object) == 0; }

Test(graph_lint, submodules_are_looked_up_where_the_graph_belongs_to_a_module) {
    sh_graph *g = sh_graph_new();
    char known[] = "layer1.conv";
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_create_node(g, SH_CALL_MODULE, "layer1.conv", SH_ARGS(x), SH_NO_KWARGS, NULL);
    sh_node *bad = sh_graph_create_node(g, SH_CALL_MODULE, "layer2", SH_ARGS(x), SH_NO_KWARGS, NULL);
    cr_expect(sh_graph_lint(g) == SH_OK);
    sh__graph_set_root(g, (sh_graph_root){.object = known, .has_module = has_one});
    cr_expect(sh_graph_lint(g) == SH_ERROR_VALUE);
    cr_expect(error_says(SH_ERROR_VALUE, "%layer2: there is no submodule layer2"));
    sh_graph_erase_node(bad);
    cr_expect(sh_graph_lint(g) == SH_OK);
    sh_graph_free(g);
}

Test(graph_lint, one_argument_used_by_many_and_many_used_by_one_take_no_longer_each) {
    sh_graph *g = sh_graph_new();
    enum { N = 20000 };
    static sh_arg entries[N];
    sh_node *x = sh_graph_placeholder(g, "x");
    for (int i = 0; i < N; i++) entries[i] = SH_ARG(sh_graph_call_function(g, "neg", x));
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "cat", sh_arg_list((sh_args){entries, N}))));
    cr_expect(sh_graph_lint(g) == SH_OK);
    sh_graph_free(g);
}
