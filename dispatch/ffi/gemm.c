/* gemm.c - matrix products by a function of BLAS.
 *
 * A matrix with a stride of 1 is passed as it lies, transposed where that is the stride of its rows; others are copied. A
 * function without an order wants columns first: it then computes the transposed product, with a and b exchanged. Batches
 * are led through one by one. beta * self goes into the result before the call. */
#include <stdio.h>
#include <strings.h>

#include "dispatch/ffi/program.h"

/* ---- fitting ---- */

static const struct {
    const char *name, *other;
} roles[SH_ROLES] = {
    [SH_ROLE_A] = {"a", NULL},           [SH_ROLE_B] = {"b", NULL},
    [SH_ROLE_C] = {"c", NULL},           [SH_ROLE_ORDER] = {"order", "layout"},
    [SH_ROLE_TRANSA] = {"transa", "ta"}, [SH_ROLE_TRANSB] = {"transb", "tb"},
    [SH_ROLE_M] = {"m", NULL},           [SH_ROLE_N] = {"n", NULL},
    [SH_ROLE_K] = {"k", NULL},           [SH_ROLE_ALPHA] = {"alpha", NULL},
    [SH_ROLE_BETA] = {"beta", NULL},     [SH_ROLE_LDA] = {"lda", NULL},
    [SH_ROLE_LDB] = {"ldb", NULL},       [SH_ROLE_LDC] = {"ldc", NULL},
};

static bool is_word(sh_cword word, const char *text) {
    return text && strlen(text) == word.n && strncasecmp(word.at, text, word.n) == 0;
}

static int role_of(const sh_citem *item) {
    for (int role = 0; role < SH_ROLES; role++)
        if (is_word(item->name, roles[role].name) || is_word(item->name, roles[role].other)) return role;
    return -1;
}

/* The item of each role; a, b, c, m, n, k and what says how a and b lie must be there. */
static sh_status find_roles(const sh_signature *s, int *items) {
    for (int role = 0; role < SH_ROLES; role++) items[role] = -1;
    for (uint32_t i = 0; i < s->nparams; i++) {
        const sh_citem *item = &s->items[i];
        const int role = role_of(item);
        if (role < 0 || items[role] >= 0)
            return sh__cprogram_fail(s, item, "%.*s is no parameter of BLAS's gemm", (int)item->name.n,
                                     item->name.at);
        const bool matrix = role <= SH_ROLE_C;
        if (matrix ? item->pointers != 1 || sh__ctype_class(item->type) != SH_CLASS_REAL
                   : sh__ctype_class(item->type) == SH_CLASS_NONE)
            return sh__cprogram_fail(s, item, "%s of gemm is %s", roles[role].name,
                                     matrix ? "float * or double *" : "a number");
        items[role] = (int)i;
    }
    for (int role = 0; role < SH_ROLES; role++)
        if (items[role] < 0 && role != SH_ROLE_ORDER && role != SH_ROLE_ALPHA && role != SH_ROLE_BETA)
            return sh__cprogram_fail(s, &s->returns, "gemm needs a parameter %s", roles[role].name);
    return SH_OK;
}

static void add_role(sh_cprogram *p, int role, int i, const uint8_t *tensors) {
    const sh_citem *item = &p->signature->items[i];
    sh_cstep *s = &p->steps[p->nsteps++];
    *s = (sh_cstep){.put = SH_PUT_ROLE,
                    .type = (uint8_t)item->type,
                    .source = (uint8_t)role,
                    .at = p->places[i],
                    .item = item};
    if (role <= SH_ROLE_C) {
        s->index = (uint8_t)role;
        s->source = tensors[role];
        s->dtypes = sh__ctype_dtypes(item->type);
        s->flags = role == SH_ROLE_C ? SH_STEP_RESULT | SH_STEP_WRITES : 0;
    } else if (item->pointers) {
        s->flags = SH_STEP_BY_ADDRESS;
        s->address_at = s->at;
        s->at = (uint16_t)(SH_C_FRAME - 16 * (i + 1));
    }
}

