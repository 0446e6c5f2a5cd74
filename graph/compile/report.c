/* report.c - what a compiled object tells of itself. */
#include "graph/compile/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "graph/compile/compile_impl.h"
#include "graph/given.h"

/* ---- a plan ---- */

static void print_shape(FILE *out, const sh_plan_value *value) {
    if (value->is_list) {
        fputs("list", out);
        return;
    }
    if (!value->known) {
        fputs("?", out);
        return;
    }
    fprintf(out, "%s[", sh_dtype_name(value->spec.dtype));
    for (int i = 0; i < value->spec.ndim; i++)
        fprintf(out, i ? ", %" PRId64 : "%" PRId64, value->spec.sizes[i]);
    fputs(value->opaque ? "] blocked" : sh__value_is_contiguous(value) ? "]" : "] strided", out);
}

/* Where it lies: "in0", "const", "out1", "@4096", "+64" for an offset in that. */
static void print_home(FILE *out, const sh_plan *plan, const sh_plan_value *value) {
    if (value->buffer == SH_NO_BUFFER) {
        fputs("made", out);
        return;
    }
    const sh_plan_buffer *buffer = &plan->buffers[value->buffer];
    switch (buffer->home) {
    case SH_HOME_INPUT: fprintf(out, "in%" PRIu32, buffer->input); break;
    case SH_HOME_CONSTANT: fputs("const", out); break;
    case SH_HOME_FRESH: fprintf(out, "fresh%" PRIu32, value->buffer); break;
    case SH_HOME_ARENA: fprintf(out, "@%zu", buffer->at); break;
    }
    if (value->at) fprintf(out, "+%zu", value->at);
}

static void print_step(FILE *out, const sh_plan *plan, uint32_t s) {
    static const char *const kinds[] = {
        [SH_STEP_KERNEL] = "kernel", [SH_STEP_MAKER] = "maker", [SH_STEP_CALL] = "call",
        [SH_STEP_KEPT] = "kept",     [SH_STEP_ITEM] = "item",   [SH_STEP_UNIT] = "unit"};
    const sh_plan_step *step = &plan->steps.at[s];
    const char *what = step->op     ? step->op->name
                       : step->type ? step->type->name
                       : step->node ? step->node->target
                                    : "";
    fprintf(out, "%4" PRIu32 "  %-6s  %-24s  %%%s", s, kinds[step->kind], what, step->name);
    for (uint32_t i = 0; i < step->nresults; i++) {
        fputs(i ? ", " : "  -> ", out);
        print_shape(out, &plan->values[step->results[i]]);
        fputc(' ', out);
        print_home(out, plan, &plan->values[step->results[i]]);
    }
    fputs("  (", out);
    for (uint32_t i = 0; i < step->nloads; i++) {
        if (i) fputs(", ", out);
        print_home(out, plan, &plan->values[step->loads[i].id]);
    }
    fputc(')', out);
    if (step->type && step->type->print) {
        fputs("  ", out);
        step->type->print(step->unit, out);
    }
    fputc('\n', out);
}

size_t sh__plan_constant_bytes(const sh_plan *plan) {
    size_t n = 0;
    for (uint32_t i = 0; i < plan->nbuffers; i++)
        if (plan->buffers[i].home == SH_HOME_CONSTANT && plan->buffers[i].tensor) n += plan->buffers[i].size;
    return n;
}

static size_t bytes_of_home(const sh_plan *plan, sh_home home, uint32_t *count) {
    size_t n = 0;
    *count = 0;
    for (uint32_t i = 0; i < plan->nbuffers; i++) {
        const sh_plan_buffer *buffer = &plan->buffers[i];
        if (buffer->home != home || buffer->first > buffer->last) continue;
        n += buffer->size;
        ++*count;
    }
    return n;
}

void sh__plan_print(const sh_plan *plan, FILE *out) {
    uint32_t in_arena, fresh;
    const size_t laid_out = bytes_of_home(plan, SH_HOME_ARENA, &in_arena);
    const size_t outside = bytes_of_home(plan, SH_HOME_FRESH, &fresh);
    for (uint32_t s = 0; s < plan->steps.n; s++) print_step(out, plan, s);
    fprintf(out,
            "arena: %zu bytes for %" PRIu32 " buffers of %zu, %zu of it scratch; fresh: %" PRIu32
            " buffers of %zu; constants: %zu bytes\n",
            plan->arena, in_arena, laid_out, plan->arena - plan->scratch_at, fresh, outside,
            sh__plan_constant_bytes(plan));
}

/* ---- a compiled object ---- */

static void print_entry(FILE *out, const sh_compiled_entry *e, size_t i) {
    fprintf(out, "plan %zu: inputs %s; modes: %s\n", i, e->inputs, e->modes);
    fprintf(out,
            "  made because %s; %" PRIu64 " calls; %" PRIu32
            " steps, arena %zu bytes; traced in %.3f ms, made in %.3f ms\n",
            e->why, e->calls, e->plan->steps.n, e->plan->arena, (double)e->trace_ns * 1e-6,
            (double)e->compile_ns * 1e-6);
}

static void print_report(FILE *out, const sh_compiled *c) {
    size_t i = 0;
    fprintf(out,
            "%s: %zu of at most %zu plans; %" PRIu64 " compilations, %" PRIu64
            " for another batch size, %" PRIu64 " hits, %" PRIu64 " eager calls\n",
            c->name, c->nentries, c->options.most_plans, c->compilations, c->resized, c->hits, c->eager);
    for (const sh_compiled_entry *e = c->entries; e; e = e->next) print_entry(out, e, i++);
}

static void print_last_plan(FILE *out, const sh_compiled *c) { sh__plan_print(c->entries->plan, out); }

static char *text_of(sh_compiled *c, void (*print)(FILE *out, const sh_compiled *c)) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        sh_fail(SH_ERROR_MEMORY, "no memory for a report");
        return NULL;
    }
    print(out, c);
    if (fclose(out) == 0) return text;
    free(text);
    sh_fail(SH_ERROR_MEMORY, "no memory for a report");
    return NULL;
}

char *sh_compiled_report(sh_compiled *compiled) {
    SH_GIVEN(compiled, NULL);
    pthread_mutex_lock(&compiled->lock);
    char *text = text_of(compiled, print_report);
    pthread_mutex_unlock(&compiled->lock);
    return text;
}

char *sh_compiled_plan_text(sh_compiled *compiled) {
    SH_GIVEN(compiled, NULL);
    pthread_mutex_lock(&compiled->lock);
    char *text = compiled->entries ? text_of(compiled, print_last_plan) : NULL;
    const bool none = !compiled->entries;
    pthread_mutex_unlock(&compiled->lock);
    if (none) sh_fail(SH_ERROR_VALUE, "%s was never called, so it has no plan yet", compiled->name);
    return text;
}
