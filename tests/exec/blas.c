/* blas.c - every routine of BLAS in every precision, by its Fortran and its CBLAS name, on seeded numbers: one line a call
 * with the hash of all that it may write. It knows nothing of shunt; run alone and under a mode it prints the same.
 *
 * What a routine must not read holds NaN: the triangle on the other side, the output where beta is 0, what lies between the
 * strides. So a check for NaN that found one would be wrong. */
#ifndef TYPE
#include <cblas.h>
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N = 6, K = 4, LD = 9, SIZE = 400 };
enum {
    ROW = 101,
    COLUMN = 102,
    NO = 111,
    TRANS = 112,
    CONJ = 113,
    UPPER = 121,
    LOWER = 122,
    NON_UNIT = 131,
    UNIT = 132
};
enum { LEFT = 141, RIGHT = 142 };

static uint64_t seed;
static double next_number(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int32_t)(seed >> 33) / 0x1p30 - 1;
}

static uint64_t hash_of(uint64_t h, const void *at, size_t n) {
    for (const unsigned char *p = at; n--; p++) h = (h ^ *p) * 1099511628211u;
    return h;
}

static const int n = N, k = K, ld = LD, one = 1, two = 2, back = -1, kd = 2;
static int calls;

/* Pastes after expansion. */
#define CAT(a, b) CAT_(a, b)
#define CAT_(a, b) a##b
#define CAT3(a, b, c) CAT(CAT(a, b), c)
#define F(name) CAT3(LETTER, name, _)
#define C(name) CAT3(cblas_, LETTER, name)
#define SHOW(text, call)                                                                               \
    do {                                                                                               \
        fill();                                                                                        \
        call;                                                                                          \
        uint64_t h = hash_of(14695981039346656037u, ma, sizeof ma);                                    \
        h = hash_of(hash_of(hash_of(h, mb, sizeof mb), mc, sizeof mc), vx, sizeof vx);                 \
        h = hash_of(hash_of(hash_of(h, vy, sizeof vy), &number, sizeof number), &place, sizeof place); \
        printf("%s %s %016llx\n", NAME, text, (unsigned long long)h);                                  \
        calls++;                                                                                       \
    } while (0)

#define TYPE float
#define REAL float
#define LETTER s
#define NAME "s"
#include "blas.c"
#define TYPE double
#define REAL double
#define LETTER d
#define NAME "d"
#include "blas.c"
#define COMPLEX
#define TYPE float _Complex
#define REAL float
#define R_OF_C sc
#define C_BY_R cs
#define LETTER c
#define NAME "c"
#include "blas.c"
#define TYPE double _Complex
#define REAL double
#define R_OF_C dz
#define C_BY_R zd
#define LETTER z
#define NAME "z"
#include "blas.c"

static void mixed(void) {
    static float v[4] = {1, 2, 3, 4}, w[4] = {4, 3, 2, -1}, shift = 0.5f;
    static const int four = 4;
    extern double dsdot_();
    extern float sdsdot_();
    printf("dsdot %a %a\n", dsdot_(&four, v, &one, w, &back), cblas_dsdot(4, v, 1, w, 1));
    printf("sdsdot %a %a\n", (double)sdsdot_(&four, &shift, v, &one, w, &one),
           (double)cblas_sdsdot(4, 0.5f, v, 1, w, 1));
    calls += 4;
}

int main(void) {
    mixed();
    level_s();
    level_d();
    level_c();
    level_z();
    fprintf(stderr, "%d calls\n", calls);
    return 0;
}

#else

#define ma CAT(a_, LETTER)
#define mb CAT(b_, LETTER)
#define mc CAT(c_, LETTER)
#define vx CAT(x_, LETTER)
#define vy CAT(y_, LETTER)
#define number CAT(number_, LETTER)
#define place CAT(place_, LETTER)
#define fill CAT(fill_, LETTER)
#define part CAT(part_, LETTER)
static TYPE ma[SIZE], mb[SIZE], mc[SIZE], vx[SIZE], vy[SIZE], number;
static int64_t place;

#ifdef COMPLEX
#define V(number) &number
#define RANDOM (TYPE)(next_number() + next_number() * I)
#else
#define V(number) number
#define RANDOM (TYPE) next_number()
#endif

static void fill(void) {
    TYPE *const all[] = {ma, mb, mc, vx, vy};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < SIZE; j++) all[i][j] = RANDOM;
    for (int i = 0; i < N; i++) ma[i + i * LD] = (TYPE)(4 + i); /* triangles can be solved with */
    number = 0;
    place = 0;
}

/* NaN outside of a triangle of the matrix; between its columns too. */
static void part(TYPE *matrix, int lower) {
    for (int j = 0; j < LD; j++)
        for (int i = 0; i < LD; i++)
            if (i >= N || j >= N || (lower ? i < j : i > j)) matrix[i + j * LD] = (TYPE)NAN;
}
#define NAN_IN(matrix) (memset(matrix, 0xff, sizeof matrix))

static void CAT(level_, LETTER)(void) {
    TYPE alpha = (TYPE)0.75, beta = (TYPE)-0.5, zero = 0;
    REAL r_alpha = (REAL)1.25, r_beta = (REAL)0.5, r_zero = 0, cosine = (REAL)0.6, sine = (REAL)0.8;
    (void)r_alpha, (void)r_beta, (void)r_zero, (void)zero;
#ifdef COMPLEX
    alpha += (TYPE)(0.5 * I);
#endif
    (void)cosine, (void)sine;
#include "blas_calls.inc"
}

#undef ma
#undef mb
#undef mc
#undef vx
#undef vy
#undef number
#undef place
#undef fill
#undef part
#undef V
#undef RANDOM
#undef NAN_IN
#undef TYPE
#undef REAL
#undef LETTER
#undef NAME
#undef R_OF_C
#undef C_BY_R
#endif
