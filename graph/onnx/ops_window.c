/* ops_window.c - Conv and MaxPool: where their windows lie.
 *
 * ONNX pads each side by its own amount, or says SAME and leaves the amounts to be computed. Our ops pad both sides
 * alike; where that is not enough the input is padded first, by a node of its own. Formulas: Operators.md of ONNX. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/onnx/reader.h"

enum { MAX_RANK = 2 };

typedef struct window {
    size_t rank;
    int64_t kernel[MAX_RANK], stride[MAX_RANK], dilation[MAX_RANK];
    int64_t begin[MAX_RANK], end[MAX_RANK]; /* padding */
    bool ceil;                              /* a window that begins inside may reach past the end */
} window;

/* ---- reading ---- */

/* `rank` numbers of at least `least`, or all `otherwise`. */
static sh_status read_list(const sh_onnx_reader *r, const char *name, size_t n, int64_t least,
                           int64_t otherwise, int64_t *to) {
    const sh_ints list = sh__onnx_ints(r, name);
    if (sh_error()) return sh_error()->code;
    if (list.at && list.n != n)
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "attribute %s has %zu entries, expected %zu", name, list.n,
                             n);
    for (size_t i = 0; i < n; i++) {
        to[i] = list.at ? list.at[i] : otherwise;
        if (to[i] < least || to[i] > INT32_MAX)
            return sh__onnx_fail(r, SH_ERROR_FORMAT,
                                 "attribute %s has the entry %" PRId64 ", expected %" PRId64 " or more", name,
                                 to[i], least);
    }
    return SH_OK;
}

static int64_t extent(const window *w, size_t i) { return (w->kernel[i] - 1) * w->dilation[i] + 1; }

/* The input's size along spatial axis i; -1 if unknown. */
static int64_t input_size(const sh_node *x, const window *w, size_t i) {
    const sh_spec *spec = sh_node_spec(x);
    return spec && spec->ndim == (int)w->rank + 2 ? spec->sizes[2 + i] : -1;
}

/* As many windows as the input has strides. */
static sh_status pad_same(const sh_onnx_reader *r, const sh_node *x, window *w, bool upper) {
    for (size_t i = 0; i < w->rank; i++) {
        const int64_t size = input_size(x, w, i), stride = w->stride[i];
        if (size < 0 && stride != 1)
            return sh__onnx_fail(
                r, SH_ERROR_UNSUPPORTED,
                "auto_pad=SAME with a stride needs the input's size, which the model leaves open");
        const int64_t covered = stride == 1
                                    ? extent(w, i) - 1
                                    : ((size + stride - 1) / stride - 1) * stride + extent(w, i) - size;
        const int64_t total = covered > 0 ? covered : 0;
        w->begin[i] = upper ? total / 2 : total - total / 2;
        w->end[i] = total - w->begin[i];
    }
    return SH_OK;
}

