/* test_hooks.c - kernels that were hooked in: chaining, declining, typed ones, conditions, policies, and what is said. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/modes.h"

static char told[8192];
static void tell(const char *line, void *user) {
    (void)user;
    const size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s\n", line);
}
static void listen(void) { sh_set_warning_sink(tell, NULL); }
static bool was_told(const char *words) {
    if (!strstr(told, words)) fprintf(stderr, "told: %s", told);
    return strstr(told, words) != NULL;
}
TestSuite(hooks, .init = listen);

static float *data(sh_call *call) { return sh_tensor_data(sh_call_result(call, 0).as.tensor); }

/* What is behind it plus the number behind `user`. */
static sh_status adds(sh_call *call, void *user) {
    SH_TRY(sh_next_kernel(call));
    for (int64_t i = 0; i < sh_tensor_numel(sh_call_result(call, 0).as.tensor); i++)
        data(call)[i] += *(const float *)user;
    return SH_OK;
}
static sh_status declines(sh_call *call, void *user) {
    (void)call;
    (void)user;
    return SH_PASS;
}
static sh_status fails(sh_call *call, void *user) {
    (void)user;
    data(call)[0] = -99;
    return sh_fail(SH_ERROR_VALUE, "it is broken");
}
static sh_status sevens(sh_call *call, void *user) {
    (void)user;
    for (int64_t i = 0; i < sh_tensor_numel(sh_call_result(call, 0).as.tensor); i++) data(call)[i] = 7;
    return SH_OK;
}
static float ten = 10, hundred = 100;

static sh_kernel hook(const char *op, sh_boxed kernel, void *user, const char *where, const char *policy) {
    sh_kernel k = {0, 0};
    const sh_kernel_options o = {
        .where = where, .policy = policy, .registrant = "mine.so", .user = user, .size = sizeof o};
    cr_assert(eq(int, sh_kernel_register_with(op, kernel, &o, &k), SH_OK), "%s",
              sh_error() ? sh_error()->message : "");
    cr_assert(eq(int, sh_table_check(), SH_OK));
    return k;
}

/* ---- chaining ---- */

Test(hooks, next_kernel_runs_the_older_registration_to_any_depth) {
    sh_tensor *x = number(1);
    const sh_kernel a = hook("add", adds, &ten, NULL, NULL), b = hook("add", adds, &hundred, NULL, NULL);
    cr_assert(eq(dbl, first(sh_add(x, x)), 112));
    cr_assert(eq(int, sh_kernel_remove(a), SH_OK));
    cr_assert(eq(dbl, first(sh_add(x, x)), 102));
    cr_assert(eq(int, sh_kernel_remove(b), SH_OK));
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
}

Test(hooks, next_kernel_reaches_a_composite_kernel_and_hides_modes) {
    sh_tensor *x = sh_ones(SH_SIZES(2, 2)), *y = NULL;
    hook("linear", adds, &ten, NULL, NULL);
    sh_mode *mode = noting_mode("A");
    SH_WITH_MODE(mode) { y = sh_linear(x, x); }
    cr_assert(eq(dbl, first(y), 12));
    cr_assert(eq(str, seen, TEXT("A:linear ")));
    sh_mode_release(mode);
}

Test(hooks, next_kernel_works_in_place_and_into_out) {
    sh_tensor *x = number(1), *out = number(0);
    hook("add", adds, &ten, NULL, NULL);
    cr_assert(eq(dbl, first(sh_add(x, x, .out = out)), 12));
    cr_assert(eq(dbl, first(out), 12));
    cr_assert(eq(ptr, sh_add_(x, x), x));
    cr_assert(eq(dbl, first(x), 12));
}

static sh_status twice(sh_call *call, void *user) {
    (void)user;
    SH_TRY(sh_next_kernel(call));
    sh_tensor *one = sh_call_result(call, 0).as.tensor;
    SH_TRY(sh_next_kernel(call));
    return one != sh_call_result(call, 0).as.tensor && first(one) == 2 ? SH_OK : SH_ERROR_CALLBACK;
}

