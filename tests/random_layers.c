/* random_layers.c - kinds of nodes for random_kinds.c: what nets are made of, writes, and what comes from elsewhere. */
#include "tests/random_maker.h"

static bool is_real_matrix(const sh_tensor *t) { return t->ndim >= 2 && is_wide(t); }
static bool is_image(const sh_tensor *t) { return t->ndim == 4 && is_wide(t); }
static bool is_line(const sh_tensor *t) { return t->ndim == 3 && is_wide(t); }
static bool has_four_columns(const sh_tensor *t) {
    return t->ndim > 0 && t->sizes[t->ndim - 1] == 4 && t->dtype == SH_F32;
}
static bool is_small_float(const sh_tensor *t) { return is_float(t) && t->numel <= 64; }

static sh_arg pair(sh_arg *at, int64_t a, int64_t b) { return ints(at, (int64_t[]){a, b}, 2); }

/* ---- products and windows ---- */

static void product(random_maker *m) {
    const random_value x = random_any(m, is_real_matrix), y = random_any(m, is_real_matrix);
    if (!x.node || !y.node) return;
    const int64_t rows = random_int(1, 6), columns = size_at(x.t, -1);
    const sh_dtype dtype = (sh_dtype)x.t->dtype;
    switch (random_int(0, 5)) {
    case 0: PUT(m, "matmul", x.node, PUT(m, "transpose", y.node, -1, -2)); break;
    case 1: PUT(m, "matmul", x.node, y.node); break;
    case 2: PUT(m, "matmul", x.node, random_constant(m, dtype, SH_SIZES(columns, rows))); break;
    case 3: PUT(m, "linear", x.node, random_constant(m, dtype, SH_SIZES(rows, columns))); break;
    case 4:
        PUT(m, "linear", x.node, random_constant(m, dtype, SH_SIZES(rows, columns)),
            random_constant(m, dtype, SH_SIZES(rows)));
        break;
    default:
        if (x.t->ndim == 3)
            PUT(m, "bmm", x.node, PUT(m, "transpose", x.node, -1, -2));
        else
            PUT(m, "addmm", random_constant(m, dtype, SH_SIZES(x.t->sizes[0])), x.node,
                PUT(m, "transpose", x.node, -1, -2));
    }
}

static sh_node *channel_constant(random_maker *m, const sh_tensor *x, bool positive) {
    sh_node *c = random_constant(m, (sh_dtype)x->dtype, SH_SIZES(x->sizes[1]));
    return positive && c ? PUT(m, "add", PUT(m, "abs", c), 0.5) : c;
}

static void normed(random_maker *m, random_value x) {
    sh_node *mean = channel_constant(m, x.t, false),
            *var = random_constant(m, (sh_dtype)x.t->dtype, SH_SIZES(x.t->sizes[1]));
    if (!mean || !var) return;
    sh_tensor *kept = sh_graph_attr(m->graph, var->target), *own = random_tensor_of(m, var);
    for (int i = 0; i < 2; i++) sh_add_(sh_abs_(i ? own : kept), 0.5); /* what is constant stays so */
    PUT_WITH(m, "batch_norm", SH_ARGS(x.node, mean, var),
             SH_KWARG("weight", channel_constant(m, x.t, false)));
}

static void convolved(random_maker *m) {
    const random_value x = random_any(m, coin() ? is_image : is_line);
    sh_arg at[2];
    if (!x.node) return;
    const int64_t rows = random_int(1, 4), columns = x.t->sizes[1], side = random_int(1, 3);
    const sh_dtype dtype = (sh_dtype)x.t->dtype;
    sh_node *w = random_constant(
        m, dtype, x.t->ndim == 4 ? SH_SIZES(rows, columns, side, side) : SH_SIZES(rows, columns, side));
    sh_node *bias = coin() ? random_constant(m, dtype, SH_SIZES(rows)) : NULL;
    const char *op = x.t->ndim == 4 ? "conv2d" : "conv1d";
    const sh_arg b = bias ? sh_arg_node(bias) : sh_arg_none();
    const int64_t stride = random_int(1, 2);
    sh_node *y = PUT(m, op, x.node, w, b, x.t->ndim == 4 ? pair(at, 1, stride) : ints(at, &stride, 1),
                     random_int(0, 1));
    if (y && coin()) normed(m, (random_value){y, random_tensor_of(m, y)});
}

