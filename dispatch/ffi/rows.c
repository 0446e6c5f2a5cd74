/* rows.c - functions of rows, or of matrices, led over all that a tensor has.
 *
 * An array of k sizes takes the last k dimensions of its tensor; those before them are the batch, which all tensors that
 * have one share (1 repeats). Tensors without a batch are passed whole each time. Where the op has a `dim` that no
 * parameter takes, it is moved last first, by views. */
#include "dispatch/ffi/program.h"

typedef struct batch {
    int ndim;
    int64_t sizes[SH_MAX_DIMS];
    int64_t steps[SH_C_PARAMS + 1][SH_MAX_DIMS]; /* of each array, in bytes */
} batch;

static bool has_rows(const sh_cstep *s, const sh_tensor *t) {
    return t && s->put == SH_PUT_ARRAY && (s->flags & SH_STEP_SHAPED) && t->ndim > s->rank;
}

/* ---- the dimension ---- */

/* What the call says of it; SH_NO_INT for all dimensions. */
static sh_status read_dim(const sh_crun *r, int64_t *dim) {
    const uint8_t arg = r->program->dim_arg;
    *dim = -1;
    if (arg == SH_NO_SOURCE) return SH_OK;
    const sh_value *v = &r->call->args[arg];
    if (v->tag == SH_TAG_INTS && v->count > 1)
        return sh_fail(SH_ERROR_VALUE, "%s: the C kernel works along one dimension, dim has %u",
                       r->call->op->name, v->count);
    *dim = v->tag == SH_TAG_INT                     ? v->as.i
           : v->tag == SH_TAG_INTS && v->count == 1 ? v->as.ints[0]
                                                    : SH_NO_INT;
    return SH_OK;
}

/* The view with that dimension last; all dimensions as one where there is none. */
static sh_status turn(const sh_crun *r, int64_t dim, sh_tensor **t) {
    int64_t sizes[SH_MAX_DIMS], strides[SH_MAX_DIMS];
    const sh_tensor *given = *t;
    if (dim < 0) dim += given->ndim;
    if (dim == given->ndim - 1 || !given->ndim) return SH_OK;
    if (dim < 0 || dim >= given->ndim)
        return sh_fail(SH_ERROR_INDEX, "%s: dim is out of range for %d dimensions", r->call->op->name,
                       given->ndim);
    int n = 0;
    for (int d = 0; d <= given->ndim; d++) {
        const int from = d == given->ndim ? (int)dim : d;
        if (d == dim) continue;
        sizes[n] = given->sizes[from];
        strides[n++] = given->strides[from];
    }
    *t = sh__step_view(given, n, sizes, strides);
    return *t ? SH_OK : SH_ERROR_MEMORY;
}

static sh_status flatten(sh_crun *r, const sh_cstep *s, sh_tensor **t) {
    const int64_t sizes[1] = {(*t)->numel}, strides[1] = {1};
    SH_TRY(sh__step_fit(r, s, t, SH_MAX_DIMS));
    if (r->back >> s->index & 1)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s: all dimensions as one row, written with strides",
                       r->call->op->name);
    *t = sh__step_view(*t, 1, sizes, strides);
    return *t ? SH_OK : SH_ERROR_MEMORY;
}

/* ---- gathering ---- */

static sh_status join(const sh_crun *r, const sh_cstep *s, const sh_tensor *t, batch *b) {
    const int n = t->ndim - s->rank;
    if (n > b->ndim) {
        memmove(b->sizes + n - b->ndim, b->sizes, (size_t)b->ndim * sizeof *b->sizes);
        for (int d = 0; d < n - b->ndim; d++) b->sizes[d] = 1;
        b->ndim = n;
    }
    for (int d = 0; d < n; d++) {
        int64_t *has = &b->sizes[b->ndim - n + d];
        if (*has == 1) *has = t->sizes[d];
        if (t->sizes[d] != 1 && t->sizes[d] != *has)
            return sh_fail(SH_ERROR_SHAPE, "%s: parameter %.*s: a batch of %lld, others have %lld",
                           r->call->op->name, (int)s->item->name.n, s->item->name.at, (long long)t->sizes[d],
                           (long long)*has);
    }
    return SH_OK;
}