static sh_status read_padding(const sh_onnx_reader *r, const sh_node *x, window *w) {
    int64_t pads[2 * MAX_RANK];
    SH_TRY(read_list(r, "pads", 2 * w->rank, 0, 0, pads));
    for (size_t i = 0; i < w->rank; i++) {
        w->begin[i] = pads[i];
        w->end[i] = pads[w->rank + i];
    }
    const Onnx__AttributeProto *a =
        sh__onnx_attribute(r, "auto_pad", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    if (sh_error()) return sh_error()->code;
    if (!a || sh__onnx_string_is(r, "auto_pad", "NOTSET")) return SH_OK;
    for (size_t i = 0; i < 2 * w->rank; i++)
        if (pads[i]) return sh__onnx_fail(r, SH_ERROR_FORMAT, "auto_pad and pads are both given");
    if (sh__onnx_string_is(r, "auto_pad", "VALID")) return SH_OK;
    const bool upper = sh__onnx_string_is(r, "auto_pad", "SAME_UPPER");
    if (upper || sh__onnx_string_is(r, "auto_pad", "SAME_LOWER")) return pad_same(r, x, w, upper);
    return sh__onnx_fail(r, SH_ERROR_FORMAT,
                         "auto_pad is %.*s, expected NOTSET, SAME_UPPER, SAME_LOWER or VALID",
                         (int)(a->s.len < 40 ? a->s.len : 40), (const char *)a->s.data);
}

/* Kernel and rank are there already. */
static sh_status read_window(const sh_onnx_reader *r, const sh_node *x, window *w) {
    SH_TRY(read_list(r, "strides", w->rank, 1, 1, w->stride));
    SH_TRY(read_list(r, "dilations", w->rank, 1, 1, w->dilation));
    return read_padding(r, x, w);
}

/* ---- padding ---- */

static bool is_symmetric(const window *w) {
    for (size_t i = 0; i < w->rank; i++)
        if (w->begin[i] != w->end[i]) return false;
    return true;
}

static sh_arg int_list(const int64_t *from, size_t n, sh_arg *room) {
    for (size_t i = 0; i < n; i++) room[i] = sh_arg_int(from[i]);
    return sh_arg_list((sh_args){room, n});
}

/* The padding moves out of the window into a node of its own. `pad` takes the last axis first. */
static sh_node *pad_before(sh_onnx_reader *r, sh_node *x, window *w, sh_kwargs value) {
    int64_t pads[2 * MAX_RANK];
    sh_arg room[2 * MAX_RANK];
    for (size_t i = 0; i < w->rank; i++) {
        pads[2 * i] = w->begin[w->rank - 1 - i];
        pads[2 * i + 1] = w->end[w->rank - 1 - i];
        w->begin[w->rank - 1 - i] = w->end[w->rank - 1 - i] = 0;
    }
    const sh_arg args[] = {sh_arg_node(x), int_list(pads, 2 * w->rank, room)};
    return sh__onnx_call(r, "_pad", "pad", (sh_args){args, 2}, value);
}

/* ---- calls ---- */

/* The keyword arguments that both ops have, as far as they are not their defaults. */
typedef struct keywords {
    sh_kwarg at[8];
    sh_arg room[8][MAX_RANK];
    size_t n;
} keywords;

static void add_keyword(keywords *k, const char *name, sh_arg value) {
    k->at[k->n++] = (sh_kwarg){name, value};
}

static void add_list(keywords *k, const char *name, const int64_t *list, size_t rank, int64_t standard) {
    bool plain = true;
    for (size_t i = 0; i < rank; i++) plain &= list[i] == standard;
    if (!plain) add_keyword(k, name, int_list(list, rank, k->room[k->n]));
}

/* ---- Conv ---- */

/* From the weight where its shape is known, else from the attribute. */
static sh_status read_kernel(const sh_onnx_reader *r, const sh_node *weight, window *w) {
    const sh_ints given = sh__onnx_ints(r, "kernel_shape");
    const sh_spec *spec = sh_node_spec(weight);
    const bool known = spec && spec->ndim >= 2;
    if (sh_error()) return sh_error()->code;
    if (!known && !given.at)
        return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED,
                             "neither kernel_shape nor the shape of the weight is known");
    w->rank = known ? (size_t)spec->ndim - 2 : given.n;
    if (w->rank < 1 || w->rank > MAX_RANK)
        return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED,
                             "a convolution with %zu spatial axes; 1 and 2 are supported", w->rank);
    if (given.at) SH_TRY(read_list(r, "kernel_shape", w->rank, 1, 1, w->kernel));
    for (size_t i = 0; known && i < w->rank; i++) {
        if (given.at && given.at[i] != spec->sizes[2 + i])
            return sh__onnx_fail(r, SH_ERROR_FORMAT,
                                 "kernel_shape is %" PRId64 " along axis %zu, the weight's size %" PRId64,
                                 given.at[i], i, spec->sizes[2 + i]);
        w->kernel[i] = spec->sizes[2 + i];
        if (w->kernel[i] > INT32_MAX)
            return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED, "a kernel of size %" PRId64, w->kernel[i]);
    }
    return SH_OK;
}

