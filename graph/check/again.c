/* again.c - the same call in a graph, and from several threads at once. */
#include <pthread.h>
#include <stdio.h>

#include "graph/check/impl.h"
#include "graph/invoke.h"
#include "graph/record.h"
#include "ops/random.h"

static const sh_shaping rows = {.layout = SH_LAYOUT_ROWS};

/* ---- graphs ---- */

/* The call as a graph of its tensors; NULL and an error. */
static sh_graph *capture(const sh_trial *t, const sh_shaping *shaping) {
    sh_instance in;
    sh_value results[SH_MAX_RESULTS];
    sh_status status = SH_OK;
    sh_capture *c = sh_capture_new(NULL);
    if (!c || !sh__instance_make(&in, t, shaping)) status = SH_ERROR_MEMORY;
    for (size_t i = 0; i < in.ntensors && status >= 0; i++) {
        char name[32];
        snprintf(name, sizeof name, "input_%zu", i);
        status = sh_capture_input(c, in.tensors[i], name);
    }
    sh_manual_seed(t->o.seed);
    if (status >= 0)
        SH_WITH_MODE(sh_capture_mode(c)) status = sh_call_by_name(t->op->name, in.arguments, in.n, results);
    if (sh__error_pending()) status = sh_error()->code;
    const sh_outcome o = status >= 0 ? sh__outcome_of(results) : (sh_outcome){.n = 0};
    sh_graph *graph = status >= 0 ? sh_capture_graph(c, (sh_tensors){o.tensors, o.n}) : NULL;
    sh_capture_free(c);
    return graph;
}

static sh_outcome list_outcome(const sh_list *list) {
    sh_outcome o = {.n = 0};
    const size_t n = sh_list_size(list);
    for (size_t i = 0; i < n && o.n < SH_CHECK_TENSORS; i++) o.tensors[o.n++] = sh_list_at(list, i);
    return o;
}

/* Ends the graph. */
static void check_graph(sh_trial *t, sh_check_id check, const char *when, sh_graph *graph,
                        const sh_instance *base_in, const sh_outcome *base) {
    sh_instance in;
    if (!graph || !sh__instance_make(&in, t, &rows)) {
        sh__check_error(t, check, when);
        sh_graph_free(graph);
        return;
    }
    sh_manual_seed(t->o.seed);
    const sh_list *list = sh_graph_run(graph, (sh_tensors){in.tensors, in.ntensors});
    const sh_outcome outcome = list ? list_outcome(list) : (sh_outcome){.n = 0};
    if (!list)
        sh__check_error(t, check, when);
    else if (base->n)
        sh__expect_same(t, check, when, &outcome, &in, base, base_in, false);
    else
        sh__expect_same(t, check, when, base, &in, base, base_in, false);
    sh_graph_free(graph);
}

/* What needs data to run has no graph without it. */
static bool is_untraceable(void) {
    const sh_status code = sh_error() ? sh_error()->code : SH_OK;
    const bool refused = code == SH_ERROR_UNSUPPORTED || code == SH_ERROR_KERNEL || code == SH_ERROR_DEVICE;
    if (refused) sh_clear_error();
    return refused;
}

void sh__check_graphs(sh_trial *t, const sh_instance *in, const sh_outcome *base) {
    if (sh__check_begins(t, SH_CHECK_captured))
        check_graph(t, SH_CHECK_captured, "captured and run", capture(t, &rows), in, base);
    if (!in->ntensors || !sh__trial_infers(t) || !sh__check_begins(t, SH_CHECK_traced)) return;
    sh_graph *graph = capture(t, &(sh_shaping){.layout = SH_LAYOUT_META});
    if (graph || !is_untraceable())
        check_graph(t, SH_CHECK_traced, "traced without data and run", graph, in, base);
}

/* ---- threads ---- */

enum { MOST_THREADS = 64, ROUNDS = 4 };

typedef struct worker {
    pthread_t thread;
    sh_trial trial;            /* of its own: faults are told when all have ended */
    const sh_instance *shared; /* what is only read is read by all at once */
    const sh_instance *base_in;
    const sh_outcome *base;
    sh_op_report report;
} worker;

static bool writes(const sh_schema *schema) {
    bool any = false;
    for (uint32_t i = 0; i < schema->nparams; i++) any |= schema->params[i].written;
    return any;
}

static void work_once(worker *w) {
    sh_trial *t = &w->trial;
    sh_instance own;
    sh_outcome outcome;
    const sh_instance *in = w->shared ? w->shared : &own;
    if (!w->shared && !sh__instance_make(&own, t, &rows)) return;
    if (sh__trial_run(t, NULL, in, &outcome) < 0)
        sh__check_error(t, SH_CHECK_threads, "beside other threads it fails");
    else
        sh__expect_same(t, SH_CHECK_threads, "beside other threads", &outcome, in, w->base, w->base_in,
                        false);
}

static void *work(void *argument) {
    worker *w = argument;
    for (int i = 0; i < ROUNDS; i++) SH_SCOPE work_once(w);
    return NULL;
}

static void run_workers(worker *workers, uint32_t n) {
    uint32_t started = 0;
    while (started < n && pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
        started++;
    for (uint32_t i = 0; i < started; i++) pthread_join(workers[i].thread, NULL);
}

void sh__check_threads(sh_trial *t, const sh_instance *in, const sh_outcome *base) {
    const uint32_t asked = t->o.threads ? t->o.threads : 4, n = asked < MOST_THREADS ? asked : MOST_THREADS;
    sh_instance shared;
    if (t->op->tags & SH_OP_RANDOM || !sh__check_begins(t, SH_CHECK_threads)) return;
    worker *workers = sh__calloc(n, sizeof *workers);
    if (!workers || !sh__instance_make(&shared, t, &rows)) {
        sh__free(workers);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        workers[i] =
            (worker){.trial = *t, .shared = writes(t->schema) ? NULL : &shared, .base_in = in, .base = base};
        workers[i].trial.report = &workers[i].report;
    }
    run_workers(workers, n);
    for (uint32_t i = 0; i < n; i++)
        if (workers[i].report.nfaults) {
            sh__check_fault(t, SH_CHECK_threads, "%s", workers[i].report.faults[0].text);
            break;
        }
    sh__free(workers);
}
