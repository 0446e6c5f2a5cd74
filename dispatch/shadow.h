/* shadow.h - a call run a second time, aside: what another backend makes of the same arguments, and how far that is.
 *
 * What the call writes (its target, arguments that the schema marks as written) is copied before, so that the second run
 * disturbs nothing, and the copies hold what it would have written. For the policy `verify` and the shadow mode. */
#ifndef SH_DISPATCH_SHADOW_H
#define SH_DISPATCH_SHADOW_H

#include "dispatch/candidates.h"
#include "dispatch/finding.h"

/* |a - b| <= atol + rtol * |b|. Below 0: by the dtype (f64 1e-8, f32 1e-5, f16 4e-3, bf16 3e-2), and for atol rtol times the
 * mean magnitude of the finite elements of b, so that small ones are held against what is usual in the result. Equal NaNs
 * and equal infinities are equal; integers and flags are exact. */
typedef struct sh_tolerance {
    double rtol, atol;
} sh_tolerance;

typedef struct sh_difference {
    bool differs;
    char what[96];              /* "result 0", "argument state", or why they can't be compared */
    char at[96];                /* the worst element: "[3, 1]" */
    char got[64], expected[64]; /* its values */
    double abs, rel;            /* the largest of all elements; infinite where one is not finite */
    int64_t bad, total;         /* elements */
} sh_difference;

/* Compares two tensors and fills all but `what` where they differ. Set by the ops layer. */
typedef void (*sh_comparer)(const sh_tensor *got, const sh_tensor *expected, const sh_tolerance *tolerance,
                            sh_difference *difference);
void sh__set_comparer(sh_comparer comparer);

/* What a call writes: its target and the arguments so marked. Returns how many there are; at most `capacity` are put down. */
enum { SH_MOST_WRITTEN = 64 };
size_t sh__call_written(const sh_call *call, sh_tensor **written, size_t capacity);

typedef struct sh_shadow {
    sh_call call;
    sh_value args[SH_MAX_ARGS];
    sh_tensor **lists[SH_MAX_ARGS]; /* of arguments that are lists of what is written */
    sh_tensor *written[SH_MOST_WRITTEN], *copies[SH_MOST_WRITTEN];
    size_t nwritten;
} sh_shadow;

/* Copies what the call writes. An error when memory is out, or where that is not on the host. sh__shadow_free after both. */
sh_status sh__shadow_begin(sh_shadow *shadow, const sh_call *call);
/* Runs the candidates from `place` on the copies, modes hidden, inner ops on `place`'s backend too. The results are owned
 * by the current scope. */
sh_status sh__shadow_run(sh_shadow *shadow, sh_place place);
/* Compares what the call has given and written with what the shadow has; the first pair that differs is told. */
void sh__shadow_compare(const sh_shadow *shadow, const sh_call *call, const sh_tolerance *tolerance,
                        sh_difference *difference);
/* What is written gets the copies' elements. */
void sh__shadow_restore(const sh_shadow *shadow);
void sh__shadow_free(sh_shadow *shadow);

/* Op, shapes, worst element and both values, as a finding of `mode`. */
void sh__difference_tell(const sh_difference *difference, const sh_call *call, const char *mode,
                         const char *kernel, const char *reference, sh_finding *finding);

#endif