sh_status sh__onnx_conv(sh_onnx_reader *r) {
    window w = {0};
    keywords k = {.n = 0};
    sh_node *x = sh__onnx_input(r, 0), *weight = x ? sh__onnx_input(r, 1) : NULL;
    sh_node *bias = weight && sh__onnx_has_input(r, 2) ? sh__onnx_input(r, 2) : NULL;
    const int64_t group = sh__onnx_int(r, "group", 1);
    if (sh_error()) return sh_error()->code;
    SH_TRY(read_kernel(r, weight, &w));
    SH_TRY(read_window(r, x, &w));
    if (!is_symmetric(&w)) x = pad_before(r, x, &w, SH_NO_KWARGS);
    if (!x) return sh_error()->code;
    if (bias) add_keyword(&k, "bias", sh_arg_node(bias));
    add_list(&k, "stride", w.stride, w.rank, 1);
    add_list(&k, "padding", w.begin, w.rank, 0);
    add_list(&k, "dilation", w.dilation, w.rank, 1);
    if (group != 1) add_keyword(&k, "groups", sh_arg_int(group));
    return sh__onnx_output(r, sh__onnx_call(r, "", w.rank == 1 ? "conv1d" : "conv2d", SH_ARGS(x, weight),
                                            (sh_kwargs){k.at, k.n}));
}

/* ---- MaxPool ---- */

/* ceil_mode as an amount of padding: up to the end of the last window that begins before the padding at the end does. */
static sh_status resolve_ceil(const sh_onnx_reader *r, const sh_node *x, window *w) {
    for (size_t i = 0; i < w->rank; i++) {
        const int64_t size = input_size(x, w, i), padded = size + w->begin[i] + w->end[i];
        if (size < 0)
            return sh__onnx_fail(
                r, SH_ERROR_UNSUPPORTED,
                "ceil_mode with this padding needs the input's size, which the model leaves open");
        if (padded < extent(w, i)) continue;
        int64_t last = (padded - extent(w, i) + w->stride[i] - 1) / w->stride[i];
        if (last * w->stride[i] >= size + w->begin[i]) last--;
        const int64_t needed = last * w->stride[i] + extent(w, i) - size - w->begin[i];
        w->end[i] = needed > 0 ? needed : 0;
    }
    w->ceil = false;
    return SH_OK;
}

/* max_pool2d pads at most half a window, by less than any number. */
static bool pool_pads_itself(const window *w) {
    for (size_t i = 0; i < w->rank; i++)
        if (w->begin[i] > w->kernel[i] / 2) return false;
    return is_symmetric(w);
}

static sh_status check_pool(const sh_onnx_reader *r, window *w) {
    const sh_ints kernel = sh__onnx_ints(r, "kernel_shape");
    w->ceil = sh__onnx_int(r, "ceil_mode", 0) != 0;
    sh__onnx_int(r, "storage_order", 0);
    if (sh_error()) return sh_error()->code;
    if (!kernel.at) return sh__onnx_fail(r, SH_ERROR_FORMAT, "attribute kernel_shape is missing");
    if (kernel.n != 2)
        return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED, "a pool with %zu spatial axes; 2 are supported",
                             kernel.n);
    if (r->node->n_output > 1 && *r->node->output[1])
        return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED, "the output Indices is not supported");
    w->rank = 2;
    return read_list(r, "kernel_shape", 2, 1, 1, w->kernel);
}

sh_status sh__onnx_max_pool(sh_onnx_reader *r) {
    static const sh_kwarg lowest = {"value", {SH_ARG_FLOAT, 0, {.f = -INFINITY}}};
    window w = {0};
    keywords k = {.n = 0};
    sh_arg room[MAX_RANK];
    sh_node *x = sh__onnx_input(r, 0);
    if (!x) return sh_error()->code;
    SH_TRY(check_pool(r, &w));
    SH_TRY(read_window(r, x, &w));
    if (!pool_pads_itself(&w)) {
        if (w.ceil) SH_TRY(resolve_ceil(r, x, &w));
        x = pad_before(r, x, &w, (sh_kwargs){&lowest, 1});
        if (!x) return sh_error()->code;
    }
    if (memcmp(w.stride, w.kernel, sizeof w.stride) != 0) add_list(&k, "stride", w.stride, w.rank, INT64_MIN);
    add_list(&k, "padding", w.begin, w.rank, 0);
    add_list(&k, "dilation", w.dilation, w.rank, 1);
    if (w.ceil) add_keyword(&k, "ceil_mode", sh_arg_flag(true));
    const sh_arg args[] = {sh_arg_node(x), int_list(w.kernel, w.rank, room)};
    return sh__onnx_output(r, sh__onnx_call(r, "", "max_pool2d", (sh_args){args, 2}, (sh_kwargs){k.at, k.n}));
}
