/* The capture mode (M10): what it records, where it lies, what the graph then gives. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dispatch/memory.h"
#include "graph/record.h"
#include "modes/spec.h"
#include "ops/compare.h"
#include "ops/ops.h"

static bool error_says(sh_status code, const char *part) {
    const bool says = sh_error() && sh_error()->code == code && strstr(sh_error()->message, part);
    if (!says)
        fprintf(stderr, "expected %s with \"%s\", got: %s\n", sh_status_name(code), part,
                sh_error() ? sh_error()->message : "");
    sh_clear_error();
    return says;
}

/* Ends the graph; true if its text was `expected` (without the first line). */
static bool records(sh_graph *graph, const char *expected) {
    char *text = graph ? sh_graph_text(graph) : NULL;
    const bool same = text && strcmp(text + strlen("graph():\n"), expected) == 0;
    if (!same) fprintf(stderr, "got:\n%s\nexpected:\n%s\n", text ? text : sh_error()->message, expected);
    free(text);
    sh_graph_free(graph);
    return same;
}

static bool same_values(const sh_tensor *a, const sh_tensor *b) {
    if (!a || !b || sh_tensor_numel(a) != sh_tensor_numel(b)) return false;
    return memcmp(sh_tensor_data(a), sh_tensor_data(b),
                  (size_t)sh_tensor_numel(a) * sh_dtype_size(sh_tensor_dtype(a))) == 0;
}

static char last_warning[400];
static int warnings;
static void keep_warning(const char *line, void *user) {
    (void)user;
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%s", line);
}

static sh_status add_to_mul(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS;
}

Test(capture, composites_are_recorded_whole_and_the_graph_gives_the_same) {
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *x = sh_rand(SH_SIZES(2, 3)), *w = sh_rand(SH_SIZES(4, 3)), *b = sh_rand(SH_SIZES(4)), *y;
    sh_capture_input(c, x, "x");
    sh_capture_input(c, w, "weight");
    SH_WITH_BACKEND("ref")
        SH_WITH_MODE(sh_capture_mode(c)) y = sh_relu(sh_linear(x, w, .bias = b));
    cr_expect(eq(sz, sh_mode_depth(), 0));
    sh_graph *g = sh_capture_graph(c, SH_LIST(y));
    cr_assert(g != NULL);
    SH_WITH_BACKEND("ref") cr_expect(same_values(sh_list_at(sh_graph_run(g, SH_LIST(x, w)), 0), y));
    cr_expect(sh_graph_attr(g, "_tensor_constant0") == b);
    const sh_spec *spec = sh_node_spec(sh_graph_find(g, "linear"));
    cr_assert(spec != NULL);
    cr_expect(spec->dtype == SH_F32 && spec->ndim == 2 && spec->sizes[0] == 2 && spec->sizes[1] == 4);
    cr_expect(sh_node_site(sh_graph_find(g, "linear")) != NULL);
    cr_expect(records(
        g,
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %weight : [num_users=1] = placeholder[target=weight]\n"
        "    %_tensor_constant0 : [num_users=1] = get_attr[target=_tensor_constant0]\n"
        "    %linear : [num_users=1] = call_function[target=linear](args = (%x, %weight), kwargs = {bias: %_tensor_constant0})\n"
        "    %relu : [num_users=1] = call_function[target=relu](args = (%linear,), kwargs = {})\n"
        "    return relu"));
    sh_capture_free(c);
}

Test(capture, numbers_are_literals_defaults_are_left_out_and_keywords_named) {
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *x = SH_FLOATS(1, 2), *y, *z;
    sh_capture_input(c, x, "x");
    SH_WITH_MODE(sh_capture_mode(c)) {
        y = sh_add(x, 2.5, .alpha = 1);
        z = sh_full(SH_SIZES(2, 3), 1, .dtype = SH_F64);
        sh_tensor *t = sh_transpose(z, 0, -1);
        sh_add(t, sh_mul(y, 3), .alpha = 2);
    }
    cr_expect(records(
        sh_capture_graph(c, SH_LIST(y, z)),
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %add : [num_users=2] = call_function[target=add](args = (%x, 2.5), kwargs = {})\n"
        "    %full : [num_users=2] = call_function[target=full](args = ([2, 3], 1), kwargs = {dtype: torch.float64})\n"
        "    %transpose : [num_users=1] = call_function[target=transpose](args = (%full, 0, -1), kwargs = {})\n"
        "    %mul : [num_users=1] = call_function[target=mul](args = (%add, 3), kwargs = {})\n"
        "    %add_1 : [num_users=0] = call_function[target=add](args = (%transpose, %mul), kwargs = {alpha: 2})\n"
        "    return (add, full)"));
    sh_capture_free(c);
}

