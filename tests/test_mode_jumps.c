/* What follows a longjmp out of a callback: whatever comes next, an op or not, finds the stacks put right; and what a
 * callback or a context can't leave behind. */
#include <setjmp.h>

#include "tests/modes.h"

static jmp_buf out;
static sh_mode *jumper, *logger;
static sh_tensor *x;

static sh_status jumps(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    sh_neg(sh_call_tensor(call, 0));
    longjmp(out, 1);
}

static void begin(void) {
    seen[0] = 0;
    x = number(3);
    jumper =
        sh_mode_new(jumps, &(sh_mode_options){.name = "jumper", .ops = (const char *const[]){"mul", NULL}});
    logger = sh_mode_new(noting,
                         &(sh_mode_options){.ops = (const char *const[]){"add", NULL}, .user = seen + 4000});
    strcpy(seen + 4000, "L");
    sh_push_mode(logger);
    sh_push_mode(jumper);
}

static void end(void) {
    cr_assert(eq(sz, sh_mode_depth(), 2));
    cr_assert(eq(int, sh_pop_mode(jumper), SH_OK));
    cr_assert(eq(int, sh_pop_mode(logger), SH_OK));
    sh_mode_release(jumper);
    sh_mode_release(logger);
    cr_assert(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
}

TestSuite(mode_jumps, .init = begin, .fini = end, .timeout = 60);

static void jump(void) {
    if (!setjmp(out)) sh_mul(x, x);
}

Test(mode_jumps, the_scope_around_it_ends) {
    const size_t held = sh_scope_held();
    SH_SCOPE {
        sh_relu(x);
        jump();
    }
    cr_assert(eq(sz, sh_scope_held(), held));
}

Test(mode_jumps, a_scope_opened_next_is_a_scope) {
    jump();
    const size_t held = sh_scope_held();
    SH_SCOPE {
        sh_relu(x);
        sh_escape(sh_relu(x));
    }
    cr_assert(eq(sz, sh_scope_held(), held + 1));
}

Test(mode_jumps, a_switch_opened_next_holds) {
    sh_switch off;
    jump();
    sh_switch_off(&off, SH_OFF_ALL);
    sh_add(x, x);
    cr_assert(eq(str, seen, ""));
    cr_assert(eq(int, sh_switch_end(&off), SH_OK));
    sh_add(x, x);
    cr_assert(eq(str, seen, "L:add "));
}

Test(mode_jumps, a_name_or_backend_chosen_next_holds) {
    jump();
    sh_name_push("here");
    sh_add(x, x);
    cr_assert(eq(str, TEXT(sh_scope_path()), "here"));
    sh_name_pop();
    jump();
    SH_WITH_BACKEND("ref") { cr_assert(eq(dbl, first(sh_add(x, x)), 6)); }
}

Test(mode_jumps, a_context_can_be_entered_next) {
    sh_context_guard guard;
    jump();
    sh_context *context = sh_context_capture();
    jump();
    cr_assert(eq(int, sh_context_enter(context, &guard), SH_OK));
    jump();
    sh_context_leave(&guard);
    sh_context_free(context);
}

Test(mode_jumps, what_is_pushed_is_listed_whole) {
    jump();
    cr_assert(eq(sz, sh_modes(NULL, 0), 2));
}

static sh_status pushes_and_goes_on(sh_mode *mode, sh_call *call) {
    SH_TRY(sh_push_mode(mode));
    SH_TRY(sh_next(call));
    return sh_pop_mode(mode);
}

/* The sanitizer tells whether what the callback had pushed is freed. */
Test(mode_jumps, a_push_of_a_callback_above_is_undone) {
    sh_mode *m = sh_mode_new(pushes_and_goes_on, NULL);
    sh_push_mode(m);
    for (int i = 0; i < 300; i++) jump();
    cr_assert(eq(sz, sh_mode_depth(), 3));
    sh_pop_mode(m);
    sh_mode_release(m);
}

static sh_status jumps_within(sh_mode *mode, sh_call *call) {
    (void)mode;
    jump();
    return sh_next(call);
}

Test(mode_jumps, a_callback_may_catch_what_its_own_ops_throw) {
    for (int timed = 0; timed < 2; timed++) {
        sh_mode_time(timed);
        SH_WITH_MODE(jumps_within) { cr_assert(eq(dbl, first(sh_add(x, x)), 6)); }
    }
    sh_mode_time(false);
    cr_assert(eq(str, seen, "L:add L:add "));
}

/* ---- contexts and switches, as they end ---- */

Test(mode_jumps, switches_left_open_in_a_context_end_with_it) {
    sh_context_guard guard;
    sh_switch off;
    sh_context *context = sh_context_capture();
    sh_context_enter(context, &guard);
    sh_switch_off(&off, SH_OFF_ALL);
    sh_context_leave(&guard);
    sh_add(x, x);
    cr_assert(eq(str, seen, "L:add "));
    cr_assert(eq(int, sh_switch_end(&off), SH_OK));
    sh_context_free(context);
}

static sh_switch opened_outside;
static sh_status swaps_switches(sh_mode *mode, sh_call *call) {
    sh_switch mine;
    (void)call;
    sh_switch_end(&opened_outside);
    sh_switch_mode_off(&mine, mode);
    return SH_PASS;
}

Test(mode_jumps, a_callback_cannot_end_a_switch_of_its_caller) {
    sh_switch_off(&opened_outside, SH_OFF_OVERRIDES);
    SH_WITH_MODE(swaps_switches) { cr_assert(eq(ptr, sh_relu(x), NULL)); }
    cr_assert(failed_with(SH_ERROR_MODE, "switch"));
    cr_assert(eq(int, sh_switch_end(&opened_outside), SH_OK));
}