/* Two tensors are a and b; three are what is added, a and b. */
static sh_status find_operands(sh_cprogram *p, uint8_t *tensors, uint32_t *used) {
    const sh_schema *schema = p->schema;
    uint8_t found[3];
    int n = 0, alpha = sh_schema_find(schema, "alpha"), beta = sh_schema_find(schema, "beta");
    for (uint32_t i = 0; i < schema->nparams; i++)
        if (schema->params[i].type == SH_TYPE_TENSOR && n++ < 3) found[n - 1] = (uint8_t)i;
    if (n < 2 || n > 3 || (n == 3 && beta < 0) || schema->nreturns != 1)
        return sh_fail(SH_ERROR_SIGNATURE,
                       "SH_C_GEMM is for ops with two matrices, or three and beta, not for %s", schema->text);
    p->added = n == 3 ? found[0] : SH_NO_SOURCE;
    p->alpha_arg = alpha >= 0 ? (uint8_t)alpha : SH_NO_SOURCE;
    p->beta_arg = n == 3 ? (uint8_t)beta : SH_NO_SOURCE;
    tensors[0] = found[n - 2];
    tensors[1] = found[n - 1];
    tensors[2] = 0;
    for (int i = 0; i < n; i++) *used |= 1u << found[i];
    return SH_OK;
}

sh_status sh__cprogram_gemm(sh_cprogram *p, uint32_t given) {
    int items[SH_ROLES];
    uint8_t tensors[3];
    uint32_t used = given;
    SH_TRY(find_roles(p->signature, items));
    SH_TRY(find_operands(p, tensors, &used));
    for (int role = 0; role < SH_ROLES; role++)
        if (items[role] >= 0) add_role(p, role, items[role], tensors);
    p->narrays = 3;
    p->by_rows = items[SH_ROLE_ORDER] >= 0;
    p->gives = p->signature->returns.type == SH_C_I32 ? SH_GIVES_STATUS : SH_GIVES_NOTHING;
    p->dim_arg = SH_NO_SOURCE;
    memset(p->alias, SH_NO_SOURCE, sizeof p->alias);
    if (p->alpha_arg != SH_NO_SOURCE && items[SH_ROLE_ALPHA] >= 0) used |= 1u << p->alpha_arg;
    if (p->beta_arg != SH_NO_SOURCE && items[SH_ROLE_BETA] >= 0) used |= 1u << p->beta_arg;
    if (p->added != SH_NO_SOURCE && items[SH_ROLE_BETA] < 0)
        return sh__cprogram_fail(p->signature, &p->signature->returns,
                                 "%s adds a tensor: gemm needs a parameter beta", p->schema->name);
    for (uint32_t i = 0; i < p->schema->nparams; i++)
        if (!(used >> i & 1)) p->idle_args |= 1u << i;
    return SH_OK;
}

/* ---- running ---- */

typedef struct matrix {
    sh_tensor *t; /* of two dimensions or more */
    int64_t rows, columns, ld;
    bool turned;
    int64_t steps[SH_MAX_DIMS]; /* of the batch, in bytes */
} matrix;

typedef struct product {
    matrix m[3];
    int nbatch;
    int64_t batch[SH_MAX_DIMS];
    double alpha, beta;
} product;

static int64_t at_least_1(int64_t n) { return n < 1 ? 1 : n; }

/* Can BLAS read it? Else it is copied. */
static bool lies_well(matrix *x, bool may_turn) {
    const int n = x->t->ndim;
    const int64_t row = x->t->strides[n - 2], column = x->t->strides[n - 1];
    x->rows = x->t->sizes[n - 2];
    x->columns = x->t->sizes[n - 1];
    if ((column == 1 || x->columns <= 1) && (row >= at_least_1(x->columns) || x->rows <= 1)) {
        x->ld = x->rows <= 1 ? at_least_1(x->columns) : row;
        x->turned = false;
        return true;
    }
    if (!may_turn || !(row == 1 || x->rows <= 1) || !(column >= at_least_1(x->rows) || x->columns <= 1))
        return false;
    x->ld = x->columns <= 1 ? at_least_1(x->rows) : column;
    x->turned = true;
    return true;
}

