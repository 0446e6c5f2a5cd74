/* ops_shape.c - the ops without windows: elementwise, constants, and those that move elements. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/onnx/reader.h"

static sh_arg list_arg(sh_ints list, sh_arg *room) {
    for (size_t i = 0; i < list.n; i++) room[i] = sh_arg_int(list.at[i]);
    return sh_arg_list((sh_args){room, list.n});
}

/* ---- elementwise ---- */

sh_status sh__onnx_add(sh_onnx_reader *r) {
    sh_node *a = sh__onnx_input(r, 0), *b = a ? sh__onnx_input(r, 1) : NULL;
    return b ? sh__onnx_output(r, sh__onnx_call(r, "", "add", SH_ARGS(a, b), SH_NO_KWARGS))
             : sh_error()->code;
}

sh_status sh__onnx_relu(sh_onnx_reader *r) {
    sh_node *x = sh__onnx_input(r, 0);
    return x ? sh__onnx_output(r, sh__onnx_call(r, "", "relu", SH_ARGS(x), SH_NO_KWARGS)) : sh_error()->code;
}

/* Another name for the same value. */
sh_status sh__onnx_identity(sh_onnx_reader *r) {
    sh_tensor *constant = sh__onnx_constant(r, 0);
    sh_node *node = sh__onnx_input(r, 0);
    return node ? sh__onnx_define(r, r->node->output[0], node, constant) : sh_error()->code;
}

/* ---- constants ---- */

static sh_tensor *copy_of(const sh_onnx_reader *r, const void *data, sh_dtype dtype, sh_ints sizes) {
    const size_t n = sizes.n ? (size_t)*sizes.at : 1;
    if (sh__budget_take(r->budget, n * sh_dtype_size(dtype)) < 0) return NULL;
    return sh_tensor_copy_of(n ? data : "", dtype, sizes);
}

static sh_tensor *constant_tensor(const sh_onnx_reader *r, const Onnx__AttributeProto *a) {
    char what[300];
    switch (a->type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT: return copy_of(r, &a->f, SH_F32, SH_SCALAR_SHAPE);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT: return copy_of(r, &a->i, SH_I64, SH_SCALAR_SHAPE);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        return copy_of(r, a->floats, SH_F32, SH_SIZES((int64_t)a->n_floats));
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        return copy_of(r, a->ints, SH_I64, SH_SIZES((int64_t)a->n_ints));
    default: break;
    }
    if (a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR || !a->t) {
        sh__onnx_fail(r, SH_ERROR_FORMAT, "attribute %.80s has type %d, expected a tensor",
                      sh__onnx_text(a->name), (int)a->type);
        return NULL;
    }
    snprintf(what, sizeof what, "%.100s: attribute value of node %.100s", r->file, sh__onnx_node_name(r));
    return sh__onnx_tensor(a->t, r->budget, what);
}

sh_status sh__onnx_constant_node(sh_onnx_reader *r) {
    if (r->node->n_attribute != 1)
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "%zu attributes give a value, expected 1",
                             r->node->n_attribute);
    sh_tensor *t = constant_tensor(r, r->node->attribute[0]);
    return t ? sh__onnx_define(r, r->node->output[0], NULL, t) : sh_error()->code;
}

static sh_arg fill_value(const sh_tensor *t) {
    const sh_dtype dtype = sh_tensor_dtype(t);
    if (dtype == SH_B8) return sh_arg_flag(sh_item_int(t) != 0);
    return sh_dtype_kind_of(dtype) == SH_KIND_FLOAT ? sh_arg_float(sh_item(t)) : sh_arg_int(sh_item_int(t));
}

