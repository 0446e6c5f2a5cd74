/* agree.c - the same call in other ways: without data, in other backends, layouts, dtypes and forms. */
#include <stdio.h>
#include <string.h>

#include "dispatch/registry.h"
#include "graph/check/impl.h"
#include "ops/random.h"

static const sh_shaping rows = {.layout = SH_LAYOUT_ROWS};

bool sh__trial_infers(const sh_trial *t) {
    return atomic_load_explicit(&t->op->slots[SH_BACKEND_META], memory_order_acquire) != NULL;
}

bool sh__trial_has(const sh_trial *t, uint32_t backend) {
    const sh_slot *slot = atomic_load_explicit(&t->op->slots[backend], memory_order_acquire);
    return slot && !slot->composite && strcmp(slot->backend, sh_backend_name(backend)) == 0;
}

/* ---- without data ---- */

/* What needs data to know its shape says so. */
static bool is_excused(void) {
    const sh_status code = sh_error() ? sh_error()->code : SH_OK;
    if (code != SH_ERROR_UNSUPPORTED && code != SH_ERROR_KERNEL && code != SH_ERROR_DEVICE) return false;
    sh_clear_error();
    return true;
}

static void check_strides(sh_trial *t, const sh_outcome *real, const sh_outcome *inferred) {
    if (!sh__check_begins(t, SH_CHECK_strides)) return;
    for (size_t i = 0; i < real->n; i++) {
        const sh_tensor *r = real->tensors[i], *f = inferred->tensors[i];
        for (int d = 0; d < r->ndim && r->numel > 1; d++) {
            if (r->sizes[d] < 2 || r->strides[d] == f->strides[d]) continue;
            sh__check_fault(t, SH_CHECK_strides,
                            "result %zu has stride %lld in dimension %d, inferred was %lld", i,
                            (long long)r->strides[d], d, (long long)f->strides[d]);
            return;
        }
    }
}

void sh__check_inferred(sh_trial *t, const sh_outcome *base) {
    const sh_shaping meta = {.layout = SH_LAYOUT_META};
    sh_outcome inferred;
    if (!sh__trial_infers(t)) return;
    const bool told = sh__check_begins(t, SH_CHECK_infer);
    if (sh__trial_run_on(t, &meta, NULL, &inferred) < 0) {
        if (!is_excused() && told)
            sh__check_error(t, SH_CHECK_infer, "with data it runs, without it does not");
        sh_clear_error();
        return;
    }
    for (size_t i = 0; i < inferred.n; i++)
        if (base->n == inferred.n && inferred.tensors[i]->device != SH_META && base->tensors[i]->numel)
            return;
    const bool shape = sh__check_begins(t, SH_CHECK_shape), dtype = sh__check_begins(t, SH_CHECK_dtype);
    if ((shape || dtype) && sh__expect_spec(t, SH_CHECK_shape, SH_CHECK_dtype, "", base, &inferred))
        check_strides(t, base, &inferred);
}

/* ---- other kernels ---- */

static void expect_run(sh_trial *t, sh_check_id check, const char *when, const sh_instance *in,
                       const sh_outcome *base, bool exactly) {
    sh_instance own;
    sh_outcome outcome;
    if (sh__trial_run_on(t, &rows, &own, &outcome) < 0)
        sh__check_error(t, check, when);
    else
        sh__expect_same(t, check, when, base, in, &outcome, &own, exactly);
}

/* A dispatch-level mode that asks for composites to be split, and does nothing. */
static sh_status passes(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    return SH_PASS;
}

static void check_composite(sh_trial *t, const sh_instance *in, const sh_outcome *base) {
    const sh_shaping as_is = rows;
    sh_instance own;
    sh_outcome outcome = {.n = 0};
    sh_value results[SH_MAX_RESULTS];
    sh_mode *splits = sh_mode_new(
        passes, &(sh_mode_options){.name = "op check", .level = SH_LEVEL_DISPATCH, .kind = SH_MODE_WATCHING});
    sh_status status = splits && sh__instance_make(&own, t, &as_is) ? SH_OK : SH_ERROR_MEMORY;
    sh_manual_seed(t->o.seed);
    if (status >= 0)
        SH_WITH_MODE(splits) status = sh_call_by_name(t->op->name, own.arguments, own.n, results);
    sh_mode_release(splits);
    if (status >= 0) outcome = sh__outcome_of(results);
    if (status < 0 || sh__error_pending())
        sh__check_error(t, SH_CHECK_composite, "the composite form fails");
    else
        sh__expect_same(t, SH_CHECK_composite, "kernel against composite form", base, in, &outcome, &own,
                        false);
}

