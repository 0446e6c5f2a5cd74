/* Convolutions and what lies between them in oneDNN's layouts: the same numbers as the eager kernels, but for rounding. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/compile/blocked.h"
#include "graph/compile/conv_way.h"
#include "ops/ops.h"
#include "tests/fail_each.h"
#include "tests/plan_draft.h"

/* Of one convolution; deep nets add up to more. */
static const double close_by = 1e-5, close_by_winograd = 1e-3;

#define T(t) sh_value_tensor(t)
#define INTS(...)  \
    sh_value_ints( \
        (sh_ints){(const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)})

static sh_tensor *values(int64_t a, int64_t b, int64_t c, int64_t d) {
    return sh_sub(sh_mul(sh_rand(SH_SIZES(a, b, c, d)), 2.0), 1.0);
}

static sh_tensor *conv(draft *d, sh_tensor *x, int64_t outputs, int64_t kernel, int64_t stride,
                       int64_t padding, int64_t dilation, int64_t groups) {
    if (!x) return NULL;
    sh_tensor *w = draft_constant(d, values(outputs, sh_tensor_size(x, 1) / groups, kernel, kernel));
    sh_tensor *bias = draft_constant(d, sh_rand(SH_SIZES(outputs)));
    return w && bias ? DRAFT(d, "conv2d", T(x), T(w), T(bias), INTS(stride), INTS(padding), INTS(dilation),
                             sh_value_int(groups))
                     : NULL;
}

static sh_tensor *plain_conv(draft *d, sh_tensor *x, int64_t outputs) {
    return conv(d, x, outputs, 3, 1, 1, 1, 1);
}

/* Unmeasured; what is fastest; and each of Winograd's alone. */
static const sh_block_options options[] = {
    {SH_WINOGRAD_OFF, 0},
    {SH_WINOGRAD_MEASURE, 0},
    {SH_WINOGRAD_MEASURE, 1 << SH_CONV_WINOGRAD_2},
    {SH_WINOGRAD_MEASURE, 1 << SH_CONV_WINOGRAD_4},
};
enum { OFF, MEASURE, WINOGRAD_2, WINOGRAD_4, WAYS };

/* Blocks the draft and runs it. */
static double blocked(draft *d, size_t way) {
    const sh_status status = sh__plan_block(d->plan, &options[way]);
    cr_assert(eq(int, status, SH_OK), "%s", sh_error() ? sh_error()->message : "");
    const double most = draft_run(d);
    cr_assert(isfinite(most), "%s", sh_error() ? sh_error()->message : "a NaN");
    return most;
}

static double tolerance(sh_winograd winograd) {
    return winograd == SH_WINOGRAD_MEASURE ? close_by_winograd : close_by;
}

