/* outputs.c - a model's run, and what came out of it. */
#include "cli/outputs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ops/io/io.h"

/* ---- running ---- */

static sh_tensors run_compiled(sh_compiled *compiled, sh_tensors inputs) {
    static sh_tensor *only;
    sh_value values[CLI_MOST];
    for (size_t i = 0; i < inputs.n; i++) values[i] = sh_value_tensor(inputs.at[i]);
    const sh_value result = sh_compiled_call(compiled, (sh_values){values, inputs.n});
    if (result.tag == SH_TAG_TENSORS) return (sh_tensors){result.as.tensors, result.count};
    only = result.as.tensor;
    return result.tag == SH_TAG_TENSOR ? (sh_tensors){&only, 1} : (sh_tensors){NULL, 0};
}

sh_tensors cli_model_run(const cli_given *given, sh_compiled *compiled, sh_tensors inputs) {
    if (compiled) return run_compiled(compiled, inputs);
    const sh_list *outputs = sh_graph_run(given->graph, inputs);
    return outputs ? sh_list_view(outputs) : (sh_tensors){NULL, 0};
}

/* ---- outputs ---- */

typedef struct summary {
    double low, mean, high;
} summary;

/* NaN takes part: it makes all three NaN. */
static summary summarise(sh_tensor *t) {
    summary s = {NAN, NAN, NAN};
    SH_SCOPE_HERE;
    sh_tensor *values = sh_tensor_numel(t) ? sh_to(t, SH_F64) : NULL;
    if (!values) return s;
    s.low = sh_item(sh_amin(values));
    s.mean = sh_item(sh_mean(values));
    s.high = sh_item(sh_amax(values));
    return s;
}

/* Whatever its sign bit, a NaN prints as nan. */
static double plain(double v) { return isnan(v) ? (double)NAN : v; }

void cli_outputs_print(const cli_given *given, sh_tensors outputs) {
    int width = 4;
    for (size_t i = 0; i < outputs.n; i++) {
        const int n = (int)strlen(sh_graph_output_name(given->graph, i));
        width = n > width ? n : width;
    }
    printf("%-*s  %-5s  %-18s  %12s  %12s  %12s\n", width, "name", "dtype", "shape", "min", "mean", "max");
    for (size_t i = 0; i < outputs.n; i++) {
        sh_tensor *t = outputs.at[i];
        const summary s = summarise(t);
        char shape[128];
        size_t n = (size_t)snprintf(shape, sizeof shape, "[");
        for (int k = 0; k < sh_tensor_ndim(t); k++)
            n += (size_t)snprintf(shape + n, sizeof shape - n, k ? ", %lld" : "%lld",
                                  (long long)sh_tensor_sizes(t)[k]);
        snprintf(shape + n, sizeof shape - n, "]");
        printf("%-*s  %-5s  %-18s  %12.6g  %12.6g  %12.6g\n", width, sh_graph_output_name(given->graph, i),
               sh_dtype_name(sh_tensor_dtype(t)), shape, plain(s.low), plain(s.mean), plain(s.high));
    }
}

int cli_outputs_write(const cli_given *given, sh_tensors outputs, const char *folder) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "shunt %s: can't make the folder %s: %s\n", given->command, folder, strerror(errno));
        return EXIT_INTERNAL;
    }
    for (size_t i = 0; i < outputs.n; i++) {
        char *path;
        if (asprintf(&path, "%s/%s.npy", folder, sh_graph_output_name(given->graph, i)) < 0)
            return EXIT_INTERNAL;
        for (char *at = path + strlen(folder) + 1; *at; at++)
            if (*at == '/') *at = '_';
        const sh_status status = sh_save_npy(path, outputs.at[i]);
        free(path);
        if (status < 0) return cli_failed(given->command, CLI_WRITES);
    }
    return EXIT_CLEAN;
}

json_t *cli_outputs_json(const cli_given *given, sh_tensors outputs) {
    json_t *all = json_array();
    for (size_t i = 0; i < outputs.n; i++) {
        sh_tensor *t = outputs.at[i];
        const summary s = summarise(t);
        json_t *shape = json_array();
        for (int k = 0; k < sh_tensor_ndim(t); k++)
            json_array_append_new(shape, json_integer(sh_tensor_sizes(t)[k]));
        json_array_append_new(all, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name",
                                             sh_graph_output_name(given->graph, i), "dtype",
                                             sh_dtype_name(sh_tensor_dtype(t)), "shape", shape, "min",
                                             cli_json_number(s.low), "mean", cli_json_number(s.mean), "max",
                                             cli_json_number(s.high)));
    }
    return all;
}
