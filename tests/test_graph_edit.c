/* Editing: moving, finding, arguments, copies, metadata, loops over nodes, dead code. */
#include "tests/graphs.h"

/* x -> sin -> add(sin, x) -> neg */
static sh_graph *small(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *sin = sh_graph_call_function(g, "sin", x);
    sh_node *add = sh_graph_call_function(g, "add", sin, x);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "neg", add)));
    return g;
}

static bool order_is(const sh_graph *g, const char *expected) {
    char names[1000] = "";
    for (const sh_node *n = sh_graph_first(g); n; n = sh_node_next(n))
        strcat(strcat(names, sh_node_name(n)), " ");
    if (strcmp(names, expected) != 0) fprintf(stderr, "got: %s\nexpected: %s\n", names, expected);
    return strcmp(names, expected) == 0;
}

/* ---- moving and finding ---- */

Test(graph_edit, nodes_move_in_front_of_others_and_behind_them) {
    sh_graph *g = small(), *other = small();
    sh_node *x = sh_graph_find(g, "x"), *sin = sh_graph_find(g, "sin"), *neg = sh_graph_find(g, "neg");
    cr_expect(sh_node_append(neg, sin) == SH_OK && order_is(g, "x add neg sin output "));
    cr_expect(sh_node_prepend(x, sin) == SH_OK && order_is(g, "sin x add neg output "));
    cr_expect(sh_node_append(sin, sin) == SH_OK && sh_node_append(sin, x) == SH_OK);
    cr_expect(order_is(g, "sin x add neg output "));
    cr_expect(eq(sz, sh_graph_size(g), 5));
    cr_expect(sh_node_append(x, sh_graph_find(other, "sin")) < 0 &&
              error_says(SH_ERROR_VALUE, "another graph"));
    sh_graph_free(g);
    sh_graph_free(other);
}

Test(graph_edit, nodes_are_found_by_opcode_and_target) {
    sh_graph *g = small();
    sh_node *found[8];
    cr_expect(eq(sz, sh_graph_find_nodes(g, SH_CALL_FUNCTION, "add", found, 8), 1));
    cr_expect(found[0] == sh_graph_find(g, "add"));
    cr_expect(eq(sz, sh_graph_find_nodes(g, SH_CALL_FUNCTION, NULL, found, 1), 3));
    cr_expect(found[0] == sh_graph_find(g, "sin"));
    cr_expect(eq(sz, sh_graph_find_nodes(g, SH_CALL_MODULE, NULL, found, 8), 0));
    sh_graph_free(g);
}

/* ---- loops ---- */

Test(graph_edit, a_loop_meets_each_node_once_whatever_is_edited_on_the_way) {
    sh_graph *g = small();
    sh_node *x = sh_graph_find(g, "x"), *neg = sh_graph_find(g, "neg");
    char met[200] = "";
    SH_EACH_NODE(n, g) {
        const char *name = sh_node_name(n);
        strcat(strcat(met, name), " ");
        if (strcmp(name, "sin") == 0 &&
            !strstr(met, "neg")) { /* it and the next one go, one comes, one moves away */
            SH_INSERTING_AFTER(n) sh_graph_call_function(g, "exp", x);
            sh_node_append(neg, n);
            sh_node_replace_all_uses_with(sh_graph_find(g, "add"), x);
            sh_graph_erase_node(sh_graph_find(g, "add"));
        }
        if (strcmp(name, "exp") == 0) sh_graph_erase_node(n);
    }
    cr_expect(eq(str, met, "x sin exp neg sin output "));
    cr_expect(order_is(g, "x neg sin output "));
    SH_EACH_NODE(n, g) {
        SH_EACH_NODE(m, g) if (m == neg) break;
        if (n == neg) break;
    }
    cr_expect(sh_graph_size(g) == 4);
    sh_graph_free(g);
}

/* ---- arguments ---- */

Test(graph_edit, an_argument_is_inserted_where_it_should_be) {
    sh_graph *g = small();
    sh_node *add = sh_graph_find(g, "add"), *x = sh_graph_find(g, "x");
    cr_expect(sh_node_insert_arg(add, 1, SH_ARG(7)) == SH_OK &&
              sh_node_insert_arg(add, 3, SH_ARG("end")) == SH_OK);
    cr_expect(sh_node_insert_arg(add, 0, SH_ARG(x)) == SH_OK);
    cr_expect(text_is(sh_node_text(add), "%add : [num_users=1] = call_function[target=add](args = "
                                         "(%x, %sin, 7, %x, end), kwargs = {})"));
    cr_expect(sh_node_insert_arg(add, 6, SH_ARG(1)) < 0 && error_says(SH_ERROR_INDEX, "number 6"));
    sh_graph_free(g);
}