Test(hooks, next_kernel_called_twice_gives_results_of_their_own) {
    sh_tensor *x = number(1);
    hook("add", twice, NULL, NULL, NULL);
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
}

/* Calls an op that the same kernels hook before it goes on: the position must be the call's. */
static sh_status calls_itself(sh_call *call, void *user) {
    sh_tensor *x = sh_call_tensor(call, 0);
    if (sh_tensor_numel(x) == 2) {
        sh_tensor *small = sh_full(SH_SIZES(1), 5.0);
        if (first(sh_add(small, small)) != 10 + *(const float *)user + *(const float *)user)
            return SH_ERROR_VALUE;
    }
    return adds(call, user);
}

Test(hooks, a_kernel_that_calls_its_own_op_does_not_lose_its_place) {
    sh_tensor *x = number(1);
    hook("add", calls_itself, &ten, NULL, NULL);
    hook("add", adds, &ten, NULL, NULL);
    cr_assert(eq(dbl, first(sh_add(x, x)), 22));
}

Test(hooks, without_a_predecessor_it_is_an_error_that_says_so) {
    sh_backend_register("bare", SH_HOST, "test");
    const sh_kernel_options o = {.backend = "bare", .registrant = "alone", .user = &ten};
    sh_kernel_register_with("add", adds, &o, NULL);
    sh_tensor *x = number(1);
    SH_WITH_BACKEND("bare") {
        cr_assert(eq(ptr, sh_add(x, x), NULL));
        cr_assert(failed_with(SH_ERROR_KERNEL, "no kernel before alone (bare)"));
    }
}

/* ---- declining ---- */

Test(hooks, a_kernel_that_passes_declines_and_the_next_one_runs) {
    sh_tensor *x = number(1);
    hook("add", declines, NULL, NULL, NULL);
    hook("add", declines, NULL, NULL, NULL);
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    cr_assert(eq(dbl, first(sh_add_(x, x)), 2));
}

Test(hooks, if_all_decline_the_error_lists_each) {
    sh_tensor *x = number(1);
    sh_op_define("test::refused(Tensor x) -> Tensor", NULL, NULL);
    sh_kernel_register("test::refused", "cpu", declines, NULL, "one.so", NULL);
    sh_kernel_register("test::refused", "cpu", declines, NULL, "two.so", NULL);
    cr_assert(eq(ptr, sh_call_op("test::refused", x), NULL));
    cr_assert(failed_with(SH_ERROR_DECLINED, "two.so (cpu): declined; one.so (cpu): declined"));
}

/* ---- typed ---- */

static sh_status typed_add(sh_tensor *result, sh_tensor *self, sh_tensor *other, sh_scalar alpha) {
    (void)self;
    (void)other;
    (void)alpha;
    float *at = sh_tensor_data(result);
    for (int64_t i = 0; i < sh_tensor_numel(result); i++) at[i] = 42;
    return SH_OK;
}

Test(hooks, a_typed_kernel_takes_every_form_of_its_op) {
    sh_kernel k;
    sh_tensor *x = number(1), *y = NULL;
    cr_assert(eq(int, sh_kernel_register_typed(sh_add_kernel(typed_add), NULL, &k), SH_OK));
    cr_assert(eq(dbl, first(sh_add(x, x)), 42));
    cr_assert(eq(dbl, first(sh_call_op("add", x, x)), 42));
    sh_mode *mode = noting_mode("A");
    SH_WITH_MODE(mode) { y = sh_add(x, x); }
    cr_assert(eq(dbl, first(y), 42));
    cr_assert(eq(dbl, first(sh_add_(x, x)), 42));
    sh_mode_release(mode);
    sh_kernel_remove(k);
    cr_assert(eq(int, sh_table_check(), SH_OK));
    const sh_kernel_options o = {.where = "numel=10.."};
    cr_assert(eq(int, sh_kernel_register_typed(sh_add_kernel(typed_add), &o, &k), SH_OK));
    cr_assert(eq(dbl, first(sh_add(x, x)), 84));
    cr_assert(eq(dbl, first(sh_add(sh_ones(SH_SIZES(10)), 1.0)), 42));
}

