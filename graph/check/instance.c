/* instance.c - copies of a sample's arguments, in whatever shape a check wants them, and calls on those.
 *
 * Every tensor of the sample gets a copy with a storage of its own, the same one a single copy, so that what a kernel does
 * to memory is seen by comparing the storage's bytes. Numbers stay numbers. */
#include <string.h>

#include "graph/check/impl.h"
#include "ops/element.h"
#include "ops/random.h"

/* ---- one tensor ---- */

static void shape_of(const sh_tensor *t, const sh_shaping *s, sh_spec *spec) {
    const bool floats = sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT;
    spec->dtype = s->floats && floats ? s->floats : (sh_dtype)t->dtype;
    spec->ndim = s->flat ? 0 : t->ndim;
    for (int i = 0; i < spec->ndim; i++)
        spec->sizes[i] = s->emptied && t->sizes[i] == s->emptied ? 0 : t->sizes[i];
}

/* Strides and offset of a layout that has a place for each element; how far it reaches. */
static int64_t lay_out(const sh_spec *spec, const sh_shaping *s, int64_t *strides, int64_t *offset) {
    const int64_t gap = s->layout == SH_LAYOUT_GAPS ? 2 : 1;
    int64_t reach = gap;
    *offset = s->layout == SH_LAYOUT_GAPS ? 3 : 0;
    for (int k = 0; k < spec->ndim; k++) {
        const int i = s->layout == SH_LAYOUT_TURNED ? k : spec->ndim - 1 - k;
        strides[i] = reach;
        if (s->expanded && i == 0 && s->layout != SH_LAYOUT_ROWS) strides[i] = 0;
        if (strides[i]) reach *= spec->sizes[i] ? spec->sizes[i] : 1;
    }
    return *offset + reach;
}

static void copy_elements(sh_tensor *to, const sh_tensor *from, bool expanded) {
    SH_EACH_ELEMENT(to, index) {
        int64_t source[SH_MAX_DIMS];
        memcpy(source, index, sizeof source);
        if (expanded && from->ndim) source[0] = 0;
        const char *at = sh_element(from, to->ndim ? source : (const int64_t[SH_MAX_DIMS]){0}, from->ndim);
        char *place = sh_element(to, index, to->ndim);
        if (to->dtype == from->dtype)
            memcpy(place, at, to->element);
        else
            sh_store_f64((sh_dtype)to->dtype, place, sh_load_f64((sh_dtype)from->dtype, at));
    }
}

static sh_tensor *copy_of(const sh_tensor *t, const sh_shaping *s, bool is_written) {
    sh_shaping shaping = *s;
    sh_spec spec;
    int64_t strides[SH_MAX_DIMS], offset;
    shape_of(t, s, &spec);
    const sh_ints sizes = {spec.sizes, (size_t)spec.ndim};
    if (s->layout == SH_LAYOUT_META) return sh_tensor_new_on(SH_META, spec.dtype, sizes);
    if (is_written) shaping.expanded = false;
    const int64_t reach = lay_out(&spec, &shaping, strides, &offset);
    sh_tensor *base = sh_tensor_new(spec.dtype, SH_SIZES(reach));
    if (!base) return NULL;
    memset(base->data, 0, (size_t)base->numel * base->element);
    sh_tensor *copy = sh_tensor_as_strided(base, sizes, (sh_ints){strides, sizes.n}, offset);
    if (copy && t->numel) copy_elements(copy, t, s->expanded && !is_written);
    return copy;
}

/* ---- all of them ---- */

typedef struct maker {
    sh_instance *in;
    const sh_trial *t;
    const sh_shaping *shaping;
} maker;

static sh_tensor *instance_of(maker *m, sh_tensor *t, uint32_t param) {
    sh_instance *in = m->in;
    if (!t || (t->flags & SH_TENSOR_WRAPPED)) return t;
    for (size_t i = 0; i < in->ntensors; i++)
        if (in->from[i] == t) return in->tensors[i];
    if (in->ntensors == SH_CHECK_TENSORS) {
        sh_fail(SH_ERROR_ARGUMENT, "sh_op_check: a sample has more than %d tensors", SH_CHECK_TENSORS);
        return NULL;
    }
    const bool is_written = param < m->t->schema->nparams && m->t->schema->params[param].written;
    sh_tensor *copy = copy_of(t, m->shaping, is_written);
    in->from[in->ntensors] = t;
    in->params[in->ntensors] = param;
    in->tensors[in->ntensors++] = copy;
    return copy;
}

