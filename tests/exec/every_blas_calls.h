/* every_blas_calls.h - the calls of every_blas.c for one type. P is its letter, T its elements, R their real type, SINGLE its width;
 * OF_REAL and BY_REAL the letters of routines with a real result or a real factor. */
#define JOIN3_(a, b, c) a##b##c
#define JOIN3(a, b, c) JOIN3_(a, b, c)
#define OWN(name) JOIN3(P, _, name)             /* s_vector */
#define F(name) JOIN3(P, name, _)               /* sgemm_ */
#define C(name) JOIN3(cblas_, P, name)          /* cblas_sgemm */
#define F_OF_REAL(name) JOIN3(OF_REAL, name, _) /* scnrm2_ */
#define C_OF_REAL(name) JOIN3(cblas_, OF_REAL, name)
#define F_BY_REAL(name) JOIN3(BY_REAL, name, _) /* csscal_ */
#define C_BY_REAL(name) JOIN3(cblas_, BY_REAL, name)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#ifdef COMPLEX
#define S(x) &x /* how CBLAS takes a number */
#else
#define S(x) x
#endif

/* Calls begin with a name and end with what it left. */
#define CALL(name, ...)      \
    if (begin(TEXT(name))) { \
        __VA_ARGS__;         \
        tell(TEXT(name), 0); \
    }

/* ---- memory ---- */

static T OWN(number)(void) {
    double re = next(), im = next();
    if (plants) re = __builtin_nan("");
    plants = false;
    (void)im;
#ifdef COMPLEX
    return (T)CMPLX(re, im);
#else
    return (T)re;
#endif
}

static T *OWN(vector)(int n, int inc) {
    const int step = inc < 0 ? -inc : inc;
    T *x = block(n ? 1 + (size_t)(n - 1) * step : 0, sizeof *x, SINGLE);
    for (int i = 0; i < n; i++) x[i * step] = OWN(number)();
    return x;
}

/* One that is written only. */
static T *OWN(room)(int n, int inc) {
    return block(1 + (size_t)n * (inc < 0 ? -inc : inc), sizeof(T), SINGLE);
}

/* `part`: A all, U or L a triangle, 0 nothing of it is read. */
static T *OWN(matrix)(bool row, int rows, int cols, int *ld, char part, char diag) {
    const int major = row ? rows : cols, minor = row ? cols : rows;
    *ld = minor + 2;
    T *a = block((size_t)*ld * major, sizeof *a, SINGLE);
    for (int j = 0; j < major; j++)
        for (int i = 0; i < minor && part != '0'; i++) {
            const int r = row ? j : i, c = row ? i : j;
            if ((part == 'U' && r > c) || (part == 'L' && r < c) || (r == c && diag == 'U')) continue;
            a[j * *ld + i] = OWN(number)() + (r == c && part != 'A' ? (T)rows : 0);
        }
    return a;
}

static T *OWN(band)(bool row, int rows, int cols, int kl, int ku, int *ld, char diag) {
    const int major = row ? rows : cols;
    *ld = kl + ku + 3;
    T *a = block((size_t)*ld * major, sizeof *a, SINGLE);
    for (int r = 0; r < rows; r++)
        for (int c = r < kl ? 0 : r - kl; c < cols && c <= r + ku; c++) {
            if (r == c && diag == 'U') continue;
            a[row ? kl + c - r + r * *ld : ku + r - c + c * *ld] = OWN(number)() + (r == c ? (T)rows : 0);
        }
    return a;
}

static T *OWN(packed)(bool row, int n, char uplo) {
    T *a = block((size_t)n * (n + 1) / 2, sizeof *a, SINGLE);
    for (int i = 0; i < n * (n + 1) / 2; i++) a[i] = OWN(number)();
    for (int j = 0; j < n; j++) a[(uplo == 'U') != row ? j * (j + 3) / 2 : j * (2 * n - j + 1) / 2] += (T)n;
    return a;
}

/* ---- level 1 ---- */

R F_OF_REAL(nrm2)();
R F_OF_REAL(asum)();
int JOIN3(i, P, amax_)();
void F(axpy)(), F(scal)(), F(copy)(), F(swap)(), F_BY_REAL(rot)(), F(rotg)();
#ifdef COMPLEX
T F(dotu)(), F(dotc)();
void F_BY_REAL(scal)();
#else
T F(dot)();
void F(rotm)(), F(rotmg)();
#endif

