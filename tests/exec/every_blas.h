/* every_blas.h - what every_blas.c and its four inclusions of every_blas_calls.inc share: memory that is filled, and told of after a call. */
#ifndef TESTS_EXEC_EVERY_BLAS_H
#define TESTS_EXEC_EVERY_BLAS_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cblas.h>

enum { INCS = 3, SCALARS = 3 };

/* Steps through vectors and pairs of alpha and beta that every routine is tried with. */
extern const int incs[INCS];
extern const double alphas[SCALARS], betas[SCALARS];

/* A block for `count` elements of `width` bytes, junk so far: numbers, or NaN where the junk is poison. Freed by tell(). */
void *block(size_t count, size_t width, bool single);
/* The next random number, of -1 to 1. */
double next(void);
/* The first number that is read is NaN instead; false once it was. */
extern bool plants;
/* Is this the name that was asked for? Begins a call: its numbers depend on its name and its place only. */
bool begin(const char *name);
/* Prints name, `value` where it is a number, and what lies in all blocks. */
void tell(const char *name, double complex value);

#endif
