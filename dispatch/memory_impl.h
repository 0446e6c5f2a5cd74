/* memory_impl.h - every allocation of the library goes through here, so that a test can make each fail.
 *
 * sh__alloc and its kin set SH_ERROR_MEMORY themselves and return NULL. They are exported for libshunt-io alone. Storage and tensor records
 * have their own doors: a pop from the thread's free list in the common case. */
#ifndef SH_DISPATCH_MEMORY_IMPL_H
#define SH_DISPATCH_MEMORY_IMPL_H

#include "dispatch/memory.h"

SH_API void *sh__alloc(size_t size);
SH_API void *sh__calloc(size_t n, size_t size);
SH_API void *sh__realloc(void *block, size_t size);
SH_API char *sh__strdup(const char *text);
SH_API void sh__free(void *block);
/* Counts an allocation that is served from memory at hand; true, with the error, when it is the one that must fail. */
bool sh__allocation_fails(void);

/* 64-byte aligned; `*capacity` is what the block really holds (>= size) and goes back to sh__block_free. */
void *sh__block_alloc(size_t size, size_t *capacity);
void sh__block_free(void *block, size_t capacity);
/* Bytes that this thread keeps cached. What was freed last goes back to the system until there are at most so many. */
size_t sh__blocks_cached(void);
void sh__blocks_trim(size_t most);
/* The same of every storage on a free list. */
void sh__storages_trim(void);

#endif