Test(blocked, convolutions_of_all_geometries_agree) {
    static const int64_t cases[][8] = {
        /* channels, size, outputs, kernel, stride, padding, dilation, groups */
        {3, 17, 16, 7, 2, 3, 1, 1},   {3, 9, 8, 3, 1, 1, 1, 1},     {16, 12, 32, 3, 1, 1, 1, 1},
        {16, 12, 32, 3, 2, 1, 1, 1},  {16, 12, 32, 1, 2, 0, 1, 1},  {24, 10, 20, 3, 1, 1, 1, 1},
        {24, 10, 24, 3, 1, 1, 1, 24}, {42, 11, 42, 5, 2, 2, 1, 42}, {16, 12, 16, 3, 1, 2, 2, 1},
        {16, 8, 32, 3, 1, 1, 1, 4},   {1, 8, 1, 3, 1, 0, 1, 1},     {64, 7, 64, 3, 1, 1, 1, 1},
        {20, 1, 16, 1, 1, 0, 1, 1},   {8, 5, 17, 2, 1, 0, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t way = 0; way < WAYS; way++) SH_SCOPE {
                const int64_t *c = cases[i];
                draft d;
                draft_begin(&d);
                sh_tensor *x = draft_input(&d, values(2, c[0], c[1], c[1] + 1));
                sh_tensor *y = DRAFT(&d, "relu", T(conv(&d, x, c[2], c[3], c[4], c[5], c[6], c[7])));
                draft_output(&d, y);
                const double most = blocked(&d, way);
                cr_expect(le(dbl, most, tolerance(way)), "case %zu, way %zu", i, way);
                cr_expect(eq(u32, draft_units(&d, "conv") + draft_units(&d, "winograd"), 1),
                          "case %zu, way %zu", i, way);
                sh__plan_free(d.plan);
            }
}

Test(blocked, every_function_is_done_by_the_convolution_in_front) {
    static const char *const functions[] = {"relu", "relu6",     "leaky_relu",  "elu",     "gelu",    "silu",
                                            "tanh", "hardswish", "hardsigmoid", "sigmoid", "hardtanh"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) SH_SCOPE {
            draft d;
            draft_begin(&d);
            sh_tensor *x = draft_input(&d, values(1, 16, 9, 9));
            draft_output(&d, DRAFT(&d, functions[i], T(plain_conv(&d, x, 16))));
            cr_expect(le(dbl, blocked(&d, OFF), close_by), "%s", functions[i]);
            cr_expect(eq(u32, d.plan->steps.n, 3), "%s", functions[i]);
            sh__plan_free(d.plan);
        }
}

/* As in ResNet: a block with a convolution on its shortcut, one without, and what ends the net. */
static void residual_net(draft *d) {
    sh_tensor *x = draft_input(d, values(1, 3, 32, 32));
    x = DRAFT(d, "relu", T(conv(d, x, 32, 7, 2, 3, 1, 1)));
    x = DRAFT(d, "max_pool2d", T(x), INTS(3), INTS(2), INTS(1));
    sh_tensor *y = plain_conv(d, DRAFT(d, "relu", T(plain_conv(d, x, 32))), 32);
    x = DRAFT(d, "relu", T(DRAFT(d, "add", T(y), T(x))));
    y = plain_conv(d, DRAFT(d, "relu", T(conv(d, x, 64, 3, 2, 1, 1, 1))), 64);
    x = DRAFT(d, "relu", T(DRAFT(d, "add", T(y), T(conv(d, x, 64, 1, 2, 0, 1, 1)))));
    sh_tensor *pooled = DRAFT(d, "adaptive_avg_pool2d", T(x), INTS(1, 1));
    sh_tensor *flat = draft_view(d, pooled, sh_view(pooled, SH_SIZES(1, 64)));
    draft_output(d, DRAFT(d, "matmul", T(flat), T(draft_constant(d, sh_rand(SH_SIZES(64, 10))))));
}

Test(blocked, a_residual_net_is_convolutions_pools_and_nothing_else) {
    for (size_t way = 0; way < WAYS; way++) SH_SCOPE {
            draft d;
            draft_begin(&d);
            residual_net(&d);
            cr_expect(le(dbl, blocked(&d, way), tolerance(way)), "way %zu", way);
            cr_expect(eq(u32, draft_units(&d, "conv") + draft_units(&d, "winograd"), 6), "way %zu", way);
            cr_expect(eq(u32, draft_units(&d, "pool"), 2));
            cr_expect(eq(u32, d.plan->steps.n, 10));
            sh__plan_free(d.plan);
        }
}

Test(blocked, a_constant_that_is_packed_may_be_read_elsewhere) {
    draft d;
    draft_begin(&d);
    sh_tensor *x = plain_conv(&d, draft_input(&d, values(1, 16, 8, 8)), 16);
    sh_tensor *w = draft_constant(&d, values(16, 16, 1, 1)), *added = draft_constant(&d, values(1, 16, 8, 8));
    sh_tensor *y =
        DRAFT(&d, "conv2d", T(x), T(w), sh_none(), INTS(1, 1), INTS(0, 0), INTS(1, 1), sh_value_int(1));
    draft_output(&d, DRAFT(&d, "add", T(y), T(added)));
    draft_output(&d, DRAFT(&d, "exp", T(w)));
    sh_tensor *rows = draft_input(&d, sh_rand(SH_SIZES(4, 64)));
    sh_tensor *matrix = draft_constant(&d, sh_rand(SH_SIZES(64, 64)));
    draft_output(&d, DRAFT(&d, "matmul", T(rows), T(matrix)));
    cr_expect(le(dbl, blocked(&d, OFF), close_by));
    cr_expect(eq(u32, draft_units(&d, "conv"), 2));
    cr_expect(eq(u32, draft_units(&d, "product"), 1));
    sh__plan_free(d.plan);
}

Test(blocked, a_sum_with_what_the_convolution_reads_is_not_done_in_place) {
    draft d;
    draft_begin(&d);
    sh_tensor *x = DRAFT(&d, "relu", T(draft_input(&d, values(1, 16, 8, 8))));
    sh_tensor *y = DRAFT(&d, "add", T(x), T(plain_conv(&d, x, 16)));
    draft_output(&d, DRAFT(&d, "add", T(plain_conv(&d, y, 16)), T(y)));
    cr_expect(le(dbl, blocked(&d, OFF), close_by));
    cr_expect(eq(u32, draft_units(&d, "conv"), 2));
    sh__plan_free(d.plan);
}

Test(blocked, what_a_plain_step_or_the_caller_reads_is_copied_back_once) {
    draft d;
    draft_begin(&d);
    sh_tensor *x = draft_input(&d, values(2, 16, 8, 8));
    sh_tensor *y = plain_conv(&d, x, 24), *z = plain_conv(&d, y, 24);
    draft_output(&d, DRAFT(&d, "exp", T(y)));
    draft_output(&d, DRAFT(&d, "log1p", T(DRAFT(&d, "abs", T(y)))));
    sh_tensor *turned = draft_view(&d, z, sh_permute(z, SH_SIZES(0, 2, 3, 1)));
    draft_output(&d, DRAFT(&d, "exp", T(turned)));
    draft_output(&d, z);
    cr_expect(le(dbl, blocked(&d, OFF), close_by));
    cr_expect(eq(u32, draft_units(&d, "reorder"), 3));
    sh__plan_free(d.plan);
}

Test(blocked, channels_last_that_come_in_as_a_view_are_read_as_they_lie) {
    for (size_t way = OFF; way <= MEASURE; way++) SH_SCOPE {
            draft d;
            draft_begin(&d);
            sh_tensor *image = draft_input(&d, values(1, 9, 9, 3));
            sh_tensor *x = draft_view(&d, image, sh_permute(image, SH_SIZES(0, 3, 1, 2)));
            x = DRAFT(&d, "pad", T(x), INTS(1, 2, 0, 2));
            x = DRAFT(&d, "relu", T(conv(&d, x, 8, 5, 2, 0, 1, 1)));
            x = draft_view(&d, x, sh_permute(x, SH_SIZES(0, 2, 3, 1)));
            draft_output(&d, DRAFT(&d, "exp", T(x)));
            cr_expect(le(dbl, blocked(&d, way), close_by), "way %zu", way);
            cr_expect(way != OFF || d.plan->steps.n == 2, "%u steps", d.plan->steps.n);
            sh__plan_free(d.plan);
        }
}

Test(blocked, few_channels_in_another_layout_are_not_read_as_rows) {
    for (size_t way = OFF; way < WAYS; way++) SH_SCOPE {
            draft d;
            draft_begin(&d);
            sh_tensor *image = draft_input(&d, values(1, 2, 7, 5));
            sh_tensor *x = draft_view(&d, image, sh_permute(image, SH_SIZES(0, 1, 3, 2)));
            draft_output(&d, DRAFT(&d, "relu", T(conv(&d, x, 3, 2, 1, 1, 1, 1))));
            cr_expect(le(dbl, blocked(&d, way), close_by), "way %zu", way);
            sh__plan_free(d.plan);
        }
}

Test(blocked, a_batch_norm_is_folded_into_the_convolution_in_front) {
    for (size_t way = 0; way < WAYS; way++)
        for (int given = 0; given < 2; given++) SH_SCOPE {
                draft d;
                draft_begin(&d);
                sh_tensor *x = draft_input(&d, values(1, 16, 9, 9));
                sh_tensor *mean = draft_constant(&d, sh_rand(SH_SIZES(32)));
                sh_tensor *var = draft_constant(&d, sh_add(sh_rand(SH_SIZES(32)), 0.5));
                const sh_value gamma = given ? T(draft_constant(&d, sh_rand(SH_SIZES(32)))) : sh_none();
                const sh_value beta = given ? T(draft_constant(&d, sh_rand(SH_SIZES(32)))) : sh_none();
                sh_tensor *y =
                    DRAFT(&d, "batch_norm", T(plain_conv(&d, x, 32)), T(mean), T(var), gamma, beta);
                draft_output(&d, DRAFT(&d, "relu", T(y)));
                cr_expect(le(dbl, blocked(&d, way), tolerance(way)), "way %zu", way);
                cr_expect(eq(u32, d.plan->steps.n, 3), "way %zu", way);
                sh__plan_free(d.plan);
            }
}

/* The product with what follows it as one unit. */
static void check_product(const char *what, draft *d, sh_tensor *y) {
    draft_output(d, y);
    cr_expect(le(dbl, blocked(d, OFF), close_by), "%s", what);
    cr_expect(eq(u32, draft_units(d, "product"), 1), "%s", what);
    cr_expect(eq(u32, d->plan->steps.n, 1), "%s", what);
    sh__plan_free(d->plan);
}

Test(blocked, products_with_a_constant_take_bias_functions_and_sums) {
    for (int64_t rows = 1; rows <= 64; rows *= 4) SH_SCOPE {
            sh_tensor *x = sh_reshape(values(1, 1, rows, 48), SH_SIZES(rows, 48));
            sh_tensor *w = sh_reshape(values(1, 1, 48, 40), SH_SIZES(48, 40)), *bias = sh_rand(SH_SIZES(40));
            draft d;
            draft_begin(&d);
            sh_tensor *weight = draft_constant(&d, sh_contiguous(sh_transpose(w, 0, 1)));
            check_product("linear", &d,
                          DRAFT(&d, "linear", T(draft_input(&d, x)), T(weight), T(draft_constant(&d, bias))));
            draft_begin(&d);
            sh_tensor *y = DRAFT(&d, "matmul", T(draft_input(&d, x)), T(draft_constant(&d, w)));
            check_product("matmul", &d,
                          DRAFT(&d, "gelu", T(DRAFT(&d, "add", T(y), T(draft_constant(&d, bias))))));
            draft_begin(&d);
            sh_tensor *other = draft_input(&d, sh_rand(SH_SIZES(rows, 40)));
            y = DRAFT(&d, "mm", T(draft_input(&d, x)),
                      T(draft_constant(&d, sh_transpose(sh_contiguous(sh_transpose(w, 0, 1)), 0, 1))));
            check_product("mm", &d, DRAFT(&d, "add", T(other), T(DRAFT(&d, "tanh", T(y)))));
            draft_begin(&d);
            check_product("addmm", &d,
                          DRAFT(&d, "addmm", T(draft_constant(&d, bias)), T(draft_input(&d, x)),
                                T(draft_constant(&d, w))));
        }
}

/* A chain over random ops; what each makes may be read again, and some are outputs. */
static sh_tensor *random_step(draft *d, sh_tensor *const *made, size_t n) {
    sh_tensor *x = made[rand() % (int)n], *y = made[n - 1];
    const int64_t channels = sh_tensor_size(y, 1), size = sh_tensor_size(y, 2), choice = rand() % 12;
    const bool alike = sh_tensor_size(x, 1) == channels && sh_tensor_size(x, 2) == size;
    switch (choice) {
    case 0: return alike ? DRAFT(d, "add", T(x), T(y)) : DRAFT(d, "relu", T(y));
    case 1:
        return alike ? DRAFT(d, "cat", sh_value_tensors((sh_tensors){(sh_tensor *[]){x, y}, 2}),
                             sh_value_int(1))
                     : NULL;
    case 2: return DRAFT(d, "hardswish", T(y));
    case 3: return size > 3 ? DRAFT(d, "max_pool2d", T(y), INTS(2)) : NULL;
    case 4: return size > 3 ? DRAFT(d, "avg_pool2d", T(y), INTS(3), INTS(2), INTS(1)) : NULL;
    case 5: return DRAFT(d, "pad", T(y), INTS(0, 1, 1, 0));
    case 6: return DRAFT(d, "tanh", T(y));
    case 7: return conv(d, y, channels, 3, 1, 1, 1, channels);
    case 8: return conv(d, y, 8 * (1 + rand() % 4), 1, 1, 0, 1, 1);
    default: return DRAFT(d, "add", T(DRAFT(d, "tanh", T(plain_conv(d, y, channels)))), T(y));
    }
}

static void random_net(draft *d) {
    sh_tensor *made[16] = {draft_input(d, values(1 + rand() % 2, 4 * (1 + rand() % 6), 12, 12))};
    size_t n = 1;
    for (int i = 0; i < 12; i++) {
        sh_tensor *t = random_step(d, made, n);
        if (t && sh_tensor_size(t, 1) < 100) made[n++] = t;
        if (t && rand() % 6 == 0) draft_output(d, t);
    }
    draft_output(d, made[n - 1]);
}

Test(blocked, random_nets_agree) {
    for (unsigned seed = 0; seed < 30; seed++) SH_SCOPE {
            draft d;
            srand(seed);
            draft_begin(&d);
            random_net(&d);
            cr_assert(sh_error() == NULL, "seed %u: %s", seed, sh_error() ? sh_error()->message : "");
            const size_t way = seed % WAYS;
            cr_expect(le(dbl, blocked(&d, way), 10 * tolerance(way)), "seed %u", seed);
            sh__plan_free(d.plan);
        }
}

/* ---- compiled ---- */

static sh_value net(sh_values in, void *weight) {
    sh_tensor *x = in.at[0].as.tensor, *w = ((sh_tensor **)weight)[0];
    for (int i = 0; i < 3; i++) x = sh_relu(sh_add(x, sh_conv2d(x, w, .padding = {1, 1})));
    return sh_value_tensor(x);
}

/* OpenMP's threads are gone there, and oneDNN would wait for them. */
Test(blocked, a_compiled_net_runs_in_the_child_of_a_fork, .timeout = 60) {
    sh_tensor *w = values(32, 32, 3, 3), *x = values(1, 32, 64, 64);
    sh_compiled *c = sh_compile_function(net, &w, &(sh_compile_options){.size = sizeof(sh_compile_options)});
    const sh_value input = sh_value_tensor(x);
    sh_tensor *expected = net((sh_values){&input, 1}, &w).as.tensor;
    cr_assert(sh_allclose(sh_compiled_run(c, x), expected, .rtol = 1e-3, .atol = 1e-2));
    const pid_t child = fork();
    if (child == 0) _exit(sh_allclose(sh_compiled_run(c, x), expected, .rtol = 1e-3, .atol = 1e-2) ? 0 : 1);
    int status;
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_assert(eq(int, status, 0));
    cr_assert(eq(sz, sh_compiled_stats(c).plans, 1));
    sh_compiled_free(c);
}

Test(blocked, a_folded_statistic_that_is_written_makes_another_plan) {
    sh_module *m = sh_nn_sequential(sh_nn_conv2d(8, 16, 3, .padding = 1), sh_nn_batch_norm2d(16));
    sh_module_eval(m);
    sh_compiled *c = sh_compile(m, &(sh_compile_options){.size = sizeof(sh_compile_options)});
    sh_tensor *x = values(1, 8, 12, 12);
    for (int i = 0; i < 3; i++) {
        cr_expect(sh_allclose(sh_compiled_run(c, x), sh_forward(m, x), .rtol = 1e-3, .atol = 1e-3), "%d", i);
        sh_add_(sh_module_buffer(sh_module_child(m, "1"), "running_mean"), 1.0);
    }
    cr_assert(sh_error() == NULL, "%s", sh_error() ? sh_error()->message : "");
    cr_expect(eq(u64, sh_compiled_stats(c).compilations, 3));
    sh_compiled_free(c);
    sh_module_release(m);
}

static bool block_residual_net(void) {
    draft d;
    bool worked = draft_begin(&d) == SH_OK;
    if (worked) residual_net(&d);
    worked = worked && !sh_error() && sh__plan_block(d.plan, &options[OFF]) == SH_OK;
    sh__plan_free(d.plan);
    return worked;
}

Test(blocked, memory_out_anywhere_is_an_error_and_leaks_nothing) {
    fail_each("blocking", block_residual_net);
}
