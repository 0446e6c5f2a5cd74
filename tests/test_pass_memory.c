/* Values that share memory without looking so: passes see them as one, and shapes are found without a write. */
#include "tests/graphs.h"
#include "tests/sample.h"

static sh_status second_of_two(void *user, sh_arguments args, sh_value *result) {
    (void)user;
    *result = args.at[1].value;
    return SH_OK;
}

static sh_value add_step(sh_module *self, sh_values inputs) {
    sh_tensor *steps = sh_module_buffer(self, "steps");
    if (sh_tensor_device(inputs.at[0].as.tensor) != SH_META) sh_add_(steps, 1);
    return SH_VALUE(sh_add(inputs.at[0].as.tensor, steps));
}
static bool writes(const sh_module *self) {
    (void)self;
    return true;
}
static const sh_module_type counter = {
    .name = "StepCounter", .forward_values = add_step, .is_impure = writes, .leaf = true};

/* ---- graphs ---- each reads something twice with a write in between, by another name */

/* Two nodes get one tensor. */
static sh_graph *two_getters(void) {
    sh_graph *g = sh_graph_new();
    sh_graph_set_attr(g, "w", sh_ones(SH_SIZES(3)));
    sh_node *x = sh_graph_placeholder(g, "x"), *a = sh_graph_get_attr(g, "w"), *b = sh_graph_get_attr(g, "w");
    sh_node *same = sh_graph_call_function(g, "add", b, 0), *before = sh_graph_call_function(g, "neg", b);
    sh_graph_call_function(g, "add_", a, x);
    sh_node *after = sh_graph_call_function(g, "neg", b);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(before, after, sh_graph_call_function(g, "sin", same))));
    return g;
}

/* A module writes to the buffer that a node gets. */
static sh_graph *buffer_of_a_module(void) {
    sh_module *net = sh_nn_module_list();
    sh_module_give(net, "count", sh_module_new(&counter));
    sh_module_set_buffer(sh_module_child(net, "count"), "steps", sh_ones(SH_SIZES(3)));
    sh_module_eval(net);
    sh_graph *g = sh_graph_new();
    sh_graph_set_module(g, net);
    sh_module_release(net);
    sh_node *x = sh_graph_placeholder(g, "x"), *b = sh_graph_get_attr(g, "count.steps");
    sh_node *before = sh_graph_call_function(g, "neg", b), *same = sh_graph_call_function(g, "add", b, 0);
    sh_node *y = sh_graph_create_node(g, SH_CALL_MODULE, "count", SH_ARGS(x), SH_NO_KWARGS, NULL);
    sh_node *after = sh_graph_call_function(g, "neg", sh_graph_get_attr(g, "count.steps"));
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(before, after, sh_graph_call_function(g, "sin", same), y)));
    return g;
}

/* A function gives back its second argument, which dies as an argument. */
static sh_graph *second_argument(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *a = sh_graph_call_function(g, "neg", x), *b = sh_graph_call_function(g, "sin", x);
    sh_node *same = sh_graph_call_function(g, "second_of_two", a, b);
    sh_node *last = sh_graph_call_function(g, "exp", b);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(sh_graph_call_function(g, "add", same, last), last)));
    return g;
}

static sh_graph *second_argument_written(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *a = sh_graph_call_function(g, "neg", x), *b = sh_graph_call_function(g, "sin", x);
    sh_node *same = sh_graph_call_function(g, "second_of_two", a, b);
    sh_node *before = sh_graph_call_function(g, "exp", same);
    sh_graph_call_function(g, "mul_", b, 2);
    sh_node *after = sh_graph_call_function(g, "exp", same);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(before, after)));
    return g;
}

/* Two copies that row-major input would not need, one of them written to. */
static sh_graph *views_that_are_copies(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *columns = sh_graph_call_function(g, "expand", sh_graph_call_function(g, "unsqueeze", x, 1),
                                              sh_arg_list(SH_ARGS(3, 2)));
    sh_node *one = sh_graph_call_function(g, "contiguous", columns);
    sh_node *two = sh_graph_call_function(g, "contiguous", columns);
    sh_graph_call_function(g, "mul_", two, 2);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(one, two)));
    return g;
}

/* A cache that is filled part by part. */
static sh_graph *filled_in_parts(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *cache = sh_graph_call_function(g, "zeros", sh_arg_list(SH_ARGS(2, 3)));
    sh_graph_call_function(g, "copy_", sh_graph_call_function(g, "select", cache, 0, 1), x);
    sh_node *noise = sh_graph_call_function(g, "rand", sh_arg_list(SH_ARGS(3)));
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(cache, sh_graph_call_function(g, "mul", noise, 0))));
    return g;
}

