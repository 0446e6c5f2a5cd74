/* Units of tiles: elementwise steps run together give what they give one by one, bit for bit. */
#include <omp.h>

#include "graph/compile/tiles.h"
#include "ops/cpu/vmath.h"
#include "tests/draft.h"
#include "tests/fail_each.h"
#include "tests/sample.h"
#include "shunt.h"

static const sh_value none = {.tag = SH_TAG_NONE};
#define V draft_value

/* ---- equal bits ---- */

static bool is_nan_at(sh_dtype dtype, const char *at) {
    float f;
    double d;
    uint16_t h;
    memcpy(&h, at, sizeof h);
    if (dtype == SH_F16) return sh_f16_to_f32(h) != sh_f16_to_f32(h);
    if (dtype == SH_BF16) return sh_bf16_to_f32(h) != sh_bf16_to_f32(h);
    if (dtype == SH_F64) return memcpy(&d, at, sizeof d), d != d;
    return dtype == SH_F32 && (memcpy(&f, at, sizeof f), f != f);
}

/* Which NaN it is apart. */
static bool same_values(const sh_tensor *a, const sh_tensor *b) {
    const sh_dtype dtype = (sh_dtype)a->dtype;
    if (memcmp(a->data, b->data, (size_t)a->numel * a->element) == 0) return true;
    for (int64_t i = 0; i < a->numel; i++) {
        const char *x = a->data + i * a->element, *y = b->data + i * b->element;
        if (memcmp(x, y, a->element) != 0 && !(is_nan_at(dtype, x) && is_nan_at(dtype, y))) return false;
    }
    return true;
}

static uint32_t count_units(const sh_plan *plan) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->steps.n; i++) n += plan->steps.at[i].kind == SH_STEP_UNIT;
    return n;
}

/* Runs the plan as it is and with tiles; its outputs must not differ. Frees it. */
static void expect_same(sh_plan *plan, sh_tensor *const *inputs, const char *what) {
    const sh_plan_steps all = {.at = memcpy(malloc((plan->steps.n + 1) * sizeof *plan->steps.at),
                                            plan->steps.at, plan->steps.n * sizeof *plan->steps.at),
                               .n = plan->steps.n};
    draft_run expected = draft_open(plan, inputs);
    const sh_status status = draft_run_all(&expected);
    sh_clear_error();
    cr_assert(eq(int, sh__plan_tile(plan), SH_OK));
    draft_run got = draft_open(plan, inputs);
    cr_expect(eq(int, draft_run_all(&got), status), "%s", what);
    sh_clear_error();
    for (uint32_t i = 0; i < plan->nvalues && status == SH_OK; i++)
        if (plan->values[i].output)
            cr_expect(same_values(&got.records[i], &expected.records[i]), "%s: value %u", what, i);
    draft_close(&got);
    draft_close(&expected);
    sh__plan_free(plan);
    free(all.at);
}

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
            sh_tensor *x = sh_randn(SH_SIZES(200003));
            expect_same(gelu_chain(x), &x, "gelu by threads");
        }
}

/* ---- random graphs ---- */

static sh_tensor *inputs[64];
static uint32_t ninputs;

/* A shape that broadcasts to `sizes`. */
static sh_tensor *broadcasting(sh_dtype dtype, int ndim, const int64_t *sizes) {
    int64_t own[SH_MAX_DIMS];
    const int drop = sample_int(0, 2) ? 0 : (int)sample_int(0, ndim);
    for (int i = drop; i < ndim; i++) own[i - drop] = sample_int(0, 3) ? sizes[i] : 1;
    return sample_tensor(dtype, ndim - drop, own);
}

static uint32_t add_input(sh_plan *plan, int ndim, const int64_t *sizes) {
    const sh_dtype dtype = sample_int(0, 1) ? SH_F32 : sample_dtype();
    sh_tensor *t = NULL;
    if (sample_int(0, 2)) {
        t = sh_tensor_new(dtype, sh_ints_of(sizes, (size_t)ndim));
        sample_fill(t);
    } else {
        t = broadcasting(dtype, ndim, sizes);
    }
    inputs[ninputs] = t;
    return draft_input(plan, ninputs++, t);
}

static sh_value random_number(void) {
    switch (sample_int(0, 3)) {
    case 0: return sh_value_int(sample_int(-3, 3));
    case 1: return sh_value_float(0.5 * (double)sample_int(-5, 5));
    case 2: return sh_value_float(sample_int(0, 1) ? 3 : 0.044715);
    default: return sh_value_flag(sample_int(0, 1));
    }
}