Test(capture, writes_in_place_and_into_an_out_replay_from_the_values_of_before) {
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *x = SH_FLOATS(1, 2), *constant = SH_FLOATS(10, 20), *out = SH_FLOATS(0, 0), *y;
    sh_capture_input(c, x, "x");
    SH_WITH_MODE(sh_capture_mode(c)) {
        y = sh_mul(x, constant);
        sh_add_(constant, 1);
        sh_add(constant, y, .out = out);
        y = sh_mul(out, constant);
    }
    sh_graph *g = sh_capture_graph(c, SH_LIST(y));
    cr_expect(same_values(sh_list_at(sh_graph_run(g, SH_LIST(x)), 0), y));
    cr_expect(records(
        g,
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %_tensor_constant0 : [num_users=2] = get_attr[target=_tensor_constant0]\n"
        "    %mul : [num_users=1] = call_function[target=mul](args = (%x, %_tensor_constant0), kwargs = {})\n"
        "    %add_ : [num_users=2] = call_function[target=add_](args = (%_tensor_constant0, 1), kwargs = {})\n"
        "    %_tensor_constant1 : [num_users=1] = get_attr[target=_tensor_constant1]\n"
        "    %add : [num_users=1] = call_function[target=add](args = (%add_, %mul), kwargs = {out: %_tensor_constant1})\n"
        "    %mul_1 : [num_users=1] = call_function[target=mul](args = (%add, %add_), kwargs = {})\n"
        "    return mul_1"));
    sh_capture_free(c);
}

Test(capture, without_outputs_named_what_nothing_used_is_returned) {
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *x = SH_FLOATS(1);
    SH_WITH_MODE(sh_capture_mode(c)) {
        sh_relu(sh_mul(x, x));
        sh_add(x, 1);
    }
    cr_expect(records(
        sh_capture_graph(c, (sh_tensors){NULL, 0}),
        "    %_tensor_constant0 : [num_users=2] = get_attr[target=_tensor_constant0]\n"
        "    %mul : [num_users=1] = call_function[target=mul](args = (%_tensor_constant0, %_tensor_constant0), kwargs = {})\n"
        "    %relu : [num_users=1] = call_function[target=relu](args = (%mul,), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=add](args = (%_tensor_constant0, 1), kwargs = {})\n"
        "    return (relu, add)"));
    cr_expect(records(sh_capture_graph(c, (sh_tensors){NULL, 0}), "    return None"));
    sh_capture_free(c);
}

/* ---- where it lies ---- */

static bool captured_under(const sh_capture_options *options, bool mode_first, const char *expected) {
    sh_capture *c = sh_capture_new(options);
    sh_mode *swap = sh_mode_new(add_to_mul, NULL);
    sh_tensor *x = SH_FLOATS(3);
    sh_capture_input(c, x, "x");
    SH_WITH_MODE(mode_first ? swap : sh_capture_mode(c))
        SH_WITH_MODE(mode_first ? sh_capture_mode(c) : swap) cr_expect(eq(dbl, sh_item(sh_add(x, x)), 9));
    sh_mode_release(swap);
    const bool same = records(sh_capture_graph(c, (sh_tensors){NULL, 0}), expected);
    sh_capture_free(c);
    return same;
}

Test(capture, what_ran_is_recorded_or_what_was_asked_whatever_the_push_order) {
    const char *const mul =
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %mul : [num_users=1] = call_function[target=mul](args = (%x, %x), kwargs = {})\n"
        "    return mul";
    const char *const add =
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %add : [num_users=1] = call_function[target=add](args = (%x, %x), kwargs = {})\n"
        "    return add";
    cr_expect(captured_under(NULL, true, mul));
    cr_expect(captured_under(NULL, false, mul));
    cr_expect(captured_under(&(sh_capture_options){.level = SH_LEVEL_DISPATCH}, false, mul));
    cr_expect(captured_under(&(sh_capture_options){.asked = true}, true, add));
    cr_expect(captured_under(&(sh_capture_options){.asked = true}, false, add));
}

static const char *const split_linear =
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %_tensor_constant0 : [num_users=1] = get_attr[target=_tensor_constant0]\n"
    "    %transpose : [num_users=1] = call_function[target=transpose](args = (%_tensor_constant0, 0, 1), kwargs = {})\n"
    "    %matmul : [num_users=1] = call_function[target=matmul](args = (%x, %transpose), kwargs = {})\n"
    "    return matmul";