/* ---- passes ---- */

static const sh_pass passes[] = {sh_pass_cse,
                                 sh_pass_remove_identities,
                                 sh_pass_dead_code,
                                 sh_pass_fold_constants,
                                 sh_pass_inline_modules,
                                 sh_pass_reinplace,
                                 sh_pass_functionalize,
                                 sh_pass_decompose,
                                 sh_pass_normalize_arguments};
enum { PASSES = sizeof passes / sizeof *passes };

static sh_graph *with_shapes(sh_graph *(*make)(void)) {
    sh_graph *g = make();
    sh_tensor *x = sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(3));
    cr_assert(sh_graph_propagate_shapes(g, SH_ARGUMENTS(x)) == SH_OK, "%s", message());
    return g;
}

static void gives_what_it_gave(const sh_graph *before, const sh_graph *after, double within, int what) {
    sh_tensor *x = sh_full(SH_SIZES(3), 0.5);
    const sh_list *expected = sh_graph_run(before, SH_LIST(x)), *got = sh_graph_run(after, SH_LIST(x));
    cr_assert(expected && got, "%s", message());
    for (size_t i = 0; i < sh_list_size(expected); i++)
        cr_expect(sh_allclose(sh_list_at(got, i), sh_list_at(expected, i), .rtol = 0, .atol = within),
                  "pass %d, output %zu", what, i);
}

static void passes_keep(sh_graph *(*make)(void)) {
    for (int p = 0; p < PASSES; p++) SH_SCOPE {
            size_t n = 0;
            sh_graph *before = make(), *after = with_shapes(make);
            cr_expect(passes[p](after, &n) == SH_OK && sh_graph_lint(after) == SH_OK, "%s", message());
            gives_what_it_gave(before, after, 0, p);
            sh_graph_free(before);
            sh_graph_free(after);
        }
}

Test(pass_memory, two_nodes_that_get_one_tensor) { passes_keep(two_getters); }

Test(pass_memory, a_buffer_that_a_module_writes_to) { passes_keep(buffer_of_a_module); }

Test(pass_memory, views_that_turn_out_to_be_copies) { passes_keep(views_that_are_copies); }

Test(pass_memory, memory_that_is_filled_in_parts) { passes_keep(filled_in_parts); }

Test(pass_memory, a_function_that_gives_back_its_second_argument) {
    const sh_function_options pure = {.flags = SH_FUNCTION_PURE};
    cr_assert(sh_function_register("second_of_two", second_of_two, &pure) == SH_OK);
    passes_keep(second_argument);
    passes_keep(second_argument_written);
    cr_expect(sh_function_remove("second_of_two") == SH_OK);
}

Test(pass_memory, half_precision_reads_a_written_tensor_anew) {
    SH_SCOPE {
        size_t n = 0;
        sh_graph *before = two_getters(), *after = with_shapes(two_getters);
        cr_expect(sh_pass_to_f16(after, &n) == SH_OK, "%s", message());
        gives_what_it_gave(before, after, 1e-2, -1);
        sh_graph_free(before);
        sh_graph_free(after);
    }
}

Test(pass_memory, nodes_that_get_one_tensor_become_one_though_it_is_written_to) {
    sh_graph *g = two_getters();
    size_t n = 0;
    cr_expect(sh_pass_cse(g, &n) == SH_OK);
    cr_expect(eq(sz, n, 1));
    cr_expect(eq(sz, sh_graph_find_nodes(g, SH_GET_ATTR, "w", NULL, 0), 1));
    cr_expect(eq(sz, sh_graph_find_nodes(g, SH_CALL_FUNCTION, "neg", NULL, 0), 2));
    sh_graph_free(g);
}

/* ---- shapes ---- */

Test(pass_memory, shapes_without_data_leave_what_the_graph_writes_to) {
    SH_SCOPE {
        sh_graph *g = with_shapes(two_getters);
        cr_expect(eq(dbl, sh_item(sh_sum(sh_graph_attr(g, "w"))), 3));
        sh_graph_free(g);
    }
}

Test(pass_memory, shapes_without_data_draw_no_random_numbers) {
    SH_SCOPE {
        sh_manual_seed(3);
        sh_tensor *expected = sh_rand(SH_SIZES(3));
        sh_manual_seed(3);
        sh_graph_free(with_shapes(filled_in_parts));
        cr_expect(sample_same(sh_rand(SH_SIZES(3)), expected));
    }
}
