/* lapack.h - one LAPACK call in flight, between its wrapper, what says where its tensors lie, and its kernel. */
#ifndef SH_INTERPOSE_LAPACK_H
#define SH_INTERPOSE_LAPACK_H

#include "interpose/machine.h"

struct sh_lapack_routine;

typedef struct sh_lapack {
    const struct sh_lapack_routine *routine;
    wr_function function; /* the real one */
    void *const *args; /* as Fortran passes them: pointers, and the lengths of character arguments behind */
    sh_dtype dtype, real, integer;
    bool straight; /* not to be shown: a workspace query, or LAPACK will refuse it */
    bool ran;
    uint32_t ninputs, nresults;
    sh_value inputs[SH_MAX_ARGS];
    sh_value results[SH_MAX_RESULTS]; /* NONE: a number that comes out, at the argument that `numbers` says */
    int numbers[SH_MAX_RESULTS];
    char texts[SH_MAX_ARGS][2];
} sh_lapack;

/* Fills inputs and results, in the order of the schema, from the arguments of one driver. */
#define LAPACK(op, letters, n, schema) void sh__lay_##op(sh_lapack *f);
#include "interpose/lapack.def"
#undef LAPACK

/* cost.c */
void sh__lapack_cost(const sh_call *call, double *flops, double *bytes, void *user);

#endif
