/* Units of tiles: elementwise steps run together give what they give one by one, bit for bit. */
#include <omp.h>

#include "graph/compile/seal.h"
#include "ops/cpu/vmath.h"
#include "ops/iter.h"
#include "tests/tiles.h"

/* ---- a chain ---- */

/* PEERS.md's: x*0.5*(1+tanh(0.79788456*(x+0.044715*x^3))). */
static sh_plan *gelu_chain(const sh_tensor *x) {
    sh_plan *plan = sh__plan_new();
    const sh_value in = V(draft_input(plan, 0, x));
#define NUMBER(v) V(draft_number(plan, sh_value_float(v)))
    uint32_t y = draft_op(plan, "pow", in, V(draft_number(plan, sh_value_int(3))), none);
    y = draft_op(plan, "mul", V(y), NUMBER(0.044715), none);
    y = draft_op(plan, "add", in, V(y), none);
    y = draft_op(plan, "mul", V(y), NUMBER(0.79788456), none);
    y = draft_op(plan, "tanh", V(y), none, none);
    y = draft_op(plan, "add", V(y), V(draft_number(plan, sh_value_int(1))), none);
    const uint32_t half = draft_op(plan, "mul", in, NUMBER(0.5), none);
    y = draft_op(plan, "mul", V(half), V(y), none);
#undef NUMBER
    plan->values[y].output = true;
    return plan;
}

Test(tiles, a_chain_of_one_shape_is_one_unit_that_writes_its_last_result_alone) {
    sh_plan *plan = gelu_chain(sh_rand(SH_SIZES(100, 41)));
    cr_assert(eq(int, sh__plan_tile(plan), SH_OK));
    cr_assert(eq(u32, plan->steps.n, 1));
    cr_assert(eq(u32, plan->steps.at[0].nloads, 1));
    cr_assert(eq(u32, plan->steps.at[0].nresults, 1));
    cr_assert(plan->values[plan->steps.at[0].results[0]].output);
    sh__plan_free(plan);
}

Test(tiles, a_chain_gives_the_same_bits_at_every_length_and_level) {
    const sh_vmath_level best = sh_vmath_level_now();
    for (int level = 0; level <= (int)best; level++) {
        sh_vmath_force_level((sh_vmath_level)level);
        for (int64_t n = 1; n < 3000; n += n < 140 ? 1 : 211) SH_SCOPE {
                sh_tensor *x = sh_mul(sh_sub(sh_rand(SH_SIZES(n)), 0.5), 20.0);
                expect_same(gelu_chain(x), &x, "gelu");
            }
    }
}

Test(tiles, threads_share_out_a_long_chain) {
    for (int threads = 1; threads < 5; threads++) SH_SCOPE {
            omp_set_num_threads(threads);
            cr_assert(eq(int, sh__threads(200003), threads));
            sh_tensor *x = sh_randn(SH_SIZES(200003));
            expect_same(gelu_chain(x), &x, "gelu by threads");
        }
}

/* ---- what goes together ---- */

static sh_plan_step *step_at(const sh_plan *plan, uint32_t i) { return &plan->steps.at[i]; }

Test(tiles, what_others_read_is_written_and_the_rest_is_not) {
    sh_tensor *x = sh_rand(SH_SIZES(6, 7));
    sh_plan *plan = sh__plan_new();
    const uint32_t a = draft_op(plan, "exp", V(draft_input(plan, 0, x)), none, none),
                   b = draft_op(plan, "neg", V(a), none, none), c = draft_op(plan, "mul", V(a), V(b), none),
                   d = draft_op(plan, "sum", V(b), none, none);
    plan->values[c].output = plan->values[d].output = true;
    cr_assert(eq(int, sh__plan_tile(plan), SH_OK));
    cr_assert(eq(u32, plan->steps.n, 2));
    cr_assert(eq(u32, step_at(plan, 0)->nresults, 2));
    cr_assert(eq(u32, step_at(plan, 0)->results[0], b));
    cr_assert(eq(u32, step_at(plan, 0)->results[1], c));
    sh__plan_free(plan);
}

