/* against_ref.h - a call of an op in the backends cpu and ref, on random tensors, must come out the same.
 *
 *     ar_begin();
 *     sh_tensor *x = ar_tensor(SH_F32, SH_SIZES(3, 4)), *y = ar_tensor(SH_F32, SH_SIZES(4, 5));
 *     ar_check((ar_call){"mm", {{NULL, sh_value_tensor(x)}, {NULL, sh_value_tensor(y)}}, 2, 4});
 *
 * Tensors have random layouts: axes in any order, with gaps, some repeated by a stride of 0. */
#ifndef SH_TESTS_AGAINST_REF_H
#define SH_TESTS_AGAINST_REF_H

#include "dispatch/byname.h"

typedef struct ar_call {
    const char *op;
    sh_argument arguments[SH_MAX_ARGS];
    size_t n;
    int64_t terms; /* summed in each result, for the tolerance */
} ar_call;

/* The same numbers from here on in every run. */
void ar_begin(void);
int64_t ar_pick(int64_t below);
/* Elements between -3 and 3. */
sh_tensor *ar_tensor(sh_dtype dtype, sh_ints sizes);
sh_tensor *ar_contiguous(sh_dtype dtype, sh_ints sizes);
/* Fails the test where status, dtype, shape or a value differs. */
void ar_check(ar_call call);
/* Makes each allocation of `act` fail once: an error each time, and nothing leaked. */
void ar_fail_each(const char *what, bool (*act)(void));
/* Runs `check` in every level of vector instructions that this CPU has. */
void ar_at_every_level(void (*check)(void));

#endif