static void windowed(random_maker *m) {
    const random_value x = random_any(m, is_image);
    sh_arg at[2];
    if (!x.node) return;
    switch (random_int(0, 3)) {
    case 0: PUT(m, "max_pool2d", x.node, 2, random_int(1, 2)); break;
    case 1: PUT(m, "avg_pool2d", x.node, 2, 1); break;
    case 2: PUT(m, "adaptive_avg_pool2d", x.node, pair(at, random_int(1, 2), 1)); break;
    default: normed(m, x);
    }
}

static void along_rows(random_maker *m) {
    const random_value x = random_any(m, has_real_axes);
    sh_arg at[2];
    if (!x.node) return;
    const int64_t last = size_at(x.t, -1);
    switch (random_int(0, 4)) {
    case 0: PUT(m, "layer_norm", x.node, ints(at, &last, 1)); break;
    case 1: PUT(m, "pad", x.node, pair(at, random_int(0, 2), random_int(-1, 2))); break;
    case 2: PUT(m, coin() ? "tril" : "triu", x.node); break;
    case 3: PUT(m, "softmax", x.node, -1); break;
    default:
        PUT(m, "layer_norm", x.node, ints(at, &last, 1),
            random_constant(m, (sh_dtype)x.t->dtype, SH_SIZES(last)));
    }
}

static void indexed(random_maker *m) {
    const random_value x = random_any(m, has_axes);
    if (!x.node) return;
    const int64_t axis = axis_of(x.t), n = size_at(x.t, axis);
    sh_node *index = PUT(m, "remainder", random_constant(m, SH_I64, SH_SIZES(random_int(1, 4))), n);
    if (index) PUT(m, "index_select", x.node, axis, index);
    if (index && x.t->ndim == 2 && is_float(x.t) && coin())
        PUT(m, "embedding", x.node, PUT(m, "remainder", index, size_at(x.t, 0)));
}

void random_put_layer(random_maker *m) {
    static void (*const kinds[])(random_maker *) = {product,  product,    convolved, convolved,
                                                    windowed, along_rows, indexed};
    RANDOM_PICK(kinds)(m);
}

/* ---- writes ---- */

static bool may_write(const random_maker *m, random_value x) {
    return x.node && x.t->ndim < SH_MAX_DIMS && !random_is_guarded(m, x.t);
}

static void in_place(random_maker *m) {
    static const char *const one[] = {"relu_", "tanh_", "sin_", "neg_", "abs_", "sigmoid_", "silu_", "tril_"};
    static const char *const two[] = {"add_", "add_", "sub_", "mul_", "lt_", "copy_", "copy_"};
    const random_value x = random_any(m, random_one_in(5) ? NULL : is_float);
    const random_value mask = random_any(m, is_bool);
    if (!may_write(m, x)) return;
    switch (random_int(0, 5)) {
    case 0:
    case 1: PUT(m, RANDOM_PICK(one), x.node); break;
    case 2: PUT(m, "mul_", x.node, coin() ? 0.5 : -0.75); break;
    case 3:
        if (mask.node) PUT(m, "masked_fill_", x.node, mask.node, 0.5);
        break;
    case 4: PUT(m, "clamp_", x.node, -1, 1); break;
    default: {
        const char *op = RANDOM_PICK(two);
        if (!m->how->smooth || op[0] != 'l') PUT(m, op, x.node, random_operand(m, NULL));
    }
    }
}