/* ---- conditions ---- */

Test(hooks, a_condition_that_does_not_hold_leaves_the_next_kernel) {
    sh_tensor *x = number(1), *large = sh_ones(SH_SIZES(3, 64));
    const sh_kernel k = hook("add", sevens, NULL, "dtype=f32,numel=64..,shape=[*,64]", NULL);
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    cr_assert(eq(dbl, first(sh_add(large, large)), 7));
    cr_assert(eq(dbl, first(sh_add(sh_ones(SH_SIZES(64, 3)), 1.0)), 2));
    sh_kernel_remove(k);
    const sh_kernel s = hook("add", sevens, NULL, "scope=[layer[0-9]],call=2..3", NULL);
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    sh_name_push("layer1");
    for (int i = 1; i <= 4; i++) cr_assert(eq(dbl, first(sh_add(x, x)), i == 2 || i == 3 ? 7 : 2));
    sh_name_pop();
    sh_kernel_remove(s);
    cr_assert(eq(int, sh_table_check(), SH_OK));
}

Test(hooks, a_condition_on_a_composite_counts_a_call_once) {
    sh_tensor *x = sh_ones(SH_SIZES(2, 2));
    hook("linear", sevens, NULL, "call=2", NULL);
    cr_assert(eq(dbl, first(sh_linear(x, x)), 2));
    cr_assert(eq(dbl, first(sh_linear(x, x)), 7));
    cr_assert(eq(dbl, first(sh_linear(x, x)), 2));
}

Test(hooks, a_rule_takes_the_same_conditions) {
    sh_backend_register("ruled", SH_HOST, "test");
    const sh_kernel_options o = {.backend = "ruled"};
    sh_kernel_register_with("add", sevens, &o, NULL);
    const sh_rule rule = {.ops = "add", .backend = "ruled", .where = "shape=[2..3]"};
    cr_assert(eq(int, sh_rule_add(&rule, NULL), SH_OK));
    sh_tensor *x = number(1);
    cr_assert(eq(dbl, first(sh_add(x, x)), 7));
    cr_assert(eq(dbl, first(sh_add(sh_ones(SH_SIZES(4)), 1.0)), 2));
}