/* A vector becomes a matrix by a dimension of size 1 at place `at` from the end. */
static sh_status as_matrix(sh_tensor **t, int from_end) {
    const sh_tensor *given = *t;
    int64_t sizes[SH_MAX_DIMS + 1], strides[SH_MAX_DIMS + 1];
    const int at = given->ndim - from_end;
    for (int d = 0; d <= given->ndim; d++) {
        sizes[d] = d == at ? 1 : given->sizes[d - (d > at)];
        strides[d] = d == at ? 1 : given->strides[d - (d > at)];
    }
    if (given->ndim == SH_MAX_DIMS || at < 0)
        return sh_fail(SH_ERROR_SHAPE, "a matrix product of too few or too many dimensions");
    *t = sh__step_view(given, given->ndim + 1, sizes, strides);
    return *t ? SH_OK : SH_ERROR_MEMORY;
}

static sh_status take(sh_crun *r, product *p, int i, int missing_at) {
    const sh_cstep *s = &r->program->steps[i];
    matrix *x = &p->m[i];
    SH_TRY(sh__step_tensor(r, s, &x->t));
    SH_TRY(sh__step_fit(r, s, &x->t, 0));
    if (missing_at >= 0) SH_TRY(as_matrix(&x->t, missing_at));
    if (x->t->ndim < 2)
        return sh_fail(SH_ERROR_SHAPE, "%s: %s of gemm has no two dimensions", r->call->op->name,
                       roles[i].name);
    if (!lies_well(x, i != SH_ROLE_C)) {
        if (r->back >> i & 1)
            return sh_fail(SH_ERROR_UNSUPPORTED, "%s: a result that lies in no order", r->call->op->name);
        SH_TRY(sh__step_fit(r, s, &x->t, SH_MAX_DIMS));
        lies_well(x, false);
    }
    r->passed[i] = x->t;
    return SH_OK;
}

static sh_status take_all(sh_crun *r, product *p) {
    sh_tensor *a, *b;
    SH_TRY(sh__step_tensor(r, &r->program->steps[0], &a));
    SH_TRY(sh__step_tensor(r, &r->program->steps[1], &b));
    const bool row = a->ndim == 1, column = b->ndim == 1;
    SH_TRY(take(r, p, SH_ROLE_A, row ? 1 : -1));
    SH_TRY(take(r, p, SH_ROLE_B, column ? 0 : -1));
    sh_value *result = &r->call->results[0];
    if (result->tag != SH_TAG_TENSOR)
        return sh_fail(SH_ERROR_RESULT, "%s: SH_C_GEMM needs an op with an infer function",
                       r->call->op->name);
    const sh_value given = *result;
    sh_tensor *c = result->as.tensor;
    if (row) SH_TRY(as_matrix(&c, column ? 0 : 1));
    if (column) SH_TRY(as_matrix(&c, 0));
    *result = sh_value_tensor(c);
    const sh_status status = take(r, p, SH_ROLE_C, -1);
    *result = given;
    return status;
}

static sh_status check(const sh_crun *r, product *p) {
    const matrix *a = &p->m[0], *b = &p->m[1], *c = &p->m[2];
    if (a->columns != b->rows || c->rows != a->rows || c->columns != b->columns)
        return sh_fail(SH_ERROR_SHAPE, "%s: [%lld, %lld] times [%lld, %lld] is not [%lld, %lld]",
                       r->call->op->name, (long long)a->rows, (long long)a->columns, (long long)b->rows,
                       (long long)b->columns, (long long)c->rows, (long long)c->columns);
    p->nbatch = c->t->ndim - 2;
    memcpy(p->batch, c->t->sizes, sizeof p->batch);
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < p->nbatch; d++) {
            const sh_tensor *t = p->m[i].t;
            const int from = d - (p->nbatch - (t->ndim - 2));
            p->m[i].steps[d] = from < 0 || t->sizes[from] == 1 ? 0 : t->strides[from] * (int64_t)t->element;
        }
    return SH_OK;
}

/* ---- what is added ---- */

