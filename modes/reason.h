/* reason.h - why an elementwise op gave NaN or Inf, told from the numbers that went in. */
#ifndef SH_MODES_REASON_H
#define SH_MODES_REASON_H

#include <stddef.h>

/* A short reason, or NULL if the op is not known. `in` are the inputs at that element, `out` what came of them. */
const char *sh_reason(const char *op, const double *in, size_t n, double out);

#endif
