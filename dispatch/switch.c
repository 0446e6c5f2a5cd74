/* switch.c - turning interception off and on for a stretch (M11).
 *
 * Open switches form a list through the caller's own records, innermost first, so nothing is allocated
 * and each end restores exactly what its begin found. */
#include "dispatch/chain.h"

/* Of what is off, `kept` stays so and `off` joins it. */
static void open_switch(sh_switch *s, const sh_mode *mode, uint32_t kept, uint32_t off) {
    sh_thread *thread = &sh__thread;
    sh__recover_here(thread);
    *s = (sh_switch){.mode = mode, .before = thread->state.switches};
    if (!sh__cold()) return;
    sh__state_changes(thread);
    s->outer = thread->state.switches_open;
    s->open = 1;
    thread->state.switches_open = s;
    thread->state.switches = (thread->state.switches & kept) | off;
    thread->gate |= SH_GATE_SWITCH;
    thread->state.balance++;
}

void sh_switch_off(sh_switch *s, uint32_t what) { open_switch(s, NULL, ~0u, what); }

void sh_switch_on(sh_switch *s) { open_switch(s, NULL, 0, 0); }

void sh_switch_mode_off(sh_switch *s, const sh_mode *mode) { open_switch(s, mode, ~0u, 0); }

sh_status sh_switch_end(sh_switch *s) {
    sh_thread *thread = &sh__thread;
    if (!s->open) return SH_OK;
    sh__recover_here(thread);
    if (thread->state.switches_open != s)
        return sh_fail(SH_ERROR_MODE,
                       "sh_switch_end: another switch was opened inside this one and is still open");
    sh__state_changes(thread);
    if (thread->depth && thread->cold->frames[thread->depth - 1].state.switches_open == s)
        return sh_fail(SH_ERROR_MODE,
                       "sh_switch_end: a callback can't end a switch that was opened outside it");
    s->open = 0;
    thread->state.switches_open = s->outer;
    thread->state.switches = s->before;
    thread->state.balance--;
    if (!s->outer) thread->gate &= ~(uint32_t)SH_GATE_SWITCH;
    return SH_OK;
}

bool sh__mode_is_off(const sh_thread *thread, const sh_mode *mode) {
    for (const sh_switch *s = thread->state.switches_open; s; s = s->outer)
        if (s->mode == mode) return true;
    return false;
}
