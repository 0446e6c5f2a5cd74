/* test_policy.c - kernels under verify and fallback, the shadow mode, and what is said of calls and crashes. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hooks.h"

TestSuite(policy, .init = listen);

/* ---- policies ---- */

Test(policy, verify_takes_out_a_wrong_kernel_and_does_the_call_again) {
    sh_tensor *x = number(1);
    const uint64_t findings = sh_finding_count();
    hook("add", sevens, NULL, NULL, "verify:first=2");
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    cr_assert(eq(sz, sh_finding_count(), findings + 1));
    cr_assert(was_told(
        "add(f32[2], f32[2]) -> f32[2]: kernel mine.so (cpu): result 0 [0]: got 7, the reference gives 2"));
    cr_assert(was_told("max abs 5, max rel 2.5; 2 of 2 elements; it is taken out"));
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    cr_assert(eq(sz, sh_finding_count(), findings + 1));
    cr_assert(eq(int, sh_table_check(), SH_OK));
    char *text = sh_op_describe(sh_op_find("add"));
    cr_assert(ne(ptr, strstr(text, "mine.so (taken out by verify)"), NULL));
    free(text);
}

Test(policy, verify_puts_right_what_a_wrong_kernel_wrote) {
    sh_tensor *x = sh_arange(6, .dtype = SH_F32), *t = sh_transpose(sh_reshape(x, SH_SIZES(2, 3)), 0, 1);
    sh_tensor *out = sh_zeros(SH_SIZES(2));
    hook("add", sevens, NULL, NULL, "verify");
    cr_assert(eq(ptr, sh_add_(t, 1.0), t));
    for (int64_t i = 0; i < 6; i++) cr_assert(eq(dbl, sh_tensor_at(x, &i), (double)i + 1));
    hook("mul", sevens, NULL, NULL, "verify");
    sh_mul(number(2), 3.0, .out = out);
    cr_assert(eq(dbl, first(out), 6));
}

static sh_status wrong_state(sh_call *call, void *user) {
    float *state = sh_tensor_data(sh_call_tensor(call, 1));
    state[0] += user ? 2 : 1;
    return sh_call_set_tensor(call, sh_add(sh_call_tensor(call, 0), 1.0));
}

Test(policy, verify_compares_and_undoes_arguments_that_the_schema_marks) {
    sh_tensor *x = number(1), *state = number(0);
    sh_op_define("test::step(Tensor x, Tensor(a!) state) -> Tensor", NULL, NULL);
    sh_kernel_register("test::step", "ref", wrong_state, NULL, "ref", NULL);
    sh_kernel_register("test::step", "cpu", wrong_state, NULL, "right", NULL);
    hook("test::step", wrong_state, &ten, NULL, "verify");
    cr_assert(eq(dbl, first(sh_call_op("test::step", x, state)), 2));
    cr_assert(eq(dbl, first(state), 1));
    cr_assert(was_told("argument state [0]: got 2, the reference gives 1"));
}

Test(policy, verify_looks_at_the_first_calls_and_then_at_one_of_m) {
    sh_tensor *x = number(1);
    static float zero = 0;
    hook("add", adds, &zero, NULL, "verify:first=1,then=0");
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    zero = 5; /* from now on it is wrong, and nobody looks */
    cr_assert(eq(dbl, first(sh_add(x, x)), 7));
    cr_assert(eq(ptr, strstr(told, "taken out"), NULL));
}

static sh_status writes_nothing(sh_call *call, void *user) {
    (void)call;
    (void)user;
    return SH_OK;
}

Test(policy, what_lay_in_a_new_result_is_no_result) {
    hook("add", writes_nothing, NULL, NULL, "verify:first=1");
    for (int i = 0; i < 4; i++) SH_SCOPE { /* the memory of a freed sum is the next one's */
            cr_assert(eq(dbl, first(sh_sub(number(3), number(1))), 2));
        }
    cr_assert(eq(dbl, first(sh_add(number(1), number(1))), 2));
    cr_assert(was_told("it is taken out"));
}

Test(policy, equal_nans_and_small_errors_are_right) {
    sh_tensor *x = sh_full(SH_SIZES(2), (double)__builtin_nanf(""), .dtype = SH_F32);
    static float little = 1e-6f;
    hook("add", adds, &little, NULL, "verify");
    cr_assert(ne(dbl, first(sh_add(x, x)), 0));
    cr_assert(eq(dbl, first(sh_add(number(1), number(1))), (double)(2 + little)));
    cr_assert(eq(ptr, strstr(told, "taken out"), NULL));
}

