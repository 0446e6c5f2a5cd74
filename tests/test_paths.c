/* The walk that most calls take in line (walk.h) and the general one must not be told apart: random programs of modes and
 * ops run once each way and must log the same, to the last value, error and count.
 *
 * A program is what a stream of random numbers makes of it, so that it is the same program as long as the library
 * behaves the same. The general walk is forced by timing modes, or by a global mode that wants nothing. */
#include <setjmp.h>
#include <stdarg.h>

#include "tests/modes.h"

TestSuite(paths, .timeout = 240);

enum { MODES = 9, POOL = 4, OPS = 8, BUDGET = 120, PROGRAMS = 4000 };

/* ---- a program's state ---- */

static char log_text[1 << 20];
static size_t log_size;
static uint64_t random_state;
static int budget;
static sh_mode *modes[MODES];
static sh_tensor *pool[POOL];
static jmp_buf *landing; /* where the innermost issue() waits for a jump */

static __attribute__((format(printf, 1, 2))) void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(log_text + log_size, sizeof log_text - log_size, format, list);
    va_end(list);
    log_size += (size_t)n;
    cr_assert(lt(sz, log_size, sizeof log_text));
}

/* splitmix64 */
static uint32_t below(uint32_t n) {
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % n);
}

static sh_tensor *any_tensor(void) { return pool[below(POOL)]; }

static void say_value(sh_value v) {
    char type[200];
    sh_value_print(v, type, sizeof type);
    say(" %s", type);
    if (v.tag == SH_TAG_TENSOR) say("=%.9g", first(v.as.tensor));
}

/* An error ends in the log; is there none? */
static bool went_well(void) {
    const sh_error_info *error = sh_error();
    if (!error) return true;
    say(" !%s|%s|%s", error->op, error->where, error->message);
    sh_clear_error();
    return false;
}

/* ---- ops ---- */

static sh_value one_op(void) {
    sh_tensor *x = any_tensor(), *y = any_tensor();
    switch (below(14)) {
    case 0: return sh_value_tensor(sh_mul(x, y));
    case 1: return sh_value_tensor(sh_relu(x));
    case 2: return sh_value_tensor(sh_add_(x, y));
    case 3: return sh_value_tensor(sh_linear(x, y));
    case 4: return sh_value_tensor(sh_max_dim(x, 0).values);
    case 5: return sh_value_tensor(sh_sum(x));
    case 6: return sh_value_tensor(sh_full(SH_SIZES(2, 2), 3));
    case 7: return sh_value_tensor(sh_call_op("sub", x, y));
    case 8: return sh_value_tensor(sh_cat(SH_LIST(x, y)));
    case 9: return sh_value_tensor(sh_list_at(sh_split(x, 1), 1));
    case 10: return sh_value_tensor(sh_add(x, sh_full(SH_SIZES(3), 1)));
    case 11: return sh_value_tensor(sh_mul(x, y, .out = any_tensor()));
    case 12: return sh_value_tensor(sh_addmm(x, y, x));
    default: return sh_value_tensor(sh_add(x, 2.0));
    }
}

/* One op, out of which a callback may jump. */
static void issue(void) {
    jmp_buf here, *volatile outer = landing;
    if (setjmp(here)) {
        landing = outer;
        say(" jumped");
    } else {
        landing = &here;
        const sh_value v = one_op();
        landing = outer;
        say_value(v.as.tensor ? v : sh_none());
    }
    say(" depth %zu", sh_mode_depth());
}

/* ---- what a callback does ---- */

static sh_status next(sh_call *call) {
    const sh_status status = sh_next(call);
    say(" next %d", (int)status);
    say_value(sh_call_result(call, 0));
    return status;
}

static sh_status swap(sh_call *call) {
    static const uint32_t to[] = {SH_OP_mul, SH_OP_sub, SH_OP_linear, SH_OP_maximum, SH_OP_neg, SH_OP_square};
    return sh_call_swap(call, to[below(6)]);
}

static sh_status set_arg(sh_call *call) {
    const uint32_t i = below(2);
    return sh_call_set_arg(call, i, below(4) ? sh_value_tensor(any_tensor()) : sh_value_float(5));
}

static sh_status answer(sh_call *call) {
    return sh_call_set_result(call, below(8) == 0, sh_value_tensor(sh_mul(any_tensor(), 2.0)));
}

