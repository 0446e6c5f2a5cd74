#include "dispatch/shadow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/copy.h"
#include "dispatch/known.h"
#include "dispatch/site.h"

static sh_comparer the_comparer;

void sh__set_comparer(sh_comparer comparer) { the_comparer = comparer; }

/* ---- what a call writes ---- */

static size_t add_written(sh_tensor **written, size_t n, size_t capacity, sh_tensor *t) {
    for (size_t i = 0; i < n && i < capacity; i++)
        if (written[i] == t) return n;
    if (n < capacity) written[n] = t;
    return n + 1;
}

size_t sh__call_written(const sh_call *call, sh_tensor **written, size_t capacity) {
    size_t n = 0;
    if (call->target) n = add_written(written, n, capacity, call->target);
    for (uint32_t i = 0; i < call->nargs; i++) {
        const sh_value *v = &call->args[i];
        if (!call->schema->params[i].written) continue;
        if (v->tag == SH_TAG_TENSOR) n = add_written(written, n, capacity, v->as.tensor);
        for (uint32_t k = 0; v->tag == SH_TAG_TENSORS && k < v->count; k++)
            if (v->as.tensors[k]) n = add_written(written, n, capacity, v->as.tensors[k]);
    }
    return n;
}

/* The copy of what is written; of another view on its memory a copy of its own; else the tensor itself. */
static sh_tensor *stand_in(sh_shadow *s, sh_tensor *t) {
    for (size_t i = 0; i < s->nwritten; i++)
        if (s->written[i] == t) return s->copies[i];
    for (size_t i = 0; i < s->nwritten; i++) {
        if (!t || !t->storage || s->written[i]->storage != t->storage) continue;
        sh_tensor *copy = sh__tensor_double(t);
        return copy ? sh__own(copy) : NULL;
    }
    return t;
}

static sh_status replace_list(sh_shadow *s, uint32_t i) {
    sh_value *v = &s->args[i];
    s->lists[i] = sh__alloc((v->count + 1) * sizeof *s->lists[i]);
    if (!s->lists[i]) return SH_ERROR_MEMORY;
    for (uint32_t k = 0; k < v->count; k++) {
        s->lists[i][k] = v->as.tensors[k] ? stand_in(s, v->as.tensors[k]) : NULL;
        if (v->as.tensors[k] && !s->lists[i][k]) return SH_ERROR_MEMORY;
    }
    v->as.tensors = s->lists[i];
    return SH_OK;
}

static sh_status replace_arguments(sh_shadow *s) {
    for (uint32_t i = 0; i < s->call.nargs; i++) {
        sh_value *v = &s->args[i];
        if (v->tag == SH_TAG_TENSORS) SH_TRY(replace_list(s, i));
        if (v->tag != SH_TAG_TENSOR) continue;
        v->as.tensor = stand_in(s, v->as.tensor);
        if (!v->as.tensor) return SH_ERROR_MEMORY;
    }
    return SH_OK;
}

sh_status sh__shadow_begin(sh_shadow *s, const sh_call *call) {
    s->nwritten = 0;
    memset(s->lists, 0, sizeof s->lists);
    s->call = *call;
    memcpy(s->args, call->args, call->nargs * sizeof *s->args);
    s->call.args = s->args;
    s->call.at = NULL;
    s->call.in_kernel = s->call.has_result = 0;
    const size_t n = sh__call_written(call, s->written, SH_MOST_WRITTEN);
    if (n > SH_MOST_WRITTEN)
        return sh_fail(SH_ERROR_VALUE, "%s writes %zu tensors, of which %d are copied", call->op->name, n,
                       SH_MOST_WRITTEN);
    for (size_t i = 0; i < n; i++) {
        if (s->written[i]->device != SH_HOST)
            return sh_fail(SH_ERROR_DEVICE, "%s writes memory of %s, which is not copied", call->op->name,
                           sh__device_name(s->written[i]->device));
        s->copies[i] = sh__tensor_double(s->written[i]);
        if (!s->copies[i]) return SH_ERROR_MEMORY;
        s->nwritten++;
    }
    if (!n) return SH_OK;
    if (call->target) s->call.target = s->copies[0];
    return replace_arguments(s);
}

void sh__shadow_free(sh_shadow *s) {
    for (size_t i = 0; i < s->nwritten; i++) sh__release(s->copies[i]);
    for (uint32_t i = 0; i < SH_MAX_ARGS; i++) sh__free(s->lists[i]);
    memset(s->lists, 0, sizeof s->lists);
    s->nwritten = 0;
}

