/* check.c - the op check: samples in, faults out. */
#include "graph/check/op_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/check/impl.h"
#include "ops/random.h"

enum { DRAWN_SAMPLES = 6 };

static const struct {
    const char *name, *promise;
} checks[SH_CHECK_COUNT] = {
#define SH_CHECK(name, promise) {#name, promise},
#include "graph/check/checks.def"
#undef SH_CHECK
};

bool sh_op_check_at(size_t i, const char **name, const char **promise) {
    if (i >= SH_CHECK_COUNT) return false;
    if (name) *name = checks[i].name;
    if (promise) *promise = checks[i].promise;
    return true;
}

/* ---- the report ---- */

static bool was_told(const sh_trial *t, sh_check_id check) {
    const sh_op_report *r = t->report;
    for (size_t i = 0; i < r->nfaults; i++)
        if (r->faults[i].check == check && r->faults[i].sample == t->number) return true;
    return r->nfaults == SH_CHECK_FAULTS;
}

bool sh__check_begins(sh_trial *t, sh_check_id check) {
    if (!sh_filter_match(t->only, checks[check].name)) return false;
    t->report->ran[check]++;
    return true;
}

void sh__check_fault(sh_trial *t, sh_check_id check, const char *format, ...) {
    sh_fault_record *f = &t->report->faults[t->report->nfaults];
    const bool all = check == SH_CHECK_writes; /* one a parameter */
    if ((was_told(t, check) && !all) || t->report->nfaults == SH_CHECK_FAULTS) return;
    t->report->nfaults++;
    f->check = check;
    f->sample = t->number;
    va_list list;
    va_start(list, format);
    vsnprintf(f->text, sizeof f->text, format, list);
    va_end(list);
}

void sh__check_error(sh_trial *t, sh_check_id check, const char *when) {
    sh__check_fault(t, check, "%s: %s", when, sh_error() ? sh_error()->message : "no error was set");
    sh_clear_error();
}

void sh_op_report_free(sh_op_report *report) { sh__free(report); }
size_t sh_op_report_count(const sh_op_report *report) { return report ? report->nfaults : 0; }
size_t sh_op_report_samples(const sh_op_report *report) { return report ? report->samples : 0; }

sh_op_fault sh_op_report_fault(const sh_op_report *report, size_t i) {
    if (i >= sh_op_report_count(report)) return (sh_op_fault){"", 0, ""};
    const sh_fault_record *f = &report->faults[i];
    return (sh_op_fault){checks[f->check].name, f->sample, f->text};
}

size_t sh_op_report_ran(const sh_op_report *report, const char *check) {
    for (size_t i = 0; report && check && i < SH_CHECK_COUNT; i++)
        if (strcmp(checks[i].name, check) == 0) return report->ran[i];
    return 0;
}

static void write_count(FILE *out, const sh_op_report *r) {
    size_t made = 0;
    for (size_t i = 0; i < SH_CHECK_COUNT; i++) made += r->ran[i] != 0;
    fprintf(out, "%s: %zu fault%s in %zu sample%s, %zu checks made", r->name, r->nfaults,
            r->nfaults == 1 ? "" : "s", r->samples, r->samples == 1 ? "" : "s", made);
    const char *separator = "; not made:";
    for (size_t i = 0; i < SH_CHECK_COUNT; i++) {
        if (r->ran[i]) continue;
        fprintf(out, "%s %s", separator, checks[i].name);
        separator = "";
    }
    fputc('\n', out);
}

char *sh_op_report_text(const sh_op_report *r) {
    char *text = NULL;
    size_t size;
    FILE *out = r ? open_memstream(&text, &size) : NULL;
    if (!out) {
        sh_fail(r ? SH_ERROR_MEMORY : SH_ERROR_NULL, "sh_op_report_text: %s",
                r ? "out of memory" : "the report is NULL");
        return NULL;
    }
    for (size_t i = 0; i < r->nfaults; i++) {
        const sh_fault_record *f = &r->faults[i];
        if (f->sample == SIZE_MAX)
            fprintf(out, "%s: %s\n", checks[f->check].name, f->text);
        else
            fprintf(out, "%s: sample %zu: %s\n", checks[f->check].name, f->sample, f->text);
    }
    write_count(out, r);
    fclose(out);
    return text;
}

/* ---- one sample ---- */

