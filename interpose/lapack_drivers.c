/* lapack_drivers.c - where the tensors of each LAPACK driver lie. Arguments are counted from 0, in the order of LAPACK's
 * documentation. Workspace is never shown. */
#include "interpose/lapack.h"

#include "dispatch/tensor.h"

/* ---- reading a Fortran call ---- */

static int64_t integer(const sh_lapack *f, int at) {
    return f->integer == SH_I64 ? *(const int64_t *)f->args[at] : *(const int32_t *)f->args[at];
}
static char flag(const sh_lapack *f, int at) { return (char)(*(const char *)f->args[at] & ~0x20); }
static bool is_complex(const sh_lapack *f) { return f->dtype != f->real; }

/* -1 asks how much workspace there should be. */
static void workspace(sh_lapack *f, int at) { f->straight |= integer(f, at) == -1; }

static sh_tensor *view(sh_lapack *f, int at, sh_dtype dtype, sh_ints sizes, sh_ints strides) {
    const bool empty = sizes.at[0] == 0 || sizes.at[sizes.n - 1] == 0;
    sh_tensor *t = f->straight ? NULL
                   : empty     ? sh_tensor_new(dtype, sizes)
                               : sh_from_data(f->args[at], dtype, sizes, strides, NULL, NULL);
    f->straight |= t == NULL;
    return t;
}

/* Column-major, its leading dimension behind it or at `ld`. */
static sh_tensor *matrix(sh_lapack *f, int at, int64_t rows, int64_t columns, int ld) {
    const int64_t step = f->straight ? 0 : integer(f, ld);
    f->straight |= rows < 0 || columns < 0 || step < (rows > 1 ? rows : 1);
    return view(f, at, f->dtype, SH_SIZES(rows, columns), SH_SIZES(1, step));
}

static sh_tensor *vector(sh_lapack *f, int at, int64_t n, sh_dtype dtype) {
    f->straight |= n < 0;
    return view(f, at, dtype, SH_SIZES(n), SH_SIZES(1));
}

static sh_tensor *none(sh_lapack *f) { return view(f, 0, f->dtype, SH_SIZES(0, 0), SH_SIZES(1, 1)); }

/* The triangle that `uplo` names. */
static sh_tensor *triangle(sh_lapack *f, int at, int64_t n, int ld, int uplo) {
    sh_tensor *t = matrix(f, at, n, n, ld);
    if (t && n)
        f->straight |= sh_tensor_set_part(t, flag(f, uplo) == 'U' ? SH_PART_UPPER : SH_PART_LOWER) < 0;
    return t;
}

static void value(sh_lapack *f, sh_value v) { f->inputs[f->ninputs++] = v; }
static void input(sh_lapack *f, sh_tensor *t) { value(f, sh_value_tensor(t)); }
static void option(sh_lapack *f, int at) {
    char *text = f->texts[f->ninputs];
    text[0] = flag(f, at);
    text[1] = 0;
    value(f, sh_value_string(text));
}
static void result(sh_lapack *f, sh_tensor *t) { f->results[f->nresults++] = sh_value_tensor(t); }
static void number(sh_lapack *f, int at) {
    f->numbers[f->nresults] = at;
    f->results[f->nresults++] = sh_none();
}
/* Up to two; NULL stands for none. */
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- the drivers ---- arguments are counted from 0, as in LAPACK's documentation of each */

void sh__lay_gesv(sh_lapack *f) {
    const int64_t n = integer(f, 0), nrhs = integer(f, 1);
    sh_tensor *a = matrix(f, 2, n, n, 3), *b = matrix(f, 5, n, nrhs, 6);
    input(f, a);
    input(f, b);
    result(f, a);
    result(f, b);
    result(f, vector(f, 4, n, f->integer));
    number(f, 7);
}

void sh__lay_getrf(sh_lapack *f) {
    const int64_t m = integer(f, 0), n = integer(f, 1);
    sh_tensor *a = matrix(f, 2, m, n, 3);
    input(f, a);
    result(f, a);
    result(f, vector(f, 4, smaller(m, n), f->integer));
    number(f, 5);
}

void sh__lay_getri(sh_lapack *f) {
    const int64_t n = integer(f, 0);
    workspace(f, 5);
    sh_tensor *a = matrix(f, 1, n, n, 2);
    input(f, a);
    input(f, vector(f, 3, n, f->integer));
    result(f, a);
    number(f, 6);
}

void sh__lay_potrf(sh_lapack *f) {
    sh_tensor *a = triangle(f, 2, integer(f, 1), 3, 0);
    input(f, a);
    result(f, a);
    number(f, 4);
}