static sh_value random_tensor(sh_plan *plan, const uint32_t *values, uint32_t nvalues) {
    if (sample_int(0, 4) == 0) return V(draft_number(plan, random_number()));
    return V(values[sample_int(sample_int(0, 1) && nvalues > 4 ? nvalues - 4 : 0, nvalues - 1)]);
}

static sh_value random_argument(sh_plan *plan, const sh_param *param, const uint32_t *values, uint32_t n) {
    if (param->optional && sample_int(0, 2) == 0) return none;
    if (param->type == SH_TYPE_TENSOR) return random_tensor(plan, values, n);
    if (strcmp(param->name, "rounding_mode") == 0)
        return (sh_value){.tag = SH_TAG_STRING, .as.string = sample_int(0, 1) ? "floor" : "trunc"};
    if (strcmp(param->name, "approximate") == 0 && sample_int(0, 1))
        return (sh_value){.tag = SH_TAG_STRING, .as.string = "tanh"};
    if (strcmp(param->name, "decimals") == 0) return sh_value_int(sample_int(-2, 2));
    if (param->type == SH_TYPE_SCALAR && sample_int(0, 1)) return random_number();
    return param->has_default ? param->value : random_number();
}

static uint32_t npointwise;
static const sh_op *pointwise[256];

static void find_pointwise(void) {
    for (uint32_t i = 0; i < SH_OP_BUILTIN_COUNT; i++) {
        const sh_op *op = sh_op_by_id(i);
        if (op->tags & SH_OP_POINTWISE) pointwise[npointwise++] = op;
    }
}

/* One more value, or UINT32_MAX where the arguments don't go together. */
static uint32_t add_random_op(sh_plan *plan, const sh_op *op, const uint32_t *values, uint32_t n) {
    sh_value args[SH_MAX_ARGS];
    for (uint32_t i = 0; i < op->schema->nparams; i++)
        args[i] = random_argument(plan, &op->schema->params[i], values, n);
    const uint32_t id = draft_call(plan, op, args);
    sh_clear_error();
    return id;
}

/* A plan of n ops over random operands; some results are outputs, the last one always. */
static sh_plan *random_plan(const sh_op *first, uint32_t n) {
    sh_plan *plan = sh__plan_new();
    int64_t sizes[SH_MAX_DIMS];
    uint32_t values[128], nvalues = 0, id = UINT32_MAX;
    const int ndim = (int)sample_int(0, 4);
    sample_sizes(ndim, sample_int(0, 3) ? 5 : 24, sizes);
    ninputs = 0;
    for (int64_t i = sample_int(1, 5); i >= 0; i--) values[nvalues++] = add_input(plan, ndim, sizes);
    for (uint32_t i = 0; i < 4 * n && plan->steps.n < n; i++) {
        const sh_op *op = first && plan->steps.n == 0 ? first : pointwise[sample_int(0, npointwise - 1)];
        id = add_random_op(plan, op, values, nvalues);
        if (id == UINT32_MAX) continue;
        values[nvalues++] = id;
        plan->values[id].output = sample_int(0, 5) == 0;
    }
    if (plan->steps.n) plan->values[plan->steps.at[plan->steps.n - 1].results[0]].output = true;
    return plan;
}

static uint32_t fused;

static void check_random(const sh_op *first, uint32_t n, uint64_t seed) {
    char what[96];
    snprintf(what, sizeof what, "%s, seed %llu", first ? first->name : "any", (unsigned long long)seed);
    sample_state = seed;
    SH_SCOPE { expect_same(random_plan(first, n), inputs, what); }
}

Test(tiles, every_pointwise_op_in_every_dtype_gives_the_same_bits, .timeout = 120) {
    find_pointwise();
    for (uint32_t i = 0; i < npointwise; i++)
        for (uint64_t seed = 0; seed < 60; seed++) check_random(pointwise[i], 3, seed * 1000 + i);
}

Test(tiles, random_graphs_give_the_same_bits, .timeout = 120) {
    find_pointwise();
    for (uint64_t seed = 1; seed < 3000; seed++) check_random(NULL, (uint32_t)(seed % 40 + 2), seed);
}

/* ---- memory ---- */

static bool tile_a_plan(void) {
    sh_plan *plan = gelu_chain(sh_rand(SH_SIZES(8, 8)));
    const sh_status status = sh__plan_tile(plan);
    sh__plan_free(plan);
    return status == SH_OK;
}

Test(tiles, x) { cr_assert(tile_a_plan()); (void)fused; (void)count_units; }