Test(capture, at_dispatch_level_composites_are_recorded_as_what_they_are_made_of) {
    sh_capture *c = sh_capture_new(&(sh_capture_options){.level = SH_LEVEL_DISPATCH});
    sh_tensor *x = sh_rand(SH_SIZES(2, 3)), *w = sh_rand(SH_SIZES(4, 3));
    sh_capture_input(c, x, "x");
    SH_WITH_MODE(sh_capture_mode(c)) sh_linear(x, w);
    cr_expect(records(sh_capture_graph(c, (sh_tensors){NULL, 0}), split_linear));
    sh_capture_free(c);
}

Test(capture, at_dispatch_level_a_composite_that_writes_is_a_copy_into_its_target) {
    sh_capture *c = sh_capture_new(&(sh_capture_options){.level = SH_LEVEL_DISPATCH});
    sh_tensor *x = sh_rand(SH_SIZES(2)), *z = sh_zeros(SH_SIZES(2, 2));
    sh_capture_input(c, x, "x");
    sh_capture_input(c, z, "z");
    SH_WITH_MODE(sh_capture_mode(c)) sh_call_op("outer", x, x, SH_NAMED("out", z));
    cr_expect(sh_equal(z, sh_outer(x, x)));
    cr_expect(records(
        sh_capture_graph(c, SH_LIST(z)),
        "    %x : [num_users=2] = placeholder[target=x]\n"
        "    %z : [num_users=1] = placeholder[target=z]\n"
        "    %unsqueeze : [num_users=1] = call_function[target=unsqueeze](args = (%x, 1), kwargs = {})\n"
        "    %mul : [num_users=1] = call_function[target=mul](args = (%unsqueeze, %x), kwargs = {})\n"
        "    %copy_ : [num_users=1] = call_function[target=copy_](args = (%z, %mul), kwargs = {})\n"
        "    return copy_"));
    sh_capture_free(c);
}

static sh_status pass(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    return SH_PASS;
}

/* Captures linear with a dispatch-level mode of this kind pushed, before the capture or after it. */
static sh_graph *linear_with(sh_mode_kind kind, bool before, const sh_capture_options *options) {
    sh_capture *c = sh_capture_new(options);
    sh_mode *mode =
        sh_mode_new(pass, &(sh_mode_options){.name = "other", .level = SH_LEVEL_DISPATCH, .kind = kind});
    sh_tensor *x = sh_rand(SH_SIZES(2, 3)), *w = sh_rand(SH_SIZES(4, 3));
    sh_capture_input(c, x, "x");
    warnings = 0;
    sh_set_warning_sink(keep_warning, NULL);
    SH_WITH_MODE(before ? mode : sh_capture_mode(c))
        SH_WITH_MODE(before ? sh_capture_mode(c) : mode) sh_linear(x, w);
    sh_set_warning_sink(NULL, NULL);
    sh_mode_release(mode);
    sh_graph *graph = sh_capture_graph(c, (sh_tensors){NULL, 0});
    sh_capture_free(c);
    return graph;
}

Test(capture, goes_to_dispatch_level_by_itself_where_a_mode_there_may_rewrite) {
    for (int before = 0; before < 2; before++) {
        cr_expect(records(linear_with(SH_MODE_REWRITING, before, NULL), split_linear));
        cr_expect(eq(int, warnings, 1));
        cr_expect(strstr(last_warning, "other") != NULL);
        cr_expect(records(linear_with(SH_MODE_STATEFUL, before, NULL), split_linear));
        const char *const whole =
            "    %x : [num_users=1] = placeholder[target=x]\n"
            "    %_tensor_constant0 : [num_users=1] = get_attr[target=_tensor_constant0]\n"
            "    %linear : [num_users=1] = call_function[target=linear](args = (%x, %_tensor_constant0), kwargs = {})\n"
            "    return linear";
        cr_expect(records(linear_with(SH_MODE_WATCHING, before, NULL), whole));
        cr_expect(eq(int, warnings, 0));
        cr_expect(
            records(linear_with(SH_MODE_REWRITING, before, &(sh_capture_options){.asked = true}), whole));
    }
}

