/* cost.c - what BLAS and LAPACK calls cost, for the profile mode.
 *
 * Source: LAPACK working note 41, appendix C, which counts multiplications and additions apart: a complex multiplication is
 * 6 operations (four multiplications, two additions), a complex addition 2. It leaves alpha and beta of level 3 out.
 * What is iterative has no exact count there: SVD and eigenvalues are estimates, Golub and Van Loan, Matrix Computations
 * (4th edition, tables 5.5.1 and 8.6.1, sections 7.5.6 and 8.3.3), half of them multiplications. */
#include <string.h>

#include "dispatch/call.h"
#include "interpose/lapack.h"

typedef struct count {
    double multiplications, additions;
} count;

static bool is_complex(const sh_tensor *t) {
    const sh_dtype dtype = t ? sh_tensor_dtype(t) : SH_NO_DTYPE;
    return dtype == SH_C64 || dtype == SH_C128;
}

static double operations(count c, bool complex) {
    return complex ? 6 * c.multiplications + 2 * c.additions : c.multiplications + c.additions;
}

static count both(double n) { return (count){n, n}; }
static count estimate(double flops) { return both(flops / 2); }
static count add(count a, count b) {
    return (count){a.multiplications + b.multiplications, a.additions + b.additions};
}

/* ---- BLAS ---- by its lengths */

typedef struct lengths {
    double m, n, k, s, kl, ku, written; /* what gemv and gbmv write */
} lengths;

static count dot(lengths l) { return both(l.n); }
static count nrm2(lengths l) { return both(l.n); }
static count asum(lengths l) { return (count){0, l.n}; }
static count axpby(lengths l) { return (count){2 * l.n, l.n}; }
static count scal(lengths l) { return (count){l.n, 0}; }
static count rot(lengths l) { return (count){4 * l.n, 2 * l.n}; }
static count gemv(lengths l) { return (count){l.m * l.n + 2 * l.written, l.m * l.n}; }
static count symv(lengths l) { return (count){l.n * l.n + 2 * l.n, l.n * l.n}; }
static count trmv(lengths l) { return (count){l.n * (l.n + 1) / 2, l.n * (l.n - 1) / 2}; }
static count ger(lengths l) { return (count){l.m * l.n + l.m, l.m * l.n}; }
static count syr(lengths l) { return (count){l.n * (l.n + 1) / 2 + l.n, l.n * (l.n + 1) / 2}; }
static count syr2(lengths l) { return (count){l.n * (l.n + 1) + 2 * l.n, l.n * (l.n + 1)}; }
static count gemm(lengths l) { return both(l.m * l.n * l.k); }
static count symm(lengths l) { return both(l.s * l.m * l.n); }
static count syrk(lengths l) { return both(l.k * l.n * (l.n + 1) / 2); }
static count syr2k(lengths l) { return (count){l.k * l.n * l.n, l.k * l.n * l.n + l.n}; }
static count trmm(lengths l) {
    const double product = l.m * l.n;
    return (count){product * (l.s + 1) / 2, product * (l.s - 1) / 2};
}

/* Elements of a band of kl diagonals below the main one and ku above, clipped at the corners. */
static double band(double m, double n, double kl, double ku) {
    double elements = 0;
    for (double j = 0; j < n; j++) {
        const double first = j > ku ? j - ku : 0, end = j + kl + 1 < m ? j + kl + 1 : m;
        if (end > first) elements += end - first;
    }
    return elements;
}
static count gbmv(lengths l) {
    const double elements = band(l.m, l.n, l.kl, l.ku);
    return (count){elements + 2 * l.written, elements};
}
static count sbmv(lengths l) {
    const double elements = band(l.n, l.n, l.k, l.k);
    return (count){elements + 2 * l.n, elements};
}
static count tbmv(lengths l) {
    const double elements = band(l.n, l.n, 0, l.k);
    return (count){elements, elements - l.n};
}

/* Routines not here move numbers or compare them, or cost the same whatever their size. */
static const struct {
    const char *op;
    count (*of)(lengths l);
} blas_counts[] = {
    {"dot", dot},   {"dotu", dot},  {"dotc", dot},    {"dsdot", dot},   {"sdsdot", dot}, {"nrm2", nrm2},
    {"asum", asum}, {"axpy", dot},  {"axpby", axpby}, {"scal", scal},   {"rot", rot},    {"rotm", rot},
    {"gemv", gemv}, {"gbmv", gbmv}, {"symv", symv},   {"hemv", symv},   {"sbmv", sbmv},  {"hbmv", sbmv},
    {"spmv", symv}, {"hpmv", symv}, {"trmv", trmv},   {"trsv", trmv},   {"tbmv", tbmv},  {"tbsv", tbmv},
    {"tpmv", trmv}, {"tpsv", trmv}, {"ger", ger},     {"geru", ger},    {"gerc", ger},   {"syr", syr},
    {"her", syr},   {"spr", syr},   {"hpr", syr},     {"syr2", syr2},   {"her2", syr2},  {"spr2", syr2},
    {"hpr2", syr2}, {"gemm", gemm}, {"gemm3m", gemm}, {"gemmt", syrk},  {"symm", symm},  {"hemm", symm},
    {"syrk", syrk}, {"herk", syrk}, {"syr2k", syr2k}, {"her2k", syr2k}, {"trmm", trmm},  {"trsm", trmm},
};

/* gemv says only how its matrix is after the transposition. */
static lengths lengths_of(const int64_t *dims) {
    const int m = dims[WR_DIM_m] >= 0 ? WR_DIM_m : WR_DIM_r, n = dims[WR_DIM_n] >= 0 ? WR_DIM_n : WR_DIM_c;
    return (lengths){.m = (double)dims[m],
                     .n = (double)dims[n],
                     .k = (double)dims[WR_DIM_k],
                     .s = (double)dims[WR_DIM_s],
                     .kl = (double)dims[WR_DIM_kl],
                     .ku = (double)dims[WR_DIM_ku],
                     .written = (double)dims[WR_DIM_r]};
}

