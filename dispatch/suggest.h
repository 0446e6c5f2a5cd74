/* suggest.h - the nearest known word, for "unknown op 'sigmod'; did you mean 'sigmoid'?". */
#ifndef SH_DISPATCH_SUGGEST_H
#define SH_DISPATCH_SUGGEST_H

#include "dispatch/base.h"

SH_BEGIN_DECLS

/* The one of the n words that takes the fewest edits (a letter put in, left out, changed, or two neighbours
 * swapped; case apart), the first of equals; NULL if none is near: more than a third of `word` is edits. */
SH_API const char *sh_suggest(const char *word, const char *const *words, size_t n);

SH_END_DECLS

#endif