Test(capture, a_swap_at_dispatch_level_is_seen_with_the_call_it_makes_and_only_once) {
    sh_capture *c = sh_capture_new(NULL);
    sh_mode *swap =
        sh_mode_new(add_to_mul, &(sh_mode_options){.level = SH_LEVEL_DISPATCH, .kind = SH_MODE_REWRITING});
    sh_tensor *x = SH_FLOATS(3);
    sh_capture_input(c, x, "x");
    sh_set_warning_sink(sh_warnings_off, NULL);
    SH_WITH_MODE(sh_capture_mode(c)) {
        sh_tensor *y = sh_add(x, 1);
        SH_WITH_MODE(swap) y = sh_add(y, 2);
        sh_add(y, 3);
    }
    cr_expect(
        records(sh_capture_graph(c, (sh_tensors){NULL, 0}),
                "    %x : [num_users=1] = placeholder[target=x]\n"
                "    %add : [num_users=1] = call_function[target=add](args = (%x, 1), kwargs = {})\n"
                "    %mul : [num_users=1] = call_function[target=mul](args = (%add, 2), kwargs = {})\n"
                "    %add_1 : [num_users=1] = call_function[target=add](args = (%mul, 3), kwargs = {})\n"
                "    return add_1"));
    sh_mode_release(swap);
    sh_capture_free(c);
}

static sh_status watch_with_ops(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_next(call));
    return sh_mul(sh_call_result(call, 0).as.tensor, 100) ? SH_PASS : sh_error()->code;
}

static sh_status answer_with_ops(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) != SH_OP_add) return SH_PASS;
    SH_TRY(sh_call_set_tensor(call, sh_sub(sh_call_tensor(call, 0), -1)));
    return SH_OK;
}

Test(capture, ops_of_a_watching_callback_are_not_recorded_those_of_an_answering_one_are) {
    sh_capture *c = sh_capture_new(NULL);
    sh_mode *watch = sh_mode_new(watch_with_ops, &(sh_mode_options){.kind = SH_MODE_WATCHING});
    sh_mode *answer = sh_mode_new(answer_with_ops, NULL);
    sh_tensor *x = SH_FLOATS(3);
    sh_capture_input(c, x, "x");
    SH_WITH_MODE(sh_capture_mode(c))
        SH_WITH_MODE(answer)
            SH_WITH_MODE(watch) sh_relu(sh_add(x, 1));
    cr_expect(records(sh_capture_graph(c, (sh_tensors){NULL, 0}),
                      "    %x : [num_users=1] = placeholder[target=x]\n"
                      "    %sub : [num_users=1] = call_function[target=sub](args = (%x, -1), kwargs = {})\n"
                      "    %relu : [num_users=1] = call_function[target=relu](args = (%sub,), kwargs = {})\n"
                      "    return relu"));
    sh_mode_release(watch);
    sh_mode_release(answer);
    sh_capture_free(c);
}

Test(capture, scopes_are_in_the_metadata_and_open_again_in_a_run) {
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *x = SH_FLOATS(3);
    SH_WITH_MODE(sh_capture_mode(c)) {
        sh_name_push("Net");
        sh_name_push("act");
        sh_relu(x);
        sh_name_pop();
        sh_name_pop();
    }
    sh_graph *g = sh_capture_graph(c, (sh_tensors){NULL, 0});
    cr_expect(eq(str, (char *)sh_node_scope(sh_graph_find(g, "relu")), "Net.act"));
    sh_graph_free(g);
    sh_capture_free(c);
}

Test(capture, by_name_it_writes_its_graph_when_it_dies) {
    char path[] = "/tmp/shunt-capture-XXXXXX", spec[100], text[400] = "";
    const int descriptor = mkstemp(path);
    cr_assert(descriptor >= 0);
    sh_mode *mode = NULL;
    snprintf(spec, sizeof spec, "capture:out=%s,format=text", path);
    cr_assert(sh_mode_from_spec(spec, &mode) == SH_OK);
    SH_WITH_MODE(mode) sh_relu(SH_FLOATS(1));
    sh_mode_release(mode);
    cr_expect(read(descriptor, text, sizeof text - 1) > 0);
    cr_expect(eq(
        str, text,
        "graph():\n"
        "    %_tensor_constant0 : [num_users=1] = get_attr[target=_tensor_constant0]\n"
        "    %relu : [num_users=1] = call_function[target=relu](args = (%_tensor_constant0,), kwargs = {})\n"
        "    return relu\n"));
    close(descriptor);
    unlink(path);
}

/* ---- lives ---- */

Test(capture, may_be_freed_while_its_mode_is_pushed) {
    sh_capture *c = sh_capture_new(NULL);
    sh_mode *mode = sh_capture_mode(c);
    cr_assert(sh_push_mode(mode) == SH_OK);
    sh_capture_free(c);
    cr_expect(sh_add(SH_FLOATS(1), 1) != NULL);
    cr_expect(sh_pop_mode(mode) == SH_OK);
    cr_expect(eq(sz, sh_mode_depth(), 0));
}