static bool make_list(maker *m, sh_value *v, uint32_t param) {
    sh_instance *in = m->in;
    sh_tensor **list = in->entries + in->nentries;
    if (in->nentries + v->count > SH_CHECK_TENSORS)
        return sh_fail(SH_ERROR_ARGUMENT, "sh_op_check: a sample has more than %d tensors in lists",
                       SH_CHECK_TENSORS) >= 0;
    in->nentries += v->count;
    for (uint32_t k = 0; k < v->count; k++) list[k] = instance_of(m, v->as.tensors[k], param);
    v->as.tensors = list;
    return !sh__error_pending();
}

bool sh__instance_make(sh_instance *in, const sh_trial *t, const sh_shaping *shaping) {
    maker m = {in, t, shaping};
    in->n = t->sample.n;
    in->ntensors = in->nentries = 0;
    for (size_t k = 0; k < in->n; k++) {
        sh_argument *a = &in->arguments[k];
        *a = t->sample.at[k];
        const int found = a->name ? sh_schema_find(t->schema, a->name) : (int)k;
        const uint32_t param = found < 0 ? SH_MAX_ARGS : (uint32_t)found;
        if (a->value.tag == SH_TAG_TENSOR)
            a->value = sh_value_tensor(instance_of(&m, a->value.as.tensor, param));
        else if (a->value.tag == SH_TAG_TENSORS && !make_list(&m, &a->value, param))
            return false;
        if (sh__error_pending()) return false;
    }
    return true;
}

bool sh__instance_remember(sh_instance *in) {
    for (size_t i = 0; i < in->ntensors; i++) {
        const sh_storage *storage = in->tensors[i]->storage;
        in->before[i] = sh_tensor_copy_of(storage->data, SH_U8, SH_SIZES((int64_t)storage->size));
        if (!in->before[i]) return false;
    }
    return true;
}

bool sh__instance_changed(const sh_instance *in, size_t i) {
    const sh_storage *storage = in->tensors[i]->storage;
    return memcmp(storage->data, in->before[i]->data, storage->size) != 0;
}

/* ---- calls ---- */

sh_outcome sh__outcome_of(const sh_value *results) {
    sh_outcome o = {.n = 0};
    for (size_t i = 0; i < SH_MAX_RESULTS && results[i].tag != SH_TAG_NONE; i++) {
        const sh_tensors list = sh_value_as_tensors(results[i]);
        if (results[i].tag == SH_TAG_TENSOR && o.n < SH_CHECK_TENSORS)
            o.tensors[o.n++] = results[i].as.tensor;
        for (size_t k = 0; k < list.n && o.n < SH_CHECK_TENSORS; k++) o.tensors[o.n++] = list.at[k];
    }
    return o;
}

sh_status sh__trial_call(const sh_trial *t, const char *name, const sh_instance *in, sh_outcome *outcome) {
    sh_value results[SH_MAX_RESULTS];
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    const sh_status status = sh_call_by_name(name ? name : t->op->name, in->arguments, in->n, results);
    sh_switch_end(&off);
    *outcome = status < 0 ? (sh_outcome){.n = 0} : sh__outcome_of(results);
    return status;
}

sh_status sh__trial_run(const sh_trial *t, const char *name, const sh_instance *in, sh_outcome *outcome) {
    sh_manual_seed(t->o.seed);
    return sh__trial_call(t, name, in, outcome);
}

sh_status sh__trial_run_on(const sh_trial *t, const sh_shaping *shaping, sh_instance *in,
                           sh_outcome *outcome) {
    sh_instance own;
    if (!in) in = &own;
    if (!sh__instance_make(in, t, shaping)) return sh_error()->code;
    return sh__trial_run(t, NULL, in, outcome);
}