static void OWN(results)(int n, int ix, int iy) {
    T *x, *y;
#define X() (x = OWN(vector)(n, ix))
#define XY() (x = OWN(vector)(n, ix), y = OWN(vector)(n, iy))
#define GIVES(name, made, call)    \
    if (begin(TEXT(name))) {       \
        made;                      \
        const T value = (T)(call); \
        tell(TEXT(name), value);   \
    }
    GIVES(F_OF_REAL(nrm2), X(), F_OF_REAL(nrm2)(&n, x, &ix))
    GIVES(C_OF_REAL(nrm2), X(), C_OF_REAL(nrm2)(n, x, ix))
    GIVES(F_OF_REAL(asum), X(), F_OF_REAL(asum)(&n, x, &ix))
    GIVES(C_OF_REAL(asum), X(), C_OF_REAL(asum)(n, x, ix))
    GIVES(JOIN3(i, P, amax_), X(), JOIN3(i, P, amax_)(&n, x, &ix))
    GIVES(JOIN3(cblas_i, P, amax), X(), JOIN3(cblas_i, P, amax)(n, x, ix))
#ifdef COMPLEX
    T r = 0;
    GIVES(F(dotu), XY(), F(dotu)(&n, x, &ix, y, &iy))
    GIVES(F(dotc), XY(), F(dotc)(&n, x, &ix, y, &iy))
    GIVES(C(dotu_sub), XY(), (C(dotu_sub)(n, x, ix, y, iy, &r), r))
    GIVES(C(dotc_sub), XY(), (C(dotc_sub)(n, x, ix, y, iy, &r), r))
#else
    GIVES(F(dot), XY(), F(dot)(&n, x, &ix, y, &iy))
    GIVES(C(dot), XY(), C(dot)(n, x, ix, y, iy))
#endif
}

static void OWN(vectors)(int n, int ix, int iy) {
    T *x, *y;
    R c = (R)0.6, s = (R)0.8;
    for (int k = 0; k < SCALARS; k++) {
        const T alpha = (T)alphas[k];
        CALL(F(axpy), XY(); F(axpy)(&n, &alpha, x, &ix, y, &iy))
        CALL(C(axpy), XY(); C(axpy)(n, S(alpha), x, ix, y, iy))
        if (ix < 0) continue;
        CALL(F(scal), X(); F(scal)(&n, &alpha, x, &ix))
        CALL(C(scal), X(); C(scal)(n, S(alpha), x, ix))
#ifdef COMPLEX
        const R real = (R)alphas[k];
        CALL(F_BY_REAL(scal), X(); F_BY_REAL(scal)(&n, &real, x, &ix))
        CALL(C_BY_REAL(scal), X(); C_BY_REAL(scal)(n, real, x, ix))
#endif
    }
    CALL(F(copy), X(); y = OWN(room)(n, iy); F(copy)(&n, x, &ix, y, &iy))
    CALL(C(copy), X(); y = OWN(room)(n, iy); C(copy)(n, x, ix, y, iy))
    CALL(F(swap), XY(); F(swap)(&n, x, &ix, y, &iy))
    CALL(C(swap), XY(); C(swap)(n, x, ix, y, iy))
    CALL(F_BY_REAL(rot), XY(); F_BY_REAL(rot)(&n, x, &ix, y, &iy, &c, &s))
#ifndef COMPLEX
    CALL(C(rot), XY(); C(rot)(n, x, ix, y, iy, c, s))
    for (int flag = -2; flag < 2; flag++) {
        R *param;
#define PARAM() (XY(), param = OWN(vector)(5, 1), param[0] = (R)flag)
        CALL(F(rotm), PARAM(); F(rotm)(&n, x, &ix, y, &iy, param))
        CALL(C(rotm), PARAM(); C(rotm)(n, x, ix, y, iy, param))
    }
#endif
}

