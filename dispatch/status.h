/* status.h - how shunt reports that something went wrong.
 *
 * A function that returns sh_status gives SH_OK (0) or a negative code. A function that returns a
 * tensor gives NULL. Either way the thread's error is set: one record with the code, the op, a
 * message that says argument, got and expected, and the mode or kernel that it came from.
 *
 * While an error is pending every op returns NULL at once and leaves the first error in place, so
 * a chain of calls is checked once, at its end:
 *
 *     sh_tensor *y = sh_relu(sh_add(sh_matmul(x, w), b));
 *     if (!y) { fprintf(stderr, "%s\n", sh_error()->message); sh_clear_error(); }
 *
 * The error belongs to its thread; the pointer stays good until the error is cleared or set again. */
#ifndef SH_DISPATCH_STATUS_H
#define SH_DISPATCH_STATUS_H

#include "dispatch/base.h"

SH_BEGIN_DECLS

typedef enum sh_status {
    SH_OK = 0,
    SH_PASS = 1, /* from a mode's callback: go on with the call as it now stands (mode.h) */
    SH__ERROR_BASE = -100,
#define SH_ERROR(name, text) SH_ERROR_##name,
#include "dispatch/errors.def"
#undef SH_ERROR
    SH__ERROR_END
} sh_status;

/* A pending error. Strings are never NULL; op, where and argument are "" when unknown. */
typedef struct sh_error_info {
    sh_status code;
    const char *op;      /* the op in flight, "add" */
    const char *where;   /* the mode or kernel it came from, "mode swap", "kernel cpu" */
    const char *message; /* one line: op, argument, got, expected */
} sh_error_info;

/* The thread's pending error, or NULL. */
SH_API const sh_error_info *sh_error(void);

/* Ends the pending error. Without one it does nothing. */
SH_API void sh_clear_error(void);

/* The kind of a code in a few words: "shapes do not fit". Works for any number. */
SH_API const char *sh_status_text(sh_status status);
/* The name of a code: "SH_ERROR_SHAPE", "SH_OK". */
SH_API const char *sh_status_name(sh_status status);

/* Sets the thread's error and returns `code`, for callbacks and kernels: `return sh_fail(...)`.
 * An error that is pending already stays in place and its code is returned. */
SH_API sh_status sh_fail(sh_status code, const char *format, ...) SH_PRINTF(2, 3);

/* Returns from the calling function when `expression` is negative. */
#define SH_TRY(expression)                                  \
    do {                                                    \
        const sh_status sh__status = (expression);          \
        if (SH_UNLIKELY(sh__status < 0)) return sh__status; \
    } while (0)

/* Warnings: one line each. The default sink writes "shunt: LINE\n" to stderr; NULL restores it.
 * `sink` may be called from any thread. */
typedef void (*sh_warning_sink)(const char *line, void *user);
SH_API void sh_set_warning_sink(sh_warning_sink sink, void *user);
/* A sink that drops everything. */
SH_API void sh_warnings_off(const char *line, void *user);
SH_API void sh_warn(const char *format, ...) SH_PRINTF(1, 2);

SH_END_DECLS

#endif
