/* budget.c - 64 MiB and 8 times the file is what a reader may take in all; the rest of it is for the program, the file's
 * own bytes and what allocators round up. */
#include "ops/io/budget.h"

enum { BASE = 40 << 20, FACTOR = 6 };

sh_budget sh__budget_for(size_t size, const char *what) { return (sh_budget){BASE + FACTOR * size, 0, what}; }

sh_status sh__budget_take(sh_budget *budget, size_t bytes) {
    if (bytes > budget->limit - budget->used)
        return sh_fail(SH_ERROR_FORMAT,
                       "%s: it would take more than %zu MiB of memory, out of proportion to its size",
                       budget->what, budget->limit >> 20);
    budget->used += bytes;
    return SH_OK;
}

sh_status sh__budget_take_many(sh_budget *budget, size_t n, size_t each) {
    size_t bytes;
    return sh__budget_take(budget, __builtin_mul_overflow(n, each, &bytes) ? SIZE_MAX : bytes);
}
