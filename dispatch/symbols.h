/* symbols.h - strings met once and then known by address, each with room for what it names.
 *
 * A hash table whose records never move, in the order they were met. It owns its strings, not what they
 * name. Not thread-safe. */
#ifndef SH_DISPATCH_SYMBOLS_H
#define SH_DISPATCH_SYMBOLS_H

#include "dispatch/pool.h"

typedef struct sh_symbol {
    void *object;  /* what it names, or NULL */
    int64_t count; /* these two for the table's owner */
    bool taken;
    bool large; /* not the pool's */
    uint64_t hash;
    size_t length;
    char text[];
} sh_symbol;

typedef struct sh_symbols {
    sh_symbol **at; /* in the order they were met */
    uint32_t n, nslots;
    struct sh_symbol_slot *slots; /* a power of two of them */
    uint64_t seed;                /* of the hashes, from the first record on */
    size_t at_bytes, slots_bytes; /* of both blocks */
    sh_pool pool;                 /* of the records */
} sh_symbols;

/* NULL if it was never met; no error. `text` need not end in 0. */
SH_API sh_symbol *sh__symbol_find(const sh_symbols *symbols, const char *text, size_t length);
/* The one of this text, made if need be; NULL and an error when memory is out. */
SH_API sh_symbol *sh__symbol(sh_symbols *symbols, const char *text, size_t length);
SH_API void sh__symbols_free(sh_symbols *symbols);

#endif
