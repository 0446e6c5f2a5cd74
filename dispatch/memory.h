/* memory.h - where blocks come from, and what is in use.
 *
 * Tensor records and small storages come from per-thread free lists, large freed blocks are cached
 * per thread, since fresh pages cost more than the arithmetic on them. Both are off under ASan and
 * with SHUNT_CACHE=0. */
#ifndef SH_DISPATCH_MEMORY_H
#define SH_DISPATCH_MEMORY_H

#include "dispatch/base.h"

SH_BEGIN_DECLS

typedef struct sh_memory_stats {
    int64_t live_tensors; /* tensor records in use, all threads */
    int64_t live_bytes;   /* bytes in storages that the library allocated, all threads */
    int64_t cached_bytes; /* bytes kept by this thread's caches */
} sh_memory_stats;

SH_API sh_memory_stats sh_memory_stats_get(void);
/* Gives this thread's caches back to the system. */
SH_API void sh_memory_trim(void);
/* The most this thread keeps cached, in bytes. Default 256 MiB; 0 turns caching off. */
SH_API void sh_memory_set_cache_limit(size_t bytes);

/* For tests: the n-th allocation of this thread from now on fails (1 is the next), once. Hits in the
 * free lists count as allocations. 0 ends it. Returns how many allocations were counted since the last call. */
SH_API size_t sh_memory_fail_after(size_t n);

SH_END_DECLS

#endif