Test(policy, a_kernel_that_fails_under_verify_is_taken_out) {
    sh_tensor *x = number(1);
    hook("add", fails, NULL, NULL, "verify");
    cr_assert(eq(dbl, first(sh_add_(x, x)), 2));
    cr_assert(was_told("it failed: got it is broken"));
    cr_assert(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
    cr_assert(eq(ptr, sh_add(x, sh_ones(SH_SIZES(3))), NULL));
    sh_clear_error();
}

Test(policy, fallback_hands_a_failed_call_on_and_undoes_what_was_written) {
    sh_tensor *x = number(1);
    hook("add", fails, NULL, NULL, "fallback");
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    cr_assert(eq(dbl, first(sh_add_(x, x)), 2));
    cr_assert(eq(ptr, strstr(told, "taken out"), NULL));
    sh_op_define("test::lost(Tensor x) -> Tensor", NULL, NULL);
    hook("test::lost", declines, NULL, NULL, "fallback");
    cr_assert(eq(ptr, sh_call_op("test::lost", x), NULL));
    cr_assert(failed_with(SH_ERROR_DECLINED, "mine.so (cpu): declined"));
}

Test(policy, shadow_reports_what_differs_and_keeps_the_result) {
    sh_tensor *x = number(1), *y = NULL;
    const uint64_t findings = sh_finding_count();
    hook("add", sevens, NULL, NULL, NULL);
    sh_mode *mode = NULL;
    cr_assert(eq(int, sh_mode_from_spec("shadow:backend=ref,out=/dev/null", &mode), SH_OK));
    cr_assert(eq(int, sh_push_mode(mode), SH_OK));
    y = sh_add(x, x);
    sh_mul(x, x);
    cr_assert(eq(dbl, first(y), 7));
    cr_assert(eq(sz, sh_finding_count(), findings + 1));
    cr_assert(eq(str, TEXT(sh_finding_at(findings)->what), TEXT("add differs from ref")));
    cr_assert(eq(dbl, first(sh_add_(x, x)), 7));
    cr_assert(eq(dbl, first(x), 7));
    cr_assert(eq(sz, sh_finding_count(), findings + 2));
    sh_pop_mode(mode);
    sh_mode_release(mode);
}

Test(policy, shadow_of_a_library_that_is_not_there) {
    cr_assert(eq(int, sh_mode_push_spec("shadow:lib=/x.so"), SH_ERROR_FILE));
    cr_assert(failed_with(SH_ERROR_FILE, "can't read /x.so"));
}

/* ---- what is said ---- */

Test(policy, verbose_says_who_was_refused_and_who_ran) {
    sh_tensor *x = number(1);
    cr_assert(eq(int, sh_set_verbose("dispatch"), SH_OK));
    cr_assert(eq(int, sh_table_check(), SH_OK));
    hook("add", sevens, NULL, "dtype=f64", NULL);
    hook("add", declines, NULL, NULL, NULL);
    told[0] = 0;
    sh_add(x, x);
    cr_assert(was_told(
        "dispatch: add(f32[2], f32[2]) on host: mine.so (cpu): declined; mine.so (cpu): dtype f32 is not "
        "f64; built-in (cpu) ran"));
    cr_assert(eq(int, sh_set_verbose(NULL), SH_OK));
    told[0] = 0;
    sh_add(x, x);
    cr_assert(eq(str, told, TEXT("")));
    cr_assert(eq(int, sh_set_verbose("dispach"), SH_ERROR_SPEC));
    cr_assert(failed_with(SH_ERROR_SPEC, "did you mean dispatch"));
}

static sh_status crashes(sh_call *call, void *user) {
    (void)call;
    (void)user;
    raise(SIGSEGV);
    return SH_OK;
}

/* Runs `act` in a child whose stderr goes to `text`; true if SIGSEGV ended it. */
static bool crashed(void (*act)(void), char *text, size_t size) {
    int ends[2], status = 0;
    cr_assert(eq(int, pipe(ends), 0));
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        act();
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(ends[0], text + n, size - 1 - n)) > 0;) n += (size_t)got;
    text[n] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void crash_in_add(void) {
    signal(SIGSEGV, SIG_DFL); /* Criterion's own would tell it */
    sh_set_verbose("crash");
    hook("add", crashes, NULL, NULL, NULL);
    sh_add(number(1), number(1));
}

Test(policy, a_crash_in_a_kernel_names_the_call_and_the_kernel) {
    char text[4096];
    cr_assert(crashed(crash_in_add, text, sizeof text));
    cr_assert(eq(str, text, TEXT("shunt: crashed in add(f32[2], f32[2]), kernel mine.so (cpu)\n")));
}

static const char *trace_path;
static void crash_under_trace(void) {
    char spec[256];
    signal(SIGSEGV, SIG_DFL);
    snprintf(spec, sizeof spec, "trace:out=%s", trace_path);
    sh_mode_push_spec(spec);
    hook("add", crashes, NULL, NULL, NULL);
    sh_mul(number(1), number(1));
    sh_add(number(1), number(1));
}

Test(policy, after_a_crash_the_trace_ends_with_the_call_in_flight) {
    char text[4096], path[] = "/tmp/shunt_trace_XXXXXX";
    const int file = mkstemp(path);
    trace_path = path;
    cr_assert(crashed(crash_under_trace, text, sizeof text));
    const ssize_t n = read(file, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    const char *last = strstr(text, "\"name\":\"add\"");
    cr_assert(ne(ptr, TEXT(last), NULL), "%s", text);
    cr_assert(ne(ptr, strstr(last, "\"call\":\"add(f32[2], f32[2])\""), NULL), "%s", text);
    cr_assert(ne(ptr, strstr(last, "\"kernel\":\"mine.so (cpu)\""), NULL), "%s", text);
    cr_assert(eq(ptr, strstr(last, "\"ph\":\"E\""), NULL));
    close(file);
    unlink(path);
}

Test(policy, every_allocation_of_a_verified_call_may_fail) {
    sh_set_warning_sink(sh_warnings_off, NULL);
    static float zero = 0;
    for (size_t i = 1; i < 60; i++) {
        sh_kernel k;
        sh_memory_fail_after(0);
        const sh_kernel_options o = {.policy = "verify:then=1;fallback", .user = &zero};
        cr_assert(eq(int, sh_kernel_register_with("add", adds, &o, &k), SH_OK));
        SH_SCOPE {
            sh_tensor *x = sh_full(SH_SIZES(3), 1.0);
            sh_memory_fail_after(i);
            sh_tensor *y = sh_add_(x, 1.0);
            sh_memory_fail_after(0);
            if (y) cr_assert(eq(dbl, first(x), 2));
            if (!y) cr_assert(eq(int, sh_error()->code, SH_ERROR_MEMORY));
            sh_clear_error();
        }
        cr_assert(eq(int, sh_kernel_remove(k), SH_OK));
        cr_assert(eq(int, sh_table_check(), SH_OK));
    }
}
