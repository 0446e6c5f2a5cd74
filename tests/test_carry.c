/* test_carry.c - what nancheck need not look at again (dispatch/known.h, modes/carry.h), and that no bad value ever hides there:
 * after each way to write into a tensor that was known to be good, the next call finds what was written. */
#include <math.h>
#include <pthread.h>

#include "dispatch/known.h"
#include "tests/modes.h"

static void be_quiet(void) { sh_set_warning_sink(sh_warnings_off, NULL); }
TestSuite(carry, .init = be_quiet);

/* Finds without failing calls, and says nothing. */
static sh_mode *checker(const char *inf) {
    sh_mode *mode = NULL;
    char spec[64];
    snprintf(spec, sizeof spec, "nancheck:stop=warn,out=/dev/null,inf=%s", inf);
    cr_assert(eq(int, sh_mode_from_spec(spec, &mode), SH_OK));
    return mode;
}

/* 1, and so more than a tensor's record holds. */
static sh_tensor *ones(void) { return sh_ones(SH_SIZES(1, 2, 8, 8)); }

/* What a nancheck has looked at, with that nancheck. */
typedef struct seen_good {
    sh_mode *mode;
    sh_tensor *x;
} seen_good;

static seen_good look_at_ones(void) {
    seen_good s = {.mode = checker("1")};
    SH_WITH_MODE(s.mode) s.x = sh_mul(ones(), 2.0);
    cr_assert(eq(int, sh__known(s.x), SH_KNOWN_FINITE));
    return s;
}

