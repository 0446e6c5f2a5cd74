/* bench.c - shunt bench: how long a model takes, eagerly and compiled, and how much memory.
 *
 * Both ways of running it take turns, so that what else the machine does meets both; the ratio is the median of the
 * ratios within the rounds. Peak memory is that of a process of its own for each, forked before there is a model. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "cli/clock.h"
#include "cli/outputs.h"

enum { EAGER, COMPILED, WAYS, WARM_UPS = 2, MEMORY_RUNS = 10 };
static const char *const way_names[WAYS] = {"eager", "compiled"};
static const double round_seconds = 2e-3; /* a round of less is too short for the clock */

typedef struct bench {
    cli_given given; /* first: see given.h */
    const char *json;
    bool compile, light; /* light: nothing is kept that a plan doesn't need */
    int64_t threads, rounds;
    sh_compiled *compiled;
    double *seconds[WAYS]; /* of one run, by round */
    double ratio;          /* of compiled to eager */
    int64_t times;         /* runs in a round */
    long peak_kib[WAYS];   /* -1: not known */
} bench;

static int nways(const bench *b) { return b->compile ? WAYS : 1; }

/* ---- the command line ---- */

static int take_count(const char *option, const char *value, int64_t most, int64_t *number) {
    const int code = cli_number("bench", option, value, number);
    if (code != EXIT_CLEAN || (*number >= 1 && *number <= most)) return code;
    return cli_usage("bench", "%s %s: expected 1 to %lld", option, value, (long long)most);
}
static int take_threads(void *context, const char *value) {
    return take_count("--threads", value, 1024, &((bench *)context)->threads);
}
static int take_rounds(void *context, const char *value) {
    return take_count("--rounds", value, 1000000, &((bench *)context)->rounds);
}
static int take_compile(void *context, const char *value) {
    (void)value;
    ((bench *)context)->compile = true;
    return EXIT_CLEAN;
}
static int take_json(void *context, const char *value) {
    ((bench *)context)->json = value;
    return EXIT_CLEAN;
}

static const cli_option options[] = {
    CLI_GIVEN_OPTIONS,
    {"--compile", false, take_compile},
    {"--threads", true, take_threads},
    {"--rounds", true, take_rounds},
    {"--json", true, take_json},
    {NULL, false, NULL},
};

static void set_threads(int64_t threads) {
#ifdef _OPENMP
    if (threads) omp_set_num_threads((int)threads);
#else
    (void)threads;
#endif
}

static int64_t count_threads(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* ---- running ---- an error stays pending */

static double run_times(bench *b, int way, sh_tensors inputs, int64_t times) {
    const double start = cli_now();
    for (int64_t i = 0; i < times && !sh_error(); i++)
        SH_SCOPE cli_model_run(&b->given, way == COMPILED ? b->compiled : NULL, inputs);
    return (cli_now() - start) / (double)times;
}

/* Of the ratios within the rounds, the median; 0 when memory is out. */
static double ratio_to_eager(const bench *b) {
    double *ratios = malloc((size_t)b->rounds * sizeof *ratios), ratio = 0;
    for (int64_t i = 0; ratios && i < b->rounds; i++)
        ratios[i] = b->seconds[COMPILED][i] / b->seconds[EAGER][i];
    if (ratios) ratio = cli_times_of(ratios, (size_t)b->rounds).median;
    free(ratios);
    return ratio;
}

static void run_rounds(bench *b, sh_tensors inputs) {
    double shortest = round_seconds;
    for (int i = 0; i < WARM_UPS; i++)
        for (int way = 0; way < nways(b); way++) {
            const double seconds = run_times(b, way, inputs, 1);
            if (seconds < shortest) shortest = seconds;
        }
    b->times = 1 + (int64_t)(round_seconds / (shortest + 1e-9));
    for (int64_t round = 0; round < b->rounds; round++)
        for (int way = 0; way < nways(b); way++) b->seconds[way][round] = run_times(b, way, inputs, b->times);
    b->ratio = ratio_to_eager(b);
}

static void compile(bench *b) {
    b->compiled = cli_given_compile(&b->given, b->light);
    if (!b->light) return;
    sh_module_release(b->given.module);
    b->given.module = NULL;
    b->given.graph = NULL;
}

/* The model is there; its inputs are made, and modes act. */
static int measure(bench *b, void (*work)(bench *b, sh_tensors inputs)) {
    sh_tensor *inputs[CLI_MOST];
    size_t n;
    SH_SCOPE_HERE;
    int code = cli_given_inputs(&b->given, inputs, &n);
    if (code != EXIT_CLEAN) return code;
    code = cli_given_push(&b->given);
    if (code == EXIT_CLEAN && b->compile) compile(b);
    if (code == EXIT_CLEAN && !sh_error()) work(b, (sh_tensors){inputs, n});
    if (code == EXIT_CLEAN && sh_error()) code = cli_failed("bench", CLI_RUNS);
    cli_pop_modes();
    if (code == EXIT_CLEAN && sh_finding_count()) code = EXIT_FINDING;
    return sh_reports_lost() ? EXIT_INTERNAL : code;
}

/* ---- memory ---- */

static long peak_kib(void) {
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %ld", &kib);
    if (file) fclose(file);
    return kib;
}

static void run_for_memory(bench *b, sh_tensors inputs) {
    run_times(b, b->compile ? COMPILED : EAGER, inputs, MEMORY_RUNS);
}

/* In a child: says nothing, as what goes wrong comes up again in the parent, and writes its peak to `out`. */
static _Noreturn void weigh(bench *b, int way, int out) {
    if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout)) _exit(1);
    b->compile = b->light = way == COMPILED;
    const bool ran = cli_given_load(&b->given) == EXIT_CLEAN && measure(b, run_for_memory) <= EXIT_FINDING;
    const long kib = ran ? peak_kib() : -1;
    _exit(write(out, &kib, sizeof kib) == sizeof kib ? 0 : 1);
}

