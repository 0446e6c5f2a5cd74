/* timing.c - an interpreter that looks at the clock around each node.
 *
 * FLOPs are counted by a mode that is pushed for the first run only, so that later runs are timed undisturbed. */
#include "graph/timing.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/given.h"
#include "graph/graph_impl.h"
#include "graph/text.h"
#include "ops/flops.h"

typedef struct cost {
    double ns, flops; /* of all runs that count; of one run */
} cost;

struct sh_timing {
    sh_interpreter *in;
    sh_mode *counter; /* of FLOPs; NULL after the first run */
    size_t runs;
    double ns;   /* of whole runs */
    cost *costs; /* by the nodes' ids */
    uint32_t ncosts;
    double flops; /* counted in the node at hand */
};

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static sh_status time_node(sh_interpreter *in, sh_node *node, sh_value *result) {
    sh_timing *t = sh_interpreter_user(in);
    t->flops = 0;
    const double start = now_ns();
    const sh_status status = sh_interpreter_run_node(in, node, result);
    t->costs[node->id].ns += now_ns() - start;
    if (t->counter) t->costs[node->id].flops = t->flops;
    return status;
}

static sh_status count_flops(sh_mode *mode, sh_call *call) {
    sh_timing *t = sh_mode_user(mode);
    SH_TRY(sh_next(call));
    t->flops += sh_call_flops(call);
    return SH_PASS;
}

/* ---- making and ending ---- */

sh_timing *sh_timing_new(sh_graph *graph) {
    if (sh__error_pending()) return NULL;
    sh_timing *t = sh__calloc(1, sizeof *t);
    if (!t) return NULL;
    t->in = sh_interpreter_new(graph, &(sh_interpreter_options){.user = t, .run_node = time_node});
    t->counter =
        t->in ? sh_mode_new(count_flops,
                            &(sh_mode_options){
                                .name = "flops", .user = t, .kind = SH_MODE_WATCHING, .flags = SH_MODE_LAST})
              : NULL;
    if (t->counter) return t;
    sh_timing_free(t);
    return NULL;
}

void sh_timing_free(sh_timing *timing) {
    if (!timing) return;
    sh_interpreter_free(timing->in);
    sh_mode_release(timing->counter);
    sh__free(timing->costs);
    sh__free(timing);
}

/* ---- running ---- */

static sh_status reserve(sh_timing *t) {
    const uint32_t n = sh_interpreter_graph(t->in)->next_id + 1;
    if (n <= t->ncosts) return SH_OK;
    cost *costs = sh__realloc(t->costs, n * sizeof *costs);
    if (!costs) return SH_ERROR_MEMORY;
    memset(costs + t->ncosts, 0, (n - t->ncosts) * sizeof *costs);
    t->costs = costs;
    t->ncosts = n;
    return SH_OK;
}

/* The run that warmed up counts no more once there is another. */
static void forget_times(sh_timing *t) {
    for (uint32_t i = 0; i < t->ncosts; i++) t->costs[i].ns = 0;
    t->ns = 0;
    t->runs = 0;
}

static sh_status run_counting(sh_timing *t, sh_arguments inputs, sh_value *result) {
    sh_status status = SH_OK;
    SH_WITH_MODE(t->counter) status = sh_interpreter_run(t->in, inputs, result);
    return sh__error_pending() ? sh_error()->code : status;
}

sh_status sh_timing_run(sh_timing *timing, sh_arguments inputs, sh_value *result) {
    SH_GIVEN(timing, SH_ERROR_NULL);
    SH_GIVEN(result, SH_ERROR_NULL);
    sh_timing *t = timing;
    if (sh__error_pending()) return sh_error()->code;
    SH_TRY(reserve(t));
    const bool first = t->counter && !t->runs;
    if (t->counter && !first) {
        forget_times(t);
        sh_mode_release(t->counter);
        t->counter = NULL;
    }
    const double start = now_ns();
    SH_TRY(first ? run_counting(t, inputs, result) : sh_interpreter_run(t->in, inputs, result));
    t->ns += now_ns() - start;
    t->runs++;
    return SH_OK;
}

/* ---- reading ---- */

