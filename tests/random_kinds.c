/* random_kinds.c - the kinds of nodes that random graphs are made of: elementwise, reductions, views. What an op refuses is
 * left out by random_put, so a kind says only what has a fair chance. */
#include <string.h>

#include "tests/random_maker.h"

static bool is_integer(const sh_tensor *t) { return !is_float(t); }
static bool is_matrix(const sh_tensor *t) { return t->ndim >= 2; }

sh_arg random_operand(random_maker *m, random_wanted wanted) {
    static const double numbers[] = {0.5, 2, -1, 0.1, 1.75, -0.3};
    const random_value v = random_any(m, wanted);
    if (!v.node || random_one_in(4))
        return coin() && !m->how->smooth ? sh_arg_int(random_int(-3, 3)) : sh_arg_float(RANDOM_PICK(numbers));
    return sh_arg_node(v.node);
}

/* ---- elementwise ---- */

static const char *const smooth_unary[] = {
    "exp",   "sin",  "cos",  "tanh",     "sigmoid",    "erf",         "atan",      "sqrt",
    "log1p", "gelu", "silu", "softplus", "expm1",      "square",      "neg",       "abs",
    "relu",  "log",  "elu",  "relu6",    "leaky_relu", "hardsigmoid", "hardswish", "hardtanh",
    "sinh",  "erfc", "tan",  "log2",     "exp2",       "clone",       "rsqrt",     "reciprocal"};
static const char *const rough_unary[] = {"floor", "ceil",     "round",       "trunc",      "sign",
                                          "isnan", "isfinite", "logical_not", "bitwise_not"};

static void unary(random_maker *m) {
    const random_value x = random_any(m, random_one_in(6) ? NULL : is_float);
    const bool rough = !m->how->smooth && random_one_in(5);
    if (x.node) PUT(m, rough ? RANDOM_PICK(rough_unary) : RANDOM_PICK(smooth_unary), x.node);
}

static void binary(random_maker *m) {
    static const char *const smooth[] = {"add", "add",     "mul",     "mul",  "sub",
                                         "div", "maximum", "minimum", "atan2"};
    const random_value x = random_any(m, NULL);
    const sh_arg y = random_operand(m, NULL);
    if (x.node) PUT(m, RANDOM_PICK(smooth), x.node, y);
}

static void scaled_sum(random_maker *m) {
    const random_value x = random_any(m, is_float);
    const sh_arg y = random_operand(m, NULL);
    if (x.node)
        PUT_WITH(m, coin() ? "add" : "sub", SH_ARGS(x.node, y), SH_KWARG("alpha", coin() ? 2.0 : -0.5));
}

/* Integers are not divided: what is no error for these numbers may be one for others. */
static void rough_binary(random_maker *m) {
    static const char *const any[] = {"eq", "ne",          "lt",         "le",         "gt",
                                      "ge", "logical_and", "logical_or", "logical_xor"};
    static const char *const real[] = {"remainder", "fmod", "pow", "floor_divide"};
    static const char *const bits[] = {"bitwise_and", "bitwise_or", "bitwise_xor"};
    const int64_t kind = random_int(0, 3);
    const random_wanted wanted = kind == 0 ? is_integer : kind == 1 ? is_float : NULL;
    const random_value x = random_any(m, wanted);
    const sh_arg y = random_operand(m, wanted);
    if (x.node)
        PUT(m, kind == 0 ? RANDOM_PICK(bits) : kind == 1 ? RANDOM_PICK(real) : RANDOM_PICK(any), x.node, y);
}

static void ternary(random_maker *m) {
    const random_value x = random_any(m, is_float), y = random_any(m, is_float);
    if (!x.node || !y.node) return;
    const random_value mask = random_any(m, is_bool);
    switch (random_int(0, 4)) {
    case 0: PUT(m, "clamp", x.node, -0.5, coin() ? SH_ARG(0.75) : sh_arg_none()); break;
    case 1: PUT(m, "clamp.Tensor", x.node, y.node); break;
    case 2: PUT(m, "lerp", x.node, y.node, 0.3); break;
    case 3:
        if (mask.node) PUT(m, "where", mask.node, x.node, random_operand(m, is_float));
        break;
    default:
        if (mask.node) PUT(m, "masked_fill", x.node, mask.node, 0.25);
        break;
    }
}

/* ---- reductions ---- */

static void reduce(random_maker *m) {
    static const char *const over_axes[] = {"sum", "sum", "mean", "amax", "amin"};
    const random_value x = random_any(m, has_axes);
    sh_arg at[1];
    if (!x.node) return;
    const int64_t axis = axis_of(x.t);
    const char *op = RANDOM_PICK(over_axes);
    if (random_one_in(4))
        PUT(m, op, x.node);
    else
        PUT_WITH(m, op, SH_ARGS(x.node, ints(at, &axis, 1)), SH_KWARG("keepdim", coin()));
}

static void smooth_reduce(random_maker *m) {
    static const char *const ops[] = {"var",    "std",  "norm",    "logsumexp",
                                      "cumsum", "prod", "softmax", "log_softmax"};
    const random_value x = random_any(m, has_real_axes);
    sh_arg at[1];
    if (!x.node) return;
    const int64_t axis = axis_of(x.t);
    const char *op = RANDOM_PICK(ops);
    if (strcmp(op, "var") == 0 || strcmp(op, "std") == 0)
        PUT_WITH(m, op, SH_ARGS(x.node, ints(at, &axis, 1)), SH_KWARG("unbiased", coin()));
    else if (strcmp(op, "norm") == 0)
        PUT(m, op, x.node, coin() ? 2.0 : 1.0, ints(at, &axis, 1));
    else
        PUT(m, op, x.node, axis);
}

