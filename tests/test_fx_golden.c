/* Traces of the small nets against torch.fx's text of the same nets (tests/golden/make_fx_goldens.py). */
#include <stdlib.h>

#include "tests/fail_each.h"
#include "tests/fx_nets.h"
#include "tests/sample.h"

TestSuite(fx_golden);

/* The text of a net, up to the next one; free() it. NULL if the file has none. */
static char *golden_text(const char *name) {
    FILE *file = fopen("tests/golden/fx_graphs.txt", "r");
    char *text = NULL, line[512];
    size_t size;
    if (!file) return NULL;
    FILE *out = NULL;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "== ", 3) == 0) {
            if (out) break;
            line[strcspn(line, "\n")] = 0;
            if (strcmp(line + 3, name) == 0) out = open_memstream(&text, &size);
        } else if (out) {
            fputs(line, out);
        }
    }
    fclose(file);
    if (!out) return NULL;
    fclose(out);
    if (size && text[size - 1] == '\n') text[size - 1] = 0;
    return text;
}

static bool reads_as_torch(const fx_net *net, const sh_graph *graph) {
    char *expected = golden_text(net->name), *text = graph ? sh_graph_text(graph) : NULL;
    const bool same = expected && text && strcmp(text, expected) == 0;
    if (!same)
        fprintf(stderr, "%s: got:\n%s\nexpected:\n%s\n", net->name,
                text         ? text
                : sh_error() ? sh_error()->message
                             : "nothing",
                expected ? expected : "nothing");
    free(expected);
    free(text);
    return same;
}

/* One tensor, or the first of a list. */
static sh_tensor *first_of(sh_value v) { return v.tag == SH_TAG_TENSORS ? v.as.tensors[0] : v.as.tensor; }

Test(fx_golden, a_trace_reads_as_torch_fx_writes_it_and_runs_as_the_module_does) {
    for (int i = 0; i < fx_nets_count; i++) SH_SCOPE {
            const fx_net *net = &fx_nets[i];
            sh_value room[3];
            sh_module *module = net->make();
            cr_assert(module && !sh_error(), "%s: %s", net->name, sh_error() ? sh_error()->message : "");
            sh_module_eval(module);
            const sh_values inputs = fx_net_inputs(net, room);
            sh_module *traced = sh_symbolic_trace(module, inputs, NULL);
            cr_expect(reads_as_torch(net, sh_graph_module_graph(traced)));
            const sh_value a = sh_module_call(module, inputs), b = sh_module_call(traced, inputs);
            cr_expect(sample_same(first_of(a), first_of(b)), "%s", net->name);
            cr_expect(sh_error() == NULL, "%s", net->name);
            sh_module_release(traced);
            sh_module_release(module);
        }
}

static const fx_net *the_net;
static bool trace_it(void) {
    sh_value room[3];
    sh_module *module = the_net->make();
    const sh_values inputs = fx_net_inputs(the_net, room);
    sh_module *traced = sh_error() ? NULL : sh_symbolic_trace(module, inputs, NULL);
    const bool done = traced && first_of(sh_module_call(traced, inputs));
    sh_module_release(traced);
    sh_module_release(module);
    return done;
}

Test(fx_golden, every_allocation_of_a_trace_may_fail) {
    static const char *const names[] = {"lstm_cell", "lists", "in_place"};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < fx_nets_count; i++)
            if (strcmp(fx_nets[i].name, names[k]) == 0) {
                the_net = &fx_nets[i];
                fail_each(names[k], trace_it);
            }
}