static void check_sample(sh_trial *t) {
    const sh_shaping rows = {.layout = SH_LAYOUT_ROWS};
    sh_instance in;
    sh_outcome base;
    const bool told = sh__check_begins(t, SH_CHECK_runs);
    if (!sh__instance_make(&in, t, &rows) || !sh__instance_remember(&in)) return;
    if (sh__trial_run(t, NULL, &in, &base) < 0) {
        if (told)
            sh__check_error(t, SH_CHECK_runs, "it fails");
        else
            sh_clear_error();
        return;
    }
    sh__check_memory(t, &in, &base);
    sh__check_inferred(t, &base);
    sh__check_backends(t, &in, &base);
    sh__check_layouts(t, &in, &base);
    sh__check_edges(t);
    sh__check_dtypes(t);
    sh__check_repeat(t);
    sh__check_forms(t, &base);
    sh__check_graphs(t, &in, &base);
    sh__check_threads(t, &in, &base);
}

static sh_status check_number(sh_trial *t, sh_arguments sample) {
    t->sample = sample;
    t->number = t->report->samples++;
    SH_SCOPE check_sample(t);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

static sh_status check_drawn(sh_trial *t) {
    sh_sampler s = {.state = t->o.seed};
    for (int i = 0; i < DRAWN_SAMPLES; i++) {
        sh_status status = SH_OK;
        bool drawn = false;
        SH_SCOPE {
            drawn = sh__sample_draw(&s, t->op);
            if (drawn) status = check_number(t, (sh_arguments){s.arguments, s.n});
        }
        if (status < 0 || sh__error_pending()) return sh__error_ensure(status);
        if (!drawn) break;
    }
    if (t->report->samples) return SH_OK;
    return sh_fail(SH_ERROR_ARGUMENT,
                   "sh_op_check: no arguments that %s takes were found by chance; give samples: %s",
                   t->op->name, t->schema->text);
}

/* ---- the whole ---- */

static sh_op_check_options known_options(const sh_op_check_options *given) {
    sh_op_check_options o = {0};
    const size_t size = given && given->size ? given->size : sizeof o;
    if (given) memcpy(&o, given, size < sizeof o ? size : sizeof o);
    return o;
}

static sh_status check_all(sh_trial *t) {
    sh_status status = SH_OK;
    const sh_rng_state state = sh_get_rng_state();
    if (!t->o.samples) status = check_drawn(t);
    for (size_t i = 0; t->o.samples && i < t->o.nsamples && status >= 0; i++)
        status = check_number(t, t->o.samples[i]);
    t->number = SIZE_MAX;
    if (status >= 0) sh__check_declared(t);
    sh_set_rng_state(state);
    return status;
}

static sh_status tell(const sh_op_report *r) {
    char names[300] = "";
    size_t n = 0;
    for (size_t i = 0; i < r->nfaults; i++) {
        const char *name = checks[r->faults[i].check].name;
        const char *known = strstr(names, name);
        const size_t length = strlen(name);
        if (known && (known[length] == ',' || !known[length])) continue;
        if (n + length + 3 > sizeof names) break;
        n += (size_t)snprintf(names + n, sizeof names - n, n ? ", %s" : "%s", name);
    }
    if (!r->nfaults) return SH_OK;
    return sh_fail(SH_ERROR_FINDING, "%s breaks what it declares: %s; the first: %s", r->name, names,
                   r->faults[0].text);
}

sh_status sh_op_check(const char *name, const sh_op_check_options *options, sh_op_report **report) {
    if (report) *report = NULL;
    if (sh__error_pending()) return sh_error()->code;
    const sh_op *op = name ? sh_op_find(name) : NULL;
    const sh_schema *schema = op ? sh_op_schema(op) : NULL;
    const char *near = name && !schema ? sh_op_suggest(name) : NULL;
    if (!schema)
        return sh_fail(SH_ERROR_OP, "sh_op_check: there is no op %s%s%s", name ? name : "NULL",
                       near ? "; did you mean " : "", near ? near : "");
    sh_trial t = {.op = op, .schema = schema, .o = known_options(options)};
    if (t.o.only && !(t.only = sh_filter_new(t.o.only, SH_FILTER_GLOB))) return sh_error()->code;
    t.report = sh__calloc(1, sizeof *t.report);
    sh_status status = SH_ERROR_MEMORY;
    if (t.report) {
        snprintf(t.report->name, sizeof t.report->name, "%s", op->name);
        status = check_all(&t);
        if (status >= 0) status = tell(t.report);
    }
    sh_filter_free(t.only);
    if (report && (status >= 0 || status == SH_ERROR_FINDING))
        *report = t.report;
    else
        sh_op_report_free(t.report);
    return status;
}