static void rough_reduce(random_maker *m) {
    static const char *const ops[] = {"argmax", "argmin", "max.dim", "min.dim", "cumsum", "prod"};
    const random_value x = random_any(m, has_axes);
    sh_arg at[1];
    if (!x.node) return;
    const int64_t axis = axis_of(x.t);
    if (random_one_in(4)) {
        PUT(m, coin() ? "any" : "all", x.node, ints(at, &axis, 1));
        return;
    }
    sh_node *r = PUT(m, RANDOM_PICK(ops), x.node, axis);
    if (!r || m->results[r->id].tag != SH_TAG_TENSORS) return;
    PUT(m, SH_GETITEM, r, 0);
    if (coin()) PUT(m, SH_GETITEM, r, 1);
}

/* ---- views and joins ---- */

/* Two axes as one, or one as two. */
static void reshaped(random_maker *m) {
    const random_value x = random_any(m, has_axes);
    int64_t sizes[SH_MAX_DIMS];
    sh_arg at[SH_MAX_DIMS];
    if (!x.node) return;
    int n = 0;
    const int place = (int)random_int(0, x.t->ndim - 1);
    for (int i = 0; i < x.t->ndim; i++) {
        const int64_t size = x.t->sizes[i];
        if (i == place && i + 1 < x.t->ndim && coin())
            sizes[n++] = size * x.t->sizes[++i];
        else if (i == place && n + 2 < SH_MAX_DIMS) {
            sizes[n++] = size % 2 ? 1 : 2;
            sizes[n++] = size % 2 ? size : size / 2;
        } else
            sizes[n++] = size;
    }
    PUT(m, coin() ? "view" : "reshape", x.node, ints(at, sizes, n));
}

static void moved(random_maker *m) {
    const random_value x = random_any(m, is_matrix);
    int64_t order[SH_MAX_DIMS];
    sh_arg at[SH_MAX_DIMS];
    if (!x.node) return;
    if (coin()) {
        PUT(m, "transpose", x.node, axis_of(x.t), axis_of(x.t));
        return;
    }
    for (int i = 0; i < x.t->ndim; i++) {
        const int64_t k = random_int(0, i);
        order[i] = order[k];
        order[k] = i;
    }
    PUT(m, "permute", x.node, ints(at, order, x.t->ndim));
}

static void part(random_maker *m) {
    const random_value x = random_any(m, has_axes);
    if (!x.node) return;
    const int64_t axis = axis_of(x.t), size = size_at(x.t, axis);
    const int64_t start = random_int(0, size > 0 ? size - 1 : 0);
    switch (random_int(0, 3)) {
    case 0: PUT(m, "select", x.node, axis, start); break;
    case 1: PUT(m, "narrow", x.node, axis, start, random_int(1, size - start > 0 ? size - start : 1)); break;
    case 2:
        PUT(m, "slice", x.node, axis, start, coin() ? SH_ARG(size) : sh_arg_none(), random_int(1, 2));
        break;
    default: {
        sh_node *parts = PUT(m, coin() ? "split" : "chunk", x.node, 2, axis);
        const int64_t n = parts ? (int64_t)m->results[parts->id].count : 0;
        for (int64_t i = 0; i < n && i < 3; i++)
            if (coin()) PUT(m, SH_GETITEM, parts, i);
    }
    }
}

static void other_view(random_maker *m) {
    const random_value x = random_any(m, NULL);
    sh_arg at[SH_MAX_DIMS];
    int64_t sizes[SH_MAX_DIMS] = {random_int(1, 2)};
    if (!x.node || x.t->ndim > 4) return;
    switch (random_int(0, 5)) {
    case 0: PUT(m, "unsqueeze", x.node, random_int(-x.t->ndim - 1, x.t->ndim)); break;
    case 1: PUT(m, "squeeze", x.node); break;
    case 2:
        if (x.t->ndim) PUT(m, "squeeze.dim", x.node, axis_of(x.t));
        break;
    case 3: PUT(m, "contiguous", x.node); break;
    case 4:
        if (x.t->ndim) PUT(m, "flatten", x.node, random_int(0, x.t->ndim - 1));
        break;
    default:
        for (int i = 0; i < x.t->ndim; i++) sizes[i + 1] = x.t->sizes[i] == 1 && coin() ? 3 : x.t->sizes[i];
        PUT(m, "expand", x.node, ints(at, sizes, x.t->ndim + 1));
    }
}

static void joined(random_maker *m) {
    const random_value x = random_any(m, has_axes), y = random_any(m, has_axes), z = random_any(m, has_axes);
    if (!x.node || !y.node || !z.node) return;
    const sh_args list = coin() ? SH_ARGS(x.node, y.node) : SH_ARGS(z.node, x.node, x.node);
    const int64_t axis = axis_of(x.t);
    if (!PUT(m, coin() ? "cat" : "stack", sh_arg_list(list), axis)) {
        sh_clear_error();
        PUT(m, coin() ? "cat" : "stack", sh_arg_list(SH_ARGS(x.node, x.node)), axis);
    }
}

void random_put_any(random_maker *m) {
    static void (*const smooth[])(random_maker *) = {unary,      unary,   binary,     binary,        binary,
                                                     scaled_sum, ternary, reduce,     smooth_reduce, reshaped,
                                                     moved,      part,    other_view, joined};
    static void (*const rough[])(random_maker *) = {rough_binary, rough_binary, rough_reduce};
    const int64_t kind = random_int(1, 30);
    if (kind <= 7)
        random_put_layer(m);
    else if (kind <= 11)
        random_put_write(m);
    else if (kind <= 16)
        random_put_source(m);
    else if (kind <= 19 && !m->how->smooth)
        RANDOM_PICK(rough)(m);
    else
        RANDOM_PICK(smooth)(m);
}