Test(tiles, another_shape_ends_a_unit) {
    sh_plan *plan = sh__plan_new();
    uint32_t y = draft_input(plan, 0, sh_rand(SH_SIZES(6, 1))),
             z = draft_input(plan, 1, sh_rand(SH_SIZES(6, 7)));
    for (int i = 0; i < 2; i++) y = draft_op(plan, "neg", V(y), none, none);
    for (int i = 0; i < 2; i++) z = draft_op(plan, "mul", V(z), V(y), none);
    plan->values[z].output = true;
    cr_assert(eq(int, sh__plan_tile(plan), SH_OK));
    cr_assert(eq(u32, plan->steps.n, 2));
    sh__plan_free(plan);
}

Test(tiles, more_results_than_a_step_has_make_more_units) {
    sh_tensor *x = sh_rand(SH_SIZES(10));
    sh_plan *plan = sh__plan_new();
    uint32_t y = draft_input(plan, 0, x);
    for (int i = 0; i < 11; i++) {
        y = draft_op(plan, "neg", V(y), none, none);
        plan->values[y].output = true;
    }
    expect_same(plan, &x, "11 results");
    cr_assert(eq(u32, steps_left, 3));
}

/* A view has the buffer of its base: read in tiles, it would be read before it is written. */
Test(tiles, a_view_of_a_result_is_read_by_another_unit) {
    sh_tensor *x = sh_rand(SH_SIZES(20, 20));
    sh_plan *plan = sh__plan_new();
    uint32_t y = draft_op(plan, "exp", V(draft_input(plan, 0, x)), none, none);
    y = draft_op(plan, "neg", V(y), none, none);
    const uint32_t turned = sh__plan_add_value(plan, "", &plan->values[y].spec, plan->values[y].buffer);
    plan->values[turned].strides[0] = 1;
    plan->values[turned].strides[1] = 20;
    y = draft_op(plan, "mul", V(turned), V(y), none);
    y = draft_op(plan, "exp", V(y), none, none);
    plan->values[y].output = true;
    expect_same(plan, &x, "a view");
    cr_assert(eq(u32, steps_left, 2));
}

Test(tiles, what_nobody_wants_makes_no_unit) {
    sh_plan *plan = sh__plan_new();
    uint32_t y = draft_input(plan, 0, sh_rand(SH_SIZES(6)));
    for (int i = 0; i < 2; i++) y = draft_op(plan, "neg", V(y), none, none);
    cr_assert(eq(int, sh__plan_tile(plan), SH_OK));
    cr_assert(eq(u32, plan->steps.n, 2));
    sh__plan_free(plan);
}

static sh_status no_kernel(sh_tensor *r, sh_tensor *self) {
    ((float *)r->data)[0] = ((float *)self->data)[0];
    return SH_OK;
}

Test(tiles, a_kernel_of_the_users_own_stays_a_step) {
    sh_kernel kernel;
    cr_assert(eq(int, sh_kernel_register_typed(sh_neg_kernel(no_kernel), NULL, &kernel), SH_OK));
    sh_plan *plan = sh__plan_new();
    uint32_t y = draft_input(plan, 0, sh_rand(SH_SIZES(6)));
    for (int i = 0; i < 4; i++) y = draft_op(plan, i == 2 ? "neg" : "exp", V(y), none, none);
    plan->values[y].output = true;
    cr_assert(eq(int, sh__plan_tile(plan), SH_OK));
    cr_assert(eq(u32, plan->steps.n, 3));
    sh__plan_free(plan);
    sh_kernel_remove(kernel);
}

Test(tiles, nothing_is_done_about_no_elements) {
    sh_tensor *x = sh_tensor_new(SH_F32, SH_SIZES(3, 0));
    expect_same(gelu_chain(x), &x, "no elements");
    cr_assert(eq(u32, steps_left, 8));
}

/* ---- operands that broadcast, over many tiles and threads ---- */

static void check_broadcast(sh_ints shape, sh_ints operand) {
    sh_tensor *in[] = {sh_randn(shape), sh_randn(operand)};
    sh_plan *plan = sh__plan_new();
    const uint32_t x = draft_input(plan, 0, in[0]), b = draft_input(plan, 1, in[1]);
    uint32_t y = draft_op(plan, "add", V(x), V(b), none);
    y = draft_op(plan, "relu", V(y), none, none);
    y = draft_op(plan, "atan2", V(b), V(y), none);
    plan->values[y].output = true;
    expect_same(plan, in, "broadcast");
    cr_assert(eq(u32, steps_left, 1));
}

