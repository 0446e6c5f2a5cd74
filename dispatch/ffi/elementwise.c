/* elementwise.c - functions of single numbers, or of flat arrays, over tensors that broadcast.
 *
 * The result has the shape that the op's infer function gave it, or the one that all arguments broadcast to. Every argument
 * is laid out in that shape first, row-major. Functions of one to three floats, or doubles, are called straight; any others
 * through their interface, which costs some 40 ns an element. */
#include "dispatch/ffi/program.h"

/* ---- shapes ---- */

static sh_status join(sh_crun *r, sh_spec *shape, const sh_tensor *t) {
    for (int k = 1; k <= t->ndim; k++) {
        const int64_t size = t->sizes[t->ndim - k];
        if (k > shape->ndim) {
            memmove(shape->sizes + 1, shape->sizes, (size_t)shape->ndim * sizeof *shape->sizes);
            shape->ndim++;
            shape->sizes[0] = size;
            continue;
        }
        int64_t *has = &shape->sizes[shape->ndim - k];
        if (*has == 1) *has = size;
        if (size != 1 && *has != size)
            return sh_fail(SH_ERROR_SHAPE, "%s: sizes %lld and %lld of dimension -%d do not broadcast",
                           r->call->op->name, (long long)*has, (long long)size, k);
    }
    return SH_OK;
}

static bool is_result(const sh_cstep *s) { return (s->flags & SH_STEP_RESULT) != 0; }

/* Of a result that is there, else of all arguments together. */
static sh_status find_shape(sh_crun *r, sh_spec *shape) {
    const sh_cprogram *p = r->program;
    const uint32_t results = p->schema->nreturns;
    *shape = (sh_spec){.ndim = 0};
    for (uint32_t i = 0; i < results; i++)
        if (r->call->results[i].tag == SH_TAG_TENSOR) return join(r, shape, r->call->results[i].as.tensor);
    for (uint32_t i = 0; i < p->narrays; i++) {
        sh_tensor *t = NULL;
        if (!is_result(&p->steps[i])) SH_TRY(sh__step_tensor(r, &p->steps[i], &t));
        if (t) SH_TRY(join(r, shape, t));
    }
    return SH_OK;
}

static bool has_shape(const sh_tensor *t, const sh_spec *shape) {
    return t->ndim == shape->ndim && !memcmp(t->sizes, shape->sizes, (size_t)t->ndim * sizeof *t->sizes);
}

/* A view in the shape: dimensions that are missing or of size 1 repeat. */
static sh_status spread(sh_crun *r, const sh_cstep *s, const sh_spec *shape, sh_tensor **t) {
    int64_t strides[SH_MAX_DIMS] = {0};
    const sh_tensor *given = *t;
    if (has_shape(given, shape)) return SH_OK;
    const int missing = shape->ndim - given->ndim;
    bool fits = missing >= 0 && !(s->flags & SH_STEP_WRITES);
    for (int d = 0; fits && d < given->ndim; d++) {
        fits = given->sizes[d] == 1 || given->sizes[d] == shape->sizes[missing + d];
        strides[missing + d] = given->sizes[d] == 1 ? 0 : given->strides[d];
    }
    char type[160];
    sh__tensor_print_type(given, type, sizeof type);
    if (!fits)
        return sh_fail(SH_ERROR_SHAPE, "%s: parameter %.*s: %s has not the shape of the result",
                       r->call->op->name, (int)s->item->name.n, s->item->name.at, type);
    *t = sh__step_view(given, shape->ndim, shape->sizes, strides);
    return *t ? SH_OK : SH_ERROR_MEMORY;
}

/* A result of an op without infer function. */
static sh_status make(sh_crun *r, const sh_cstep *s, const sh_spec *shape, sh_tensor **t) {
    sh_spec spec = *shape;
    spec.dtype = sh__ctype_dtype((sh_ctype)s->type);
    if (!spec.dtype)
        return sh_fail(SH_ERROR_DTYPE, "%s: no dtype is known for the result", r->call->op->name);
    *t = sh__tensor_alloc_any(&spec, r->call->device);
    if (!*t || !sh__own(*t)) return SH_ERROR_MEMORY;
    r->call->results[s->source] = sh_value_tensor(*t);
    return SH_OK;
}

static sh_status gather_one(sh_crun *r, const sh_cstep *s, const sh_spec *shape) {
    sh_tensor *t = NULL;
    if (is_result(s) && r->call->results[s->source].tag != SH_TAG_TENSOR)
        SH_TRY(make(r, s, shape, &t));
    else
        SH_TRY(sh__step_tensor(r, s, &t));
    if (t) {
        SH_TRY(spread(r, s, shape, &t));
        SH_TRY(sh__step_fit(r, s, &t, SH_MAX_DIMS));
    }
    r->passed[s->index] = t;
    return SH_OK;
}