void sh__check_backends(sh_trial *t, const sh_instance *in, const sh_outcome *base) {
    const bool random = (t->op->tags & SH_OP_RANDOM) != 0;
    if (!random && sh__trial_has(t, SH_BACKEND_REF) && sh__trial_has(t, SH_BACKEND_CPU) &&
        sh__check_begins(t, SH_CHECK_ref))
        SH_WITH_BACKEND("ref") expect_run(t, SH_CHECK_ref, "cpu against ref", in, base, false);
    sh__table_lock();
    const sh_registration *r = t->op->columns[SH_COLUMN_COMPOSITE];
    while (r && !atomic_load(&r->state)) r = r->older;
    sh__table_unlock();
    if (r && r->slot.composite && sh__trial_has(t, SH_BACKEND_CPU) && !random &&
        sh__check_begins(t, SH_CHECK_composite))
        check_composite(t, in, base);
}

/* ---- layouts ---- */

static void check_layout(sh_trial *t, const sh_shaping *shaping, const char *when, const sh_instance *base_in,
                         const sh_outcome *base) {
    sh_instance own;
    sh_outcome outcome;
    if (sh__trial_run_on(t, shaping, &own, &outcome) < 0)
        sh__check_error(t, SH_CHECK_strided, when);
    else
        sh__expect_same(t, SH_CHECK_strided, when, &outcome, &own, base, base_in, false);
}

static void check_expanded(sh_trial *t) {
    const sh_shaping plain = {.expanded = true, .layout = SH_LAYOUT_ROWS},
                     expanded = {.expanded = true, .layout = SH_LAYOUT_TURNED};
    sh_instance own;
    sh_outcome outcome;
    if (sh__trial_run_on(t, &plain, &own, &outcome) < 0)
        sh_clear_error(); /* equal rows may be refused */
    else
        check_layout(t, &expanded, "expanded arguments", &own, &outcome);
}

/* Ops on views are about layouts: what they refuse or give may depend on them. */
void sh__check_layouts(sh_trial *t, const sh_instance *in, const sh_outcome *base) {
    if (t->op->tags & SH_OP_VIEW || !sh__check_begins(t, SH_CHECK_strided)) return;
    check_layout(t, &(sh_shaping){.layout = SH_LAYOUT_TURNED}, "transposed arguments", in, base);
    check_layout(t, &(sh_shaping){.layout = SH_LAYOUT_GAPS}, "arguments with gaps", in, base);
    check_expanded(t);
}

/* ---- shapes and dtypes that it may refuse ---- */

/* Taken, it gives what was inferred, and what ref gives; refused, the error is enough. */
static void check_other(sh_trial *t, sh_check_id check, const sh_shaping *shaping, const char *when) {
    sh_shaping meta = *shaping;
    sh_instance in, ref_in;
    sh_outcome real, other;
    meta.layout = SH_LAYOUT_META;
    if (sh__trial_run_on(t, shaping, &in, &real) < 0) {
        sh_clear_error();
        return;
    }
    if (sh__trial_infers(t)) {
        if (sh__trial_run_on(t, &meta, NULL, &other) >= 0) {
            if (!sh__expect_spec(t, check, check, when, &real, &other)) return;
        } else if (!is_excused()) {
            sh__check_error(t, check, when);
            return;
        }
    }
    if (t->op->tags & SH_OP_RANDOM || !sh__trial_has(t, SH_BACKEND_REF)) return;
    SH_WITH_BACKEND("ref") {
        if (sh__trial_run_on(t, shaping, &ref_in, &other) < 0)
            sh__check_error(t, check, when);
        else
            sh__expect_same(t, check, when, &real, &in, &other, &ref_in, false);
    }
}

void sh__check_edges(sh_trial *t) {
    int64_t seen[2 * SH_MAX_DIMS];
    sh_instance in;
    size_t n = 0;
    if (!sh__instance_make(&in, t, &rows)) return;
    for (size_t i = 0; i < in.ntensors; i++)
        for (int d = 0; d < in.tensors[i]->ndim && n < 2 * SH_MAX_DIMS; d++) {
            bool known = in.tensors[i]->sizes[d] == 0;
            for (size_t k = 0; k < n; k++) known |= seen[k] == in.tensors[i]->sizes[d];
            if (!known) seen[n++] = in.tensors[i]->sizes[d];
        }
    for (size_t k = 0; k < n && sh__check_begins(t, SH_CHECK_empty); k++) {
        char when[64];
        snprintf(when, sizeof when, "dimensions of size %lld emptied: ", (long long)seen[k]);
        check_other(t, SH_CHECK_empty, &(sh_shaping){.emptied = seen[k]}, when);
    }
    if (in.ntensors && sh__check_begins(t, SH_CHECK_zero_d))
        check_other(t, SH_CHECK_zero_d, &(sh_shaping){.flat = true}, "0-d tensors: ");
}

