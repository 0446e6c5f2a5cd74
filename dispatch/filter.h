/* filter.h - the one way to say which ops, nodes or scopes are meant, wherever that can be said.
 *
 *     add|mul*|max.dim        op names: globs (* ? [abc] [!a-z]), each on the whole name; | is or
 *     layer[0-9]+\.conv       node and scope names: a POSIX extended regular expression, found anywhere
 *     !relu|sigmoid           a leading ! turns the answer round: neither of the two
 *
 * NULL or "" matches everything. A filter is immutable: threads may share it. The caller owns it. */
#ifndef SH_DISPATCH_FILTER_H
#define SH_DISPATCH_FILTER_H

#include "dispatch/status.h"

SH_BEGIN_DECLS

typedef struct sh_filter sh_filter;
typedef enum sh_filter_syntax { SH_FILTER_GLOB, SH_FILTER_ERE } sh_filter_syntax;

/* NULL and SH_ERROR_VALUE if the text is no filter; the message says what is wrong and at which column. */
SH_API sh_filter *sh_filter_new(const char *text, sh_filter_syntax syntax);
/* A NULL filter matches everything. */
SH_API bool sh_filter_match(const sh_filter *filter, const char *name);
/* The text it was made from, "" for everything. */
SH_API const char *sh_filter_text(const sh_filter *filter);
SH_API void sh_filter_free(sh_filter *filter);

SH_END_DECLS

#endif