static bool is_named(sh_node *user, void *name) { return strcmp(sh_node_name(user), name) == 0; }

Test(graph_edit, uses_are_replaced_where_the_caller_wants_it) {
    sh_graph *g = small();
    sh_node *x = sh_graph_find(g, "x"), *y = NULL, *user;
    SH_INSERTING_AFTER(x) y = sh_graph_placeholder(g, "y");
    cr_expect(sh_node_replace_uses_where(x, y, is_named, (void *)(uintptr_t) "add") == SH_OK);
    cr_expect(sh_node_users(x, &user, 1) == 1 && user == sh_graph_find(g, "sin"));
    cr_expect(sh_node_users(y, &user, 1) == 1 && user == sh_graph_find(g, "add"));
    sh_graph_free(g);
}

Test(graph_edit, arguments_take_one_form) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = sh_graph_placeholder(g, "w");
    sh_node *conv = sh_graph_create_node(g, SH_CALL_FUNCTION, "conv2d",
                                         SH_ARGS(x, w, sh_arg_none(), sh_arg_list(SH_ARGS(2, 2))),
                                         SH_KWARGS(SH_KWARG("groups", 1), SH_KWARG("padding", 1)), NULL);
    cr_assert(sh_node_normalize_arguments(conv, SH_POSITIONAL_FORM) == SH_OK);
    cr_expect(text_is(sh_node_text(conv), "%conv2d : [num_users=0] = call_function[target=conv2d]"
                                          "(args = (%x, %w), kwargs = {stride: [2, 2], padding: 1})"));
    cr_assert(sh_node_normalize_arguments(conv, SH_KEYWORD_FORM) == SH_OK);
    cr_expect(text_is(sh_node_text(conv),
                      "%conv2d : [num_users=0] = call_function[target=conv2d]"
                      "(args = (), kwargs = {input: %x, weight: %w, stride: [2, 2], padding: 1})"));
    sh_node *sum =
        sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_ARGS(x),
                             SH_KWARGS(SH_KWARG("other", w), SH_KWARG("alpha", 1), SH_KWARG("out", x)), NULL);
    cr_assert(sh_node_normalize_arguments(sum, SH_POSITIONAL_FORM) == SH_OK);
    cr_expect(
        text_is(sh_node_text(sum),
                "%add : [num_users=0] = call_function[target=add](args = (%x, %w), kwargs = {out: %x})"));
    sh_node *wrong = sh_graph_call_function(g, "add", x);
    cr_expect(sh_node_normalize_arguments(wrong, SH_POSITIONAL_FORM) < 0 &&
              error_says(SH_ERROR_ARGUMENT, "other is missing"));
    cr_expect(sh_node_normalize_arguments(x, SH_KEYWORD_FORM) == SH_OK);
    sh_graph_free(g);
}

/* ---- metadata ---- */

static void count_end(void *pointer) { ++*(int *)pointer; }

Test(graph_edit, metadata_of_each_kind_is_kept_under_its_key) {
    sh_graph *g = small();
    sh_node *n = sh_graph_find(g, "add");
    int ended = 0;
    cr_expect(sh_node_set_meta_int(n, "rank", 7) == SH_OK && sh_node_set_meta_float(n, "cost", 0.5) == SH_OK);
    cr_expect(sh_node_set_meta_string(n, "source", "net.c:3") == SH_OK);
    cr_expect(sh_node_set_meta_pointer(n, "box", &ended, count_end) == SH_OK);
    cr_expect(sh_node_meta(n, "rank").as.i == 7 && sh_node_meta(n, "cost").as.f == 0.5);
    cr_expect(eq(str, (char *)sh_node_meta(n, "source").as.string, "net.c:3"));
    cr_expect(sh_node_meta(n, "box").as.pointer == &ended && sh_node_meta(n, "none").kind == SH_META_NONE);
    cr_expect(eq(str, (char *)sh_node_meta_key(n, 2), "source"));
    cr_expect(sh_node_meta_key(n, 4) == NULL);
    cr_expect(sh_node_set_meta_string(n, "rank", "seven") == SH_OK &&
              sh_node_meta(n, "rank").kind == SH_META_STRING);
    sh_node_drop_meta(n, "box");
    cr_expect(ended == 1 && sh_node_meta(n, "box").kind == SH_META_NONE);
    sh_node_set_meta_pointer(n, "box", &ended, count_end);
    cr_expect(sh_node_set_type(n, "Tensor") == SH_OK);
    cr_expect(text_is(sh_node_text(n), "%add : Tensor [num_users=1] = call_function[target=add]"
                                       "(args = (%sin, %x), kwargs = {})"));
    sh_graph_free(g);
    cr_expect(eq(int, ended, 2));
}

