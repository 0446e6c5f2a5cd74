/* scope.h - who frees what an op returns.
 *
 * A scope is a mark on a per-thread list; opening one allocates nothing. Every op puts its result on
 * the list, and leaving the scope releases what came after the mark:
 *
 *     for (int step = 0; step < steps; step++)
 *         SH_SCOPE { loss = sh_item(sh_mean(sh_square(sh_sub(f(x), y)))); }
 *
 * Put a scope inside the loop. With no scope open, results belong to the thread's base scope, which
 * sh_scope_clear empties and thread exit frees. A scope that grows past a limit warns once, with the
 * line that opened it. */
#ifndef SH_DISPATCH_SCOPE_H
#define SH_DISPATCH_SCOPE_H

#include "dispatch/tensor.h"

SH_BEGIN_DECLS

/* A list of tensors as a result (split, chunk), owned by the scope like a tensor. */
typedef struct sh_list sh_list;
SH_API size_t sh_list_size(const sh_list *list);
/* Entry i, borrowed from the list; NULL and an error if out of range. */
SH_API sh_tensor *sh_list_at(const sh_list *list, size_t i);
SH_API sh_tensors sh_list_view(const sh_list *list);
/* A list as a result, owned by the scope; the array of `tensors` need not last. NONE and an error if memory is out. */
SH_API sh_value sh_list_value(sh_tensors tensors);
/* Entry i of a list of tensors or integers, counted from the end where i is negative: Python's operator.getitem. NONE and an
 * error if there is no such entry. */
SH_API sh_value sh_value_item(sh_value list, int64_t i);

typedef struct sh_scope {
    uint32_t mark;
    uint32_t open; /* 1 between begin and end */
    uint32_t outer_mark, outer_escaped;
    uint32_t outer_line;
    const char *outer_file;
} sh_scope;

SH_API sh_scope sh_scope_begin(const char *file, int line);
/* Releases what was made since. Ending an outer scope ends the inner ones with it; ending one twice does nothing. */
SH_API void sh_scope_end(sh_scope *scope);
/* Releases everything in the innermost open scope and keeps it open. */
SH_API void sh_scope_clear(void);
/* Moves a result to the enclosing scope and returns it. NULL stays NULL. Out of a mode's callback nothing escapes: keep it
 * with sh_keep, or answer the call with it. */
SH_API sh_tensor *sh_escape(sh_tensor *t);
/* The same of a tensor or a list (sh_list_value); other values stay what they are. */
SH_API sh_value sh_escape_value(sh_value value);
/* How many results a scope may hold before it warns; 0 never warns. Default 100000. */
SH_API void sh_scope_set_limit(size_t results);
/* Results held by all scopes of this thread. */
SH_API size_t sh_scope_held(void);

/* SH_SCOPE { ... }: leaves rightly on break, continue, return and goto. break and continue leave only
 * the block: inside loops where that hurts use SH_SCOPE_HERE, which lasts to the end of the block it stands in. */
#define SH_SCOPE SH__BLOCK(sh_scope, SH__UNIQUE(sh__scope), sh_scope_end, sh_scope_begin(__FILE__, __LINE__))
#define SH_SCOPE_HERE \
    SH__HERE(sh_scope, SH__UNIQUE(sh__scope), sh_scope_end, sh_scope_begin(__FILE__, __LINE__))

SH_END_DECLS

#endif
