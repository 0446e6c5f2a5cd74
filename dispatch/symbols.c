/* symbols.c - open addressing over records that never move. The hash has a seed of the process's own, so that no file
 * can bring names that all fall into one slot. */
#include "dispatch/symbols.h"

#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dispatch/memory_impl.h"
#include "dispatch/status.h"

/* From the 16 random bytes that the kernel gives a new process. */
static uint64_t hash_of(const char *text, size_t length) {
    uint64_t seed = 0;
    const void *const random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    if (random) memcpy(&seed, random, sizeof seed);
    return XXH3_64bits_withSeed(text, length, seed);
}

static uint32_t *find_slot(const sh_symbols *symbols, const char *text, size_t length, uint64_t hash) {
    for (uint64_t i = hash;; i++) {
        uint32_t *slot = &symbols->slots[i & (symbols->nslots - 1)];
        if (!*slot) return slot;
        const sh_symbol *symbol = symbols->at[*slot - 1];
        if (symbol->hash == hash && strncmp(symbol->text, text, length) == 0 && !symbol->text[length])
            return slot;
    }
}

sh_symbol *sh__symbol_find(const sh_symbols *symbols, const char *text, size_t length) {
    if (!symbols->nslots) return NULL;
    const uint32_t place = *find_slot(symbols, text, length, hash_of(text, length));
    return place ? symbols->at[place - 1] : NULL;
}

static sh_status grow_slots(sh_symbols *symbols) {
    const uint32_t nslots = symbols->nslots ? symbols->nslots * 2 : 16;
    uint32_t *slots = sh__calloc(nslots, sizeof *slots);
    if (!slots) return SH_ERROR_MEMORY;
    sh__free(symbols->slots);
    symbols->slots = slots;
    symbols->nslots = nslots;
    for (uint32_t i = 0; i < symbols->n; i++) {
        uint64_t at = symbols->at[i]->hash;
        while (slots[at & (nslots - 1)]) at++;
        slots[at & (nslots - 1)] = i + 1;
    }
    return SH_OK;
}

static sh_status reserve(sh_symbols *symbols) {
    if (symbols->n == symbols->capacity) {
        const uint32_t capacity = symbols->capacity ? symbols->capacity * 2 : 8;
        sh_symbol **at = sh__realloc(symbols->at, capacity * sizeof *at);
        if (!at) return SH_ERROR_MEMORY;
        symbols->at = at;
        symbols->capacity = capacity;
    }
    return (symbols->n + 1) * 2 > symbols->nslots ? grow_slots(symbols) : SH_OK;
}

sh_symbol *sh__symbol(sh_symbols *symbols, const char *text, size_t length) {
    if (reserve(symbols) < 0) return NULL;
    const uint64_t hash = hash_of(text, length);
    uint32_t *slot = find_slot(symbols, text, length, hash);
    if (*slot) return symbols->at[*slot - 1];
    sh_symbol *symbol = sh__calloc(1, sizeof *symbol + length + 1);
    if (!symbol) return NULL;
    symbol->hash = hash;
    memcpy(symbol->text, text, length);
    symbols->at[symbols->n++] = symbol;
    *slot = symbols->n;
    return symbol;
}

void sh__symbols_free(sh_symbols *symbols) {
    for (uint32_t i = 0; i < symbols->n; i++) sh__free(symbols->at[i]);
    sh__free(symbols->at);
    sh__free(symbols->slots);
    *symbols = (sh_symbols){0};
}
