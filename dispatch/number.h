/* number.h - "not given" among plain numbers: the NaN of SH_NO_NUMBER, told apart from every other NaN. */
#ifndef SH_DISPATCH_NUMBER_H
#define SH_DISPATCH_NUMBER_H

#include <math.h>
#include <string.h>

#include "dispatch/value.h"

static inline bool sh__is_no_number(double number) {
    const double none = SH_NO_NUMBER;
    return memcmp(&number, &none, sizeof none) == 0;
}

/* A keyword Scalar as written in C: a double. An integral one counts as an integer, so that .alpha = 2 works on
 * integer tensors. */
static inline sh_scalar sh__number(double number) {
    const double limit = 0x1p53;
    if (SH_LIKELY(number == 1)) return sh_value_int(1);
    if (SH_LIKELY(number >= -limit && number <= limit) && number == (double)(int64_t)number) {
        sh_scalar v = sh_value_int((int64_t)number);
        if (SH_UNLIKELY(number == 0 && signbit(number))) v = sh_value_float(number);
        return v;
    }
    return SH_UNLIKELY(sh__is_no_number(number)) ? sh_none() : sh_value_float(number);
}

#endif
