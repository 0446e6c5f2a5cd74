/* What is NULL is an error that says so, never a crash: each public function of graphs, with each pointer that it needs. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "shunt.h"

TestSuite(nulls);

#define REFUSED(call)                                                               \
    do {                                                                            \
        (void)(call);                                                               \
        cr_expect(sh_error() && sh_error()->code == SH_ERROR_NULL, "%s: %s", #call, \
                  sh_error() ? sh_error()->message : "no error");                   \
        sh_clear_error();                                                           \
    } while (0)

static sh_graph *g;
static sh_node *n;
static sh_module *m;
static sh_interpreter *in;
static sh_value v;
static size_t c;

static void set_up(void) {
    g = sh_graph_new();
    n = sh_graph_placeholder(g, "x");
    m = sh_nn_relu();
    in = sh_interpreter_new(g, NULL);
}

static void tear_down(void) {
    sh_interpreter_free(in);
    sh_module_release(m);
    sh_graph_free(g);
}

Test(nulls, a_graph_that_is_not_there_is_an_error, .init = set_up, .fini = tear_down) {
    REFUSED(sh_graph_size(NULL));
    REFUSED(sh_graph_text(NULL));
    REFUSED(sh_graph_tabular(NULL));
    REFUSED(sh_graph_dot(NULL, NULL));
    REFUSED(sh_graph_svg(NULL, NULL));
    REFUSED(sh_graph_readable(NULL));
    REFUSED(sh_graph_code(NULL, NULL));
    REFUSED(sh_graph_module_tensor(NULL, "w"));
    REFUSED(sh_graph_module_tensor(m, NULL));
    REFUSED(sh_graph_find(NULL, "x"));
    REFUSED(sh_graph_find(g, NULL));
    REFUSED(sh_graph_first(NULL));
    REFUSED(sh_graph_last(NULL));
    REFUSED(sh_graph_output_node(NULL));
    REFUSED(sh_graph_output_name(NULL, 0));
    REFUSED(sh_graph_find_nodes(NULL, SH_CALL_FUNCTION, NULL, NULL, 0));
    REFUSED(sh_graph_clone(NULL));
    REFUSED(sh_graph_node_copy(NULL, n, NULL));
    REFUSED(sh_graph_node_copy(g, NULL, NULL));
    REFUSED(sh_graph_node_copy(g, n, NULL));
    REFUSED(sh_graph_graph_copy(NULL, NULL, NULL));
    REFUSED(sh_graph_graph_copy(g, NULL, NULL));
    REFUSED(sh_graph_eliminate_dead_code(NULL, NULL, NULL));
    REFUSED(sh_graph_lint(NULL));
    REFUSED(sh_graph_set_attr(NULL, "a", NULL));
    REFUSED(sh_graph_attr(NULL, "a"));
    REFUSED(sh_graph_attr_count(NULL));
    REFUSED(sh_graph_run(NULL, SH_LIST(NULL)));
    REFUSED(sh_graph_placeholder(NULL, "x"));
    REFUSED(sh_graph_placeholder(g, NULL));
    REFUSED(sh_graph_get_attr(NULL, "x"));
    REFUSED(sh_graph_get_attr(g, NULL));
    REFUSED(sh_graph_output(NULL, sh_arg_none()));
    REFUSED(sh_graph_erase_node(NULL));
    REFUSED(sh_graph_propagate_shapes(NULL, SH_ARGUMENTS(1)));
    REFUSED(sh_graph_transform(NULL, NULL));
}

Test(nulls, a_node_that_is_not_there_is_an_error, .init = set_up, .fini = tear_down) {
    REFUSED(sh_node_map_new(NULL));
    REFUSED(sh_node_set_args(NULL, SH_NO_ARGS, SH_NO_KWARGS));
    REFUSED(sh_node_set_arg(NULL, 0, sh_arg_none()));
    REFUSED(sh_node_set_kwarg(NULL, "a", sh_arg_none()));
    REFUSED(sh_node_set_target(NULL, "a"));
    REFUSED(sh_node_replace_input_with(NULL, n, n));
    REFUSED(sh_node_replace_all_uses_with(NULL, n));
    REFUSED(sh_node_insert_arg(NULL, 0, sh_arg_none()));
    REFUSED(sh_node_append(NULL, n));
    REFUSED(sh_node_prepend(n, NULL));
    REFUSED(sh_node_normalize_arguments(NULL, SH_KEYWORD_FORM));
    REFUSED(sh_node_is_impure(NULL));
    REFUSED(sh_node_set_scope(NULL, "a"));
    REFUSED(sh_node_set_type(NULL, "a"));
    REFUSED(sh_node_set_scope(n, NULL));
    REFUSED(sh_node_name(NULL));
    REFUSED(sh_node_next(NULL));
    REFUSED(sh_node_users(NULL, NULL, 0));
    REFUSED(sh_node_module(NULL));
}

Test(nulls, modules_interpreters_and_what_works_on_graphs_refuse_null, .init = set_up, .fini = tear_down) {
    REFUSED(sh_graph_module_new(NULL, NULL));
    REFUSED(sh_graph_ir(NULL));
    REFUSED(sh_graph_module_ir(NULL));
    REFUSED(sh_graph_parse(NULL, 0, NULL));
    REFUSED(sh_graph_module_parse(NULL, 0, NULL));
    REFUSED(sh_graph_save(NULL, "a"));
    REFUSED(sh_graph_save(g, NULL));
    REFUSED(sh_graph_to_folder(g, NULL));
    REFUSED(sh_graph_load(NULL));
    REFUSED(sh_graph_module_save(NULL, "a"));
    REFUSED(sh_graph_module_to_folder(NULL, "a"));
    REFUSED(sh_graph_module_load(NULL));
    REFUSED(sh_module_type_register(NULL));
    REFUSED(sh_module_type_remove(NULL));
    REFUSED(sh_graph_module_set_graph(NULL, NULL));
    REFUSED(sh_graph_module_add_submodule(NULL, "a", m));
    REFUSED(sh_graph_module_delete_all_unused_submodules(NULL, NULL));
    REFUSED(sh_interpreter_new(NULL, NULL));
    REFUSED(sh_interpreter_run(NULL, SH_ARGUMENTS(1), &v));
    REFUSED(sh_interpreter_run(in, SH_ARGUMENTS(1), NULL));
    REFUSED(sh_interpreter_set_value(NULL, n, sh_none()));
    REFUSED(sh_interpreter_value(NULL, n));
    REFUSED(sh_module_new(NULL));
    REFUSED(sh_module_set(NULL, "a", m));
    REFUSED(sh_module_child(m, NULL));
    REFUSED(sh_module_parameter(m, NULL));
    REFUSED(sh_module_call(NULL, SH_INPUTS(1)));
    REFUSED(sh_forward(NULL, NULL));
    REFUSED(sh_module_text(NULL));
    REFUSED(sh_module_eval(NULL));
    REFUSED(sh_module_to(NULL, SH_F32));
    REFUSED(sh_module_walk(NULL, NULL, NULL));
    REFUSED(sh_module_apply(NULL, NULL, NULL));
    REFUSED(sh_module_walk(m, NULL, NULL));
    REFUSED(sh_module_apply(m, NULL, NULL));
    REFUSED(sh_module_set_parameter(m, NULL, NULL));
    REFUSED(sh_module_children(NULL));
    REFUSED(sh_module_type_of(NULL));
    REFUSED(sh_module_state(NULL));
    REFUSED(sh_module_is_training(NULL));
    REFUSED(sh_trace(NULL, SH_INPUTS(1), NULL));
    REFUSED(sh_symbolic_trace(NULL, SH_INPUTS(1), NULL));
    REFUSED(sh_trace_function(NULL, NULL, SH_INPUTS(1), NULL));
    REFUSED(sh_replace_pattern(NULL, g, g, NULL, &c));
    REFUSED(sh_replace_pattern(g, NULL, g, NULL, &c));
    REFUSED(sh_replace_pattern(g, g, NULL, NULL, &c));
    REFUSED(sh_find_pattern(g, g, NULL, NULL, NULL));
    REFUSED(sh_find_pattern(NULL, g, NULL, NULL, NULL));
    REFUSED(sh_replace_traced(g, NULL, NULL, SH_INPUTS(1), NULL, &c));
    REFUSED(sh_pass_cse(NULL, &c));
    REFUSED(sh_pass_dead_code(NULL, &c));
    REFUSED(sh_pass_remove_identities(NULL, &c));
    REFUSED(sh_pass_normalize_arguments(NULL, &c));
    REFUSED(sh_pass_fuse_conv_bn(NULL, &c));
    REFUSED(sh_pass_reinplace(NULL, &c));
    REFUSED(sh_pass_functionalize(NULL, &c));
    REFUSED(sh_fold_constants(NULL, NULL, &c));
    REFUSED(sh_inline_modules(NULL, NULL, NULL, &c));
    REFUSED(sh_decompose(NULL, NULL, NULL, &c));
    REFUSED(sh_convert_dtype(NULL, NULL, &c));
    REFUSED(sh_convert_dtype(g, NULL, &c));
    REFUSED(sh_split_module(NULL, NULL, NULL));
    REFUSED(sh_split_module(g, NULL, NULL));
    REFUSED(sh_partition_by_support(g, NULL, NULL, NULL));
    REFUSED(sh_run_passes(NULL, NULL, NULL, NULL));
    REFUSED(sh_run_passes(g, NULL, NULL, NULL));
    REFUSED(sh_timing_new(NULL));
    REFUSED(sh_timing_table(NULL));
    REFUSED(sh_timing_run(NULL, SH_ARGUMENTS(1), &v));
    REFUSED(sh_function_register(NULL, NULL, NULL));
    REFUSED(sh_function_remove(NULL));
    REFUSED(sh_function_call_values(NULL, SH_ARGUMENTS(1), &v));
    REFUSED(sh_module_state_dict(NULL));
    REFUSED(sh_module_load_state_dict(NULL, NULL, 0));
    REFUSED(sh_module_save(NULL, "x"));
    REFUSED(sh_module_load(m, NULL));
    REFUSED(sh_module_save(m, NULL));
    REFUSED(sh_capture_input(NULL, NULL, NULL));
    REFUSED(sh_capture_graph(NULL, SH_LIST(NULL)));
    REFUSED(sh_capture_mode(NULL));
}

Test(nulls, quantisation_refuses_null, .init = set_up, .fini = tear_down) {
    sh_qparams q;
    REFUSED(sh_observer_new(NULL));
    REFUSED(sh_observer_user(NULL));
    REFUSED(sh_observer_reset(NULL));
    REFUSED(sh_observer_qparams(NULL, &q));
    REFUSED(sh_qconfig_mapping_set_global(NULL, NULL));
    REFUSED(sh_qconfig_mapping_set_object_type(NULL, "add", NULL));
    REFUSED(sh_qconfig_mapping_find(NULL, n));
    REFUSED(sh_quantize_prepare(NULL, NULL, NULL));
    REFUSED(sh_quantize_calibrate(NULL, SH_INPUTS(1)));
    REFUSED(sh_quantize_reset(NULL));
    REFUSED(sh_quantize_convert(NULL));
    REFUSED(sh_quantize_convert_to_reference(NULL));
    REFUSED(sh_quantize_lower(NULL));
    REFUSED(sh_quantize_compare(NULL, m, SH_ARGUMENTS(1)));
    REFUSED(sh_compute_sqnr(NULL, NULL));
    REFUSED(sh_comparison_size(NULL));
    REFUSED(sh_comparison_at(NULL, 0));
    REFUSED(sh_comparison_find(NULL, "a"));
    REFUSED(sh_comparison_table(NULL, true));
}

Test(nulls, a_pass_need_not_count, .init = set_up, .fini = tear_down) {
    const sh_pass passes[] = {
        sh_pass_cse,          sh_pass_remove_identities, sh_pass_dead_code,      sh_pass_normalize_arguments,
        sh_pass_fuse_conv_bn, sh_pass_fold_constants,    sh_pass_inline_modules, sh_pass_decompose,
        sh_pass_reinplace,    sh_pass_functionalize,     sh_pass_to_bf16,        sh_pass_to_f16};
    sh_graph_output(g, sh_arg_node(sh_graph_call_function(g, "neg", n)));
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        cr_expect(passes[i](g, NULL) == SH_OK, "pass %zu: %s", i, sh_error() ? sh_error()->message : "");
}

Test(nulls, a_chain_that_begins_with_a_failure_keeps_the_first_error) {
    sh_graph *graph = sh_graph_new();
    sh_node *node = sh_graph_get_attr(graph, "missing");
    sh_node_set_kwarg(node, "dim", sh_arg_int(1));
    SH_INSERTING_AFTER(node) cr_expect(false, "there is no place to insert at");
    SH_EACH_NODE(each, NULL) cr_expect(false, "there are no nodes: %s", sh_node_name(each));
    sh_graph_output(graph, SH_ARG(node));
    cr_expect(strstr(sh_error()->message, "the graph has no attribute missing"), "%s", sh_error()->message);
    sh_clear_error();
    sh_graph_free(graph);
}