/* ---- copies ---- */

Test(graph_edit, an_edited_copy_leaves_the_original_as_it_was) {
    sh_graph *g = small();
    int ended = 0;
    sh_tensor *w = SH_FLOATS(1, 2);
    sh_graph_set_attr(g, "w", w);
    sh_graph_set_attr(g, "tied", w);
    sh_node *add = sh_graph_find(g, "add");
    sh_node_set_meta_pointer(add, "box", &ended, count_end);
    sh_node_set_meta_string(add, "source", "net.c:3");
    sh_node_set_spec(add, &(sh_spec){.dtype = SH_F32, .ndim = 1, .sizes = {2}});
    sh_node_set_scope(add, "Net.block");
    sh_node_set_site(add, &ended);
    SH_INSERTING_BEFORE(add) sh_node_set_arg(add, 1, SH_ARG(sh_graph_get_attr(g, "w")));
    char *before = sh_graph_text(g);
    sh_graph *copy = sh_graph_clone(g);
    cr_assert(copy != NULL);
    cr_expect(text_is(sh_graph_text(copy), before));
    sh_node *same = sh_graph_find(copy, "add");
    cr_expect(sh_node_spec(same)->sizes[0] == 2 && sh_node_site(same) == &ended);
    cr_expect(eq(str, (char *)sh_node_scope(same), "Net.block"));
    cr_expect(eq(str, (char *)sh_node_meta(same, "source").as.string, "net.c:3"));
    cr_expect(sh_graph_attr(copy, "w") != w && sh_graph_attr(copy, "w") == sh_graph_attr(copy, "tied"));
    sh_add_(sh_graph_attr(copy, "w"), 100.0);
    sh_node_set_target(same, "sub");
    sh_node_replace_all_uses_with(same, sh_graph_find(copy, "x"));
    sh_graph_erase_node(same);
    cr_expect(text_is(sh_graph_text(g), before));
    free(before);
    cr_expect(eq(dbl, sh_item(sh_sum(sh_graph_attr(g, "w"))), 3));
    cr_expect(sh_node_meta(add, "box").as.pointer == &ended && ended == 0);
    cr_expect(eq(str, (char *)sh_node_name(sh_graph_call_function(copy, "sin", sh_graph_find(copy, "x"))),
                 "sin_1"));
    sh_graph_free(g);
    cr_expect(eq(int, ended, 1));
    sh_graph_free(copy);
}

Test(graph_edit, nodes_of_another_graph_are_copied_in_and_their_weights_come_along) {
    sh_graph *from = small(), *to = sh_graph_new();
    sh_tensor *w = SH_FLOATS(10, 20);
    sh_graph_set_attr(from, "w", w);
    sh_node *add = sh_graph_find(from, "add");
    SH_INSERTING_BEFORE(add) sh_node_set_arg(add, 1, SH_ARG(sh_graph_get_attr(from, "w")));
    sh_graph_set_attr(to, "w", SH_FLOATS(0));
    sh_node *input = sh_graph_placeholder(to, "input"),
            *twice = sh_graph_call_function(to, "mul", input, 2.0);
    sh_node_map *map = sh_node_map_new(from);
    sh_arg out;
    cr_assert(sh_node_map_set(map, sh_graph_find(from, "x"), twice) == SH_OK);
    cr_assert(sh_graph_graph_copy(to, map, &out) == SH_OK);
    sh_graph_output(to, sh_arg_tuple(SH_ARGS(out, twice)));
    cr_expect(
        text_is(sh_graph_text(to),
                "graph():\n"
                "    %input_1 : [num_users=1] = placeholder[target=input]\n"
                "    %mul : [num_users=2] = call_function[target=mul](args = (%input_1, 2.0), kwargs = {})\n"
                "    %sin : [num_users=1] = call_function[target=sin](args = (%mul,), kwargs = {})\n"
                "    %w : [num_users=1] = get_attr[target=w_1]\n"
                "    %add : [num_users=1] = call_function[target=add](args = (%sin, %w), kwargs = {})\n"
                "    %neg : [num_users=1] = call_function[target=neg](args = (%add,), kwargs = {})\n"
                "    return (neg, mul)"));
    cr_expect(sh_graph_attr(to, "w_1") == w);
    cr_expect(sh_node_map_get(map, add) == sh_graph_find(to, "add"));
    sh_node_map *bare = sh_node_map_new(from);
    cr_expect(sh_graph_node_copy(to, add, bare) == NULL &&
              error_says(SH_ERROR_VALUE, "%sin, of which the map"));
    cr_expect(sh_graph_node_copy(to, twice, bare) == NULL && error_says(SH_ERROR_VALUE, "another graph"));
    sh_node_map_free(bare);
    sh_node_map_free(map);
    sh_graph_free(from);
    sh_graph_free(to);
}

