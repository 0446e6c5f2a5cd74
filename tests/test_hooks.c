/* test_hooks.c - kernels that were hooked in: chaining, declining, typed ones, conditions. */
#include <stdlib.h>

#include "tests/hooks.h"

TestSuite(hooks, .init = listen);

static float hundred = 100;

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