static sh_status gather_one(sh_crun *r, const sh_cstep *s, int64_t dim, batch *b) {
    sh_tensor *t;
    SH_TRY(sh__step_tensor(r, s, &t));
    if (t && s->put == SH_PUT_ARRAY && s->rank) {
        const bool whole = dim == SH_NO_INT;
        if (whole)
            SH_TRY(flatten(r, s, &t));
        else if (t->ndim > s->rank)
            SH_TRY(turn(r, dim, &t));
        SH_TRY(sh__step_fit(r, s, &t, s->rank));
    }
    r->passed[s->index] = t;
    if (!has_rows(s, t)) return t ? sh__step_bind(r, s, t, 0) : SH_OK;
    SH_TRY(sh__step_bind(r, s, t, t->ndim - s->rank));
    return join(r, s, t, b);
}

static void set_steps(sh_crun *r, batch *b) {
    const sh_cprogram *p = r->program;
    for (uint32_t i = 0; i < p->narrays; i++) {
        const sh_cstep *s = &p->steps[i];
        const sh_tensor *t = r->passed[s->index];
        const int n = has_rows(s, t) ? t->ndim - s->rank : 0;
        for (int d = 0; d < b->ndim; d++) {
            const int from = d - (b->ndim - n);
            b->steps[i][d] = from < 0 || t->sizes[from] == 1 ? 0 : t->strides[from] * (int64_t)t->element;
        }
        sh__step_address(r, s, !t ? NULL : s->put == SH_PUT_TENSOR ? (const void *)t : t->data);
    }
}

/* ---- the loop ---- */

static void move(sh_crun *r, uint32_t i, int64_t by) {
    char *at;
    memcpy(&at, r->frame + r->program->steps[i].at, sizeof at);
    at += by;
    memcpy(r->frame + r->program->steps[i].at, &at, sizeof at);
}

/* To the next row; false behind the last. */
static bool advance(sh_crun *r, const batch *b, int64_t *index) {
    for (int d = b->ndim; d-- > 0;) {
        const bool more = ++index[d] < b->sizes[d];
        for (uint32_t i = 0; i < r->program->narrays; i++)
            if (b->steps[i][d]) move(r, i, more ? b->steps[i][d] : -b->steps[i][d] * (b->sizes[d] - 1));
        if (more) return true;
        index[d] = 0;
    }
    return false;
}

static sh_status each_row(sh_crun *r, const batch *b, const sh_tensor *out) {
    int64_t index[SH_MAX_DIMS] = {0}, row = 0;
    _Alignas(16) unsigned char value[16];
    do {
        SH_TRY(sh__crun_call(r, value));
        if (out) sh__crun_store(out, row++, value);
    } while (advance(r, b, index));
    return SH_OK;
}

sh_status sh__crun_rows(sh_crun *r) {
    const sh_cprogram *p = r->program;
    batch b = {.ndim = 0};
    sh_tensor *out = NULL;
    int64_t dim, rows = 1;
    SH_TRY(read_dim(r, &dim));
    for (uint32_t i = 0; i < p->narrays; i++) SH_TRY(gather_one(r, &p->steps[i], dim, &b));
    set_steps(r, &b);
    SH_TRY(sh__steps_rest(r));
    for (int d = 0; d < b.ndim; d++) rows *= b.sizes[d];
    if (p->gives == SH_GIVES_NUMBER) SH_TRY(sh__crun_result(r, &out));
    if (out && out->numel != rows)
        return sh_fail(SH_ERROR_SHAPE,
                       "%s: the C function gives a number for each of %lld rows, the result has %lld",
                       r->call->op->name, (long long)rows, (long long)out->numel);
    return rows ? each_row(r, &b, out) : SH_OK;
}