Test(graph_edit, tensors_are_copied_in_their_layout) {
    SH_SCOPE {
        sh_graph *g = sh_graph_new();
        sh_tensor *w = sh_transpose(sh_rand(SH_SIZES(2, 3)), 0, 1);
        sh_graph_set_attr(g, "w", w);
        sh_graph_output(g, SH_ARG(sh_graph_get_attr(g, "w")));
        sh_graph *copy = sh_graph_clone(g);
        cr_assert(copy != NULL);
        const sh_tensor *own = sh_graph_attr(copy, "w");
        cr_expect(own != w && sh_equal((sh_tensor *)(uintptr_t)own, w));
        cr_expect(sh_tensor_strides(own)[0] == 1 && sh_tensor_strides(own)[1] == 3);
        sh_graph_free(copy);
        sh_graph_free(g);
    }
}

Test(graph_edit, ten_thousand_nodes_in_a_chain_are_copied) {
    sh_graph *g = sh_graph_new();
    sh_node *node = sh_graph_placeholder(g, "x");
    for (int i = 0; i < 10000; i++) node = sh_graph_call_function(g, "neg", node);
    sh_graph_output(g, SH_ARG(node));
    sh_graph *copy = sh_graph_clone(g);
    cr_assert(copy && sh_graph_size(copy) == 10002);
    cr_expect(sh_graph_lint(copy) == SH_OK);
    sh_graph_free(copy);
    sh_graph_free(g);
}

/* ---- dead code ---- */

Test(graph_edit, a_dead_chain_goes_in_one_pass_and_effects_stay) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *unused = sh_graph_placeholder(g, "unused"), *dead = x;
    for (int i = 0; i < 5; i++) dead = sh_graph_call_function(g, "neg", dead);
    sh_node *view = sh_graph_call_function(g, "view", x, sh_arg_list(SH_ARGS(-1)));
    sh_graph_call_function(g, "add_", view, 1.0);
    sh_graph_call_function(g, "rand", sh_arg_list(SH_ARGS(2)));
    sh_graph_call_function(g, "empty", sh_arg_list(SH_ARGS(2)));
    sh_graph_call_function(g, "dropout", x);
    sh_graph_create_node(g, SH_CALL_FUNCTION, "dropout", SH_ARGS(x, 0.5, sh_arg_flag(false)), SH_NO_KWARGS,
                         "resting");
    sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_ARGS(x, 1.0), SH_KWARGS(SH_KWARG("out", unused)),
                         "into");
    sh_graph_create_node(g, SH_CALL_FUNCTION, "batch_norm", SH_ARGS(x, view, view),
                         SH_KWARGS(SH_KWARG("training", sh_arg_flag(true))), "training");
    sh_graph_create_node(g, SH_CALL_FUNCTION, "batch_norm", SH_ARGS(x, view, view), SH_NO_KWARGS,
                         "inference");
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "relu", x)));
    cr_expect(eq(sz, sh_graph_eliminate_dead_code(g, NULL, NULL), 8));
    cr_expect(order_is(g, "x unused view add_ rand dropout into training relu output "));
    sh_graph_free(g);
}

