/* compare.c - the float graph runs and keeps its values, then the quantised one, each of whose layers is compared as soon as
 * it has run.
 *
 * A row's strings are one block, so that a comparison outlives the modules. */
#include "graph/quant/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/cold.h"
#include "dispatch/device.h"
#include "dispatch/memory_impl.h"
#include "graph/given.h"
#include "graph/quant/quant_impl.h"
#include "graph/text.h"
#include "ops/ops.h"

struct sh_comparison {
    sh_comparison_row *rows;
    size_t n, capacity;
    /* while it runs */
    sh_graph *graph;
    sh_interpreter *reference;
};

/* ---- numbers ---- */

static double sqnr(const double *x, const double *y, int64_t n) {
    double signal = 0, noise = 0;
    for (int64_t i = 0; i < n; i++) {
        signal += x[i] * x[i];
        noise += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return noise == 0 ? INFINITY : 10 * log10(signal / noise);
}

static bool same_shape(const sh_tensor *x, const sh_tensor *y) {
    return sh_tensor_ndim(x) == sh_tensor_ndim(y) &&
           memcmp(sh_tensor_sizes(x), sh_tensor_sizes(y),
                  (size_t)sh_tensor_ndim(x) * sizeof *sh_tensor_sizes(x)) == 0;
}

double sh_compute_sqnr(sh_tensor *x, sh_tensor *y) {
    double result = NAN;
    if (sh__error_pending()) return NAN;
    if (!x || !y || !same_shape(x, y)) {
        sh_fail(x && y ? SH_ERROR_SHAPE : SH_ERROR_NULL, "sh_compute_sqnr: %s",
                x && y ? "the tensors have different shapes" : "a tensor is NULL");
        return NAN;
    }
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    SH_SCOPE {
        const sh_tensor *a = sh_contiguous(sh_to(sh_tensor_to(x, SH_HOST), SH_F64)),
                        *b = sh_contiguous(sh_to(sh_tensor_to(y, SH_HOST), SH_F64));
        if (a && b) result = sqnr(sh_tensor_data(a), sh_tensor_data(b), sh_tensor_numel(a));
    }
    sh_switch_end(&off);
    return result;
}

/* ---- rows ---- */

static sh_status add_row(sh_comparison *c, const char *name, const char *op, double db) {
    const size_t length = strlen(name) + 1;
    if (c->n == c->capacity) {
        const size_t capacity = 2 * c->capacity + 16;
        sh_comparison_row *rows = sh__realloc(c->rows, capacity * sizeof *rows);
        if (!rows) return SH_ERROR_MEMORY;
        c->rows = rows;
        c->capacity = capacity;
    }
    char *text = sh__alloc(length + strlen(op) + 1);
    if (!text) return SH_ERROR_MEMORY;
    memcpy(text, name, length);
    strcpy(text + length, op);
    c->rows[c->n++] = (sh_comparison_row){text, text + length, db};
    return SH_OK;
}

/* The reals of what a node gave. */
static sh_tensor *reals(const sh_node *node, sh_tensor *stored) {
    const sh_meta scale = sh_node_meta(node, SH__SCALE), zero_point = sh_node_meta(node, SH__ZERO_POINT);
    if (scale.kind != SH_META_FLOAT || sh_dtype_kind_of(sh_tensor_dtype(stored)) == SH_KIND_FLOAT)
        return stored;
    return sh_dequantize_per_tensor(stored, scale.as.f, zero_point.as.i);
}

static sh_status compare(sh_comparison *c, const sh_node *node, sh_tensor *value) {
    const sh_meta layer = sh_node_meta(node, SH__LAYER), op = sh_node_meta(node, SH__LAYER_OP);
    const char *name = sh_node_meta(node, SH__FLOAT_NODE).as.string;
    const sh_node *other = sh_graph_find(c->graph, name);
    if (!other)
        return sh_fail(SH_ERROR_VALUE,
                       "sh_quantize_compare: the float graph has no %%%s: was this prepared from it?", name);
    sh_tensor *x = sh_value_as_tensor(sh_interpreter_value(c->reference, other));
    sh_tensor *y = reals(node, value);
    if (!x || !y) return sh_fail(SH_ERROR_TYPE, "sh_quantize_compare: %%%s gives no tensor", name);
    const double db = sh_compute_sqnr(x, y);
    if (sh_error()) return sh_error()->code;
    return add_row(c, layer.as.string, op.as.string, db);
}

static sh_status run_node(sh_interpreter *in, sh_node *node, sh_value *result) {
    SH_TRY(sh_interpreter_run_node(in, node, result));
    if (sh_node_meta(node, SH__FLOAT_NODE).kind != SH_META_STRING || result->tag != SH_TAG_TENSOR)
        return SH_OK;
    sh_status status = SH_OK;
    SH_SCOPE status = compare(sh_interpreter_user(in), node, result->as.tensor);
    return status;
}

/* ---- runs ---- */

static sh_status run_both(sh_comparison *c, sh_graph *quantized, sh_arguments inputs) {
    sh_value ignored;
    SH_TRY(sh_interpreter_run(c->reference, inputs, &ignored));
    sh_interpreter *in =
        sh_interpreter_new(quantized, &(sh_interpreter_options){.user = c, .run_node = run_node});
    const sh_status status = in ? sh_interpreter_run(in, inputs, &ignored) : SH_ERROR_MEMORY;
    sh_interpreter_free(in);
    return status;
}

sh_comparison *sh_quantize_compare(sh_module *reference, sh_module *quantized, sh_arguments inputs) {
    if (sh__error_pending()) return NULL;
    sh_graph *graph = reference ? sh_graph_module_graph(reference) : NULL;
    sh_graph *other = quantized ? sh_graph_module_graph(quantized) : NULL;
    if (!graph || !other) {
        sh_fail(reference && quantized ? SH_ERROR_TYPE : SH_ERROR_NULL,
                "sh_quantize_compare: the %s module is no graph module", graph ? "quantised" : "float");
        return NULL;
    }
    sh_comparison *c = sh__calloc(1, sizeof *c);
    if (!c) return NULL;
    c->graph = graph;
    c->reference = sh_interpreter_new(graph, &(sh_interpreter_options){.keep_values = true});
    sh_status status = SH_ERROR_MEMORY;
    if (c->reference) SH_SCOPE status = run_both(c, other, inputs);
    sh_interpreter_free(c->reference);
    c->reference = NULL;
    if (status >= 0) return c;
    sh_comparison_free(c);
    return NULL;
}

void sh_comparison_free(sh_comparison *comparison) {
    if (!comparison) return;
    for (size_t i = 0; i < comparison->n; i++) sh__free((void *)(uintptr_t)comparison->rows[i].name);
    sh__free(comparison->rows);
    sh__free(comparison);
}

/* ---- reading ---- */

size_t sh_comparison_size(const sh_comparison *comparison) {
    SH_GIVEN(comparison, 0);
    return comparison->n;
}

const sh_comparison_row *sh_comparison_at(const sh_comparison *comparison, size_t i) {
    SH_GIVEN(comparison, NULL);
    return i < comparison->n ? &comparison->rows[i] : NULL;
}

const sh_comparison_row *sh_comparison_find(const sh_comparison *comparison, const char *name) {
    SH_GIVEN(comparison, NULL);
    SH_GIVEN(name, NULL);
    for (size_t i = 0; i < comparison->n; i++)
        if (strcmp(comparison->rows[i].name, name) == 0) return &comparison->rows[i];
    return NULL;
}

static int by_sqnr(const void *a, const void *b) {
    const sh_comparison_row *const *x = a, *const *y = b;
    if ((*x)->sqnr != (*y)->sqnr) return (*x)->sqnr < (*y)->sqnr ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static void put_rows(sh_text *text, const sh_comparison_row *const *rows, size_t n) {
    int name = 5, op = 2;
    for (size_t i = 0; i < n; i++) {
        const int a = (int)strlen(rows[i]->name), b = (int)strlen(rows[i]->op);
        name = a > name ? a : name;
        op = b > op ? b : op;
    }
    sh__text_put(text, "%-*s  %-*s  SQNR (dB)\n", name, "layer", op, "op");
    for (size_t i = 0; i < n; i++)
        sh__text_put(text, "%-*s  %-*s  %9.2f\n", name, rows[i]->name, op, rows[i]->op, rows[i]->sqnr);
}

char *sh_comparison_table(const sh_comparison *comparison, bool worst_first) {
    if (sh__error_pending()) return NULL;
    SH_GIVEN(comparison, NULL);
    sh_text text = {0};
    const sh_comparison_row **rows = sh__alloc((comparison->n + 1) * sizeof(sh_comparison_row *));
    if (!rows) return NULL;
    for (size_t i = 0; i < comparison->n; i++) rows[i] = &comparison->rows[i];
    if (worst_first) qsort((void *)rows, comparison->n, sizeof *rows, by_sqnr);
    put_rows(&text, rows, comparison->n);
    sh__free((void *)rows);
    return sh__text_take(&text);
}
