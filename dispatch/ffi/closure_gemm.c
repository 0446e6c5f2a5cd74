/* closure_gemm.c - a closure that is called as BLAS's gemm is. Matrices become views of two dimensions, transposed by their
 * strides, so that the op sees a times b whatever the order in memory. */
#include "dispatch/ffi/closure.h"

typedef struct blas_call {
    const sh_cstep *steps[SH_ROLES];
    sh_value numbers[SH_ROLES];
    bool by_rows, turned[2];
} blas_call;

static sh_status bad(const sh_ccall *c, sh_role role, const blas_call *b) {
    const sh_citem *item = b->steps[role]->item;
    char shown[48];
    sh_value_print(b->numbers[role], shown, sizeof shown);
    return sh_fail(SH_ERROR_VALUE, "%s: gemm was called with %.*s = %s", c->closure->op->name,
                   (int)item->name.n, item->name.at, shown);
}

static sh_status read_turned(const sh_ccall *c, const blas_call *b, sh_role role, bool *turned) {
    const int64_t v = sh_value_as_int(b->numbers[role]), letter = v & ~32;
    *turned = v == 112 || v == 113 || (v >= 'A' && (letter == 'T' || letter == 'C'));
    return *turned || v == 111 || letter == 'N' ? SH_OK : bad(c, role, b);
}

static sh_status read_all(sh_ccall *c, blas_call *b) {
    const sh_cprogram *p = c->closure->program;
    memset(b, 0, sizeof *b);
    for (uint32_t i = 0; i < p->nsteps; i++) {
        const sh_cstep *s = &p->steps[i];
        const int role = i < 3 ? (int)i : s->source;
        b->steps[role] = s;
        if (role > SH_ROLE_C) b->numbers[role] = sh__closure_number(c, s);
    }
    if (sh__error_pending()) return sh_error()->code;
    const int64_t order = b->steps[SH_ROLE_ORDER] ? sh_value_as_int(b->numbers[SH_ROLE_ORDER]) : 102;
    if (order != 101 && order != 102) return bad(c, SH_ROLE_ORDER, b);
    b->by_rows = order == 101;
    for (int role = SH_ROLE_M; role <= SH_ROLE_K; role++)
        if (sh_value_as_int(b->numbers[role]) < 0) return bad(c, (sh_role)role, b);
    SH_TRY(read_turned(c, b, SH_ROLE_TRANSA, &b->turned[0]));
    return read_turned(c, b, SH_ROLE_TRANSB, &b->turned[1]);
}

static int64_t number(const blas_call *b, sh_role role) { return sh_value_as_int(b->numbers[role]); }

static sh_tensor *view(const sh_ccall *c, const blas_call *b, sh_role matrix, sh_role rows, sh_role columns) {
    const sh_role ld_role = (sh_role)(SH_ROLE_LDA + matrix);
    const sh_cstep *s = b->steps[matrix];
    const bool turned = matrix < SH_ROLE_C && b->turned[matrix], lines_are_rows = b->by_rows != turned;
    const int64_t sizes[2] = {number(b, rows), number(b, columns)}, ld = number(b, ld_role);
    const int64_t strides[2] = {lines_are_rows ? ld : 1, lines_are_rows ? 1 : ld};
    const int64_t line = lines_are_rows ? sizes[1] : sizes[0];
    void *data;
    if (ld < (line < 1 ? 1 : line)) {
        bad(c, ld_role, b);
        return NULL;
    }
    memcpy(&data, c->at[s->item - c->closure->signature->items], sizeof data);
    return sh__closure_view(c, s, data, sh__ctype_dtype((sh_ctype)s->type), 2, sizes, strides);
}

/* alpha and beta where the op has arguments for them; where it has none they must be 1 and 0. */
static sh_status put_factor(sh_ccall *c, const blas_call *b, sh_role role, uint8_t arg, double otherwise) {
    if (!b->steps[role]) return SH_OK;
    const double value = sh_value_as_double(b->numbers[role]);
    if (arg == SH_NO_SOURCE) return value == otherwise ? SH_OK : bad(c, role, b);
    c->args[arg] = sh_value_float(value);
    return SH_OK;
}

sh_status sh__closure_gemm(sh_ccall *c) {
    const sh_cprogram *p = c->closure->program;
    blas_call b;
    SH_TRY(read_all(c, &b));
    sh_tensor *x = view(c, &b, SH_ROLE_A, SH_ROLE_M, SH_ROLE_K),
              *y = view(c, &b, SH_ROLE_B, SH_ROLE_K, SH_ROLE_N);
    sh_tensor *to = view(c, &b, SH_ROLE_C, SH_ROLE_M, SH_ROLE_N);
    if (!x || !y || !to) return sh_error()->code;
    SH_TRY(put_factor(c, &b, SH_ROLE_ALPHA, p->alpha_arg, 1));
    SH_TRY(put_factor(c, &b, SH_ROLE_BETA, p->beta_arg, 0));
    c->args[p->steps[SH_ROLE_A].source] = sh_value_tensor(x);
    c->args[p->steps[SH_ROLE_B].source] = sh_value_tensor(y);
    const uint32_t tags = c->closure->op->tags;
    if (p->added != SH_NO_SOURCE) c->args[p->added] = sh_value_tensor(to);
    const bool in_place = p->added == 0 && (tags & SH_OP_INPLACE);
    SH_TRY(sh__closure_call(c, in_place || (p->added == SH_NO_SOURCE && (tags & SH_OP_OUT)) ? to : NULL));
    sh_tensor *result = sh_value_as_tensor(c->results[0]);
    if (result == to) return SH_OK;
    if (result && result->dtype == to->dtype && result->ndim == 2 &&
        !memcmp(result->sizes, to->sizes, 2 * sizeof *to->sizes))
        return sh__copy_elements(to, result);
    return sh_fail(SH_ERROR_RESULT, "%s: the result does not fit c of gemm", c->closure->op->name);
}