void sh__check_dtypes(sh_trial *t) {
    for (sh_dtype d = SH_F32; d <= SH_B8 && sh__check_begins(t, SH_CHECK_dtypes); d++) {
        char when[32];
        snprintf(when, sizeof when, "%s: ", sh_dtype_name(d));
        SH_SCOPE check_other(t, SH_CHECK_dtypes, &(sh_shaping){.floats = d}, when);
    }
}

/* ---- once more ---- */

/* The generator is not set back for an op that declares no use of it. */
void sh__check_repeat(sh_trial *t) {
    const bool random = (t->op->tags & SH_OP_RANDOM) != 0;
    sh_instance one, two;
    sh_outcome first, second;
    if (!sh__check_begins(t, SH_CHECK_repeat)) return;
    if (sh__trial_run_on(t, &rows, &one, &first) < 0 || !sh__instance_make(&two, t, &rows)) {
        sh__check_error(t, SH_CHECK_repeat, "the second call with equal arguments");
        return;
    }
    if (random) sh_manual_seed(t->o.seed);
    if (sh__trial_call(t, NULL, &two, &second) < 0) {
        sh__check_error(t, SH_CHECK_repeat, "the second call with equal arguments");
        return;
    }
    sh__expect_same(t, SH_CHECK_repeat,
                    random                     ? "the same seed"
                    : t->op->tags & SH_OP_PURE ? "tagged as pure, the same arguments again"
                                               : "not tagged as random, the same arguments again",
                    &second, &two, &first, &one, true);
}

/* ---- forms ---- */

static bool fits(const sh_tensor *result, const sh_tensor *target) {
    return result->dtype == target->dtype && result->ndim == target->ndim &&
           memcmp(result->sizes, target->sizes, (size_t)result->ndim * sizeof *result->sizes) == 0;
}

static void in_place_name(const char *name, char *text, size_t size) {
    const char *space = strstr(name, "::");
    const size_t family = space ? (size_t)(space - name) + 2 + strcspn(space + 2, ".") : strcspn(name, ".");
    snprintf(text, size, "%.*s_%s", (int)family, name, name + family);
}

static void check_in_place(sh_trial *t, const sh_outcome *base) {
    char name[112], text[200];
    sh_instance in;
    sh_outcome outcome;
    in_place_name(t->op->name, name, sizeof name);
    if (!sh__instance_make(&in, t, &rows)) return;
    sh_tensor *self = in.n ? sh_value_as_tensor(in.arguments[0].value) : NULL;
    if (!self || in.arguments[0].name || (self->flags & SH_TENSOR_WRAPPED) || !fits(base->tensors[0], self))
        return;
    if (!sh__check_begins(t, SH_CHECK_in_place)) return;
    if (sh__trial_run(t, name, &in, &outcome) < 0)
        sh__check_error(t, SH_CHECK_in_place, name);
    else if (outcome.tensors[0] != self)
        sh__check_fault(t, SH_CHECK_in_place, "%s does not return its first argument", name);
    else if (!sh__same_values(t, self, base->tensors[0], false, text))
        sh__check_fault(t, SH_CHECK_in_place, "%s: %s", name, text);
}

static void check_out(sh_trial *t, const sh_outcome *base) {
    const sh_tensor *b = base->tensors[0];
    char text[200];
    sh_instance in;
    sh_outcome outcome;
    if (!sh__check_begins(t, SH_CHECK_out) || !sh__instance_make(&in, t, &rows)) return;
    sh_tensor *out = sh_tensor_new((sh_dtype)b->dtype, (sh_ints){b->sizes, b->ndim});
    if (!out) return;
    in.arguments[in.n++] = (sh_argument){"out", sh_value_tensor(out)};
    if (sh__trial_run(t, NULL, &in, &outcome) < 0)
        sh__check_error(t, SH_CHECK_out, "with out");
    else if (outcome.tensors[0] != out)
        sh__check_fault(t, SH_CHECK_out, "it does not return out");
    else if (!sh__same_values(t, out, b, false, text))
        sh__check_fault(t, SH_CHECK_out, "%s", text);
}

void sh__check_forms(sh_trial *t, const sh_outcome *base) {
    if (base->n != 1) return;
    if (t->op->tags & SH_OP_INPLACE) check_in_place(t, base);
    if (t->op->tags & SH_OP_OUT) check_out(t, base);
}
