/* modes.h - the callbacks that the tests of modes share: each does one thing and notes that it ran. */
#ifndef SH_TESTS_MODES_H
#define SH_TESTS_MODES_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

#include "shunt.h"

/* Criterion prints what it compares as char *. */
#define TEXT(x) ((char *)(uintptr_t)(x))

/* What the noting callbacks saw, "A:add B:add ". */
static char seen[4096];

static inline void note(const char *who, const sh_call *call) {
    const size_t n = strlen(seen);
    snprintf(seen + n, sizeof seen - n, "%s:%s ", who, sh_call_name(call));
}

/* Notes its user data and the op, and passes. */
static inline sh_status noting(sh_mode *mode, sh_call *call) {
    note(sh_mode_user(mode) ? sh_mode_user(mode) : "?", call);
    return SH_PASS;
}

static inline sh_mode *noting_mode(const char *who) {
    return sh_mode_new(
        noting, &(sh_mode_options){.name = who, .user = (void *)(uintptr_t)who, .kind = SH_MODE_WATCHING});
}

static inline sh_mode *noting_at_dispatch(const char *who) {
    return sh_mode_new(
        noting, &(sh_mode_options){.name = who, .user = (void *)(uintptr_t)who, .level = SH_LEVEL_DISPATCH});
}

static inline sh_status add_to_mul(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS;
}

static inline sh_status mul_to_sub(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_mul) SH_TRY(sh_call_swap(call, SH_OP_sub));
    return SH_PASS;
}

static inline sh_tensor *number(double v) { return sh_full(SH_SIZES(2), v, .dtype = SH_F32); }
static inline double first(const sh_tensor *t) {
    return t ? sh_tensor_at(t, (const int64_t[]){0, 0, 0, 0}) : -12345;
}

/* The pending error's message contains the words; clears it. */
static inline bool failed_with(sh_status code, const char *words) {
    const sh_error_info *error = sh_error();
    const bool right = error && error->code == code && strstr(error->message, words);
    if (error && !right) fprintf(stderr, "got %s: %s\n", sh_status_name(error->code), error->message);
    if (!error) fprintf(stderr, "no error, expected %s: %s\n", sh_status_name(code), words);
    sh_clear_error();
    return right;
}

#endif
