/* library.c: a BLAS of one routine, ddot, under the name and with the integers that NAME and INT say, or (with no NAME) a
 * library that uses one: USE is the name it calls. */
#include <stdint.h>

#ifndef INT
#define INT int
#endif

#ifdef NAME
#ifdef CONFIG
const char *openblas_get_config(void);
const char *openblas_get_config(void) { return CONFIG; }
#endif
/* FACTOR tells one library from another. */
#ifdef BY_VALUE
double NAME(INT n, const double *x, INT incx, const double *y, INT incy);
double NAME(INT n, const double *x, INT incx, const double *y, INT incy) {
#else
double NAME(const INT *pn, const double *x, const INT *pincx, const double *y, const INT *pincy);
double NAME(const INT *pn, const double *x, const INT *pincx, const double *y, const INT *pincy) {
    const INT n = *pn, incx = *pincx, incy = *pincy;
#endif
    double sum = 0;
    for (INT i = 0; i < n; i++) sum += x[i * incx] * y[i * incy];
    return FACTOR * sum;
}
#else
/* What is beside a 32-bit integer is junk, which a reader of 64 bits would notice. */
double use(const double *x, const double *y);
#ifdef BY_VALUE
double USE(INT n, const double *x, INT incx, const double *y, INT incy);
double use(const double *x, const double *y) { return 1 + USE(4, x, 2, y, 2); }
#else
double USE(const INT *n, const double *x, const INT *incx, const double *y, const INT *incy);
double use(const double *x, const double *y) {
    const struct { INT n, one, inc, two; } numbers = {4, 1, 2, 2};
    return 1 + USE(&numbers.n, x, &numbers.inc, y, &numbers.inc);
}
#endif
#endif