Test(tiles, rows_columns_and_channels_broadcast_into_tiles) {
    for (int threads = 1; threads < 4; threads++) SH_SCOPE {
            omp_set_num_threads(threads);
            check_broadcast(SH_SIZES(300, 700), SH_SIZES(700));
            check_broadcast(SH_SIZES(300, 700), SH_SIZES(300, 1));
            check_broadcast(SH_SIZES(7000, 33), SH_SIZES(33));
            check_broadcast(SH_SIZES(7000, 33), SH_SIZES(7000, 1));
            check_broadcast(SH_SIZES(3, 50, 37, 37), SH_SIZES(50, 1, 1));
            check_broadcast(SH_SIZES(3, 50, 37, 37), SH_SIZES(3, 1, 37, 1));
            check_broadcast(SH_SIZES(2, 3, 40000), SH_SIZES(1));
        }
}

/* ---- in place ---- */

/* softmax(x) is read last by a unit of which two results are wanted: the first while softmax(x) still is, the second
 * when it is not. */
Test(tiles, a_result_takes_over_what_is_not_read_after_it_is_written) {
    sh_tensor *x = sh_randn(SH_SIZES(9, 300));
    sh_plan *plan = sh__plan_new();
    const sh_value last = sh_value_int(1);
    const uint32_t a = draft_op(plan, "softmax", V(draft_input(plan, 0, x)), last, none),
                   b = draft_op(plan, "exp", V(a), none, none), c = draft_op(plan, "mul", V(a), V(b), none),
                   d = draft_op(plan, "softmax", V(b), last, none),
                   e = draft_op(plan, "softmax", V(c), last, none);
    plan->values[d].output = plan->values[e].output = true;
    cr_assert(eq(int, sh__plan_tile(plan), SH_OK));
    cr_assert(eq(u32, plan->steps.n, 4));
    cr_assert(eq(int, sh__plan_seal(plan), SH_OK));
    cr_assert(ne(u32, plan->values[b].buffer, plan->values[a].buffer));
    cr_assert(eq(u32, plan->values[c].buffer, plan->values[a].buffer));
    draft_run run = draft_open(plan, &x);
    cr_assert(eq(int, draft_run_all(&run), SH_OK));
    sh_tensor *weights = sh_softmax(x, 1), *grown = sh_exp(weights);
    cr_assert(same_values(&run.records[d], sh_softmax(grown, 1)));
    cr_assert(same_values(&run.records[e], sh_softmax(sh_mul(weights, grown), 1)));
    draft_close(&run);
    sh__plan_free(plan);
}

/* ---- errors ---- */

Test(tiles, an_integer_division_by_zero_stays_an_error) {
    sh_tensor *in[] = {sh_ones(SH_SIZES(5), .dtype = SH_I64), sh_zeros(SH_SIZES(5), .dtype = SH_I64)};
    sh_plan *plan = sh__plan_new();
    uint32_t y = draft_op(plan, "neg", V(draft_input(plan, 0, in[0])), none, none);
    y = draft_op(plan, "floor_divide", V(y), V(draft_input(plan, 1, in[1])), none);
    y = draft_op(plan, "neg", V(y), none, none);
    plan->values[y].output = true;
    cr_assert(eq(int, sh__plan_tile(plan), SH_OK));
    draft_run run = draft_open(plan, in);
    cr_assert(eq(int, draft_run_all(&run), SH_ERROR_VALUE));
    sh_clear_error();
    draft_close(&run);
    sh__plan_free(plan);
}

/* A draft whose tiling failed is whole still: it runs, and can be freed. */
Test(tiles, every_allocation_may_fail) {
    sh_tensor *given = sh_rand(SH_SIZES(8, 8));
    for (size_t n = 1; n < 200; n++) {
        sh_plan *drafted = gelu_chain(given);
        sh_memory_fail_after(n);
        const bool done = sh__plan_tile(drafted) == SH_OK, hit = sh_memory_fail_after(0) >= n;
        cr_assert(done || (sh_error() && sh_error()->code == SH_ERROR_MEMORY), "allocation %zu", n);
        sh_clear_error();
        expect_same(drafted, &given, "after a failure");
        if (hit) continue;
        cr_assert(done);
        break;
    }
}
