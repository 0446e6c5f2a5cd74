/* symbols.c - open addressing over records that never move. The hash has a seed of the process's own, so that no file
 * can bring names that all fall into one slot. Both arrays come from the cache of large blocks. */
#include "dispatch/symbols.h"

#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dispatch/memory_impl.h"
#include "dispatch/status.h"

/* From the 16 random bytes that the kernel gives a new process. */
static uint64_t seed_of_process(void) {
    uint64_t seed = 0;
    const void *const random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    if (random) memcpy(&seed, random, sizeof seed);
    return seed;
}

static uint64_t hash_of(const sh_symbols *symbols, const char *text, size_t length) {
    return XXH3_64bits_withSeed(text, length, symbols->seed);
}

/* Half of the hash stands in the slot: records that differ in it are not looked at. */
typedef struct sh_symbol_slot {
    uint32_t place, hash; /* place in `at` + 1, or 0 */
} sh_symbol_slot;

static sh_symbol_slot *find_slot(const sh_symbols *symbols, const char *text, size_t length, uint64_t hash) {
    for (uint64_t i = hash;; i++) {
        sh_symbol_slot *slot = &symbols->slots[i & (symbols->nslots - 1)];
        if (!slot->place) return slot;
        if (slot->hash != hash >> 32) continue;
        const sh_symbol *symbol = symbols->at[slot->place - 1];
        if (symbol->hash == hash && symbol->length == length && memcmp(symbol->text, text, length) == 0)
            return slot;
    }
}

sh_symbol *sh__symbol_find(const sh_symbols *symbols, const char *text, size_t length) {
    if (!symbols->nslots) return NULL;
    const uint32_t place = find_slot(symbols, text, length, hash_of(symbols, text, length))->place;
    return place ? symbols->at[place - 1] : NULL;
}

static sh_status grow_slots(sh_symbols *symbols) {
    const uint32_t nslots = symbols->nslots ? symbols->nslots * 2 : 16;
    size_t bytes;
    sh_symbol_slot *slots = sh__block_alloc(nslots * sizeof *slots, &bytes);
    if (!slots) return SH_ERROR_MEMORY;
    memset(slots, 0, nslots * sizeof *slots);
    if (symbols->slots)
        sh__block_free(symbols->slots, symbols->slots_bytes);
    else
        symbols->seed = seed_of_process();
    symbols->slots_bytes = bytes;
    symbols->slots = slots;
    symbols->nslots = nslots;
    for (uint32_t i = 0; i < symbols->n; i++) {
        const uint64_t hash = symbols->at[i]->hash;
        uint64_t at = hash;
        while (slots[at & (nslots - 1)].place) at++;
        slots[at & (nslots - 1)] = (sh_symbol_slot){i + 1, (uint32_t)(hash >> 32)};
    }
    return SH_OK;
}

static sh_status grow_list(sh_symbols *symbols) {
    size_t bytes;
    sh_symbol **at = sh__block_alloc(symbols->n ? 2 * symbols->at_bytes : 8 * sizeof *at, &bytes);
    if (!at) return SH_ERROR_MEMORY;
    if (symbols->at) {
        memcpy(at, symbols->at, symbols->n * sizeof *at);
        sh__block_free(symbols->at, symbols->at_bytes);
    }
    symbols->at = at;
    symbols->at_bytes = bytes;
    return SH_OK;
}

static sh_status reserve(sh_symbols *symbols) {
    if ((symbols->n + 1) * sizeof *symbols->at > symbols->at_bytes) SH_TRY(grow_list(symbols));
    return (symbols->n + 1) * 2 > symbols->nslots ? grow_slots(symbols) : SH_OK;
}

sh_symbol *sh__symbol(sh_symbols *symbols, const char *text, size_t length) {
    if (reserve(symbols) < 0) return NULL;
    const uint64_t hash = hash_of(symbols, text, length);
    sh_symbol *symbol;
    sh_symbol_slot *slot = find_slot(symbols, text, length, hash);
    if (slot->place) return symbols->at[slot->place - 1];
    const size_t size = sizeof *symbol + length + 1;
    symbol = sh__pool_alloc(&symbols->pool, size);
    if (!symbol) return NULL;
    *symbol = (sh_symbol){.hash = hash, .length = length, .large = size > SH_POOL_LARGEST};
    memcpy(symbol->text, text, length);
    symbol->text[length] = 0;
    symbols->at[symbols->n++] = symbol;
    *slot = (sh_symbol_slot){symbols->n, (uint32_t)(hash >> 32)};
    return symbol;
}

void sh__symbols_free(sh_symbols *symbols) {
    for (uint32_t i = 0; i < symbols->n; i++)
        if (symbols->at[i]->large) sh__free(symbols->at[i]);
    sh__pool_end(&symbols->pool);
    if (symbols->at) sh__block_free(symbols->at, symbols->at_bytes);
    if (symbols->slots) sh__block_free(symbols->slots, symbols->slots_bytes);
    *symbols = (sh_symbols){0};
}
