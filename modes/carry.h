/* carry.h - what holds of a call's results because it held of its arguments: some ops can't make a NaN or Inf, they only
 * carry what they are given. Who knows that the arguments are good need not look at such results. */
#ifndef SH_MODES_CARRY_H
#define SH_MODES_CARRY_H

#include "dispatch/known.h"

/* What will hold of a floating result if it is of this dtype. */
typedef struct sh_carried {
    sh_known what;
    sh_dtype dtype;
} sh_carried;

/* For a mode's callback, before sh_next: afterwards arguments may have been written. Nothing holds where a mode below, a rule
 * or another kernel than the library's could have a hand in the call. */
sh_carried sh_carry(sh_call *call);

#endif