static const char *found_by(sh_mode *mode, sh_tensor *(*op)(sh_tensor *), sh_tensor *x) {
    const uint64_t before = sh_finding_count();
    SH_WITH_MODE(mode) op(x);
    cr_assert(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
    return sh_finding_count() > before ? sh_finding_at(sh_finding_count() - 1)->what : "nothing";
}

static sh_tensor *relu(sh_tensor *x) { return sh_relu(x); }

static void expect_arrival(const seen_good *s) {
    const char *what = found_by(s->mode, relu, s->x);
    cr_assert(ne(ptr, strstr(what, "arrived in input self of relu"), NULL), "%s", what);
    sh_mode_release(s->mode);
}

/* ---- what is known ---- */

Test(carry, a_result_that_only_carries_known_values_is_known) {
    const seen_good s = look_at_ones();
    sh_tensor *x = s.x, *mask = sh_ge(x, 0.0);
    SH_WITH_MODE(s.mode) {
        sh_tensor *results[] = {sh_relu(x),
                                sh_relu6(x),
                                sh_hardtanh(x),
                                sh_clamp(x, .min = 0.5),
                                sh_maximum(x, sh_neg(x)),
                                sh_minimum(x, 7.0),
                                sh_abs(x),
                                sh_where(mask, x, x),
                                sh_masked_fill(x, mask, 3.0),
                                sh_max_pool2d(x, SH_SIZES(2, 2)),
                                sh_pad(x, SH_SIZES(1, 1), .value = 4),
                                sh_cat(SH_LIST(x, x), .dim = 1),
                                sh_stack(SH_LIST(x, x)),
                                sh_clone(x),
                                sh_index_select(x, 2, SH_INT64S(1, 0)),
                                sh_relu_(sh_clone(x))};
        for (size_t i = 0; i < sizeof results / sizeof *results; i++)
            cr_assert(eq(int, sh__known(results[i]), SH_KNOWN_FINITE), "result %zu", i);
    }
    sh_mode_release(s.mode);
}

Test(carry, a_view_of_all_that_is_known_is_known_and_a_part_tells_nothing_of_the_whole) {
    const seen_good s = look_at_ones();
    sh_tensor *y = ones(), *part = sh_select(y, 1, 0);
    cr_assert(eq(int, sh__known(sh_select(s.x, 1, 0)), SH_KNOWN_FINITE));
    SH_WITH_MODE(s.mode) sh_mul_(part, 2.0);
    cr_assert(eq(int, sh__known(part), SH_KNOWN_NOTHING));
    cr_assert(eq(int, sh__known(y), SH_KNOWN_NOTHING));
    sh_mode_release(s.mode);
}

Test(carry, memory_used_again_is_not_known) {
    const seen_good s = look_at_ones();
    for (int i = 0; i < 4; i++) SH_SCOPE {
            cr_assert(eq(int, sh__known(sh_empty_like(s.x)), SH_KNOWN_NOTHING));
            SH_WITH_MODE(s.mode) sh_relu(s.x);
        }
    sh_mode_release(s.mode);
}

Test(carry, memory_of_the_user_is_never_known) {
    float mine[128] = {0};
    sh_tensor *y = sh_from_data(mine, SH_F32, SH_SIZES(128), (sh_ints){NULL, 0}, NULL, NULL);
    sh_mode *mode = checker("1");
    SH_WITH_MODE(mode) {
        sh_add_(y, 1.0);
        sh_relu_(y);
        cr_assert(eq(int, sh__known(y), SH_KNOWN_NOTHING));
        mine[7] = NAN;
        sh_relu(y);
    }
    cr_assert(eq(u64, sh_finding_count(), 1));
    sh_mode_release(mode);
}

/* ---- writing to what is known ---- */

Test(carry, finds_what_was_written_through_a_pointer_taken_before) {
    seen_good s = {.mode = checker("1")};
    sh_tensor *x = ones();
    float *data = sh_tensor_data(x);
    SH_WITH_MODE(s.mode) s.x = sh_relu_(sh_mul_(x, 2.0));
    cr_assert(eq(u64, sh_finding_count(), 0));
    data[5] = NAN;
    expect_arrival(&s);
}

Test(carry, finds_what_was_written_through_a_pointer_taken_after) {
    const seen_good s = look_at_ones();
    float *data = sh_tensor_data(s.x);
    cr_assert(eq(str, TEXT(found_by(s.mode, relu, s.x)), "nothing"));
    data[5] = INFINITY;
    expect_arrival(&s);
}

Test(carry, finds_what_was_written_through_a_pointer_to_a_view) {
    const seen_good s = look_at_ones();
    ((float *)sh_tensor_data(sh_select(s.x, 1, 1)))[3] = NAN;
    expect_arrival(&s);
}

Test(carry, finds_what_was_written_through_dlpack) {
    const seen_good s = look_at_ones();
    DLManagedTensorVersioned *versioned = sh_to_dlpack(s.x);
    cr_assert(eq(str, TEXT(found_by(s.mode, relu, s.x)), "nothing"));
    ((float *)versioned->dl_tensor.data)[9] = NAN;
    versioned->deleter(versioned);
    expect_arrival(&s);
}

Test(carry, finds_what_was_written_through_the_older_dlpack) {
    const seen_good s = look_at_ones();
    DLManagedTensor *plain = sh_to_dlpack_unversioned(s.x);
    ((float *)plain->dl_tensor.data)[9] = NAN;
    plain->deleter(plain);
    expect_arrival(&s);
}

Test(carry, finds_what_an_op_in_place_wrote_while_nobody_looked) {
    const seen_good s = look_at_ones();
    sh_log_(sh_neg_(s.x));
    expect_arrival(&s);
}

Test(carry, finds_what_was_written_into_a_view_while_nobody_looked) {
    const seen_good s = look_at_ones();
    sh_mul_(sh_select(s.x, 1, 0), INFINITY);
    expect_arrival(&s);
}

Test(carry, finds_what_was_written_as_out_while_nobody_looked) {
    const seen_good s = look_at_ones();
    sh_log(sh_neg(ones()), .out = s.x);
    expect_arrival(&s);
}

static sh_status fails(sh_call *call, void *user) {
    (void)user;
    return sh_fail(SH_ERROR_VALUE, "%s: not today", sh_call_name(call));
}

Test(carry, what_a_failed_call_was_writing_is_not_known) {
    const seen_good s = look_at_ones();
    sh_kernel kernel;
    cr_assert(eq(int, sh_kernel_register("exp", "cpu", fails, NULL, "test", &kernel), SH_OK));
    cr_assert(eq(ptr, sh_exp_(s.x), NULL));
    sh_clear_error();
    cr_assert(eq(int, sh__known(s.x), SH_KNOWN_NOTHING));
    sh_kernel_remove(kernel);
    sh_mode_release(s.mode);
}

/* ---- calls that only look as if they carried ---- */

static sh_status gives_nan(sh_call *call, void *user) {
    (void)user;
    sh_tensor *result = sh_call_result(call, 0).as.tensor;
    for (int64_t i = 0; i < sh_tensor_numel(result); i++) ((float *)sh_tensor_data(result))[i] = NAN;
    return SH_OK;
}

Test(carry, a_kernel_that_the_user_brought_is_not_believed) {
    const seen_good s = look_at_ones();
    sh_kernel kernel;
    cr_assert(eq(int, sh_kernel_register("relu", "cpu", gives_nan, NULL, "test", &kernel), SH_OK));
    cr_assert(eq(str, TEXT(found_by(s.mode, relu, s.x)), "NaN born in relu"));
    sh_kernel_remove(kernel);
    cr_assert(eq(str, TEXT(found_by(s.mode, relu, s.x)), "nothing"));
    sh_mode_release(s.mode);
}

static sh_tensor *relu_elsewhere(sh_tensor *x) {
    sh_tensor *y;
    SH_WITH_BACKEND("carry_test") y = sh_relu(x);
    return y;
}

Test(carry, a_backend_that_the_user_brought_is_not_believed) {
    const seen_good s = look_at_ones();
    cr_assert(eq(int, sh_backend_register("carry_test", SH_HOST, "test"), SH_OK));
    cr_assert(eq(int, sh_kernel_fallthrough("relu", "carry_test", "test", NULL), SH_OK));
    cr_assert(eq(str, TEXT(found_by(s.mode, relu_elsewhere, s.x)), "nothing"));
    cr_assert(eq(int, sh_kernel_register("relu", "carry_test", gives_nan, NULL, "test", NULL), SH_OK));
    cr_assert(eq(str, TEXT(found_by(s.mode, relu_elsewhere, s.x)), "NaN born in relu"));
    sh_mode_release(s.mode);
}

static sh_status logs_the_negative(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) != SH_OP_relu) return SH_PASS;
    SH_TRY(sh_call_set_arg(call, 0, sh_value_tensor(sh_neg(sh_call_arg(call, 0).as.tensor))));
    return sh_call_swap(call, SH_OP_log) < 0 ? SH_ERROR_MODE : SH_PASS;
}