sh_status sh__onnx_constant_of_shape(sh_onnx_reader *r) {
    sh_ints sizes;
    sh_arg room[SH_MAX_DIMS], value = sh_arg_float(0);
    sh_dtype dtype = SH_F32;
    SH_TRY(sh__onnx_constant_ints(r, 0, &sizes));
    for (size_t i = 0; i < sizes.n; i++)
        if (sizes.at[i] < 0)
            return sh__onnx_fail(r, SH_ERROR_FORMAT, "its shape has the size %" PRId64, sizes.at[i]);
    const Onnx__AttributeProto *a =
        sh__onnx_attribute(r, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
    if (sh_error()) return sh_error()->code;
    if (a) {
        const sh_tensor *t = constant_tensor(r, a);
        if (!t) return sh_error()->code;
        if (sh_tensor_numel(t) != 1)
            return sh__onnx_fail(r, SH_ERROR_FORMAT, "attribute value has %" PRId64 " elements, expected 1",
                                 sh_tensor_numel(t));
        value = fill_value(t);
        dtype = sh_tensor_dtype(t);
    }
    const sh_arg args[] = {list_arg(sizes, room), value};
    return sh__onnx_output(r, sh__onnx_call(r, "", "full", (sh_args){args, 2},
                                            SH_KWARGS(SH_KWARG("dtype", sh_arg_dtype(dtype)))));
}

/* ---- moving elements ---- */

sh_status sh__onnx_concat(sh_onnx_reader *r) {
    const Onnx__AttributeProto *axis =
        sh__onnx_attribute(r, "axis", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    if (sh_error()) return sh_error()->code;
    if (!axis) return sh__onnx_fail(r, SH_ERROR_FORMAT, "attribute axis is missing");
    const size_t n = r->node->n_input;
    sh_arg *list = sh__alloc(n * sizeof *list);
    if (!list) return SH_ERROR_MEMORY;
    for (size_t i = 0; i < n && !sh_error(); i++) list[i] = sh_arg_node(sh__onnx_input(r, i));
    sh_node *node = NULL;
    const sh_kwarg dim = {"dim", sh_arg_int(axis->i)};
    if (!sh_error())
        node = sh__onnx_call(r, "", "cat", SH_ARGS(sh_arg_list((sh_args){list, n})),
                             (sh_kwargs){&dim, axis->i != 0});
    sh__free(list);
    return sh__onnx_output(r, node);
}

/* Axis i of the input keeps its size: the size itself, where it is known. */
static bool keep_size(const sh_node *x, int64_t *sizes, size_t i) {
    const sh_spec *spec = sh_node_spec(x);
    if (!spec || (int)i >= spec->ndim || spec->sizes[i] < 0) return false;
    sizes[i] = spec->sizes[i];
    return true;
}

/* 0, 0, -1 at the end keeps the leading axes and joins the rest, whatever their sizes. */
static bool is_flatten(sh_ints shape) {
    if (shape.n < 2 || shape.at[shape.n - 1] != -1) return false;
    for (size_t i = 0; i + 1 < shape.n; i++)
        if (shape.at[i] != 0) return false;
    return true;
}

static sh_status check_reshape(const sh_onnx_reader *r, sh_ints shape, bool zeros) {
    int open = 0, empty = 0;
    for (size_t i = 0; i < shape.n; i++) {
        if (shape.at[i] < -1)
            return sh__onnx_fail(r, SH_ERROR_FORMAT, "its shape has the size %" PRId64, shape.at[i]);
        open += shape.at[i] == -1;
        empty += shape.at[i] == 0;
    }
    if (zeros && empty && open)
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "with allowzero its shape can't have both 0 and -1");
    return open > 1 ? sh__onnx_fail(r, SH_ERROR_FORMAT, "its shape has -1 %d times", open) : SH_OK;
}

sh_status sh__onnx_reshape(sh_onnx_reader *r) {
    sh_ints shape;
    int64_t sizes[SH_MAX_DIMS];
    sh_arg room[SH_MAX_DIMS];
    sh_node *x = sh__onnx_input(r, 0);
    if (!x) return sh_error()->code;
    SH_TRY(sh__onnx_constant_ints(r, 1, &shape));
    const bool zeros = sh__onnx_int(r, "allowzero", 0) != 0;
    if (sh_error()) return sh_error()->code;
    SH_TRY(check_reshape(r, shape, zeros));
    bool known = true;
    for (size_t i = 0; i < shape.n; i++) {
        sizes[i] = shape.at[i];
        if (!zeros && sizes[i] == 0) known &= keep_size(x, sizes, i);
    }
    if (!known && is_flatten(shape))
        return sh__onnx_output(r, sh__onnx_call(r, "", "flatten", SH_ARGS(x),
                                                SH_KWARGS(SH_KWARG("start_dim", (int64_t)shape.n - 1))));
    if (!known)
        return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED,
                             "its shape keeps a size (0) of an input whose shape the model leaves open");
    const sh_arg args[] = {sh_arg_node(x), list_arg((sh_ints){sizes, shape.n}, room)};
    return sh__onnx_output(r, sh__onnx_call(r, "", "reshape", (sh_args){args, 2}, SH_NO_KWARGS));
}

static sh_status check_permutation(const sh_onnx_reader *r, sh_ints perm) {
    uint32_t seen = 0;
    if (perm.n > SH_MAX_DIMS)
        return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED, "perm has %zu axes, %d are supported", perm.n,
                             SH_MAX_DIMS);
    for (size_t i = 0; i < perm.n; i++) {
        if (perm.at[i] < 0 || perm.at[i] >= (int64_t)perm.n || (seen >> perm.at[i] & 1))
            return sh__onnx_fail(r, SH_ERROR_FORMAT, "perm is no permutation: entry %zu is %" PRId64, i,
                                 perm.at[i]);
        seen |= 1u << perm.at[i];
    }
    return SH_OK;
}

/* Without perm the axes are reversed. */
sh_status sh__onnx_transpose(sh_onnx_reader *r) {
    int64_t reversed[SH_MAX_DIMS];
    sh_arg room[SH_MAX_DIMS];
    sh_node *x = sh__onnx_input(r, 0);
    sh_ints perm = sh__onnx_ints(r, "perm");
    if (!x || sh_error()) return sh_error()->code;
    const sh_spec *spec = sh_node_spec(x);
    if (!perm.at && !spec)
        return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED,
                             "attribute perm is missing, and how many axes the input has is not known");
    if (!perm.at) {
        for (int i = 0; i < spec->ndim; i++) reversed[i] = spec->ndim - 1 - i;
        perm = (sh_ints){reversed, (size_t)spec->ndim};
    }
    SH_TRY(check_permutation(r, perm));
    const sh_arg args[] = {sh_arg_node(x), list_arg(perm, room)};
    return sh__onnx_output(r, sh__onnx_call(r, "", "permute", (sh_args){args, 2}, SH_NO_KWARGS));
}
