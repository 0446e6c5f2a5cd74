/* pool.c - chunks that double up to 4 MiB, and a free list for each size. Under ASan what is not in use is poisoned. */
#include "dispatch/pool.h"

#include <sanitizer/asan_interface.h>

#include "dispatch/memory_impl.h"

typedef struct sh_pool_chunk {
    struct sh_pool_chunk *next;
    size_t capacity, size; /* as the cache of blocks knows it, and as it was asked for */
} __attribute__((aligned(SH_POOL_UNIT))) sh_pool_chunk;

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 4 << 20 };

static bool grow(sh_pool *pool) {
    const size_t last = pool->chunks ? pool->chunks->size : FIRST_CHUNK / 2;
    const size_t size = last < LARGEST_CHUNK ? last * 2 : LARGEST_CHUNK;
    size_t capacity;
    sh_pool_chunk *chunk = sh__block_alloc(size, &capacity);
    if (!chunk) return false;
    *chunk = (sh_pool_chunk){pool->chunks, capacity, size};
    pool->chunks = chunk;
    pool->free = (char *)(chunk + 1);
    pool->end = (char *)chunk + size;
    ASAN_POISON_MEMORY_REGION(pool->free, (size_t)(pool->end - pool->free));
    return true;
}

/* What is left of a chunk is lost when the next block has no room in it. */
static void *cut(sh_pool *pool, size_t bytes) {
    if ((size_t)(pool->end - pool->free) < bytes && !grow(pool)) return NULL;
    void *block = pool->free;
    pool->free += bytes;
    return block;
}

static size_t class_of(size_t size) { return size ? (size - 1) / SH_POOL_UNIT : 0; }

void *sh__pool_alloc(sh_pool *pool, size_t size) {
    if (size > SH_POOL_LARGEST) return sh__alloc(size);
    if (sh__allocation_fails()) return NULL;
    void **freed = &pool->freed[class_of(size)], *block = *freed;
    const size_t bytes = (class_of(size) + 1) * SH_POOL_UNIT;
    if (!block) block = cut(pool, bytes);
    if (!block) return NULL;
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    if (block == *freed) *freed = *(void **)block;
    return block;
}

void sh__pool_free(sh_pool *pool, void *block, size_t size) {
    if (size > SH_POOL_LARGEST) {
        sh__free(block);
        return;
    }
    if (!block) return;
    void **freed = &pool->freed[class_of(size)];
    *(void **)block = *freed;
    *freed = block;
    ASAN_POISON_MEMORY_REGION(block, (class_of(size) + 1) * SH_POOL_UNIT);
}

void sh__pool_end(sh_pool *pool) {
    for (sh_pool_chunk *chunk = pool->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        ASAN_UNPOISON_MEMORY_REGION(chunk, chunk->size);
        sh__block_free(chunk, chunk->capacity);
    }
    *pool = (sh_pool){0};
}