void sh__shadow_restore(const sh_shadow *s) {
    for (size_t i = 0; i < s->nwritten; i++) {
        sh_tensor *t = s->written[i];
        sh__elements_copy(t, s->copies[i]);
        if (t->storage) atomic_fetch_add_explicit(&t->storage->version, 1, memory_order_relaxed);
        sh__forget(t);
    }
}

sh_status sh__shadow_run(sh_shadow *s, sh_place place) {
    sh_thread *thread = &sh__thread;
    uint8_t *choice = &thread->state.backend[s->call.device], chosen = *choice;
    const uint32_t gate = thread->gate & SH_GATE_BACKEND;
    sh_tried tried;
    sh__tried_begin(&tried);
    *choice = (uint8_t)(place.backend + 1);
    thread->gate |= SH_GATE_BACKEND;
    const sh_status status = sh__run_candidates(&s->call, place, SH_HIDES, &tried);
    *choice = chosen;
    thread->gate = (thread->gate & ~(uint32_t)SH_GATE_BACKEND) | gate;
    return status;
}

/* ---- comparing ---- */

static void compare(const sh_tensor *got, const sh_tensor *expected, const sh_tolerance *tolerance,
                    sh_difference *d, const char *kind, const char *name) {
    if (d->differs || !got || !expected || got->device == SH_META || expected->device == SH_META) return;
    the_comparer(got, expected, tolerance, d);
    if (d->differs) snprintf(d->what, sizeof d->what, "%s %s", kind, name);
}

static void compare_values(sh_value got, sh_value expected, const sh_tolerance *tolerance, sh_difference *d,
                           const char *name) {
    char entry[48];
    if (got.tag != SH_TAG_TENSORS) {
        compare(sh_value_as_tensor(got), sh_value_as_tensor(expected), tolerance, d, "result", name);
        return;
    }
    for (uint32_t k = 0; k < got.count && k < expected.count; k++) {
        snprintf(entry, sizeof entry, "%s[%u]", name, k);
        compare(got.as.tensors[k], expected.as.tensors[k], tolerance, d, "result", entry);
    }
    if (got.count == expected.count || d->differs) return;
    d->differs = true;
    d->abs = d->rel = INFINITY;
    snprintf(d->what, sizeof d->what, "result %s", name);
    snprintf(d->got, sizeof d->got, "a list of %u", got.count);
    snprintf(d->expected, sizeof d->expected, "one of %u", expected.count);
}

static const char *argument_name(const sh_call *call, const sh_tensor *t) {
    for (uint32_t i = 0; i < call->nargs; i++) {
        const sh_value *v = &call->args[i];
        if (!call->schema->params[i].written) continue;
        if (v->tag == SH_TAG_TENSOR && v->as.tensor == t) return call->schema->params[i].name;
        for (uint32_t k = 0; v->tag == SH_TAG_TENSORS && k < v->count; k++)
            if (v->as.tensors[k] == t) return call->schema->params[i].name;
    }
    return "out";
}

void sh__shadow_compare(const sh_shadow *s, const sh_call *call, const sh_tolerance *tolerance,
                        sh_difference *d) {
    memset(d, 0, sizeof *d);
    for (uint32_t i = 0; i < call->nresults; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        compare_values(call->results[i], s->call.results[i], tolerance, d, name);
    }
    for (size_t i = call->target ? 1 : 0; i < s->nwritten; i++)
        compare(s->written[i], s->copies[i], tolerance, d, "argument", argument_name(call, s->written[i]));
}

/* ---- telling ---- */

void sh__difference_tell(const sh_difference *d, const sh_call *call, const char *mode, const char *kernel,
                         const char *reference, sh_finding *f) {
    *f = (sh_finding){.kind = SH_FINDING_MISMATCH, .mode = mode, .bad = d->bad, .total = d->total};
    snprintf(f->what, sizeof f->what, "%.60s of %.80s is wrong", kernel, sh_call_name(call));
    sh_call_print(call, f->call, sizeof f->call);
    snprintf(f->scope, sizeof f->scope, "%s", sh_scope_path());
    sh_site_text(sh_call_site(call), f->site, sizeof f->site);
    snprintf(f->index, sizeof f->index, "%.40s%s%.50s", d->what, *d->at ? " " : "", d->at);
    snprintf(f->inputs, sizeof f->inputs, "got %s, %s gives %s", d->got, reference, d->expected);
    if (d->total) snprintf(f->why, sizeof f->why, "max abs %.6g, max rel %.6g", d->abs, d->rel);
}