static long peak_of(bench *b, int way) {
    int ends[2];
    long kib = -1;
    if (pipe(ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) weigh(b, way, ends[1]);
    close(ends[1]);
    if (child < 0 || read(ends[0], &kib, sizeof kib) != sizeof kib) kib = -1;
    close(ends[0]);
    if (child > 0) waitpid(child, NULL, 0);
    return kib;
}

/* ---- telling ---- */

static void print_table(bench *b) {
    printf("%-10s %12s %12s %12s %10s %10s\n", "", "median ms", "from", "to", "peak MiB", "to eager");
    for (int way = 0; way < nways(b); way++) {
        const cli_times t = cli_times_of(b->seconds[way], (size_t)b->rounds);
        printf("%-10s %12.4f %12.4f %12.4f", way_names[way], t.median * 1e3, t.low * 1e3, t.high * 1e3);
        if (b->peak_kib[way] < 0)
            printf(" %10s", "-");
        else
            printf(" %10.1f", (double)b->peak_kib[way] / 1024);
        printf(" %10.3f\n", way == COMPILED ? b->ratio : 1);
    }
}

static json_t *way_json(bench *b, int way) {
    const cli_times t = cli_times_of(b->seconds[way], (size_t)b->rounds);
    json_t *peak = b->peak_kib[way] < 0 ? json_null() : json_integer(b->peak_kib[way] * (json_int_t)1024);
    return json_pack("{s:s, s:f, s:f, s:f, s:o, s:f}", "way", way_names[way], "median", t.median, "low",
                     t.low, "high", t.high, "peak", peak, "ratio", way == COMPILED ? b->ratio : 1.0);
}

static int write_json(bench *b, int code) {
    json_t *ways = json_array();
    for (int way = 0; way < nways(b); way++) json_array_append_new(ways, way_json(b, way));
    json_t *report =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:i}", "shunt", sh_version(), "model", b->given.model,
                  "threads", (json_int_t)count_threads(), "rounds", (json_int_t)b->rounds, "runs",
                  (json_int_t)b->times, "ways", ways, "findings", cli_json_findings(), "exit", code);
    char *text = b->compiled ? sh_compiled_report(b->compiled) : NULL;
    if (report && text) json_object_set_new(report, "compiled", json_string(text));
    free(text);
    return cli_json_write("bench", b->json, report);
}

static int bench_and_tell(bench *b) {
    for (int way = 0; way < nways(b); way++) b->peak_kib[way] = peak_of(b, way);
    int code = cli_given_load(&b->given);
    if (code != EXIT_CLEAN) return code;
    code = measure(b, run_rounds);
    if (code > EXIT_FINDING) return code;
    if (!b->json || strcmp(b->json, "-") != 0) print_table(b);
    const int told = b->json ? write_json(b, code) : EXIT_CLEAN;
    return told ? told : code;
}

int cli_bench(int argc, char **argv) {
    bench b = {.given.command = "bench", .rounds = 25};
    int code = cli_parse(argc, argv, "bench", options, cli_take_model, &b);
    for (int way = 0; way < WAYS; way++) b.seconds[way] = calloc((size_t)b.rounds, sizeof(double));
    set_threads(b.threads);
    if (code == EXIT_CLEAN)
        code = b.seconds[EAGER] && b.seconds[COMPILED] ? bench_and_tell(&b) : EXIT_INTERNAL;
    sh_compiled_free(b.compiled);
    for (int way = 0; way < WAYS; way++) free(b.seconds[way]);
    cli_given_end(&b.given);
    return code;
}
