/* Bias correction: means that are right again, on modules and calls, and what is left alone or refused. */
#include <math.h>

#include "tests/fail_each.h"
#include "tests/graphs.h"
#include "tests/quantize_net.h"

enum { BATCHES = 3 };

typedef struct setup {
    sh_module *traced, *reference, *corrected;
} setup;

static sh_module *prepared_on(sh_module *m, const sh_arguments *batches, const sh_qconfig_mapping *map) {
    sh_module *p = m ? sh_quantize_prepare(m, map, NULL) : NULL;
    for (int i = 0; i < BATCHES && p; i++) sh_quantize_calibrate(p, (sh_values){&batches[i].at[0].value, 1});
    return p;
}

/* Takes the float module over. */
static setup make(sh_module *traced, const sh_arguments *batches, const sh_qconfig_mapping *map) {
    setup s = {.traced = traced};
    sh_module *p = prepared_on(traced, batches, map);
    s.reference = p && !sh_error() ? sh_quantize_convert_to_reference(p) : NULL;
    sh_module_release(p);
    if (s.reference) s.corrected = sh_quantize_correct_bias(traced, s.reference, batches, BATCHES);
    return s;
}

static void end(setup *s) {
    sh_module_release(s->corrected);
    sh_module_release(s->reference);
    sh_module_release(s->traced);
}

static bool no_leaf(const char *path, const sh_module *module, void *user) {
    (void)path, (void)module, (void)user;
    return false;
}

static sh_module *traced_net(bool calls) {
    const sh_trace_options all = {.is_leaf = no_leaf};
    sh_module *net = quantize_net();
    sh_tensor *x = quantize_net_images(0);
    sh_module *m = net && x ? sh_symbolic_trace(net, SH_INPUTS(x), calls ? &all : NULL) : NULL;
    sh_module_release(net);
    return m;
}

/* The largest, over the outputs, of how far their means are apart. */
static double mean_error(sh_module *a, sh_module *b, const sh_arguments *batches) {
    sh_tensor *sum = sh_zeros(SH_SIZES(10));
    for (int i = 0; i < BATCHES; i++) {
        sh_tensor *x = batches[i].at[0].value.as.tensor;
        sum = sh_add(sum, sh_sum(sh_sub(sh_forward(a, x), sh_forward(b, x)), .dim = 0));
    }
    return sh_item(sh_amax(sh_abs(sum))) / (2 * BATCHES);
}

#define SH_BATCHES                                                                  \
    {                                                                               \
        SH_ARGUMENTS(quantize_net_images(0)), SH_ARGUMENTS(quantize_net_images(1)), \
            SH_ARGUMENTS(quantize_net_images(2))                                    \
    }

/* Observers of the least and the largest, so that no value is cut off, which no bias could mend. */
static sh_qconfig_mapping *whole_ranges(void) {
    sh_qconfig q = sh_get_default_qconfig("onednn");
    sh_qconfig_mapping *m = sh_qconfig_mapping_new();
    q.activation.kind = SH_MIN_MAX_OBSERVER;
    sh_qconfig_mapping_set_global(m, &q);
    return m;
}

Test(quantize_correct, makes_the_mean_error_of_the_output_small) {
    for (int calls = 0; calls < 2; calls++) SH_SCOPE {
            const sh_arguments batches[BATCHES] = SH_BATCHES;
            sh_qconfig_mapping *map = whole_ranges();
            setup s = make(traced_net(calls), batches, map);
            cr_assert(s.corrected != NULL, "%s", message());
            cr_expect(sh_graph_lint(sh_graph_module_graph(s.corrected)) == SH_OK, "%s", message());
            const double before = mean_error(s.traced, s.reference, batches);
            const double after = mean_error(s.traced, s.corrected, batches);
            cr_expect(lt(dbl, after, before / 2), "%g, then %g", before, after);
            sh_qconfig_mapping_free(map);
            end(&s);
        }
}