static sh_status nothing(void *user, sh_arguments args, sh_value *result) {
    (void)user, (void)args, (void)result;
    return SH_OK;
}
static bool is_neg(const sh_node *node, void *user) {
    (void)user;
    return strcmp(sh_node_target(node), "neg") == 0;
}

Test(graph_edit, functions_stay_unless_they_are_declared_pure) {
    sh_function_register("silent", nothing, &(sh_function_options){.flags = SH_FUNCTION_PURE});
    sh_function_register("loud", nothing, NULL);
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_call_function(g, "silent", x);
    sh_graph_call_function(g, "loud", x);
    sh_graph_call_function(g, "unknown", x);
    sh_graph_call_function(g, "neg", x);
    sh_graph_output(g, SH_ARG(x));
    cr_expect(eq(sz, sh_graph_eliminate_dead_code(g, is_neg, NULL), 1));
    cr_expect(order_is(g, "x loud unknown neg output "));
    sh_graph_free(g);
}

/* ---- memory ---- */

static bool edit_and_copy(void) {
    sh_graph *g = small(), *copy = NULL;
    sh_tensor *w = SH_FLOATS(1, 2);
    sh_node *add = g ? sh_graph_find(g, "add") : NULL;
    bool done =
        w && add && sh_graph_size(g) == 5 && sh_graph_set_attr(g, "w", w) >= 0 &&
        sh_node_set_meta_int(add, "a", 1) >= 0 && sh_node_set_meta_string(add, "b", "x") >= 0 &&
        sh_node_set_meta_pointer(add, "c", w, NULL) >= 0 && sh_node_insert_arg(add, 2, SH_ARG(3)) >= 0 &&
        sh_node_set_args(add, SH_ARGS(sh_graph_find(g, "x"), 1), SH_KWARGS(SH_KWARG("alpha", 1))) >= 0 &&
        sh_node_normalize_arguments(add, SH_POSITIONAL_FORM) >= 0 && sh_node_set_type(add, "T") >= 0 &&
        sh_node_prepend(add, sh_graph_get_attr(g, "w")) >= 0 && (copy = sh_graph_clone(g)) != NULL;
    sh_node_map *map = done ? sh_node_map_new(g) : NULL;
    sh_arg out;
    done = map && sh_graph_set_attr(copy, "w", w) >= 0 && sh_graph_graph_copy(copy, map, &out) >= 0 &&
           sh_graph_lint(g) >= 0;
    sh_node_map_free(map);
    sh_graph_free(copy);
    sh_graph_free(g);
    return done;
}

Test(graph_edit, each_failed_allocation_is_an_error_and_leaves_nothing) {
    cr_expect(each_allocation_may_fail(edit_and_copy));
}

Test(graph_edit, get_attr_finds_parameters_of_the_module) {
    SH_SCOPE {
        sh_module *net = sh_nn_sequential(sh_nn_linear(3, 3));
        sh_graph *g = sh_graph_new();
        sh_graph_set_module(g, net);
        sh_node *x = sh_graph_placeholder(g, "x"), *w = sh_graph_get_attr(g, "0.weight");
        sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", x, w)));
        const sh_list *out = sh_graph_run(g, SH_LIST(sh_zeros(SH_SIZES(3, 3))));
        cr_expect(out && sh_allclose(sh_list_at(out, 0), sh_module_parameter(net, "0.weight")), "%s",
                  message());
        cr_expect(sh_graph_get_attr(g, "1.weight") == NULL);
        cr_expect(error_says(SH_ERROR_VALUE, "the graph has no attribute 1.weight"));
        sh_graph_free(g);
        sh_module_release(net);
    }
}

Test(graph_edit, a_graph_copied_into_itself_is_there_twice) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_call_function(g, "relu", x);
    sh_graph_output(g, SH_ARG(y));
    sh_node_map *map = sh_node_map_new(g);
    sh_arg value = sh_arg_none();
    sh_node_map_set(map, x, y);
    SH_INSERTING_AFTER(y) cr_expect(sh_graph_graph_copy(g, map, &value) == SH_OK, "%s", message());
    cr_expect(eq(sz, sh_graph_size(g), 4));
    cr_expect(value.tag == SH_ARG_NODE && sh_node_arg(value.as.node, 0).as.node == y);
    cr_expect(sh_graph_lint(g) == SH_OK, "%s", message());
    sh_node_map_free(map);
    sh_graph_free(g);
}
