/* where.h - which calls a mode means: by op, dtype, size, scope path and call number.
 *
 * The same five options in every mode that takes them; put SH_WHERE_OPTIONS in its option table. */
#ifndef SH_MODES_WHERE_H
#define SH_MODES_WHERE_H

#include "dispatch/filter.h"
#include "modes/options.h"

#define SH_WHERE_OPTIONS                                                                                   \
    {"ops", SH_OPTION_STRING, NULL, NULL, "only ops whose name matches this filter (add|mul*, !copy)"},    \
        {"dtype", SH_OPTION_STRING, NULL, NULL, "only where the first tensor has this dtype"},             \
        {"numel", SH_OPTION_RANGE, NULL, NULL, "only where the largest tensor has so many elements"},      \
        {"shape", SH_OPTION_STRING, NULL, NULL, "only where the first tensor has this shape: [2,*,3..8]"}, \
        {"scope", SH_OPTION_STRING, NULL, NULL,                                                            \
         "only in named scopes or nodes that match this regular expression"},                              \
    {                                                                                                      \
        "call", SH_OPTION_NUMBERS, NULL, NULL,                                                             \
            "only the calls with these numbers; the first after the push is 1"                             \
    }

typedef struct sh_selection {
    sh_filter *ops, *scope;
    sh_dtype dtype;
    int64_t min_numel, max_numel;
    int ndim; /* of the shape; -1: any */
    int64_t min_size[SH_MAX_DIMS], max_size[SH_MAX_DIMS];
    bool counts; /* calls, from first_call to last_call */
    int64_t first_call, last_call;
} sh_selection;

sh_status sh_selection_read(sh_selection *where, const sh_options *options);
void sh_selection_free(sh_selection *where);
bool sh_selection_match(const sh_selection *where, const sh_call *call);
/* Does it need call numbers (SH_MODE_COUNTS_CALLS)? */
bool sh_selection_counts(const sh_selection *where);

#endif