Test(capture, two_captures_record_each_call_once) {
    sh_capture *a = sh_capture_new(NULL),
               *b = sh_capture_new(&(sh_capture_options){.level = SH_LEVEL_DISPATCH});
    sh_tensor *x = SH_FLOATS(3);
    SH_WITH_MODE(sh_capture_mode(a))
        SH_WITH_MODE(sh_capture_mode(b)) sh_relu(x);
    const char *const text =
        "    %_tensor_constant0 : [num_users=1] = get_attr[target=_tensor_constant0]\n"
        "    %relu : [num_users=1] = call_function[target=relu](args = (%_tensor_constant0,), kwargs = {})\n"
        "    return relu";
    cr_expect(records(sh_capture_graph(a, (sh_tensors){NULL, 0}), text));
    cr_expect(records(sh_capture_graph(b, (sh_tensors){NULL, 0}), text));
    sh_capture_free(a);
    sh_capture_free(b);
}

Test(capture, a_process_wide_capture_sees_this_thread_and_pops_whole) {
    sh_capture *c = sh_capture_new(&(sh_capture_options){.shared = true});
    cr_assert(sh_push_mode_global(sh_capture_mode(c)) == SH_OK);
    sh_relu(SH_FLOATS(1));
    cr_expect(sh_pop_mode_global(sh_capture_mode(c)) == SH_OK);
    sh_relu(SH_FLOATS(1));
    cr_expect(eq(sz, sh_modes(NULL, 0), 0));
    cr_expect(records(
        sh_capture_graph(c, (sh_tensors){NULL, 0}),
        "    %_tensor_constant0 : [num_users=1] = get_attr[target=_tensor_constant0]\n"
        "    %relu : [num_users=1] = call_function[target=relu](args = (%_tensor_constant0,), kwargs = {})\n"
        "    return relu"));
    sh_capture_free(c);
}

Test(capture, needs_to_be_marked_shared_to_enter_another_thread) {
    sh_capture *c = sh_capture_new(NULL);
    SH_WITH_MODE(sh_capture_mode(c)) cr_expect(sh_context_capture() == NULL);
    cr_expect(sh_error() != NULL);
    sh_clear_error();
    sh_capture_free(c);
}

Test(capture, an_op_that_fails_is_not_recorded_and_an_input_is_named_once) {
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *x = SH_FLOATS(1, 2), *y = SH_FLOATS(1, 2, 3);
    cr_expect(sh_capture_input(c, x, "x") == SH_OK);
    cr_expect(sh_capture_input(c, x, "z") < 0 && error_says(SH_ERROR_VALUE, "z is known already as %x"));
    SH_WITH_MODE(sh_capture_mode(c)) cr_expect(sh_add(x, y) == NULL);
    sh_clear_error();
    cr_expect(records(sh_capture_graph(c, SH_LIST(x)),
                      "    %x : [num_users=1] = placeholder[target=x]\n    return x"));
    sh_capture_free(c);
}

static bool capture_all(void) {
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *x = c ? sh_tensor_copy_of((const float[]){1, 2}, SH_F32, SH_SIZES(2)) : NULL, *y = NULL;
    if (x && sh_capture_input(c, x, "x") >= 0)
        SH_WITH_MODE(sh_capture_mode(c)) {
            y = sh_tensor_copy_of((const float[]){1, 2}, SH_F32, SH_SIZES(2));
            y = y ? sh_add_(y, sh_mul(x, 2)) : NULL;
        }
    sh_graph *g = y ? sh_capture_graph(c, SH_LIST(y)) : NULL;
    const bool done = g && sh_graph_run(g, SH_LIST(x));
    sh_graph_free(g);
    sh_capture_free(c);
    return done;
}

Test(capture, each_failed_allocation_is_an_error_and_leaves_nothing) {
    SH_SCOPE cr_assert(capture_all());
    const int64_t live = sh_memory_stats_get().live_tensors;
    bool done = false;
    for (size_t n = 1; !done && n < 10000; n++) {
        sh_memory_fail_after(n);
        SH_SCOPE done = capture_all();
        sh_memory_fail_after(0);
        if (!done) cr_assert(sh_error() && sh_error()->code == SH_ERROR_MEMORY);
        sh_clear_error();
        cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live));
        cr_assert(eq(sz, sh_mode_depth(), 0));
    }
    cr_expect(done);
}