/* An array parameter sees all elements as one dimension. */
static sh_status bind_flat(sh_crun *r, const sh_cstep *s, int64_t n) {
    const sh_tensor *t = r->passed[s->index];
    const sh_tensor flat = {.ndim = 1, .sizes = {n}, .numel = n, .dtype = t ? t->dtype : SH_F32};
    sh__step_address(r, s, !t ? NULL : s->put == SH_PUT_TENSOR ? (const void *)t : t->data);
    return s->put == SH_PUT_ARRAY && t ? sh__step_bind(r, s, &flat, 0) : SH_OK;
}

/* ---- loops ---- */

#define LOOPS(T)                                                                                    \
    static void loop_##T(sh_c_function f, int n, const void *const *in, void *out, int64_t count) { \
        const T *a = in[0], *b = in[1], *c = in[2];                                                 \
        T *to = out;                                                                                \
        for (int64_t i = 0; n == 1 && i < count; i++) to[i] = ((T(*)(T))f)(a[i]);                   \
        for (int64_t i = 0; n == 2 && i < count; i++) to[i] = ((T(*)(T, T))f)(a[i], b[i]);          \
        for (int64_t i = 0; n == 3 && i < count; i++) to[i] = ((T(*)(T, T, T))f)(a[i], b[i], c[i]); \
    }
LOOPS(float)
LOOPS(double)

/* One to three tensors of the type that the function returns, and nothing else. */
static bool is_simple(const sh_crun *r, sh_ctype type) {
    const sh_cprogram *p = r->program;
    bool simple = p->nsteps == p->narrays && p->narrays >= 1 && p->narrays <= 3 && p->narrays == p->nparams;
    for (uint32_t i = 0; i < p->narrays; i++)
        simple &= p->steps[i].type == type && p->steps[i].put == SH_PUT_ITEM && r->passed[i] &&
                  p->steps[i].at == 8 * i;
    return simple && p->signature->returns.type == type;
}

static sh_status loop(sh_crun *r, sh_tensor *out) {
    const sh_cprogram *p = r->program;
    const void *in[3] = {NULL, NULL, NULL};
    const bool floats = is_simple(r, SH_C_F32), doubles = is_simple(r, SH_C_F64);
    for (uint32_t i = 0; (floats || doubles) && i < p->narrays; i++) in[i] = r->passed[i]->data;
    if (floats || doubles) {
        (floats ? loop_float : loop_double)(p->function, p->narrays, in, out->data, out->numel);
        return sh__error_pending() ? sh_error()->code : SH_OK;
    }
    _Alignas(16) unsigned char value[16];
    for (int64_t k = 0; k < out->numel; k++) {
        for (uint32_t i = 0; i < p->narrays; i++) {
            const sh_cstep *s = &p->steps[i];
            const sh_tensor *t = r->passed[s->index];
            if (s->put == SH_PUT_ITEM && t)
                memcpy(r->frame + s->at, t->data + k * (int64_t)t->element, t->element);
        }
        SH_TRY(sh__crun_call(r, value));
        sh__crun_store(out, k, value);
    }
    return SH_OK;
}

static bool has_items(const sh_cprogram *p) {
    bool items = false;
    for (uint32_t i = 0; i < p->narrays; i++) items |= p->steps[i].put == SH_PUT_ITEM;
    return items;
}

sh_status sh__crun_elements(sh_crun *r) {
    const sh_cprogram *p = r->program;
    sh_spec shape;
    sh_tensor *out = NULL;
    int64_t n = 1;
    SH_TRY(find_shape(r, &shape));
    for (int d = 0; d < shape.ndim; d++) n *= shape.sizes[d];
    for (uint32_t i = 0; i < p->narrays; i++) SH_TRY(gather_one(r, &p->steps[i], &shape));
    for (uint32_t i = 0; i < p->narrays; i++)
        if (p->steps[i].put == SH_PUT_ITEM && !r->passed[p->steps[i].index])
            return sh_fail(SH_ERROR_NULL, "%s: the C function takes a number, the argument is None",
                           r->call->op->name);
    for (uint32_t i = 0; i < p->narrays; i++)
        if (p->steps[i].put != SH_PUT_ITEM) SH_TRY(bind_flat(r, &p->steps[i], n));
    SH_TRY(sh__steps_rest(r));
    if (p->gives == SH_GIVES_NUMBER) {
        if (r->call->results[p->given].tag != SH_TAG_TENSOR) SH_TRY(make(r, &p->returned, &shape, &out));
        SH_TRY(sh__crun_result(r, &out));
        return loop(r, out);
    }
    if (has_items(p))
        return sh__cprogram_fail(p->signature, p->steps[0].item,
                                 "a function of single numbers returns its result");
    _Alignas(16) unsigned char value[16];
    return sh__crun_call(r, value);
}
