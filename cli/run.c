/* run.c - shunt run: a model, its inputs, modes around it, what comes out. */
#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/outputs.h"

typedef struct run {
    cli_given given; /* first: see given.h */
    const char *output_dir, *json;
    bool compile;
    int64_t repeat;
    double *seconds;
    sh_compiled *compiled;
} run;

/* ---- the command line ---- */

static int take_repeat(void *context, const char *value) {
    run *r = context;
    const int code = cli_number("run", "--repeat", value, &r->repeat);
    return code || (r->repeat > 0 && r->repeat <= 1000000)
               ? code
               : cli_usage("run", "--repeat %s: expected 1 to 1000000", value);
}

static int take_output_dir(void *context, const char *value) {
    ((run *)context)->output_dir = value;
    return EXIT_CLEAN;
}
static int take_json(void *context, const char *value) {
    ((run *)context)->json = value;
    return EXIT_CLEAN;
}
static int take_compile(void *context, const char *value) {
    (void)value;
    ((run *)context)->compile = true;
    return EXIT_CLEAN;
}

static const cli_option options[] = {
    CLI_GIVEN_OPTIONS,
    {"--compile", false, take_compile},
    {"--repeat", true, take_repeat},
    {"--output-dir", true, take_output_dir},
    {"--json", true, take_json},
    {NULL, false, NULL},
};

/* ---- running ---- */

static void print_times(run *r) {
    if (r->repeat < 2) return;
    const cli_times t = cli_times_of(r->seconds, (size_t)r->repeat);
    fprintf(stderr, "%lld runs: median %.3f ms, %.3f to %.3f ms\n", (long long)r->repeat, t.median * 1e3,
            t.low * 1e3, t.high * 1e3);
}

/* The results of the last run, kept in the scope of the caller. False and an error if one fails. */
static bool run_model(run *r, sh_tensors inputs, sh_tensors *outputs) {
    for (int64_t i = 0; i < r->repeat && !sh_error(); i++) {
        const double start = cli_now();
        if (i + 1 < r->repeat) {
            SH_SCOPE cli_model_run(&r->given, r->compiled, inputs);
        } else {
            *outputs = cli_model_run(&r->given, r->compiled, inputs);
        }
        r->seconds[i] = cli_now() - start;
    }
    return !sh_error();
}

/* `outputs` is NULL if there are none because the run failed, here and below. */
static int write_json(const run *r, const sh_tensors *outputs, int code) {
    json_t *seconds = json_array();
    for (int64_t i = 0; outputs && i < r->repeat; i++)
        json_array_append_new(seconds, json_real(r->seconds[i]));
    json_t *report =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:i}", "shunt", sh_version(), "model", r->given.model, "outputs",
                  cli_outputs_json(&r->given, outputs ? *outputs : (sh_tensors){NULL, 0}), "findings",
                  cli_json_findings(), "seconds", seconds, "exit", code);
    char *text = r->compiled ? sh_compiled_report(r->compiled) : NULL;
    if (report && text) json_object_set_new(report, "compiled", json_string(text));
    free(text);
    return cli_json_write("run", r->json, report);
}

/* What was compiled and which modes went in: after a message of its own, an exit code. */
static int print_report(const run *r) {
    char *text = sh_compiled_report(r->compiled);
    if (!text) return cli_failed("run", CLI_WRITES);
    fputs(text, stderr);
    free(text);
    return EXIT_CLEAN;
}

static int tell(run *r, const sh_tensors *outputs, int code) {
    const bool json_only = r->json && strcmp(r->json, "-") == 0;
    if (outputs && !json_only) cli_outputs_print(&r->given, *outputs);
    if (outputs && r->compiled && !r->json && print_report(r) != EXIT_CLEAN) code = EXIT_INTERNAL;
    print_times(r);
    const int written =
        outputs && r->output_dir ? cli_outputs_write(&r->given, *outputs, r->output_dir) : EXIT_CLEAN;
    const int told = r->json ? write_json(r, outputs, written ? written : code) : EXIT_CLEAN;
    return written ? written : told ? told : code;
}

static int run_and_tell(run *r) {
    sh_tensor *inputs[CLI_MOST];
    size_t ninputs;
    sh_tensors outputs = {NULL, 0};
    SH_SCOPE_HERE;
    int code = cli_given_inputs(&r->given, inputs, &ninputs);
    if (code != EXIT_CLEAN) return code;
    code = cli_given_push(&r->given);
    if (code == EXIT_CLEAN && r->compile) r->compiled = cli_given_compile(&r->given, false);
    const bool ran = code == EXIT_CLEAN && run_model(r, (sh_tensors){inputs, ninputs}, &outputs);
    if (code == EXIT_CLEAN && !ran) code = cli_failed("run", CLI_RUNS);
    cli_pop_modes();
    if (code == EXIT_CLEAN && sh_finding_count()) code = EXIT_FINDING;
    if (sh_reports_lost()) code = EXIT_INTERNAL;
    return tell(r, ran ? &outputs : NULL, code);
}

int cli_run(int argc, char **argv) {
    run r = {.given.command = "run", .repeat = 1};
    int code = cli_parse(argc, argv, "run", options, cli_take_model, &r);
    if (code == EXIT_CLEAN) code = cli_given_load(&r.given);
    r.seconds = calloc((size_t)r.repeat, sizeof *r.seconds);
    if (r.given.module && r.seconds) code = run_and_tell(&r);
    sh_compiled_free(r.compiled);
    free(r.seconds);
    cli_given_end(&r.given);
    return code;
}