void sh__lay_geqrf(sh_lapack *f) {
    const int64_t m = integer(f, 0), n = integer(f, 1);
    workspace(f, 6);
    sh_tensor *a = matrix(f, 2, m, n, 3);
    input(f, a);
    result(f, a);
    result(f, vector(f, 4, smaller(m, n), f->dtype));
    number(f, 7);
}

void sh__lay_orgqr(sh_lapack *f) {
    const int64_t m = integer(f, 0), n = integer(f, 1), k = integer(f, 2);
    workspace(f, 7);
    f->straight |= n > m || k > n;
    sh_tensor *a = matrix(f, 3, m, n, 4);
    input(f, a);
    input(f, vector(f, 5, k, f->dtype));
    result(f, a);
    number(f, 8);
}
void sh__lay_ungqr(sh_lapack *f) { sh__lay_orgqr(f); }

/* Where the left and right singular vectors go: U or VT, over A, or nowhere. */
static sh_tensor *left_vectors(sh_lapack *f, char job, int64_t m, int64_t n, int a, int u) {
    if (job == 'A') return matrix(f, u, m, m, u + 1);
    if (job == 'S') return matrix(f, u, m, smaller(m, n), u + 1);
    return job == 'O' ? matrix(f, a, m, smaller(m, n), a + 1) : none(f);
}
static sh_tensor *right_vectors(sh_lapack *f, char job, int64_t m, int64_t n, int a, int vt) {
    if (job == 'A') return matrix(f, vt, n, n, vt + 1);
    if (job == 'S') return matrix(f, vt, smaller(m, n), n, vt + 1);
    return job == 'O' ? matrix(f, a, smaller(m, n), n, a + 1) : none(f);
}

void sh__lay_gesdd(sh_lapack *f) {
    const int64_t m = integer(f, 1), n = integer(f, 2);
    const char job = flag(f, 0);
    workspace(f, 11);
    input(f, matrix(f, 3, m, n, 4));
    option(f, 0);
    result(f, vector(f, 5, smaller(m, n), f->real));
    result(f, left_vectors(f, job == 'O' && m < n ? 'A' : job, m, n, 3, 6));
    result(f, right_vectors(f, job == 'O' && m >= n ? 'A' : job, m, n, 3, 8));
    number(f, is_complex(f) ? 14 : 13);
}

void sh__lay_gesvd(sh_lapack *f) {
    const int64_t m = integer(f, 2), n = integer(f, 3);
    workspace(f, 12);
    input(f, matrix(f, 4, m, n, 5));
    option(f, 0);
    option(f, 1);
    result(f, vector(f, 6, smaller(m, n), f->real));
    result(f, left_vectors(f, flag(f, 0), m, n, 4, 7));
    result(f, right_vectors(f, flag(f, 1), m, n, 4, 9));
    number(f, is_complex(f) ? 14 : 13);
}

static void lay_eigen(sh_lapack *f, int info) {
    const int64_t n = integer(f, 2);
    input(f, triangle(f, 3, n, 4, 1));
    result(f, vector(f, 5, n, f->real));
    result(f, flag(f, 0) == 'V' ? matrix(f, 3, n, n, 4) : none(f));
    number(f, info);
}
void sh__lay_syevd(sh_lapack *f) {
    workspace(f, 7);
    workspace(f, 9);
    lay_eigen(f, 10);
}
void sh__lay_heevd(sh_lapack *f) {
    workspace(f, 7);
    workspace(f, 9);
    workspace(f, 11);
    lay_eigen(f, 12);
}

void sh__lay_geev(sh_lapack *f) {
    const int64_t n = integer(f, 2);
    const int vl = is_complex(f) ? 6 : 7;
    workspace(f, vl + 5);
    input(f, matrix(f, 3, n, n, 4));
    value(f, flag(f, 0) == 'V' ? sh_value_tensor(matrix(f, vl, n, n, vl + 1)) : sh_none());
    result(f, vector(f, 5, n, f->dtype));
    result(f, is_complex(f) ? none(f) : vector(f, 6, n, f->dtype));
    result(f, flag(f, 1) == 'V' ? matrix(f, vl + 2, n, n, vl + 3) : none(f));
    number(f, 13);
}

void sh__lay_gelsd(sh_lapack *f) {
    const int64_t m = integer(f, 0), n = integer(f, 1), nrhs = integer(f, 2);
    workspace(f, 11);
    f->straight |= integer(f, 6) < m || integer(f, 6) < n;
    input(f, matrix(f, 3, m, n, 4));
    input(f, matrix(f, 5, m, nrhs, 6));
    value(f, sh_value_float(f->real == SH_F32 ? *(const float *)f->args[8] : *(const double *)f->args[8]));
    result(f, matrix(f, 5, n, nrhs, 6));
    result(f, vector(f, 7, smaller(m, n), f->real));
    number(f, 9);
    number(f, is_complex(f) ? 14 : 13);
}