Test(carry, what_a_mode_below_made_of_the_call_is_looked_at) {
    for (int level = 0; level < 2; level++) {
        const seen_good s = look_at_ones();
        sh_mode *below = sh_mode_new(
            logs_the_negative,
            &(sh_mode_options){.name = "below", .level = level ? SH_LEVEL_DISPATCH : SH_LEVEL_FUNCTION});
        SH_WITH_MODE(below) cr_assert(eq(str, TEXT(found_by(s.mode, relu, s.x)), "NaN born in relu"));
        sh_mode_release(below);
        sh_mode_release(s.mode);
    }
}

static sh_status answers_nan(const sh_override_kind *kind, sh_call *call, void *user) {
    (void)kind;
    (void)user;
    return sh_call_set_tensor(call, sh_full(SH_SIZES(64), NAN));
}

Test(carry, what_an_override_answered_is_looked_at) {
    const seen_good s = look_at_ones();
    sh_override_kind *kind = sh_override_kind_new("nan", answers_nan, NULL, NULL);
    sh_tensor_set_override(s.x, kind);
    cr_assert(eq(str, TEXT(found_by(s.mode, relu, s.x)), "NaN born in relu"));
    sh_tensor_set_override(s.x, NULL);
    sh_override_kind_free(kind);
    sh_mode_release(s.mode);
}

static sh_tensor *half(sh_tensor *x) { return sh_to(x, SH_F16); }
static sh_tensor *clamped_by_nan(sh_tensor *x) { return sh_clamp(x, .min = NAN); }
static sh_tensor *clamped_by_inf(sh_tensor *x) { return sh_clamp(x, .min = INFINITY); }
static sh_tensor *padded_by_inf(sh_tensor *x) { return sh_pad(x, SH_SIZES(1, 1), .value = INFINITY); }
static sh_tensor *filled_by_nan(sh_tensor *x) { return sh_masked_fill(x, sh_ge(x, 0.0), NAN); }
static sh_tensor *joined_to_nan(sh_tensor *x) { return sh_cat(SH_LIST(x, sh_full_like(x, NAN))); }
static sh_tensor *half_below_a_number(sh_tensor *x) { return sh_maximum(half(x), 1e6); }
static sh_tensor *half_below_integers(sh_tensor *x) {
    return sh_maximum(half(x), sh_full_like(x, 100000, .dtype = SH_I64));
}
static sh_tensor *only_padding(sh_tensor *x) {
    return sh_max_pool2d(sh_narrow(x, 2, 0, 2), SH_SIZES(2, 2), .padding = {1, 1}, .dilation = {3, 3});
}

Test(carry, what_other_arguments_bring_is_looked_at) {
    static sh_tensor *(*const ops[])(sh_tensor *) = {clamped_by_nan,      clamped_by_inf, padded_by_inf,
                                                     filled_by_nan,       joined_to_nan,  half_below_a_number,
                                                     half_below_integers, only_padding};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const seen_good s = look_at_ones();
        cr_assert(ne(str, TEXT(found_by(s.mode, ops[i], s.x)), "nothing"), "op %zu", i);
        sh_mode_release(s.mode);
    }
}

/* ---- several modes, several threads ---- */

Test(carry, what_is_good_to_one_that_looks_for_nan_is_not_to_one_that_looks_for_inf) {
    sh_mode *nan = checker("0"), *both = checker("1");
    sh_tensor *x;
    SH_WITH_MODE(nan) x = sh_mul(ones(), INFINITY);
    cr_assert(eq(int, sh__known(x), SH_KNOWN_NO_NAN));
    cr_assert(eq(str, TEXT(found_by(nan, relu, x)), "nothing"));
    cr_assert(eq(str, TEXT(found_by(both, relu, x)), "Inf arrived in input self of relu"));
    SH_WITH_MODE(nan)
        SH_WITH_MODE(both) x = sh_mul(ones(), 3.0);
    cr_assert(eq(int, sh__known(x), SH_KNOWN_FINITE));
    cr_assert(eq(str, TEXT(found_by(nan, relu, x)), "nothing"));
    sh_mode_release(nan);
    sh_mode_release(both);
}

static void *spoil(void *x) {
    sh_log_(sh_neg_(x));
    return NULL;
}

Test(carry, finds_what_another_thread_wrote) {
    const seen_good s = look_at_ones();
    pthread_t writer;
    cr_assert(eq(int, pthread_create(&writer, NULL, spoil, s.x), 0));
    pthread_join(writer, NULL);
    expect_arrival(&s);
}
