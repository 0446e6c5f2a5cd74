/* Units of tiles over random plans, of every elementwise op and dtype, and over random functions that are compiled. */
#include "tests/sample.h"
#include "tests/tiles.h"

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

static void check_random(const sh_op *first, uint32_t n, uint64_t seed) {
    char what[96];
    snprintf(what, sizeof what, "%s, seed %llu", first ? first->name : "any", (unsigned long long)seed);
    sample_state = seed;
    SH_SCOPE { expect_same(random_plan(first, n), inputs, what); }
}

/* Those that may fail, and so stay as they are. */
static bool stays(const sh_op *op) { return op->id == SH_OP_masked_fill; }

Test(tiles_random, every_pointwise_op_in_every_dtype_gives_the_same_bits, .timeout = 120) {
    find_pointwise();
    for (uint32_t i = 0; i < npointwise; i++) {
        taken_in = 0;
        for (uint64_t seed = 0; seed < 60; seed++) check_random(pointwise[i], 3, seed * 1000 + i);
        cr_expect(eq(int, taken_in > 0, !stays(pointwise[i])), "%s: in %u units", pointwise[i]->name,
                  taken_in);
    }
}

Test(tiles_random, random_graphs_give_the_same_bits, .timeout = 120) {
    find_pointwise();
    for (uint64_t seed = 1; seed < 3000; seed++) check_random(NULL, (uint32_t)(seed % 40 + 2), seed);
}

/* ---- compiled functions ---- */

typedef struct net {
    uint64_t seed;
    sh_tensor *at[64];
    uint32_t n;
} net;

static sh_tensor *pick(const net *f) { return f->at[sample_int(f->n > 5 ? f->n - 5 : 0, f->n - 1)]; }

static sh_tensor *pick_float(const net *f) {
    sh_tensor *t = pick(f);
    return sh_dtype_kind_of(sh_tensor_dtype(t)) == SH_KIND_FLOAT ? t : sh_to(t, SH_F32);
}

static sh_tensor *unary(const net *f) {
    static const char *const ops[] = {"exp", "tanh", "sigmoid", "relu",  "neg",        "abs",   "gelu",
                                      "sin", "sqrt", "silu",    "log1p", "leaky_relu", "round", "square"};
    return sh_call_op(ops[sample_int(0, 13)], pick_float(f));
}

static sh_tensor *binary(const net *f) {
    static const char *const ops[] = {"add", "mul", "sub", "div", "maximum", "atan2", "pow", "fmod"};
    const char *op = ops[sample_int(0, 7)];
    sh_tensor *x = pick_float(f);
    sh_tensor *y = sample_int(0, 1) ? pick(f) : x;
    if (sh_tensor_dtype(y) != SH_B8 && sample_int(0, 1)) return sh_call_op(op, x, y);
    return sample_int(0, 1) ? sh_call_op(op, x, 0.5 * (double)sample_int(-5, 6)) : sh_call_op(op, 3, x);
}

static sh_tensor *other(const net *f) {
    sh_tensor *x = pick_float(f);
    if (sh_tensor_ndim(x) < 2) return sh_add(f->at[0], x);
    switch (sample_int(0, 7)) {
    case 0: return sh_where(sh_gt(pick(f), 0.25), x, pick(f));
    case 1: return sh_clamp(x, .min = -1, .max = 2);
    case 2: return sh_to(pick(f), sample_dtype());
    case 3: return sh_mul(x, sh_mean(x, .dim = SH_DIMS(-1), .keepdim = true));
    case 4: return sh_contiguous(sh_transpose(sh_transpose(x, 0, 1), 0, 1));
    case 5: return sh_transpose(sh_reshape(sh_transpose(x, 0, 1), sh_ints_of(x->sizes, 2)), 0, 0);
    case 6: return sh_softmax(x, 1);
    default: return sh_lerp(x, sh_mul(x, 3.0), 0.25);
    }
}

/* What this computes depends on the seed alone, and that on its last two hundred results and more. */
static sh_value run_net(sh_values in, void *user) {
    net *f = user;
    sample_state = f->seed;
    f->n = 0;
    for (size_t i = 0; i < in.n; i++) f->at[f->n++] = in.at[i].as.tensor;
    for (int64_t left = sample_int(2, 40); left > 0; left--) {
        const int64_t kind = sample_int(0, 5);
        f->at[f->n] = kind < 2 ? unary(f) : kind < 5 ? binary(f) : other(f);
        if (!f->at[f->n]) return sh_none();
        f->n++;
    }
    return sh_value_tensors(sh_tensors_of(f->at + f->n - 2, 2));
}

static void check_compiled(uint64_t seed) {
    sample_state = ~seed;
    net f = {.seed = seed};
    const int64_t rows = sample_int(1, 30), columns = sample_int(1, 40);
    const sh_value in[] = {
        sh_value_tensor(sh_randn(SH_SIZES(rows, columns))),
        sh_value_tensor(sample_tensor(sample_dtype(), 2, (const int64_t[]){rows, columns})),
        sh_value_tensor(sh_randn(SH_SIZES(columns)))};
    sh_compiled *c = sh_compile_function(run_net, &f, NULL);
    const sh_value got = sh_compiled_call(c, (sh_values){in, 3});
    cr_assert(sh_error() == NULL, "seed %llu: %s", (unsigned long long)seed, sh_error()->message);
    const sh_value again = sh_compiled_call(c, (sh_values){in, 3}),
                   expected = run_net((sh_values){in, 3}, &f);
    for (int i = 0; i < 2; i++) {
        cr_expect(same_values(got.as.tensors[i], expected.as.tensors[i]), "seed %llu",
                  (unsigned long long)seed);
        cr_expect(same_values(again.as.tensors[i], expected.as.tensors[i]), "seed %llu, again",
                  (unsigned long long)seed);
    }
    sh_compiled_free(c);
}

Test(tiles_random, compiled_functions_give_the_eager_bits, .timeout = 120) {
    for (uint64_t seed = 1; seed < 1500; seed++) SH_SCOPE {
            check_compiled(seed);
        }
}
