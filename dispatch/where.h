/* where.h - which calls are meant: by op, dtype, size, shape, scope path and call number.
 *
 * The same options in every mode that takes them (put SH_WHERE_OPTIONS in its option table), in the condition of a
 * kernel and in rules. */
#ifndef SH_DISPATCH_WHERE_H
#define SH_DISPATCH_WHERE_H

#include "dispatch/call.h"
#include "dispatch/filter.h"
#include "dispatch/options.h"

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
    char shape[128];
    int64_t min_size[SH_MAX_DIMS], max_size[SH_MAX_DIMS];
    bool counts; /* calls, from first_call to last_call */
    int64_t first_call, last_call;
} sh_selection;

sh_status sh_selection_read(sh_selection *where, const sh_options *options);
/* "dtype=f32,numel=65536..,scope=[layer1],call=1..9"; NULL or "" means all. An error points at its place. */
sh_status sh_selection_parse(sh_selection *where, const char *text);
void sh_selection_free(sh_selection *where);
bool sh_selection_match(const sh_selection *where, const sh_call *call);
bool sh_selection_takes_op(const sh_selection *where, const sh_op *op);
/* All but the call number, for who counts by himself. Where it is false `why` says what does not fit; NULL: not asked. */
bool sh_selection_holds(const sh_selection *where, const sh_call *call, char *why, size_t size);
bool sh_selection_has_number(const sh_selection *where, int64_t number);
/* Does it need call numbers (SH_MODE_COUNTS_CALLS)? */
bool sh_selection_counts(const sh_selection *where);

#endif
