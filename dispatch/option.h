/* option.h - what can be given as options: "first=10,then=1/100", to modes and policies of kernels.
 *
 * A mode that a plug-in brings, or the tool's help, describes its options by these tables. */
#ifndef SH_DISPATCH_OPTION_H
#define SH_DISPATCH_OPTION_H

#include "dispatch/base.h"

SH_BEGIN_DECLS

typedef enum sh_option_type {
    SH_OPTION_STRING,
    SH_OPTION_FLAG, /* 1 0 true false yes no on off; the bare key is 1 */
    SH_OPTION_INT,
    SH_OPTION_NUMBER,
    SH_OPTION_CHOICE,  /* one of `choices`, separated by | */
    SH_OPTION_RANGE,   /* A..B, A.., ..B or A */
    SH_OPTION_NUMBERS, /* the same of what is counted from 1 */
    SH_OPTION_SHARE,   /* 1/M: one of M; 0: none; 1: all */
    SH_OPTION_OP       /* the name of an op; one with a namespace (mylib::gate) may be defined later */
} sh_option_type;

/* One option; a table of them ends with a NULL name. */
typedef struct sh_option {
    const char *name;
    sh_option_type type;
    const char *standard; /* the default as text; NULL: none */
    const char *choices;
    const char *help;
} sh_option;

/* What takes options: a mode, a policy, a condition. */
typedef struct sh_option_group {
    const char *name;
    const char *help;
    const sh_option *options;
} sh_option_group;

/* The values of an option as they were given, else its default. They were checked against the option's type. */
typedef struct sh_options sh_options;
SH_API const char *sh_option_text(const sh_options *o, const char *name); /* NULL: not given and no default */
SH_API bool sh_option_flag(const sh_options *o, const char *name);
SH_API int64_t sh_option_int(const sh_options *o, const char *name);
SH_API double sh_option_number(const sh_options *o, const char *name);
/* From 0 to INT64_MAX where no bound is given. */
SH_API void sh_option_range(const sh_options *o, const char *name, int64_t *low, int64_t *high);
/* M of 1/M; 0 for none. */
SH_API int64_t sh_option_share(const sh_options *o, const char *name);

SH_END_DECLS

#endif
