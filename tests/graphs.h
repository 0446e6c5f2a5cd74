/* graphs.h - what the suites on graphs share: errors and texts compared with what is expected. */
#ifndef SH_TESTS_GRAPHS_H
#define SH_TESTS_GRAPHS_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shunt.h"

static inline const char *message(void) { return sh_error() ? sh_error()->message : ""; }

/* The pending error, which is cleared, has this code and says this. */
static inline bool error_says(sh_status code, const char *part) {
    const bool says = sh_error() && sh_error()->code == code && strstr(message(), part);
    if (!says) fprintf(stderr, "expected %s with \"%s\", got: %s\n", sh_status_name(code), part, message());
    sh_clear_error();
    return says;
}

/* Frees the text. */
static inline bool text_is(char *text, const char *expected) {
    const bool same = text && strcmp(text, expected) == 0;
    if (!same) fprintf(stderr, "got:\n%s\nexpected:\n%s\n", text ? text : message(), expected);
    free(text);
    return same;
}

/* The one tensor that a run of the graph gives, its elements added up; NaN and an error where it fails. */
static inline double run_sum(const sh_graph *graph, sh_tensors inputs) {
    sh_list *out = sh_graph_run(graph, inputs);
    return out && sh_list_size(out) == 1 ? sh_item(sh_sum(sh_list_at(out, 0))) : __builtin_nan("");
}

/* The largest difference, in parts of the largest number in b; infinite where one is missing. */
static inline double apart(sh_tensor *a, sh_tensor *b) {
    if (!a || !b || sh_error()) return INFINITY;
    const double largest = sh_item(sh_max(sh_abs(sh_to(b, SH_F64))));
    return sh_item(sh_max(sh_abs(sh_sub(sh_to(a, SH_F64), sh_to(b, SH_F64))))) / (largest + 1e-30);
}

/* Makes each allocation of `act` fail once: an error each time, and nothing left. */
static inline bool each_allocation_may_fail(bool (*act)(void)) {
    SH_SCOPE cr_assert(act(), "%s", message());
    const int64_t live = sh_memory_stats_get().live_tensors;
    for (size_t n = 1; n < 20000; n++) {
        bool done = false;
        sh_memory_fail_after(n);
        SH_SCOPE done = act();
        const bool hit = sh_memory_fail_after(0) >= n;
        const bool said = sh_error() && sh_error()->code == SH_ERROR_MEMORY;
        cr_expect(done || said, "allocation %zu: %s", n, message());
        sh_clear_error();
        cr_expect(eq(i64, sh_memory_stats_get().live_tensors, live), "allocation %zu leaves tensors", n);
        if (!hit) return done;
    }
    return false;
}

#endif
