/* test_compile.c - sh_compile: what is traced when, what of modes is baked in, and that results are the eager ones. */
#include <stdlib.h>

#include "tests/compile.h"

/* ---- what is compiled ---- */

static sh_value chain(sh_values in, void *user) {
    (void)user;
    sh_tensor *x = in.at[0].as.tensor;
    for (int i = 0; i < 8; i++) x = sh_add(x, in.at[0].as.tensor);
    return sh_value_tensor(x);
}

/* ---- modes ---- */

static int runs;

static sh_status add_to_mul(sh_mode *mode, sh_call *call) {
    (void)mode;
    runs++;
    if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS;
}

static sh_status watch(sh_mode *mode, sh_call *call) {
    (void)call;
    ++*(int *)sh_mode_user(mode);
    return SH_PASS;
}

static sh_mode *rewriting(void) {
    return sh_mode_new(add_to_mul, &(sh_mode_options){.name = "add_to_mul", .kind = SH_MODE_REWRITING});
}

static sh_mode *watching(int *count, const char *const *ops) {
    return sh_mode_new(
        watch, &(sh_mode_options){.name = "watch", .kind = SH_MODE_WATCHING, .user = count, .ops = ops});
}

/* ---- the seed ---- */

Test(compile, swap_is_baked_in_and_its_callback_never_runs_again) {
    SH_SCOPE {
        sh_tensor *x = sh_rand(SH_SIZES(2, 2)), *y = sh_rand_like(x);
        sh_compiled *c = sh_compile_function(x_plus_yx, NULL, NULL);
        sh_mode *mode = rewriting();
        sh_tensor *swapped = NULL, *again = NULL;
        SH_WITH_MODE(mode) {
            swapped = call_compiled(c, x, y);
            runs = 0;
            again = call_compiled(c, x, y);
        }
        no_error();
        cr_expect(eq(int, runs, 0));
        cr_expect(same_bits(swapped, sh_mul(x, sh_mul(y, x))));
        cr_expect(same_bits(again, swapped));
        cr_expect(same_bits(call_compiled(c, x, y), sh_add(x, sh_mul(y, x))));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 2));
        cr_expect(eq(u64, sh_compiled_stats(c).hits, 1));
        sh_mode_release(mode);
        sh_compiled_free(c);
    }
}

/* Case 48. */
Test(compile, each_stack_of_modes_is_compiled_once) {
    SH_SCOPE {
        int count = 0;
        sh_tensor *x = sh_rand(SH_SIZES(3)), *y = sh_rand_like(x);
        sh_compiled *c = sh_compile_function(x_plus_yx, NULL, NULL);
        sh_mode *one = rewriting(), *two = watching(&count, NULL);
        sh_mode *const stacks[][2] = {{NULL, NULL}, {one, NULL}, {one, two}, {two, one}, {one, NULL}};
        const uint64_t expected[] = {1, 2, 3, 4, 4};
        for (int i = 0; i < 5; i++) {
            for (int k = 0; k < 2; k++)
                if (stacks[i][k]) sh_push_mode(stacks[i][k]);
            call_compiled(c, x, y);
            for (int k = 1; k >= 0; k--)
                if (stacks[i][k]) sh_pop_mode(stacks[i][k]);
            no_error();
            cr_expect(eq(u64, sh_compiled_stats(c).compilations, expected[i]), "stack %d", i);
        }
        sh_mode_release(one);
        sh_mode_release(two);
        sh_compiled_free(c);
    }
}

/* Cases 49 and 51. */
Test(compile, a_watching_mode_keeps_seeing_the_calls_it_wants_and_no_others) {
    SH_SCOPE {
        int count = 0;
        const char *const ops[] = {"mul", NULL};
        sh_tensor *x = sh_rand(SH_SIZES(4)), *y = sh_rand_like(x), *z = NULL;
        sh_compiled *c = sh_compile_function(x_plus_yx, NULL, NULL);
        sh_mode *mode = watching(&count, ops);
        for (int i = 0; i < 5; i++)
            SH_WITH_MODE(mode) z = call_compiled(c, x, y);
        no_error();
        cr_expect(eq(int, count, 5));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        cr_expect(same_bits(z, sh_add(x, sh_mul(y, x))));
        char *report = sh_compiled_report(c);
        cr_expect(strstr(report, "watch (kept for 1 call)") != NULL, "%s", report);
        free(report);
        sh_mode_release(mode);
        sh_compiled_free(c);
    }
}

Test(compile, strict_names_the_mode_and_the_call_that_would_be_kept) {
    SH_SCOPE {
        int count = 0;
        sh_compile_options strict = SH_COMPILE_OPTIONS_INIT;
        strict.strict = true;
        sh_tensor *x = sh_rand(SH_SIZES(4));
        sh_compiled *c = sh_compile_function(x_plus_yx, NULL, &strict);
        sh_mode *mode = watching(&count, NULL);
        SH_WITH_MODE(mode) cr_expect(call_compiled(c, x, x) == NULL);
        cr_assert(sh_error() != NULL);
        cr_expect(strstr(sh_error()->message, "watch") && strstr(sh_error()->message, "mul"), "%s",
                  sh_error()->message);
        sh_clear_error();
        cr_expect(eq(sz, sh_mode_depth(), 0));
        cr_expect(call_compiled(c, x, x) != NULL);
        sh_mode_release(mode);
        sh_compiled_free(c);
    }
}

/* Case 50. */
Test(compile, with_a_mode_and_without_it_each_is_compiled_once) {
    SH_SCOPE {
        sh_tensor *x = sh_rand(SH_SIZES(4)), *y = sh_rand_like(x);
        sh_compiled *c = sh_compile_function(x_plus_yx, NULL, NULL);
        sh_mode *mode = rewriting();
        for (int i = 0; i < 4; i++) {
            SH_WITH_MODE(mode) call_compiled(c, x, y);
            call_compiled(c, x, y);
        }
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 2));
        cr_expect(eq(u64, sh_compiled_stats(c).hits, 6));
        sh_mode_touch(mode);
        SH_WITH_MODE(mode) call_compiled(c, x, y);
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 3));
        sh_mode_release(mode);
        sh_compiled_free(c);
    }
}

Test(compile, shapes_dtypes_and_layouts_are_guarded) {
    SH_SCOPE {
        sh_compiled *c = sh_compile_function(chain, NULL, NULL);
        sh_tensor *a = sh_rand(SH_SIZES(4, 6));
        sh_tensor *const inputs[] = {a, sh_rand(SH_SIZES(6, 4)), sh_transpose(a, 0, 1), sh_to(a, SH_F64),
                                     a, sh_rand(SH_SIZES(4, 6))};
        const uint64_t expected[] = {1, 2, 3, 4, 4, 4};
        for (int i = 0; i < 6; i++) {
            const sh_value in = sh_value_tensor(inputs[i]);
            sh_tensor *z = sh_compiled_run(c, inputs[i]);
            no_error();
            cr_expect(same_bits(sh_contiguous(z), sh_contiguous(chain((sh_values){&in, 1}, NULL).as.tensor)));
            cr_expect(eq(u64, sh_compiled_stats(c).compilations, expected[i]), "input %d", i);
        }
        sh_compiled_free(c);
    }
}
