/* Layer by layer, quantised as torch.ao's FX mode does it: within 1 dB of torch's SQNR. */
#include <math.h>

#include "tests/graphs.h"
#include "tests/quantize_net.h"

enum { IMAGES = 4 };

static sh_qconfig setting(const char *name) {
    sh_qconfig q = sh_get_default_qconfig("fbgemm");
    if (strcmp(name, "min_max") == 0) q.activation.kind = SH_MIN_MAX_OBSERVER;
    if (strcmp(name, "moving_average") == 0) {
        q.activation.kind = SH_MOVING_AVERAGE_MIN_MAX_OBSERVER;
        q.weight = sh_get_default_qconfig("qnnpack").weight;
    }
    return q;
}

/* As torch has it: the inputs of an add each have an observer of their own. */
static sh_module *prepare(sh_module *traced, const char *name) {
    const sh_qconfig q = setting(name);
    sh_qconfig_mapping *mapping = sh_qconfig_mapping_new();
    sh_qconfig_mapping_set_global(mapping, &q);
    sh_module *prepared =
        sh_quantize_prepare(traced, mapping, &(sh_quantize_options){.separate_add_inputs = true});
    sh_qconfig_mapping_free(mapping);
    for (uint64_t i = 0; i < IMAGES; i++)
        SH_SCOPE sh_quantize_calibrate(prepared, SH_INPUTS(quantize_net_images(i)));
    return prepared;
}

static void compare_lines(FILE *file, const char *name, const sh_comparison *c, const char *form) {
    char of[32], layer[32];
    double expected;
    int found = 0;
    rewind(file);
    while (fscanf(file, "%31s %31s %lf", of, layer, &expected) == 3) {
        if (strcmp(of, name) != 0) continue;
        const sh_comparison_row *row = sh_comparison_find(c, layer);
        cr_assert(row != NULL, "no %s in %s", layer, form);
        cr_expect(le(dbl, fabs(row->sqnr - expected), 1), "%s, %s of %s: %.2f dB, torch %.2f", form, layer,
                  name, row->sqnr, expected);
        found++;
    }
    cr_expect(eq(int, found, 7));
}

Test(quantize_golden, each_layers_sqnr_is_torchs_within_a_decibel) {
    static const char *const settings[] = {"histogram", "min_max", "moving_average"};
    FILE *file = fopen("tests/golden/quantize.txt", "r");
    cr_assert(file != NULL);
    for (int i = 0; i < 3; i++) SH_SCOPE {
            sh_module *net = quantize_net();
            sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(quantize_net_images(0)), NULL);
            sh_module *prepared = prepare(traced, settings[i]);
            sh_module *forms[] = {sh_quantize_convert_to_reference(prepared), sh_quantize_convert(prepared)};
            for (int k = 0; k < 2; k++) {
                cr_assert(forms[k] != NULL, "%s", message());
                sh_comparison *c =
                    sh_quantize_compare(traced, forms[k], SH_ARGUMENTS(quantize_net_images(IMAGES)));
                cr_assert(c != NULL, "%s", message());
                compare_lines(file, settings[i], c, k ? "integers" : "reference");
                sh_comparison_free(c);
                sh_module_release(forms[k]);
            }
            sh_module_release(prepared);
            sh_module_release(traced);
            sh_module_release(net);
        }
    fclose(file);
}