static void into_out(random_maker *m) {
    const random_value x = random_any(m, is_float), y = random_any(m, is_float);
    if (!x.node || !y.node) return;
    const sh_dtype dtype = random_one_in(3) ? random_dtype(m) : (sh_dtype)x.t->dtype;
    const random_value old = random_any(m, is_float);
    sh_node *out = may_write(m, old) && coin()
                       ? old.node
                       : PUT_WITH(m, "zeros_like", SH_ARGS(x.node), SH_KWARG("dtype", sh_arg_dtype(dtype)));
    if (!out) return;
    switch (random_int(0, 2)) {
    case 0: PUT_WITH(m, "add", SH_ARGS(x.node, y.node), SH_KWARG("out", out)); break;
    case 1: PUT_WITH(m, "exp", SH_ARGS(PUT(m, "tanh", x.node)), SH_KWARG("out", out)); break;
    default: PUT_WITH(m, "softmax", SH_ARGS(x.node, -1), SH_KWARG("out", out));
    }
}

void random_put_write(random_maker *m) {
    if (random_one_in(3))
        into_out(m);
    else
        in_place(m);
}

/* ---- sources and the rest ---- */

static void made(random_maker *m) {
    const random_value x = random_any(m, NULL);
    sh_arg at[SH_MAX_DIMS];
    const sh_dtype dtype = random_dtype(m);
    const sh_arg shape = ints(at, m->sizes, m->ndim);
    switch (random_int(0, 6)) {
    case 0:
        PUT_WITH(m, coin() ? "zeros" : "ones", SH_ARGS(shape), SH_KWARG("dtype", sh_arg_dtype(dtype)));
        break;
    case 1: PUT(m, "full", shape, 0.7); break;
    case 2: PUT(m, "arange", m->how->smooth ? SH_ARG(4.0) : SH_ARG(random_int(1, 5))); break;
    case 3: PUT(m, "linspace", -1.0, 1.0, m->sizes[m->ndim - 1]); break;
    case 4: PUT(m, "eye", 4); break;
    case 5:
        if (x.node) PUT(m, coin() ? "zeros_like" : "ones_like", x.node);
        break;
    default:
        if (x.node) PUT(m, "full_like", x.node, 2);
        break;
    }
}

static void constant(random_maker *m) {
    const size_t n = (size_t)random_int(1, m->ndim);
    random_constant(m, random_dtype(m), sh_ints_of(m->sizes + m->ndim - n, n));
}

static void converted(random_maker *m) {
    const random_value x = random_any(m, NULL), y = random_any(m, NULL);
    if (!x.node || !y.node) return;
    if (coin() && !m->how->smooth)
        PUT(m, "to", x.node, sh_arg_dtype(random_dtype(m)));
    else
        PUT(m, "copy", x.node, y.node);
}

static void drawn(random_maker *m) {
    const random_value x = random_any(m, is_float);
    sh_arg at[4];
    if (!m->how->draws || !x.node) return;
    switch (random_int(0, 3)) {
    case 0: PUT(m, "rand_like", x.node); break;
    case 1: PUT(m, "randn", ints(at, m->sizes, m->ndim)); break;
    case 2: PUT(m, "dropout", x.node, 0.5, coin()); break;
    default:
        if (may_write(m, x)) PUT(m, "dropout_", x.node, 0.25);
    }
}

static void module_called(random_maker *m) {
    const random_value x = random_any(m, has_four_columns);
    if (!m->how->net || !x.node) return;
    const size_t n = sh_module_children(m->how->net);
    random_put_module(m, sh_module_child_name(m->how->net, (size_t)random_int(0, (int64_t)n - 1)), x);
}

/* What passes know to take away. */
static void needless(random_maker *m) {
    const random_value x = random_any(m, is_float);
    if (!x.node) return;
    switch (random_int(0, 4)) {
    case 0: PUT(m, "add", x.node, 0); break;
    case 1: PUT(m, "mul", x.node, 1); break;
    case 2: PUT(m, "dropout", x.node, 0.5, (bool)false); break;
    case 3: PUT(m, "div", x.node, 1.0); break;
    default:
        PUT(m, "outer", PUT(m, "flatten", random_any(m, is_small_float).node),
            random_constant(m, (sh_dtype)x.t->dtype, SH_SIZES(3)));
    }
}

void random_put_source(random_maker *m) {
    static void (*const kinds[])(random_maker *) = {made,          constant, drawn,
                                                    module_called, needless, converted};
    RANDOM_PICK(kinds)(m);
}