static void OWN(rotations)(void) {
    T *a, *b, *s;
    R *c;
#define GIVENS() \
    (a = OWN(vector)(1, 1), b = OWN(vector)(1, 1), s = OWN(room)(0, 1), c = block(1, sizeof *c, SINGLE))
    CALL(F(rotg), GIVENS(); F(rotg)(a, b, c, s))
#ifndef COMPLEX
    CALL(C(rotg), GIVENS(); C(rotg)(a, b, c, s))
    T *d1, *d2, *x, *p;
    const T y = (T)0.3;
#define MODIFIED() \
    (d1 = OWN(vector)(1, 1), d2 = OWN(vector)(1, 1), x = OWN(vector)(1, 1), p = OWN(vector)(5, 1))
    CALL(F(rotmg), MODIFIED(); F(rotmg)(d1, d2, x, &y, p))
    CALL(C(rotmg), MODIFIED(); C(rotmg)(d1, d2, x, y, p))
#endif
}

/* ---- level 2 ---- */

void F(gemv)(), F(gbmv)(), F(trmv)(), F(trsv)(), F(tbmv)(), F(tbsv)(), F(tpmv)(), F(tpsv)();
#ifdef COMPLEX
void F(hemv)(), F(hbmv)(), F(hpmv)(), F(geru)(), F(gerc)(), F(her)(), F(hpr)(), F(her2)(), F(hpr2)();
#define SY(name) JOIN3(he, name, ) /* what is symmetric for reals is Hermitian here */
#define SP(name) JOIN3(hp, name, )
#define SB(name) JOIN3(hb, name, )
#else
void F(symv)(), F(sbmv)(), F(spmv)(), F(ger)(), F(syr)(), F(spr)(), F(syr2)(), F(spr2)();
#define SY(name) JOIN3(sy, name, )
#define SP(name) JOIN3(sp, name, )
#define SB(name) JOIN3(sb, name, )
#endif

#define ORDER (row ? CblasRowMajor : CblasColMajor)
#define TRANS(t) ((t) == 'N' ? CblasNoTrans : (t) == 'T' ? CblasTrans : CblasConjTrans)
#define UPLO(u) ((u) == 'U' ? CblasUpper : CblasLower)
#define DIAG(d) ((d) == 'U' ? CblasUnit : CblasNonUnit)
#define SIDE(s) ((s) == 'L' ? CblasLeft : CblasRight)

static void OWN(products)(int m, int n, int ix, int iy, char t, int k) {
    T *a, *x, *y;
    const T alpha = (T)alphas[k], beta = (T)betas[k];
    const int nx = t == 'N' ? n : m, ny = t == 'N' ? m : n, kl = 2, ku = 1;
    int ld;
#define GE(make) (a = make, x = OWN(vector)(nx, ix), y = k ? OWN(vector)(ny, iy) : OWN(room)(ny, iy))
    CALL(F(gemv), GE(OWN(matrix)(false, m, n, &ld, 'A', 'N'));
         F(gemv)(&t, &m, &n, &alpha, a, &ld, x, &ix, &beta, y, &iy, (size_t)1))
    CALL(F(gbmv), GE(OWN(band)(false, m, n, kl, ku, &ld, 'N'));
         F(gbmv)(&t, &m, &n, &kl, &ku, &alpha, a, &ld, x, &ix, &beta, y, &iy, (size_t)1))
    for (int row = 0; row < 2; row++) {
        if (row && t == 'C' && !m) continue; /* the reference library's cblas_cgemv never ends */
        CALL(C(gemv), GE(OWN(matrix)(row, m, n, &ld, 'A', 'N'));
             C(gemv)(ORDER, TRANS(t), m, n, S(alpha), a, ld, x, ix, S(beta), y, iy))
        CALL(C(gbmv), GE(OWN(band)(row, m, n, kl, ku, &ld, 'N'));
             C(gbmv)(ORDER, TRANS(t), m, n, kl, ku, S(alpha), a, ld, x, ix, S(beta), y, iy))
    }
}