static sh_status push_and_pop(sh_call *call, bool goes_on) {
    sh_mode *m = modes[below(MODES)];
    SH_TRY(sh_push_mode(m));
    if (goes_on)
        next(call);
    else
        issue();
    return sh_pop_mode(m);
}

static sh_status in_scope(sh_call *call) {
    SH_SCOPE {
        issue();
        if (below(2)) next(call);
        if (below(4) == 0) sh_escape(sh_relu(any_tensor()));
        if (below(4) == 0) sh_scope_clear();
    }
    return SH_PASS;
}

static sh_status under_switch(sh_call *call, sh_mode *mode) {
    sh_switch s;
    switch (below(4)) {
    case 0: sh_switch_off(&s, SH_OFF_ALL); break;
    case 1: sh_switch_off(&s, SH_OFF_OVERRIDES); break;
    case 2: sh_switch_on(&s); break;
    default: sh_switch_mode_off(&s, below(2) ? mode : modes[below(MODES)]);
    }
    if (below(2))
        next(call);
    else
        issue();
    return sh_switch_end(&s);
}

static sh_status under_a_name(sh_call *call) {
    SH_TRY(sh_name_push("named"));
    say(" %s", sh_scope_path());
    if (below(2))
        next(call);
    else
        issue();
    sh_name_pop();
    return SH_PASS;
}

static sh_status on_ref(sh_call *call) {
    SH_WITH_BACKEND("ref") {
        if (below(2))
            next(call);
        else
            issue();
    }
    return SH_PASS;
}

static sh_status aside(sh_call *call) {
    sh_value results[SH_MAX_RESULTS] = {{.tag = SH_TAG_NONE}};
    SH_SCOPE {
        sh_relu(any_tensor());
        if (sh_call_run_on(call, "ref", results) >= 0) say_value(results[0]);
    }
    return SH_PASS;
}

static sh_status left_open(sh_mode *mode) {
    static sh_switch s;
    switch (below(4)) {
    case 0: return sh_push_mode(mode);
    case 1: sh_scope_begin(__FILE__, __LINE__); return SH_PASS;
    case 2: sh_switch_off(&s, SH_OFF_ALL); return SH_PASS;
    default: return sh_name_push("open");
    }
}

static sh_status forgive(sh_call *call) {
    if (next(call) >= 0) return SH_PASS;
    went_well();
    return below(2) ? answer(call) : SH_PASS;
}

static sh_status act(sh_mode *mode, sh_call *call, uint32_t what) {
    switch (what) {
    case 0: return next(call);
    case 1: next(call); return next(call);
    case 2: SH_TRY(swap(call)); return SH_PASS;
    case 3: SH_TRY(swap(call)); return next(call);
    case 4: SH_TRY(set_arg(call)); return SH_PASS;
    case 5: SH_TRY(set_arg(call)); return next(call);
    case 6: return answer(call);
    case 7: SH_TRY(next(call)); return answer(call);
    case 8: SH_TRY(next(call)); return sh_fail(SH_ERROR_VALUE, "after next");
    case 9: return forgive(call);
    case 10: issue(); return SH_PASS;
    case 11: return push_and_pop(call, false);
    case 12: return push_and_pop(call, true);
    case 13: return in_scope(call);
    case 14: return under_switch(call, mode);
    case 15: return under_a_name(call);
    case 16: return on_ref(call);
    case 17: return aside(call);
    case 18: return below(4) ? SH_PASS : left_open(mode);
    case 19: return below(4) ? SH_PASS : sh_fail(SH_ERROR_VALUE, "refused");
    case 20:
        sh_pop_mode(modes[below(MODES)]);
        went_well();
        return SH_PASS;
    case 21:
        if (landing && below(3) == 0) longjmp(*landing, 1);
        return SH_PASS;
    default: return SH_PASS;
    }
}

static sh_status acting(sh_mode *mode, sh_call *call) {
    say("\n%s %s/%u number %llu", sh_mode_name(mode), sh_call_name(call), sh_call_depth(call),
        (unsigned long long)sh_call_number(call));
    for (uint32_t i = 0; i < sh_call_nargs(call); i++) say_value(sh_call_arg(call, i));
    say(" at %p held %zu depth %zu:", sh_call_site(call), sh_scope_held(), sh_mode_depth());
    if (budget-- <= 0) return SH_PASS;
    const uint32_t what = below(30);
    say(" <%u", what);
    const sh_status status = act(mode, call, what);
    say(" >%d %s", (int)status, sh_call_name(call));
    for (uint32_t i = 0; i < sh_call_nargs(call); i++) say_value(sh_call_arg(call, i));
    return status < 0 || sh_error() ? status : below(3) ? SH_PASS : status;
}

