/* fail_each.h - every allocation of an action fails once: an error each time, nothing leaked, and the next call works. */
#ifndef SH_TESTS_FAIL_EACH_H
#define SH_TESTS_FAIL_EACH_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "shunt.h"

/* Makes the n-th allocation of `act` fail for every n, until one run meets no failure. */
static inline void fail_each(const char *what, bool (*act)(void)) {
    for (size_t n = 1; n < 20000; n++) {
        const int64_t live = sh_memory_stats_get().live_tensors, bytes = sh_memory_stats_get().live_bytes;
        const size_t held = sh_scope_held();
        bool worked;
        sh_memory_fail_after(n);
        SH_SCOPE { worked = act(); }
        const bool hit = sh_memory_fail_after(0) >= n;
        cr_assert(worked || sh_error(), "%s: allocation %zu failed without an error", what, n);
        if (sh_error())
            cr_assert(eq(int, sh_error()->code, SH_ERROR_MEMORY), "%s: allocation %zu: %s", what, n,
                      sh_error()->message);
        sh_clear_error();
        cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live), "%s: %zu leaks tensors", what, n);
        cr_assert(eq(i64, sh_memory_stats_get().live_bytes, bytes), "%s: %zu leaks bytes", what, n);
        cr_assert(eq(sz, sh_scope_held(), held), "%s: allocation %zu", what, n);
        cr_assert(eq(sz, sh_mode_depth(), 0), "%s: allocation %zu leaves a mode", what, n);
        cr_assert(eq(str, (char *)(uintptr_t)sh_scope_path(), (char *)""), "%s: %zu leaves a name", what, n);
        if (!hit) return;
    }
    cr_assert(false, "%s never ends", what);
}

#endif