size_t sh_timing_runs(const sh_timing *timing) {
    SH_GIVEN(timing, 0);
    return timing->runs;
}

double sh_timing_run_ns(const sh_timing *timing) {
    SH_GIVEN(timing, 0);
    return timing->runs ? timing->ns / (double)timing->runs : 0;
}

double sh_timing_node_ns(const sh_timing *timing, const sh_node *node) {
    SH_GIVEN(timing, 0);
    SH_GIVEN(node, 0);
    return timing->runs && node->id < timing->ncosts ? timing->costs[node->id].ns / (double)timing->runs : 0;
}

double sh_timing_node_flops(const sh_timing *timing, const sh_node *node) {
    SH_GIVEN(timing, 0);
    SH_GIVEN(node, 0);
    return node->id < timing->ncosts ? timing->costs[node->id].flops : 0;
}

/* ---- the table ---- */

/* One row: a node, or all nodes of one target. */
typedef struct row {
    const sh_node *node;
    size_t calls;
    double ns, flops;
} row;

static int by_time(const void *a, const void *b) {
    const row *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static int by_target(const void *a, const void *b) {
    const row *x = a, *y = b;
    return strcmp(x->node->target, y->node->target);
}

static size_t fill_rows(const sh_timing *t, row *rows) {
    size_t n = 0;
    const sh_graph *graph = sh_interpreter_graph(t->in);
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node))
        if (sh__is_call(node))
            rows[n++] = (row){node, 1, sh_timing_node_ns(t, node), sh_timing_node_flops(t, node)};
    return n;
}

/* Adds up the rows of each target. Returns how many there are. */
static size_t join_targets(row *rows, size_t n) {
    size_t last = 0;
    qsort(rows, n, sizeof *rows, by_target);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(rows[i].node->target, rows[last].node->target) != 0) {
            rows[++last] = rows[i];
            continue;
        }
        rows[last].calls++;
        rows[last].ns += rows[i].ns;
        rows[last].flops += rows[i].flops;
    }
    return n ? last + 1 : 0;
}

static void put_row(sh_text *out, const sh_timing *t, const row *r, const char *name, int width) {
    const double whole = sh_timing_run_ns(t);
    sh__text_put(out, "%-*s  %12.3f  %6.2f%%", width, name, r->ns / 1e3, whole > 0 ? 100 * r->ns / whole : 0);
    if (r->flops > 0)
        sh__text_put(out, "  %12.4g  %9.2f\n", r->flops, r->ns > 0 ? r->flops / r->ns : 0);
    else
        sh__text_put(out, "  %12s  %9s\n", "-", "-");
}

static int widest(const row *rows, size_t n, const char *(*name)(const row *r)) {
    size_t width = 8;
    for (size_t i = 0; i < n; i++)
        if (strlen(name(&rows[i])) > width) width = strlen(name(&rows[i]));
    return (int)width;
}

static const char *node_name(const row *r) { return r->node->name->text; }
static const char *target_name(const row *r) { return r->node->target; }

static void put_part(sh_text *out, const sh_timing *t, row *rows, size_t n, const char *title,
                     const char *(*name)(const row *r)) {
    const int width = widest(rows, n, name);
    qsort(rows, n, sizeof *rows, by_time);
    sh__text_put(out, "%-*s  %12s  %7s  %12s  %9s\n", width, title, "mean us", "share", "FLOPs", "GFLOP/s");
    for (size_t i = 0; i < n; i++) put_row(out, t, &rows[i], name(&rows[i]), width);
}

char *sh_timing_table(const sh_timing *timing) {
    SH_GIVEN(timing, NULL);
    sh_text out = {0};
    row *rows = sh__alloc((sh_interpreter_graph(timing->in)->size + 1) * sizeof *rows);
    if (!rows) return NULL;
    const size_t n = fill_rows(timing, rows);
    sh__text_put(&out, "%zu runs, %.3f us each\n\n", timing->runs, sh_timing_run_ns(timing) / 1e3);
    put_part(&out, timing, rows, n, "node", node_name);
    sh__text_put(&out, "\n");
    put_part(&out, timing, rows, join_targets(rows, n), "target", target_name);
    sh__free(rows);
    return sh__text_take(&out);
}