static void OWN(symmetric)(int n, int ix, int iy, char u, int k) {
    T *a, *x, *y;
    const T alpha = (T)alphas[k], beta = (T)betas[k];
    const int kl = u == 'L' ? 2 : 0, ku = u == 'U' ? 2 : 0, bands = 2;
    int ld;
#define SYM(make) (a = make, x = OWN(vector)(n, ix), y = k ? OWN(vector)(n, iy) : OWN(room)(n, iy))
    CALL(F(SY(mv)), SYM(OWN(matrix)(false, n, n, &ld, u, 'N'));
         F(SY(mv))(&u, &n, &alpha, a, &ld, x, &ix, &beta, y, &iy, (size_t)1))
    CALL(F(SB(mv)), SYM(OWN(band)(false, n, n, kl, ku, &ld, 'N'));
         F(SB(mv))(&u, &n, &bands, &alpha, a, &ld, x, &ix, &beta, y, &iy, (size_t)1))
    CALL(F(SP(mv)), SYM(OWN(packed)(false, n, u));
         F(SP(mv))(&u, &n, &alpha, a, x, &ix, &beta, y, &iy, (size_t)1))
    for (int row = 0; row < 2; row++) {
        CALL(C(SY(mv)), SYM(OWN(matrix)(row, n, n, &ld, u, 'N'));
             C(SY(mv))(ORDER, UPLO(u), n, S(alpha), a, ld, x, ix, S(beta), y, iy))
        CALL(C(SB(mv)), SYM(OWN(band)(row, n, n, kl, ku, &ld, 'N'));
             C(SB(mv))(ORDER, UPLO(u), n, bands, S(alpha), a, ld, x, ix, S(beta), y, iy))
        CALL(C(SP(mv)), SYM(OWN(packed)(row, n, u));
             C(SP(mv))(ORDER, UPLO(u), n, S(alpha), a, x, ix, S(beta), y, iy))
    }
}

static void OWN(triangular)(int n, int ix, char u, char t, char d) {
    T *a, *x;
    const int kl = u == 'L' ? 2 : 0, ku = u == 'U' ? 2 : 0, bands = 2;
    int ld;
#define TRI(make) (a = make, x = OWN(vector)(n, ix))
#define BOTH(name_f, name_b, name_p)                                                         \
    CALL(F(name_f), TRI(OWN(matrix)(false, n, n, &ld, u, d));                                \
         F(name_f)(&u, &t, &d, &n, a, &ld, x, &ix, (size_t)1, (size_t)1, (size_t)1))         \
    CALL(F(name_b), TRI(OWN(band)(false, n, n, kl, ku, &ld, d));                             \
         F(name_b)(&u, &t, &d, &n, &bands, a, &ld, x, &ix, (size_t)1, (size_t)1, (size_t)1)) \
    CALL(F(name_p), TRI(OWN(packed)(false, n, u));                                           \
         F(name_p)(&u, &t, &d, &n, a, x, &ix, (size_t)1, (size_t)1, (size_t)1))              \
    for (int row = 0; row < 2; row++) {                                                      \
        CALL(C(name_f), TRI(OWN(matrix)(row, n, n, &ld, u, d));                              \
             C(name_f)(ORDER, UPLO(u), TRANS(t), DIAG(d), n, a, ld, x, ix))                  \
        CALL(C(name_b), TRI(OWN(band)(row, n, n, kl, ku, &ld, d));                           \
             C(name_b)(ORDER, UPLO(u), TRANS(t), DIAG(d), n, bands, a, ld, x, ix))           \
        CALL(C(name_p), TRI(OWN(packed)(row, n, u));                                         \
             C(name_p)(ORDER, UPLO(u), TRANS(t), DIAG(d), n, a, x, ix))                      \
    }
    BOTH(trmv, tbmv, tpmv)
    BOTH(trsv, tbsv, tpsv)
}

static void OWN(updates)(int m, int n, int ix, int iy, int k) {
    T *a, *x, *y;
    const T alpha = (T)alphas[k];
    int ld;
#define RANK1(row) (a = OWN(matrix)(row, m, n, &ld, 'A', 'N'), x = OWN(vector)(m, ix), y = OWN(vector)(n, iy))
#define GER(name)                                                                \
    CALL(F(name), RANK1(false); F(name)(&m, &n, &alpha, x, &ix, y, &iy, a, &ld)) \
    for (int row = 0; row < 2; row++)                                            \
    CALL(C(name), RANK1(row); C(name)(ORDER, m, n, S(alpha), x, ix, y, iy, a, ld))
#ifdef COMPLEX
    GER(geru)
    GER(gerc)
#else
    GER(ger)
#endif
}