Test(hooks, bad_conditions_and_policies_are_errors_with_a_caret) {
    static const struct {
        const char *where, *policy, *words;
    } bad[] = {{"dtyp=f32", NULL, "did you mean dtype"},  {"numel=x", NULL, "a range A..B"},
               {"shape=[a]", NULL, "is no size"},         {NULL, "verfy", "did you mean verify"},
               {NULL, "verify:then=2/3", "1/M"},          {NULL, "verify:tol=-1", "not negative"},
               {NULL, "fallback;fallback", "given twice"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const sh_kernel_options o = {.where = bad[i].where, .policy = bad[i].policy};
        cr_assert(eq(int, sh_kernel_register_with("add", sevens, &o, NULL), SH_ERROR_SPEC), "%zu", i);
        cr_assert(ne(ptr, strchr(sh_error()->message, '^'), NULL), "%zu", i);
        cr_assert(failed_with(SH_ERROR_SPEC, bad[i].words), "%zu", i);
    }
    cr_assert(eq(int, sh_table_check(), SH_OK));
}

/* ---- policies ---- */

Test(hooks, verify_takes_out_a_wrong_kernel_and_does_the_call_again) {
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

Test(hooks, verify_puts_right_what_a_wrong_kernel_wrote) {
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

Test(hooks, verify_compares_and_undoes_arguments_that_the_schema_marks) {
    sh_tensor *x = number(1), *state = number(0);
    sh_op_define("test::step(Tensor x, Tensor(a!) state) -> Tensor", NULL, NULL);
    sh_kernel_register("test::step", "ref", wrong_state, NULL, "ref", NULL);
    sh_kernel_register("test::step", "cpu", wrong_state, NULL, "right", NULL);
    hook("test::step", wrong_state, &ten, NULL, "verify");
    cr_assert(eq(dbl, first(sh_call_op("test::step", x, state)), 2));
    cr_assert(eq(dbl, first(state), 1));
    cr_assert(was_told("argument state [0]: got 2, the reference gives 1"));
}

Test(hooks, verify_looks_at_the_first_calls_and_then_at_one_of_m) {
    sh_tensor *x = number(1);
    static float zero = 0;
    hook("add", adds, &zero, NULL, "verify:first=1,then=0");
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    zero = 5; /* from now on it is wrong, and nobody looks */
    cr_assert(eq(dbl, first(sh_add(x, x)), 7));
    cr_assert(eq(ptr, strstr(told, "taken out"), NULL));
}

Test(hooks, equal_nans_and_small_errors_are_right) {
    sh_tensor *x = sh_full(SH_SIZES(2), (double)__builtin_nanf(""), .dtype = SH_F32);
    static float little = 1e-6f;
    hook("add", adds, &little, NULL, "verify");
    cr_assert(ne(dbl, first(sh_add(x, x)), 0));
    cr_assert(eq(dbl, first(sh_add(number(1), number(1))), (double)(2 + little)));
    cr_assert(eq(ptr, strstr(told, "taken out"), NULL));
}

Test(hooks, a_kernel_that_fails_under_verify_is_taken_out) {
    sh_tensor *x = number(1);
    hook("add", fails, NULL, NULL, "verify");
    cr_assert(eq(dbl, first(sh_add_(x, x)), 2));
    cr_assert(was_told("it failed: got it is broken"));
    cr_assert(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
    cr_assert(eq(ptr, sh_add(x, sh_ones(SH_SIZES(3))), NULL));
    sh_clear_error();
}

Test(hooks, fallback_hands_a_failed_call_on_and_undoes_what_was_written) {
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

Test(hooks, shadow_reports_what_differs_and_keeps_the_result) {
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

Test(hooks, shadow_of_a_library_needs_exec) {
    cr_assert(eq(int, sh_mode_push_spec("shadow:lib=/x.so"), SH_ERROR_SPEC));
    cr_assert(failed_with(SH_ERROR_SPEC, "shunt exec"));
}

/* ---- what is said ---- */

Test(hooks, verbose_says_who_was_refused_and_who_ran) {
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

Test(hooks, a_crash_in_a_kernel_names_the_call_and_the_kernel) {
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

Test(hooks, after_a_crash_the_trace_ends_with_the_call_in_flight) {
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

/* ---- all of it ---- */

Test(hooks, random_hooks_with_conditions_and_policies_keep_the_table_and_the_numbers) {
    enum { N = 24 };
    static const char *const wheres[] = {NULL, "numel=3..", "dtype=f64", "call=2..4", "shape=[2]"};
    static const char *const policies[] = {NULL, "verify", "fallback", "verify;fallback"};
    static float zero = 0;
    sh_kernel live[N];
    int n = 0;
    srand(11);
    sh_tensor *x = number(1);
    for (int step = 0; step < 400; step++) {
        if (n < N && rand() % 2) {
            sh_boxed kernel = rand() % 2 ? adds : declines;
            live[n++] = hook("add", kernel, &zero, wheres[rand() % 5], policies[rand() % 4]);
        } else if (n) {
            const int i = rand() % n;
            cr_assert(eq(int, sh_kernel_remove(live[i]), SH_OK));
            live[i] = live[--n];
        }
        cr_assert(eq(int, sh_table_check(), SH_OK));
        SH_SCOPE { cr_assert(eq(dbl, first(sh_add(x, x)), 2)); }
    }
    while (n) sh_kernel_remove(live[--n]);
}

Test(hooks, a_graph_runs_through_hooked_kernels) {
    sh_tensor *x = number(1), *y = NULL;
    hook("add", adds, &ten, NULL, NULL);
    sh_mode *mode = noting_mode("A");
    SH_WITH_MODE(mode) { y = sh_call_op("add", x, x); }
    cr_assert(eq(dbl, first(y), 12));
    sh_mode_release(mode);
}

Test(hooks, every_allocation_of_a_verified_call_may_fail) {
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
