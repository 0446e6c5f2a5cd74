/* dims.c - lengths from tensors: what m, n, k must be for the arguments of an op to fit together. */
#include <string.h>

#include "dispatch/tensor_impl.h"
#include "interpose/machine.h"

static const char *const dim_names[WR_DIM_COUNT] = {"m", "n", "k", "kl", "ku", "s",
                                                    "r", "c", "p", "b",  "g",  "5"};

sh_value wr_argument(const wr_routine *r, const sh_value *args, uint32_t i) {
    return r->places[i].value < 0 ? sh_none() : args[r->places[i].value];
}

static sh_status bind(const wr_routine *r, const wr_arg *a, int64_t *dims, wr_dim dim, int64_t size) {
    if (dims[dim] < 0) dims[dim] = size;
    if (dims[dim] == size) return SH_OK;
    return sh_fail(SH_ERROR_SHAPE, "%s: %s is %lld long where other arguments say %s = %lld", r->op, a->name,
                   (long long)size, dim_names[dim], (long long)dims[dim]);
}

/* Rows of a band in row order are those of the matrix. */
static sh_status bind_array(const wr_routine *r, const wr_arg *a, const sh_tensor *t, bool by_rows,
                            int64_t *dims) {
    if (t->ndim != a->ndim)
        return sh_fail(SH_ERROR_SHAPE, "%s: %s has %d dimensions, expected %d", r->op, a->name, t->ndim,
                       a->ndim);
    if (a->storage != WR_BAND || !by_rows) {
        for (int k = 0; k < a->ndim; k++) SH_TRY(bind(r, a, dims, a->dims[k], t->sizes[k]));
        return SH_OK;
    }
    SH_TRY(bind(r, a, dims, a->dims[0], t->sizes[1]));
    return a->dims[0] == WR_DIM_g ? SH_OK : bind(r, a, dims, WR_DIM_n, t->sizes[0]);
}

static char letter_of(const wr_routine *r, const sh_value *args, const char *name) {
    for (uint32_t i = 0; i < r->nargs; i++)
        if (strcmp(r->args[i].name, name) == 0) {
            const sh_value v = wr_argument(r, args, i);
            return v.tag == SH_TAG_STRING ? *v.as.string : 0;
        }
    return 0;
}

static void set(int64_t *dims, wr_dim dim, int64_t size) {
    if (dims[dim] < 0 && size >= 0) dims[dim] = size;
}

/* What follows from what is known. With a letter `trans` among the arguments (a band) m and n are those as stored. */
static void derive(const wr_routine *r, const sh_value *args, int64_t *d) {
    const char trans = letter_of(r, args, "trans"), side = letter_of(r, args, "side");
    if (side) set(d, side == 'L' ? WR_DIM_m : WR_DIM_n, d[WR_DIM_s]);
    if (trans) {
        set(d, WR_DIM_r, d[trans == 'N' ? WR_DIM_m : WR_DIM_n]);
        set(d, WR_DIM_c, d[trans == 'N' ? WR_DIM_n : WR_DIM_m]);
        set(d, WR_DIM_n, d[trans == 'N' ? WR_DIM_c : WR_DIM_r]);
    }
    for (int64_t n = 0; d[WR_DIM_n] < 0 && d[WR_DIM_p] >= 0 && n * (n + 1) / 2 <= d[WR_DIM_p]; n++)
        if (n * (n + 1) / 2 == d[WR_DIM_p]) d[WR_DIM_n] = n;
}

sh_status wr_dims(const wr_routine *r, const sh_value *args, int64_t *dims) {
    const bool by_rows = r->order >= 0 && *args[r->order].as.string == 'R';
    for (int i = 0; i < WR_DIM_COUNT; i++) dims[i] = -1;
    for (uint32_t i = 0; i < r->nargs; i++) {
        const wr_arg *a = &r->args[i];
        const sh_value v = wr_argument(r, args, i);
        if (a->kind == WR_LENGTH && v.tag == SH_TAG_INT) dims[a->dims[0]] = v.as.i;
        if (a->kind == WR_ARRAY && v.tag == SH_TAG_TENSOR)
            SH_TRY(bind_array(r, a, v.as.tensor, by_rows, dims));
    }
    derive(r, args, dims);
    return SH_OK;
}

static sh_status infer_written(const wr_routine *r, const wr_arg *a, const sh_value *args, sh_spec *result) {
    int64_t dims[WR_DIM_COUNT];
    SH_TRY(wr_dims(r, args, dims));
    result->ndim = a->ndim;
    for (int k = 0; k < a->ndim; k++) result->sizes[k] = dims[a->dims[k]];
    for (int k = 0; k < a->ndim; k++)
        if (result->sizes[k] < 0)
            return sh_fail(SH_ERROR_SHAPE, "%s: nothing says how long %s is", r->op, a->name);
    return SH_OK;
}

static sh_dtype dtype_of(const wr_routine *r, const sh_value *args) {
    for (uint32_t i = 0; i < r->nargs; i++) {
        const sh_tensor *t = sh_value_as_tensor(wr_argument(r, args, i));
        if (t) return (sh_dtype)t->dtype;
    }
    return SH_NO_DTYPE;
}

sh_status wr_infer(const sh_value *args, sh_spec *results, void *routine) {
    const wr_routine *r = routine;
    const sh_dtype dtype = dtype_of(r, args);
    results->dtype = r->returns == 'I'   ? SH_I64
                     : r->returns == 'D' ? SH_F64
                     : r->returns == 'R' ? wr_real_dtype(dtype)
                                         : dtype;
    results->ndim = 0;
    for (uint32_t i = 0; i < r->nargs; i++) {
        const wr_arg *a = &r->args[i];
        if (a->kind == WR_ARRAY && a->access != WR_IN) return infer_written(r, a, args, results);
    }
    int64_t dims[WR_DIM_COUNT];
    return wr_dims(r, args, dims);
}