static void OWN(symmetric_updates)(int n, int ix, int iy, char u, int k) {
    T *a, *x, *y;
    const T alpha = (T)alphas[k];
    const R real = (R)alphas[k];
    int ld;
#define FULL(row) (a = OWN(matrix)(row, n, n, &ld, u, 'N'), x = OWN(vector)(n, ix), y = OWN(vector)(n, iy))
#define PACK(row) (a = OWN(packed)(row, n, u), x = OWN(vector)(n, ix), y = OWN(vector)(n, iy))
    CALL(F(SY(r)), FULL(false); F(SY(r))(&u, &n, &real, x, &ix, a, &ld, (size_t)1))
    CALL(F(SP(r)), PACK(false); F(SP(r))(&u, &n, &real, x, &ix, a, (size_t)1))
    CALL(F(SY(r2)), FULL(false); F(SY(r2))(&u, &n, &alpha, x, &ix, y, &iy, a, &ld, (size_t)1))
    CALL(F(SP(r2)), PACK(false); F(SP(r2))(&u, &n, &alpha, x, &ix, y, &iy, a, (size_t)1))
    for (int row = 0; row < 2; row++) {
        CALL(C(SY(r)), FULL(row); C(SY(r))(ORDER, UPLO(u), n, real, x, ix, a, ld))
        CALL(C(SP(r)), PACK(row); C(SP(r))(ORDER, UPLO(u), n, real, x, ix, a))
        CALL(C(SY(r2)), FULL(row); C(SY(r2))(ORDER, UPLO(u), n, S(alpha), x, ix, y, iy, a, ld))
        CALL(C(SP(r2)), PACK(row); C(SP(r2))(ORDER, UPLO(u), n, S(alpha), x, ix, y, iy, a))
    }
}

/* ---- level 3 ---- */

void F(gemm)(), F(symm)(), F(syrk)(), F(syr2k)(), F(trmm)(), F(trsm)();
#ifdef COMPLEX
void F(hemm)(), F(herk)(), F(her2k)();
#endif

#define TARGET(row, rows, cols, part) OWN(matrix)(row, rows, cols, &lc, k ? part : '0', 'N')

static void OWN(gemms)(int m, int n, int l, char ta, char tb, int k) {
    T *a, *b, *c;
    const T alpha = (T)alphas[k], beta = (T)betas[k];
    int la, lb, lc;
#define ABC(row)                                                                \
    (a = OWN(matrix)(row, ta == 'N' ? m : l, ta == 'N' ? l : m, &la, 'A', 'N'), \
     b = OWN(matrix)(row, tb == 'N' ? l : n, tb == 'N' ? n : l, &lb, 'A', 'N'), c = TARGET(row, m, n, 'A'))
    CALL(F(gemm), ABC(false);
         F(gemm)(&ta, &tb, &m, &n, &l, &alpha, a, &la, b, &lb, &beta, c, &lc, (size_t)1, (size_t)1))
    for (int row = 0; row < 2; row++)
        CALL(C(gemm), ABC(row);
             C(gemm)(ORDER, TRANS(ta), TRANS(tb), m, n, l, S(alpha), a, la, b, lb, S(beta), c, lc))
}

static void OWN(sided)(int m, int n, char s, char u, int k) {
    T *a, *b, *c;
    const T alpha = (T)alphas[k], beta = (T)betas[k];
    const int order = s == 'L' ? m : n;
    int la, lb, lc;
#define SIDED(row, d) \
    (a = OWN(matrix)(row, order, order, &la, u, d), b = OWN(matrix)(row, m, n, &lb, 'A', 'N'))
#define SYMM(name)                                                                             \
    CALL(F(name), SIDED(false, 'N'); c = TARGET(false, m, n, 'A');                             \
         F(name)(&s, &u, &m, &n, &alpha, a, &la, b, &lb, &beta, c, &lc, (size_t)1, (size_t)1)) \
    for (int row = 0; row < 2; row++)                                                          \
    CALL(C(name), SIDED(row, 'N'); c = TARGET(row, m, n, 'A');                                 \
         C(name)(ORDER, SIDE(s), UPLO(u), m, n, S(alpha), a, la, b, lb, S(beta), c, lc))
    SYMM(symm)
#ifdef COMPLEX
    SYMM(hemm)
#endif
#define TRXM(name)                                                                                          \
    CALL(F(name), SIDED(false, *d);                                                                         \
         F(name)(&s, &u, t, d, &m, &n, &alpha, a, &la, b, &lb, (size_t)1, (size_t)1, (size_t)1, (size_t)1)) \
    for (int row = 0; row < 2; row++)                                                                       \
    CALL(C(name), SIDED(row, *d);                                                                           \
         C(name)(ORDER, SIDE(s), UPLO(u), TRANS(*t), DIAG(*d), m, n, S(alpha), a, la, b, lb))
    for (const char *t = "NTC"; *t; t++)
        for (const char *d = "NU"; *d; d++) {
            TRXM(trmm)
            TRXM(trsm)
        }
}

