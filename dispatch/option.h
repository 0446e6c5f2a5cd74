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

SH_END_DECLS

#endif
