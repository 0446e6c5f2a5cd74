/* mode.c - mode objects: made, kept, asked. The stack they go on is stack.c. */
#include "dispatch/mode.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"

static atomic_uint_fast64_t last_serial;

static void want(sh_mode *mode, uint32_t family) {
    const uint32_t bit = sh__family_bit(family);
    mode->wants[bit / 64] |= (uint64_t)1 << bit % 64;
    if (bit == SH_FAMILY_BITS - 1) mode->unusual |= SH_MODE_IS_INEXACT;
}

static sh_status set_interest(sh_mode *mode, const char *const *ops) {
    if (!ops) {
        memset(mode->wants, 0xff, sizeof mode->wants);
        return SH_OK;
    }
    size_t n = 0;
    while (ops[n]) n++;
    mode->families = sh__calloc(n, sizeof *mode->families);
    if (!mode->families) return SH_ERROR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        SH_TRY(sh__family_intern(ops[i], &mode->families[i]));
        want(mode, mode->families[i]);
    }
    mode->nfamilies = (uint32_t)n;
    return SH_OK;
}

static uint32_t entry_flags(const sh_mode_options *options) {
    uint32_t flags = 0;
    if (options->flags & SH_MODE_COUNTS_CALLS) flags |= SH_ENTRY_COUNTS;
    if (options->flags & SH_MODE_CAPTURES) flags |= SH_ENTRY_CAPTURE;
    if (options->kind == SH_MODE_WATCHING) flags |= SH_ENTRY_WATCHING;
    if (options->level == SH_LEVEL_DISPATCH && !(options->flags & SH_MODE_KEEPS_COMPOSITES))
        flags |= SH_ENTRY_SPLITS;
    return flags;
}

sh_mode *sh_mode_new(sh_callback callback, const sh_mode_options *options) {
    static const sh_mode_options plain = {0};
    if (!callback) {
        sh_fail(SH_ERROR_NULL, "sh_mode_new: callback is NULL");
        return NULL;
    }
    if (!options) options = &plain;
    sh_mode *mode = sh__calloc(1, sizeof *mode);
    if (!mode) return NULL;
    snprintf(mode->name, sizeof mode->name, "%s", options->name ? options->name : "mode");
    mode->flags = options->flags;
    mode->entry_flags = entry_flags(options);
    mode->level = options->level;
    mode->kind = options->kind;
    mode->callback = callback;
    mode->user = options->user;
    mode->pushed = options->pushed;
    mode->popped = options->popped;
    mode->serial = atomic_fetch_add(&last_serial, 1) + 1;
    atomic_init(&mode->refs, 1);
    if (set_interest(mode, options->ops) < 0) {
        sh_mode_release(mode);
        return NULL;
    }
    mode->destroy = options->destroy;
    return mode;
}

sh_mode *sh_mode_keep(sh_mode *mode) {
    if (mode) atomic_fetch_add_explicit(&mode->refs, 1, memory_order_relaxed);
    return mode;
}

/* A mode that ends while an error is pending still writes its report, and leaves the error as it is. */
static void end(const sh_mode *mode) {
    sh_aside aside;
    if (!mode->destroy) return;
    sh__error_put_aside(&aside);
    mode->destroy(mode->user);
    sh__error_put_back(&aside);
}

void sh_mode_release(sh_mode *mode) {
    if (!mode || atomic_fetch_sub_explicit(&mode->refs, 1, memory_order_acq_rel) != 1) return;
    end(mode);
    sh__free(mode->families);
    sh__free(mode);
}

void *sh_mode_user(const sh_mode *mode) { return mode->user; }
const char *sh_mode_name(const sh_mode *mode) { return mode->name; }
uint64_t sh_mode_serial(const sh_mode *mode) { return mode->serial; }
sh_mode_kind sh_mode_kind_of(const sh_mode *mode) { return mode->kind; }
sh_level sh_mode_level(const sh_mode *mode) { return mode->level; }
void sh_mode_touch(sh_mode *mode) {
    atomic_fetch_add(&mode->version, 1);
    sh__configuration_changed();
}
uint64_t sh_mode_version(const sh_mode *mode) { return atomic_load(&mode->version); }
uint64_t sh_mode_calls(const sh_mode *mode) {
    return atomic_load_explicit(&mode->calls, memory_order_relaxed);
}
uint64_t sh_mode_own_ns(const sh_mode *mode) {
    return atomic_load_explicit(&mode->own_ns, memory_order_relaxed);
}