static void OWN(ranks)(int n, int l, char u, char t, int k) {
    T *a, *b, *c;
    const T alpha = (T)alphas[k], beta = (T)betas[k];
    int la, lb, lc;
#define FACTOR(row, ld) OWN(matrix)(row, t == 'N' ? n : l, t == 'N' ? l : n, ld, 'A', 'N')
#define RANKS(row) (a = FACTOR(row, &la), b = FACTOR(row, &lb), c = TARGET(row, n, n, u))
#define RANK_K(name, name2, alpha_, alpha_c, beta_, beta_c)                                               \
    CALL(F(name), RANKS(false);                                                                           \
         F(name)(&u, &t, &n, &l, &alpha_, a, &la, &beta_, c, &lc, (size_t)1, (size_t)1))                  \
    CALL(F(name2), RANKS(false);                                                                          \
         F(name2)(&u, &t, &n, &l, &alpha, a, &la, b, &lb, &beta_, c, &lc, (size_t)1, (size_t)1))          \
    for (int row = 0; row < 2; row++) {                                                                   \
        CALL(C(name), RANKS(row); C(name)(ORDER, UPLO(u), TRANS(t), n, l, alpha_c, a, la, beta_c, c, lc)) \
        CALL(C(name2), RANKS(row);                                                                        \
             C(name2)(ORDER, UPLO(u), TRANS(t), n, l, S(alpha), a, la, b, lb, beta_c, c, lc))             \
    }
#ifdef COMPLEX
    const R real_alpha = (R)alphas[k], real_beta = (R)betas[k];
    if (t != 'C') { RANK_K(syrk, syr2k, alpha, S(alpha), beta, S(beta)) }
    if (t != 'T') { RANK_K(herk, her2k, real_alpha, real_alpha, real_beta, real_beta) }
#else
    RANK_K(syrk, syr2k, alpha, S(alpha), beta, S(beta))
#endif
}

/* ---- all ---- */

static const struct {
    int m, n, l;
} OWN(shapes)[] = {{0, 3, 2}, {1, 1, 1}, {3, 5, 0}, {5, 4, 7}, {17, 19, 18}};

static void OWN(with_letters)(int m, int n, int l, int k) {
    for (const char *u = "UL"; *u; u++) {
        for (const char *s = "LR"; *s; s++) OWN(sided)(m, n, *s, *u, k);
        for (const char *t = "NTC"; *t; t++) OWN(ranks)(n, l, *u, *t, k);
    }
    for (const char *ta = "NTC"; *ta; ta++)
        for (const char *tb = "NTC"; *tb; tb++) OWN(gemms)(m, n, l, *ta, *tb, k);
}

static void OWN(with_steps)(int m, int n, int ix, int iy, int k) {
    OWN(updates)(m, n, ix, iy, k);
    for (const char *t = "NTC"; *t; t++) OWN(products)(m, n, ix, iy, *t, k);
    for (const char *u = "UL"; *u; u++) {
        OWN(symmetric)(n, ix, iy, *u, k);
        OWN(symmetric_updates)(n, ix, iy, *u, k);
        for (const char *t = "NTC"; *t && !k; t++)
            for (const char *d = "NU"; *d; d++) OWN(triangular)(n, ix, *u, *t, *d);
    }
}

static void OWN(all)(void) {
    OWN(rotations)();
    for (size_t i = 0; i < sizeof OWN(shapes) / sizeof *OWN(shapes); i++) {
        const int m = OWN(shapes)[i].m, n = OWN(shapes)[i].n, l = OWN(shapes)[i].l;
        for (int x = 0; x < INCS; x++) {
            OWN(results)(m, incs[x], incs[(x + 1) % INCS]);
            OWN(vectors)(m, incs[x], incs[(x + 1) % INCS]);
            for (int k = 0; k < SCALARS; k++) OWN(with_steps)(m, n, incs[x], incs[(x + 1) % INCS], k);
        }
        for (int k = 0; k < SCALARS; k++) OWN(with_letters)(m, n, l, k);
    }
}

#undef P
#undef OF_REAL
#undef BY_REAL
#undef T
#undef R
#undef SINGLE
#undef S
#undef SY
#undef SP
#undef SB