static const sh_tensor *first_tensor(const sh_call *call) {
    for (uint32_t i = 0; i < sh_call_nargs(call); i++)
        if (sh_call_tensor(call, i)) return sh_call_tensor(call, i);
    return NULL;
}

void wr_blas_cost(const sh_call *call, double *flops, double *bytes, void *routine) {
    const char *name = strchr(((const wr_routine *)routine)->op, ':') + 2;
    sh_value args[SH_MAX_ARGS];
    int64_t dims[WR_DIM_COUNT];
    *flops = *bytes = 0; /* bytes: those of the tensors */
    for (uint32_t i = 0; i < sh_call_nargs(call); i++) args[i] = sh_call_arg(call, i);
    if (wr_dims(routine, args, dims) < 0) return;
    for (size_t i = 0; i < sizeof blas_counts / sizeof *blas_counts; i++)
        if (strcmp(blas_counts[i].op, name) == 0)
            *flops = operations(blas_counts[i].of(lengths_of(dims)), is_complex(first_tensor(call)));
}

/* ---- LAPACK ---- by its call */

static double size(const sh_call *call, uint32_t argument, int dimension) {
    const sh_tensor *t = sh_call_tensor(call, argument);
    return t ? (double)sh_tensor_sizes(t)[dimension] : 0;
}
static double rows(const sh_call *call) { return size(call, 0, 0); }
static double columns(const sh_call *call) { return size(call, 0, 1); }

static count factor(double m, double n) {
    const double big = m < n ? n : m, small = m < n ? m : n, square = small * small * (big - small / 3) / 2;
    return (count){square + small * (big - small) / 2 + small * 2 / 3, square - small * big / 2 + small / 6};
}
static count getrf(const sh_call *call) { return factor(rows(call), columns(call)); }
static count gesv(const sh_call *call) {
    const double n = rows(call), right = size(call, 1, 1);
    return add(factor(n, n), (count){right * n * n, right * n * (n - 1)});
}
static count getri(const sh_call *call) {
    const double n = rows(call), cube = n * n * n * 2 / 3;
    return (count){cube + n * n / 2 + n * 5 / 6, cube - n * n * 3 / 2 + n * 5 / 6};
}
static count potrf(const sh_call *call) {
    const double n = rows(call), cube = n * n * n / 6;
    return (count){cube + n * n / 2 + n / 3, cube - n / 6};
}
static count geqrf(const sh_call *call) {
    const double m = rows(call), n = columns(call), small = m > n ? n : m, big = m > n ? m : n;
    const double same = small * small * (big - small / 3) + (m > n ? 1 : -1) * small * small / 2;
    return (count){same + (m > n ? m * n : 2 * m * n) + small * 23 / 6,
                   same + (m > n ? 0 : m * n) + small * 5 / 6};
}
static count orgqr(const sh_call *call) {
    const double m = rows(call), n = columns(call), k = size(call, 1, 0);
    const double same = 2 * m * n * k - (m + n) * k * k + k * k * k * 2 / 3;
    return (count){same + 2 * n * k - k * k - k * 5 / 3, same + (n - m) * k + k / 3};
}

static bool gives(const sh_call *call, uint32_t result) {
    const sh_tensor *t = sh_value_as_tensor(sh_call_result(call, result));
    return t && sh_tensor_numel(t) > 0;
}

/* Golub-Reinsch with the thin U, or the singular values alone. */
static count svd(const sh_call *call) {
    const double r = rows(call), c = columns(call), m = r > c ? r : c, n = r > c ? c : r;
    if (!gives(call, 1) && !gives(call, 2)) return estimate(4 * m * n * n - n * n * n * 4 / 3);
    return estimate(14 * m * n * n + 8 * n * n * n);
}
static count symmetric_eigen(const sh_call *call) {
    const double n = rows(call);
    return estimate(gives(call, 1) ? 9 * n * n * n : n * n * n * 4 / 3);
}
/* Vectors need the whole Schur form. */
static count geev(const sh_call *call) {
    const double n = rows(call);
    return estimate(gives(call, 2) || sh_call_tensor(call, 1) ? 25 * n * n * n : 10 * n * n * n);
}
static count gelsd(const sh_call *call) {
    const double r = rows(call), c = columns(call), m = r > c ? r : c, n = r > c ? c : r;
    return estimate(4 * m * n * n + 8 * n * n * n);
}

static const struct {
    const char *op;
    count (*of)(const sh_call *call);
} lapack_counts[] = {
    {"lapack::gesv", gesv},
    {"lapack::getrf", getrf},
    {"lapack::getri", getri},
    {"lapack::potrf", potrf},
    {"lapack::geqrf", geqrf},
    {"lapack::orgqr", orgqr},
    {"lapack::ungqr", orgqr},
    {"lapack::gesdd", svd},
    {"lapack::gesvd", svd},
    {"lapack::syevd", symmetric_eigen},
    {"lapack::heevd", symmetric_eigen},
    {"lapack::geev", geev},
    {"lapack::gelsd", gelsd},
};

void sh__lapack_cost(const sh_call *call, double *flops, double *bytes, void *user) {
    (void)user;
    *flops = *bytes = 0;
    for (size_t i = 0; i < sizeof lapack_counts / sizeof *lapack_counts; i++)
        if (strcmp(lapack_counts[i].op, sh_op_name(sh_call_op_of(call))) == 0)
            *flops = operations(lapack_counts[i].of(call), is_complex(sh_call_tensor(call, 0)));
}
