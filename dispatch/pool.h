/* pool.h - many small blocks that end together.
 *
 * Blocks are cut from chunks one behind the other, so what is made in a row lies in a row; a freed block waits for the
 * next of its size. Chunks come from the cache of large blocks and go back there, for fresh pages cost more than
 * what is built on them. All zero is an empty pool. Not thread-safe. */
#ifndef SH_DISPATCH_POOL_H
#define SH_DISPATCH_POOL_H

#include "dispatch/base.h"

enum { SH_POOL_UNIT = 16, SH_POOL_CLASSES = 32, SH_POOL_LARGEST = SH_POOL_UNIT * SH_POOL_CLASSES };

typedef struct sh_pool {
    struct sh_pool_chunk *chunks; /* newest first */
    char *free, *end;             /* of the newest chunk, not cut yet */
    void *freed[SH_POOL_CLASSES]; /* by size */
} sh_pool;

/* 16-byte aligned, not cleared; NULL and an error when memory is out. A block of more than SH_POOL_LARGEST bytes comes from
 * sh__alloc, and sh__pool_free must end it. */
SH_API void *sh__pool_alloc(sh_pool *pool, size_t size);
/* `size` is what was asked for; NULL is fine. */
SH_API void sh__pool_free(sh_pool *pool, void *block, size_t size);
/* Ends all blocks but the large ones; the pool is empty then. */
SH_API void sh__pool_end(sh_pool *pool);

#endif