static sh_status put_added(sh_crun *r, const product *p) {
    const uint8_t arg = r->program->added;
    if (arg == SH_NO_SOURCE || p->beta == 0) return SH_OK;
    sh_tensor *to = (sh_tensor *)(uintptr_t)r->passed[SH_ROLE_C], *from = r->call->args[arg].as.tensor;
    int64_t strides[SH_MAX_DIMS] = {0};
    if (!from)
        return sh_fail(SH_ERROR_NULL, "%s: argument %s is None", r->call->op->name,
                       r->program->schema->params[arg].name);
    if (from->data == to->data && from->ndim == to->ndim &&
        !memcmp(from->strides, to->strides, (size_t)to->ndim * sizeof *to->strides))
        return SH_OK;
    for (int d = 0; d < from->ndim; d++)
        strides[to->ndim - from->ndim + d] = from->sizes[d] == 1 ? 0 : from->strides[d];
    from = sh__step_view(from, to->ndim, to->sizes, strides);
    return from ? sh__copy_elements(to, from) : SH_ERROR_MEMORY;
}

static double number_arg(const sh_crun *r, uint8_t arg, double otherwise) {
    return arg == SH_NO_SOURCE ? otherwise : sh_value_as_double(r->call->args[arg]);
}

/* ---- the frame ---- */

/* What a role is of the call as BLAS sees it: x and y are its a and b. */
static sh_status put_role(sh_crun *r, const sh_cstep *s, const product *p, const matrix *x, const matrix *y) {
    const bool rows = r->program->by_rows, letter = s->type == SH_C_CHAR;
    const matrix *c = &p->m[SH_ROLE_C];
    switch ((sh_role)s->source) {
    case SH_ROLE_ORDER: return sh__step_put_int(r, s, 101);
    case SH_ROLE_TRANSA: return sh__step_put_int(r, s, letter ? (x->turned ? 'T' : 'N') : 111 + x->turned);
    case SH_ROLE_TRANSB: return sh__step_put_int(r, s, letter ? (y->turned ? 'T' : 'N') : 111 + y->turned);
    case SH_ROLE_M: return sh__step_put_int(r, s, rows ? c->rows : c->columns);
    case SH_ROLE_N: return sh__step_put_int(r, s, rows ? c->columns : c->rows);
    case SH_ROLE_K: return sh__step_put_int(r, s, p->m[SH_ROLE_A].columns);
    case SH_ROLE_ALPHA: return sh__step_put(r, s, sh_value_float(p->alpha));
    case SH_ROLE_BETA: return sh__step_put(r, s, sh_value_float(p->beta));
    case SH_ROLE_LDA: return sh__step_put_int(r, s, x->ld);
    case SH_ROLE_LDB: return sh__step_put_int(r, s, y->ld);
    case SH_ROLE_LDC: return sh__step_put_int(r, s, c->ld);
    default: return SH_OK;
    }
}

static sh_status each_product(sh_crun *r, const product *p) {
    const bool rows = r->program->by_rows;
    const sh_cstep *steps = r->program->steps;
    int64_t index[SH_MAX_DIMS] = {0};
    int d;
    do {
        _Alignas(16) unsigned char value[16];
        const char *at[3];
        for (int i = 0; i < 3; i++) {
            at[i] = p->m[i].t->data;
            for (int k = 0; k < p->nbatch; k++) at[i] += index[k] * p->m[i].steps[k];
        }
        sh__step_address(r, &steps[SH_ROLE_A], at[rows ? 0 : 1]);
        sh__step_address(r, &steps[SH_ROLE_B], at[rows ? 1 : 0]);
        sh__step_address(r, &steps[SH_ROLE_C], at[2]);
        SH_TRY(sh__crun_call(r, value));
        for (d = p->nbatch; d-- > 0 && ++index[d] == p->batch[d];) index[d] = 0;
    } while (d >= 0);
    return SH_OK;
}

sh_status sh__crun_gemm(sh_crun *r) {
    const sh_cprogram *program = r->program;
    product p;
    SH_TRY(take_all(r, &p));
    SH_TRY(check(r, &p));
    p.alpha = number_arg(r, program->alpha_arg, 1);
    p.beta = number_arg(r, program->beta_arg, 0);
    SH_TRY(put_added(r, &p));
    const matrix *x = &p.m[program->by_rows ? SH_ROLE_A : SH_ROLE_B],
                 *y = &p.m[program->by_rows ? SH_ROLE_B : SH_ROLE_A];
    for (uint32_t i = program->narrays; i < program->nsteps; i++)
        SH_TRY(put_role(r, &program->steps[i], &p, x, y));
    return p.m[SH_ROLE_C].t->numel ? each_product(r, &p) : SH_OK;
}
