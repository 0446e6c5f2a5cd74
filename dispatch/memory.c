/* memory.c - allocation, the cache of large blocks, and counted failure.
 *
 * Blocks are kept with the size they really have, so that a freed one serves a slightly smaller
 * request. A cached block is at most a quarter larger than what is asked for; small ones are left to
 * malloc. Blocks of 4 MiB and more are asked from the system in huge pages. Tensor records and small
 * storages: see storage.c. */
#include "dispatch/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dispatch/cold.h"

enum { HUGE_PAGE = 2 << 20, HUGE_FROM = 4 << 20, KEPT_ABOVE = 2048 };

/* Counts one allocation; true when it is the one that must fail. */
static bool fault(void) {
    if (!(sh__thread.gate & SH_GATE_FAULT)) return false;
    sh_thread_cold *cold = sh__thread.cold;
    cold->counted++;
    return cold->fail_after && --cold->fail_after == 0;
}

static void *checked(void *block, size_t size) {
    if (!block) sh_fail(SH_ERROR_MEMORY, "out of memory for %zu bytes", size);
    return block;
}

bool sh__allocation_fails(void) { return fault() && !checked(NULL, 0); }

void *sh__alloc(size_t size) { return checked(fault() ? NULL : malloc(size ? size : 1), size); }

void *sh__calloc(size_t n, size_t size) {
    return checked(fault() ? NULL : calloc(n ? n : 1, size ? size : 1), n * size);
}

/* What grows this large is filled page by page, and a huge page costs what a small one does. */
static void *in_huge_pages(void *block, size_t size) {
    if (!block || size < HUGE_FROM) return block;
    const uintptr_t mask = HUGE_PAGE - 1, from = ((uintptr_t)block + mask) & ~mask,
                    to = ((uintptr_t)block + size) & ~mask;
    if (to > from) madvise((void *)from, to - from, MADV_HUGEPAGE);
    return block;
}

void *sh__realloc(void *block, size_t size) {
    return checked(fault() ? NULL : in_huge_pages(realloc(block, size ? size : 1), size), size);
}

char *sh__strdup(const char *text) {
    const size_t size = strlen(text) + 1;
    char *copy = sh__alloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

void sh__free(void *block) { free(block); }

/* Rounds up so that blocks of nearly equal size are interchangeable. */
static size_t rounded(size_t size) {
    size_t step = 64;
    while (step * 16 < size) step *= 2;
    return (size + step - 1) & ~(step - 1);
}

static void *cached_block(size_t size, size_t *capacity) {
    sh_thread_cold *cold = sh__thread.cold;
    if (!cold) return NULL;
    for (uint32_t i = cold->nblocks; i-- > 0;) {
        const sh_cached_block found = cold->blocks[i];
        if (found.capacity < size || found.capacity - size > size / 4) continue;
        memmove(&cold->blocks[i], &cold->blocks[i + 1], (--cold->nblocks - i) * sizeof found);
        cold->cached -= found.capacity;
        *capacity = found.capacity;
        return found.block;
    }
    return NULL;
}

void *sh__block_alloc(size_t size, size_t *capacity) {
    if (size > (size_t)INT64_MAX / 2) return checked(NULL, size);
    void *block = cached_block(size, capacity);
    if (block) return block;
    *capacity = rounded(size);
    const size_t alignment = *capacity >= HUGE_FROM ? HUGE_PAGE : 64;
    if (fault() || posix_memalign(&block, alignment, *capacity) != 0) return checked(NULL, size);
    if (alignment == HUGE_PAGE) madvise(block, size & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
    return block;
}

/* The oldest blocks make room. */
static void evict(sh_thread_cold *cold, size_t wanted) {
    uint32_t n = 0;
    while (n < cold->nblocks &&
           (cold->cached + wanted > cold->cache_limit || cold->nblocks - n == SH_CACHED_BLOCKS)) {
        cold->cached -= cold->blocks[n].capacity;
        free(cold->blocks[n++].block);
    }
    cold->nblocks -= n;
    memmove(cold->blocks, cold->blocks + n, cold->nblocks * sizeof *cold->blocks);
}

void sh__block_free(void *block, size_t capacity) {
    sh_thread_cold *cold = sh__thread.cold;
    if (!cold || capacity <= KEPT_ABOVE || capacity > cold->cache_limit ||
        (sh__thread.gate & SH_GATE_FAULT)) {
        free(block);
        return;
    }
    evict(cold, capacity);
    if (cold->cached + capacity > cold->cache_limit) {
        free(block);
        return;
    }
    cold->blocks[cold->nblocks++] = (sh_cached_block){block, capacity};
    cold->cached += capacity;
}

size_t sh__blocks_cached(void) { return sh__thread.cold ? sh__thread.cold->cached : 0; }

void sh__blocks_trim(size_t most) {
    sh_thread_cold *cold = sh__thread.cold;
    while (cold && cold->nblocks && cold->cached > most) {
        const sh_cached_block last = cold->blocks[--cold->nblocks];
        cold->cached -= last.capacity;
        free(last.block);
    }
}

static int32_t records_kept(const sh_thread_cold *cold) {
    return cold->cache_limit && !(sh__thread.gate & SH_GATE_FAULT) ? SH_RECORDS_KEPT : 0;
}

void sh_memory_trim(void) {
    const sh_thread_cold *cold = sh__cold();
    sh__records_room(cold ? records_kept(cold) : 0);
    sh__storages_trim();
    sh__blocks_trim(0);
}

void sh_memory_set_cache_limit(size_t bytes) {
    sh_thread_cold *cold = sh__cold();
    if (!cold) return;
    cold->cache_limit = bytes;
    sh_memory_trim();
}

sh_memory_stats sh_memory_stats_get(void) {
    sh_memory_stats stats = {0, 0, 0};
    const sh_thread_cold *cold = sh__cold();
    if (cold) stats.cached_bytes = (int64_t)cold->cached;
    sh__live_counts(&stats);
    return stats;
}

size_t sh_memory_fail_after(size_t n) {
    sh_thread_cold *cold = sh__cold();
    if (!cold) return 0;
    const size_t counted = cold->counted;
    cold->fail_after = n;
    cold->counted = 0;
    sh__thread.gate = n ? sh__thread.gate | SH_GATE_FAULT : sh__thread.gate & ~(uint32_t)SH_GATE_FAULT;
    sh_memory_trim();
    return counted;
}