/* ---- a program ---- */

static void make_modes(void) {
    static const char *const some[] = {"add", "mul", "linear", NULL};
    static const sh_mode_options options[MODES] = {
        {.name = "plain"},
        {.name = "other"},
        {.name = "watch", .kind = SH_MODE_WATCHING},
        {.name = "some", .ops = some},
        {.name = "counts", .ops = some, .flags = SH_MODE_COUNTS_CALLS},
        {.name = "first", .flags = SH_MODE_FIRST},
        {.name = "last", .flags = SH_MODE_LAST | SH_MODE_CAPTURES},
        {.name = "parts", .level = SH_LEVEL_DISPATCH},
        {.name = "whole", .level = SH_LEVEL_DISPATCH, .flags = SH_MODE_KEEPS_COMPOSITES},
    };
    for (int i = 0; i < MODES; i++) modes[i] = sh_mode_new(acting, &options[i]);
}

static sh_status doubles(const sh_override_kind *kind, sh_call *call, void *user) {
    (void)user;
    say("\n%s %s", sh_override_kind_name(kind), sh_call_name(call));
    sh_tensor *t = sh_full(SH_SIZES(2, 2), 7);
    if (!t || sh_call_nresults(call) != 1) return SH_PASS;
    return sh_call_set_result(call, 0, sh_value_tensor(t));
}

static void make_pool(const sh_override_kind *kind) {
    for (int i = 0; i < POOL; i++) pool[i] = sh_full(SH_SIZES(2, 2), i + 0.5, .dtype = SH_F32);
    if (below(3) == 0) sh_tensor_set_override(pool[0], kind);
}

static void run_program(uint64_t seed, const sh_override_kind *kind) {
    sh_mode *pushed[5];
    random_state = seed;
    log_size = 0;
    budget = BUDGET;
    const int64_t live = sh_memory_stats_get().live_tensors;
    make_modes();
    SH_SCOPE {
        make_pool(kind);
        const uint32_t n = 1 + below(5);
        for (uint32_t i = 0; i < n; i++) sh_push_mode(pushed[i] = modes[below(MODES)]);
        for (int i = 0; i < OPS; i++) {
            say("\n---");
            issue();
            went_well();
            say(" held %zu path '%s'", sh_scope_held(), sh_scope_path());
        }
        cr_assert(eq(sz, sh_mode_depth(), n));
        for (uint32_t i = n; i--;) cr_assert(eq(int, sh_pop_mode(pushed[i]), SH_OK));
    }
    for (int i = 0; i < MODES; i++)
        say("\n%s ran %llu", sh_mode_name(modes[i]), (unsigned long long)sh_mode_calls(modes[i]));
    for (int i = 0; i < MODES; i++) sh_mode_release(modes[i]);
    cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live), "seed %llu", (unsigned long long)seed);
}

static void timed(bool on, sh_mode *nothing) {
    (void)nothing;
    sh_mode_time(on);
}

static void over_a_global(bool on, sh_mode *nothing) {
    if (on)
        sh_push_mode_global(nothing);
    else
        sh_pop_mode_global(nothing);
}

static void same_both_ways(void (*general)(bool on, sh_mode *nothing), uint64_t seeds) {
    static char in_line[sizeof log_text];
    static const char *const none[] = {"mylib::never_called", NULL};
    sh_mode *nothing = sh_mode_new(noting, &(sh_mode_options){.name = "nothing", .ops = none});
    sh_override_kind *kind = sh_override_kind_new("seven", doubles, NULL, NULL);
    for (uint64_t seed = seeds; seed < seeds + PROGRAMS; seed++) {
        run_program(seed, kind);
        memcpy(in_line, log_text, log_size + 1);
        general(true, nothing);
        run_program(seed, kind);
        general(false, nothing);
        const bool same = strcmp(in_line, log_text) == 0;
        if (!same)
            fprintf(stderr, "seed %llu\n==== in line%s\n==== general%s\n", (unsigned long long)seed, in_line,
                    log_text);
        cr_assert(same);
    }
    sh_override_kind_free(kind);
    sh_mode_release(nothing);
}

Test(paths, the_walk_in_line_and_the_timed_one_are_the_same) { same_both_ways(timed, 1); }
Test(paths, the_walk_in_line_and_the_one_over_global_modes_are_the_same) {
    same_both_ways(over_a_global, 1000001);
}
