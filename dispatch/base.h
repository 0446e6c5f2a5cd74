/* base.h - what every public header of shunt needs: export marks, limits, small attributes.
 *
 * Everything public is named sh_ or SH_; what begins with sh__ or SH__ is the expansion of a
 * public macro and not for direct use. */
#ifndef SH_DISPATCH_BASE_H
#define SH_DISPATCH_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SH_VERSION_MAJOR 0
#define SH_VERSION_MINOR 1
#define SH_VERSION_PATCH 0
#define SH_VERSION_STRING "0.1.0"

#define SH_API __attribute__((visibility("default")))
#define SH_LIKELY(x) __builtin_expect(!!(x), 1)
#define SH_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SH_PRINTF(text, first) __attribute__((format(printf, text, first)))

#define SH_MAX_DIMS 8    /* the highest rank of a tensor */
#define SH_MAX_ARGS 16   /* arguments in one schema */
#define SH_MAX_RESULTS 4 /* results in one schema (a list counts as one) */
#define SH_MAX_DEVICES 8
#define SH_MAX_BACKENDS 16
#define SH_MAX_NESTING 256 /* calls inside callbacks inside calls ... (M3) */

#define SH__CAT_(a, b) a##b
#define SH__CAT(a, b) SH__CAT_(a, b)
#define SH__UNIQUE(name) SH__CAT(name, __COUNTER__)

/* for (...) that runs its block once, then `leave(&v)`, on every way out. The compiler sees that the block runs. */
#define SH__BLOCK(type, v, leave, value)                                                     \
    for (type v __attribute__((cleanup(leave))) = value, *SH__CAT(v, p) = &v; SH__CAT(v, p); \
         SH__CAT(v, p) = NULL)
#define SH__HERE(type, v, leave, value) type v __attribute__((cleanup(leave), unused)) = value

#ifdef __cplusplus
#define SH_BEGIN_DECLS extern "C" {
#define SH_END_DECLS }
#else
#define SH_BEGIN_DECLS
#define SH_END_DECLS
#endif

SH_BEGIN_DECLS

/* The version of the library that is running, "0.1.0". */
SH_API const char *sh_version(void);

SH_END_DECLS

#endif
