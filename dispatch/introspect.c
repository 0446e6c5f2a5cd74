/* introspect.c - what is pushed, as a call that starts now would meet it (M13). */
#include <stdio.h>
#include <stdlib.h>

#include "dispatch/chain.h"

static size_t list_entries(const sh_entry *top, bool global, sh_mode_info *infos, size_t capacity, size_t n) {
    size_t below = 0;
    for (const sh_entry *e = top; e; e = e->below) below++;
    for (const sh_entry *e = top; e; e = e->below, n++)
        if (n < capacity) infos[n] = (sh_mode_info){e->mode, global, --below};
    return n;
}

/* The global modes are in sight only while a chain is in flight: outside one they are pinned for a look. */
static bool pin(sh_thread *thread) {
    sh__recover_here(thread);
    if (thread->depth) return false;
    sh__globals_pin(thread);
    return true;
}

size_t sh_modes(sh_mode_info *infos, size_t capacity) {
    sh_thread *thread = &sh__thread;
    if (!sh__cold()) return 0;
    const bool pinned = pin(thread);
    size_t n = 0;
    for (uint32_t p = 0; p < SH_POS_COUNT; p++)
        n = list_entries(sh__seen_from_here(thread, p), p & 1, infos, capacity, n);
    if (pinned) sh__globals_release(thread);
    return n;
}

static sh_mode *recorder_among(const sh_thread *thread, const sh_entry *e) {
    const uint32_t skip = thread->depth ? thread->skip : 0;
    for (; e; e = e->below)
        if (e->mode->record && !(e->flags & skip) && !sh__mode_is_off(thread, e->mode))
            return sh_mode_keep(e->mode);
    return NULL;
}

sh_mode *sh__recorder_in_sight(void) {
    sh_thread *thread = &sh__thread;
    sh_mode *found = NULL;
    if (!sh__cold() || (thread->state.switches & SH_OFF_ALL)) return NULL;
    const bool pinned = pin(thread);
    for (uint32_t p = 0; p < SH_POS_COUNT && !found; p++)
        found = recorder_among(thread, sh__seen_from_here(thread, p));
    if (pinned) sh__globals_release(thread);
    return found;
}

static void describe_interest(FILE *out, const sh_mode *mode) {
    if (!mode->nfamilies) fputs("all", out);
    for (uint32_t i = 0; i < mode->nfamilies; i++)
        fprintf(out, i ? ", %s" : "%s", sh_op_name(sh_op_by_id(mode->families[i])));
}

static bool describe_positions(FILE *out, sh_thread *thread, uint32_t from, uint32_t to) {
    bool any = false;
    for (uint32_t p = from; p < to; p++)
        for (const sh_entry *e = sh__seen_from_here(thread, p); e; e = e->below, any = true) {
            fprintf(out, "%s%s(", any ? " " : "", e->mode->name);
            describe_interest(out, e->mode);
            fputs(p & 1 ? ", global)" : ")", out);
        }
    return any;
}

char *sh_modes_describe(void) {
    sh_thread *thread = &sh__thread;
    char *text = NULL;
    size_t size;
    FILE *out = sh__cold() ? open_memstream(&text, &size) : NULL;
    if (!out) return NULL;
    const bool pinned = pin(thread);
    fputs("function: ", out);
    if (!describe_positions(out, thread, 0, SH_POS_DISPATCH)) fputc('-', out);
    fputs("; dispatch: ", out);
    if (!describe_positions(out, thread, SH_POS_DISPATCH, SH_POS_COUNT)) fputc('-', out);
    if (pinned) sh__globals_release(thread);
    fclose(out);
    return text;
}
