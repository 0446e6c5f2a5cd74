/* given.h - what must not be NULL: an error that names the function and the argument, in place of a crash.
 *
 * What makes a node or a module gives NULL where it fails, and the next call takes that: like an op, it then leaves the
 * first error in place. */
#ifndef SH_GRAPH_GIVEN_H
#define SH_GRAPH_GIVEN_H

#include "dispatch/status.h"

static inline bool sh__given(bool given, const char *function, const char *argument) {
    if (SH_UNLIKELY(!given)) sh_fail(SH_ERROR_NULL, "%s: %s is NULL", function, argument);
    return given;
}

/* Returns `otherwise` from the calling function where `object` is NULL. */
#define SH_GIVEN(object, otherwise)                                              \
    do {                                                                         \
        if (!sh__given((object) != NULL, __func__, #object)) return (otherwise); \
    } while (0)
/* The same in a function that returns nothing. */
#define SH_GIVEN_OR_LEAVE(object)                                    \
    do {                                                             \
        if (!sh__given((object) != NULL, __func__, #object)) return; \
    } while (0)

#endif
