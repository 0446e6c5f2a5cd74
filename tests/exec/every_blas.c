/* every_blas.c [-p] [-n] [NAME]: calls every BLAS routine and prints what came out, bit for bit.
 *
 * All types, Fortran and CBLAS, both orders, all letters, several steps and scalars, empty ones too. What a routine must not
 * read (the other triangle, gaps between columns and elements, C if beta is 0) holds random numbers, with -p NaN.
 * -n plants a NaN in the first element that is read. NAME: only routines that contain it.
 *
 * Two runs print the same, or something came between. */
#include "every_blas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const int incs[INCS] = {1, 2, -3};
const double alphas[SCALARS] = {1.0, -0.5, 0.0}, betas[SCALARS] = {0.0, 1.0, 0.75};

enum { BLOCKS = 16 };

static struct {
    unsigned char *at;
    size_t bytes;
} blocks[BLOCKS];
static int block_count;
static uint64_t state, call_number;
static bool poison;
static const char *only = "";
bool plants;

static uint64_t mix(uint64_t hash, const void *data, size_t n) {
    for (const unsigned char *at = data; n--; at++) hash = (hash ^ *at) * 1099511628211u;
    return hash;
}

double next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) / (double)(1ull << 52) - 1.0;
}

void *block(size_t count, size_t width, bool single) {
    const size_t bytes = (count ? count : 1) * width;
    unsigned char *at = malloc(bytes);
    if (!at || block_count == BLOCKS) abort();
    for (size_t i = 0; i < bytes / (single ? 4 : 8); i++) {
        const double v = poison ? NAN : next();
        if (single)
            ((float *)at)[i] = (float)v;
        else
            ((double *)at)[i] = v;
    }
    blocks[block_count].at = at;
    blocks[block_count++].bytes = bytes;
    return at;
}

bool begin(const char *name) {
    if (!strstr(name, only)) return false;
    call_number++;
    state = mix(14695981039346656037u ^ call_number, name, strlen(name));
    return true;
}

/* NaN is told as NaN, since it is what junk may be and what must not be computed with. */
void tell(const char *name, double complex value) {
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < block_count; i++) {
        hash = mix(hash, blocks[i].at, blocks[i].bytes);
        free(blocks[i].at);
    }
    block_count = 0;
    printf("%s %016llx %a %a\n", name, (unsigned long long)hash, creal(value), cimag(value));
}

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#define P s
#define OF_REAL s
#define BY_REAL s
#define T float
#define R float
#define SINGLE true
#include "every_blas_calls.inc"

#define P d
#define OF_REAL d
#define BY_REAL d
#define T double
#define R double
#define SINGLE false
#include "every_blas_calls.inc"

#define COMPLEX

#define P c
#define OF_REAL sc
#define BY_REAL cs
#define T float complex
#define R float
#define SINGLE true
#include "every_blas_calls.inc"

#define P z
#define OF_REAL dz
#define BY_REAL zd
#define T double complex
#define R double
#define SINGLE false
#include "every_blas_calls.inc"

/* What has one type only. */
float sdsdot_();
double dsdot_();
static void mixed(void) {
    for (int n = 0; n < 9; n += 4)
        for (int i = 0; i < INCS; i++) {
            const float b = 0.5f;
            if (begin("dsdot_")) {
                float *x = s_vector(n, incs[i]), *y = s_vector(n, incs[i]);
                tell("dsdot_", dsdot_(&n, x, &incs[i], y, &incs[i]));
            }
            if (begin("sdsdot_")) {
                float *x = s_vector(n, incs[i]), *y = s_vector(n, incs[i]);
                tell("sdsdot_", (double)sdsdot_(&n, &b, x, &incs[i], y, &incs[i]));
            }
            if (begin("cblas_dsdot")) {
                float *x = s_vector(n, incs[i]), *y = s_vector(n, incs[i]);
                tell("cblas_dsdot", cblas_dsdot(n, x, incs[i], y, incs[i]));
            }
            if (begin("cblas_sdsdot")) {
                float *x = s_vector(n, incs[i]), *y = s_vector(n, incs[i]);
                tell("cblas_sdsdot", (double)cblas_sdsdot(n, b, x, incs[i], y, incs[i]));
            }
        }
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-p") == 0)
            poison = true;
        else if (strcmp(argv[i], "-n") == 0)
            plants = true;
        else
            only = argv[i];
    }
    s_all();
    d_all();
    c_all();
    z_all();
    mixed();
    return 0;
}