Test(quantize_correct, leaves_the_reference_form_as_it_was_and_lowers_as_that_does) {
    SH_SCOPE {
        const sh_arguments batches[BATCHES] = SH_BATCHES;
        setup s = make(traced_net(false), batches, NULL);
        cr_assert(s.corrected != NULL, "%s", message());
        sh_tensor *x = batches[0].at[0].value.as.tensor, *before = sh_forward(s.reference, x);
        sh_module *again = sh_quantize_correct_bias(s.traced, s.reference, batches, BATCHES);
        cr_assert(again != NULL, "%s", message());
        cr_expect(sh_equal(before, sh_forward(s.reference, x)));
        cr_expect(sh_equal(sh_forward(again, x), sh_forward(s.corrected, x)));
        sh_module *lowered = sh_quantize_lower(s.corrected);
        cr_assert(lowered != NULL, "%s", message());
        const sh_graph *g = sh_graph_module_graph(lowered);
        cr_expect(eq(sz, sh_graph_find_nodes(g, SH_CALL_FUNCTION, "quantized_conv2d", NULL, 0), 3));
        cr_expect(eq(sz, sh_graph_find_nodes(g, SH_CALL_FUNCTION, "quantized_linear", NULL, 0), 2));
        cr_expect(gt(dbl, sh_compute_sqnr(sh_forward(s.traced, x), sh_forward(lowered, x)), 20));
        sh_comparison *c = sh_quantize_compare(s.traced, lowered, SH_ARGUMENTS(x));
        cr_expect(c != NULL, "%s", message());
        sh_comparison_free(c);
        sh_module_release(lowered);
        sh_module_release(again);
        end(&s);
    }
}

Test(quantize_correct, where_all_stays_float_nothing_changes) {
    SH_SCOPE {
        const sh_arguments batches[BATCHES] = SH_BATCHES;
        sh_qconfig_mapping *none = sh_qconfig_mapping_new();
        setup s = make(traced_net(false), batches, none);
        cr_assert(s.corrected != NULL, "%s", message());
        char *text = sh_graph_text(sh_graph_module_graph(s.reference));
        cr_expect(text_is(sh_graph_text(sh_graph_module_graph(s.corrected)), text));
        free(text);
        sh_qconfig_mapping_free(none);
        end(&s);
    }
}

static bool refused(const sh_module *result, sh_status code, const char *part) {
    return !result && error_says(code, part);
}

Test(quantize_correct, refuses_what_does_not_belong_together) {
    SH_SCOPE {
        const sh_arguments batches[BATCHES] = SH_BATCHES;
        setup s = make(traced_net(false), batches, NULL);
        sh_module *lowered = sh_quantize_lower(s.reference), *net = sh_nn_linear(2, 2);
        sh_module *other = sh_symbolic_trace(net, SH_INPUTS(sh_ones(SH_SIZES(1, 2))), NULL);
        sh_module_eval(other);
        cr_expect(refused(sh_quantize_correct_bias(NULL, s.reference, batches, 1), SH_ERROR_NULL,
                          "sh_quantize_correct_bias: NULL is no graph module"));
        cr_expect(refused(sh_quantize_correct_bias(s.traced, net, batches, 1), SH_ERROR_TYPE,
                          "Linear is no graph module"));
        cr_expect(refused(sh_quantize_correct_bias(s.traced, s.reference, NULL, 1), SH_ERROR_ARGUMENT,
                          "no batches"));
        cr_expect(refused(sh_quantize_correct_bias(s.traced, lowered, batches, 1), SH_ERROR_VALUE,
                          "on integers already"));
        cr_expect(refused(sh_quantize_correct_bias(other, s.reference, batches, 1), SH_ERROR_VALUE,
                          "the float graph has no %"));
        sh_module_release(other);
        sh_module_release(net);
        sh_module_release(lowered);
        end(&s);
    }
}

/* A linear without a bias, as a module. */
static bool correct_linear(void) {
    sh_tensor *x = sh_ones(SH_SIZES(1, 2));
    sh_module *net = x ? sh_nn_linear(2, 2, .bias = false) : NULL;
    if (net) sh_module_eval(net);
    sh_module *m = net ? sh_symbolic_trace(net, SH_INPUTS(x), NULL) : NULL;
    const sh_arguments batches[BATCHES] = {SH_ARGUMENTS(x), SH_ARGUMENTS(x), SH_ARGUMENTS(x)};
    setup s = make(m, batches, NULL);
    const bool done = s.corrected != NULL;
    sh_module_release(net);
    end(&s);
    return done;
}

Test(quantize_correct, each_allocation_may_fail) { fail_each("correct", correct_linear); }
