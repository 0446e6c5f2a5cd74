/* real.h - what every wrapper needs: the function that the program would have reached without us, and whether anyone looks. */
#ifndef SH_INTERPOSE_REAL_H
#define SH_INTERPOSE_REAL_H

#include "dispatch/table.h"

/* The function of this name that code at `caller` (a return address) is bound to behind us. Never NULL: where there is none
 * the process ends with the dynamic linker's message, as it would without us. */
sh_function sh__real(const char *symbol, const void *caller);

/* SHUNT_NESTED=1: what LAPACK calls itself is shown too. */
bool sh__nested(void);

#endif
