/* reduce.c - reductions of the cpu backend: which loops make which op, and what becomes of their states.
 *
 * Sums of floats are pairwise and end in f64, whatever the dtype; integers add up in 64 bits. The half types
 * compute in f32 and are rounded once, but for mean, where PyTorch rounds the sum as well. */
#include <math.h>
#include <string.h>

#include "ops/cpu/reduce_walk.h"
#include "ops/element.h"
#include "ops/infer.h"
#include "ops/kernels.h"

static bool is_float(sh_dtype dtype) { return sh_dtype_kind_of(dtype) == SH_KIND_FLOAT; }

/* The type of the loops that hold every value of a dtype. */
static sh_dtype loop_type(sh_dtype dtype) {
    static const sh_dtype types[SH_DTYPE_COUNT] = {
        [SH_F32] = SH_F32, [SH_F64] = SH_F64, [SH_F16] = SH_F32, [SH_BF16] = SH_F32, [SH_I64] = SH_I64,
        [SH_I32] = SH_I32, [SH_I16] = SH_I32, [SH_I8] = SH_I32,  [SH_U8] = SH_U8,    [SH_B8] = SH_U8};
    return types[dtype];
}

/* ---- states ---- */

/* Sums and products end in 64 bits. */
static bool is_total(sh_fold_id id) { return id <= SH_FOLD_PRODUCT; }

/* What an entry of `a` is. */
static sh_dtype state_type(const sh_fold *fold) {
    if (fold->id == SH_FOLD_SPREAD) return SH_F64;
    return !is_total(fold->id) ? fold->type : is_float(fold->type) ? SH_F64 : SH_I64;
}

/* The number that changes nothing; for integers ends of the range. */
static void neutral(sh_fold_id id, sh_dtype type, void *to) {
    static const int64_t lowest[SH_DTYPE_COUNT] = {[SH_I64] = INT64_MIN, [SH_I32] = INT32_MIN};
    static const int64_t highest[SH_DTYPE_COUNT] = {
        [SH_I64] = INT64_MAX, [SH_I32] = INT32_MAX, [SH_U8] = UINT8_MAX};
    switch (id) {
    case SH_FOLD_PRODUCT: sh_store_i64(type, to, 1); break;
    case SH_FOLD_MAX:
    case SH_FOLD_ARGMAX:
        is_float(type) ? sh_store_f64(type, to, -INFINITY) : sh_store_i64(type, to, lowest[type]);
        break;
    case SH_FOLD_MIN:
    case SH_FOLD_ARGMIN:
    case SH_FOLD_MIN_ABS:
        is_float(type) ? sh_store_f64(type, to, INFINITY) : sh_store_i64(type, to, highest[type]);
        break;
    default: memset(to, 0, 8);
    }
}

static void start(const sh_fold *fold, void *a, void *b, int64_t n) {
    uint64_t first = 0;
    neutral(fold->id, state_type(fold), &first);
    if (first == 0)
        memset(a, 0, (size_t)(n * fold->width));
    else
        sh__copy_strided(a, 1, (const char *)&first, 0, (size_t)fold->width, n);
    memset(b, 0, (size_t)(n * fold->width));
}

static void put(const sh_fold *fold, int result, sh_dtype type, const void *numbers, int64_t n,
                int64_t offset, int64_t step) {
    sh_tensor *r = fold->result[result];
    sh__store(r, r->data + offset * (int64_t)r->element, step, n, type, numbers);
}

static void finish(const sh_fold *fold, void *a, void *b, int64_t n, int64_t offset, int64_t step) {
    (void)b;
    put(fold, 0, state_type(fold), a, n, offset, step);
}

/* A fold that ends as it is. */
static sh_fold fold_of(sh_fold_id id, sh_dtype as, sh_dtype type, sh_tensor *r) {
    const sh_reduce_table *table = sh__reduce_table();
    sh_fold fold = {.type = type,
                    .as = as,
                    .id = id,
                    .run = table->run[id][type],
                    .rows = table->rows[id][type],
                    .start = start,
                    .finish = finish,
                    .result = {r, NULL}};
    fold.width = (int)sh_dtype_size(state_type(&fold));
    return fold;
}

static sh_status reduce(sh_fold fold, const sh_tensor *self, sh_ints dims) {
    uint32_t mask;
    SH_TRY(sh_axes_mask("reduction", self, dims, &mask));
    sh__reduce(&fold, self, mask);
    return SH_OK;
}

/* ---- sums and products ---- */

/* Integers are widened as they are added, unless dtype narrows them first. */
static sh_fold sum_of(sh_tensor *r, const sh_tensor *self) {
    const sh_dtype from = (sh_dtype)self->dtype, to = (sh_dtype)r->dtype;
    if (is_float(to)) return fold_of(SH_FOLD_SUM, to, loop_type(to), r);
    if (to == SH_I64 && !is_float(from)) return fold_of(SH_FOLD_SUM, from, loop_type(from), r);
    return fold_of(SH_FOLD_SUM, to, SH_I64, r);
}

sh_status sh_cpu_sum(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim, sh_dtype dtype) {
    (void)keepdim, (void)dtype;
    return reduce(sum_of(r, self), self, dim);
}

static double rounded(sh_dtype dtype, double v) {
    uint64_t at;
    sh_store_f64(dtype, &at, v);
    return sh_load_f64(dtype, &at);
}

static void finish_mean(const sh_fold *fold, void *a, void *b, int64_t n, int64_t offset, int64_t step) {
    (void)b;
    double *sum = a;
    for (int64_t i = 0; i < n; i++)
        sum[i] = rounded((sh_dtype)fold->result[0]->dtype, sum[i]) / (double)fold->count;
    put(fold, 0, SH_F64, sum, n, offset, step);
}

sh_status sh_cpu_mean(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim, sh_dtype dtype) {
    (void)keepdim, (void)dtype;
    sh_fold fold = sum_of(r, self);
    fold.finish = finish_mean;
    return reduce(fold, self, dim);
}

sh_status sh_cpu_prod(sh_tensor *r, sh_tensor *self, int64_t dim, bool keepdim, sh_dtype dtype) {
    (void)keepdim, (void)dtype;
    const sh_dtype to = (sh_dtype)r->dtype;
    return reduce(fold_of(SH_FOLD_PRODUCT, to, is_float(to) ? loop_type(to) : SH_I64, r), self,
                  sh_axes_of(&dim));
}

/* ---- largest and smallest ---- */

static sh_fold extreme_of(sh_fold_id id, sh_tensor *r, const sh_tensor *self) {
    const sh_dtype from = (sh_dtype)self->dtype;
    return fold_of(id, from, loop_type(from), r);
}

static void finish_places(const sh_fold *fold, void *a, void *b, int64_t n, int64_t offset, int64_t step) {
    const int indices = fold->result[1] ? 1 : 0;
    if (indices) put(fold, 0, fold->type, a, n, offset, step);
    put(fold, indices, fold->width == 8 ? SH_I64 : SH_I32, b, n, offset, step);
}

/* Places are as wide as the elements: of more than 2^31, f32 and i32 are searched as f64 and i64. */
static sh_fold place_of(sh_fold_id id, sh_tensor *values, sh_tensor *indices, const sh_tensor *self) {
    const sh_dtype from = (sh_dtype)self->dtype, plain = loop_type(from) == SH_U8 ? SH_I32 : loop_type(from);
    const sh_dtype wide = is_float(plain) ? SH_F64 : SH_I64;
    sh_fold fold = fold_of(id, from, self->numel > INT32_MAX ? wide : plain, values ? values : indices);
    if (values) fold.result[1] = indices;
    fold.in_order = true;
    fold.finish = finish_places;
    return fold;
}

#define EXTREME(amax, max, argmax, FOLD, PLACE)                                                       \
    sh_status sh_cpu_##amax(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim) {               \
        (void)keepdim;                                                                                \
        return reduce(extreme_of(FOLD, r, self), self, dim);                                          \
    }                                                                                                 \
    sh_status sh_cpu_##max(sh_tensor *r, sh_tensor *self) {                                           \
        return reduce(extreme_of(FOLD, r, self), self, (sh_ints){NULL, 0});                           \
    }                                                                                                 \
    sh_status sh_cpu_##max##_dim(sh_tensor *values, sh_tensor *indices, sh_tensor *self, int64_t dim, \
                                 bool keepdim) {                                                      \
        (void)keepdim;                                                                                \
        return reduce(place_of(PLACE, values, indices, self), self, (sh_ints){&dim, 1});              \
    }                                                                                                 \
    sh_status sh_cpu_##argmax(sh_tensor *r, sh_tensor *self, int64_t dim, bool keepdim) {             \
        (void)keepdim;                                                                                \
        return reduce(place_of(PLACE, NULL, r, self), self, sh_axes_of(&dim));                        \
    }
EXTREME(amax, max, argmax, SH_FOLD_MAX, SH_FOLD_ARGMAX)
EXTREME(amin, min, argmin, SH_FOLD_MIN, SH_FOLD_ARGMIN)

/* ---- truth ---- */

/* Bytes are true if the largest (any) or smallest (all) is, others by the count of those that are. */
static sh_fold truth_of(sh_fold_id of_bytes, sh_tensor *r, const sh_tensor *self) {
    const sh_dtype from = (sh_dtype)self->dtype, type = loop_type(from);
    return fold_of(type == SH_U8 ? of_bytes : SH_FOLD_COUNT, from, type, r);
}

static void finish_truth(const sh_fold *fold, void *a, int64_t n, int64_t offset, int64_t step, bool all) {
    uint8_t truth[SH_FOLD_GROUP];
    const sh_dtype type = state_type(fold);
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = sh_load_i64(type, (char *)a + i * fold->width);
        truth[i] = all && fold->id == SH_FOLD_COUNT ? v == fold->count : v != 0;
    }
    put(fold, 0, SH_U8, truth, n, offset, step);
}
static void finish_any(const sh_fold *fold, void *a, void *b, int64_t n, int64_t offset, int64_t step) {
    (void)b;
    finish_truth(fold, a, n, offset, step, false);
}
static void finish_all(const sh_fold *fold, void *a, void *b, int64_t n, int64_t offset, int64_t step) {
    (void)b;
    finish_truth(fold, a, n, offset, step, true);
}

sh_status sh_cpu_any(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim) {
    (void)keepdim;
    sh_fold fold = truth_of(SH_FOLD_MAX, r, self);
    fold.finish = finish_any;
    return reduce(fold, self, dim);
}
sh_status sh_cpu_all(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim) {
    (void)keepdim;
    sh_fold fold = truth_of(SH_FOLD_MIN, r, self);
    fold.finish = finish_all;
    return reduce(fold, self, dim);
}

/* ---- var, std, norm ---- */

static void finish_var(const sh_fold *fold, void *a, void *b, int64_t n, int64_t offset, int64_t step) {
    double *squares = b;
    (void)a;
    for (int64_t i = 0; i < n; i++) squares[i] /= fmax((double)fold->count - fold->parameter, 0);
    put(fold, 0, SH_F64, squares, n, offset, step);
}
static void finish_std(const sh_fold *fold, void *a, void *b, int64_t n, int64_t offset, int64_t step) {
    double *squares = b;
    (void)a;
    for (int64_t i = 0; i < n; i++)
        squares[i] = sqrt(squares[i] / fmax((double)fold->count - fold->parameter, 0));
    put(fold, 0, SH_F64, squares, n, offset, step);
}

#define SPREAD(name)                                                                                   \
    sh_status sh_cpu_##name(sh_tensor *r, sh_tensor *self, sh_ints dim, bool unbiased, bool keepdim) { \
        (void)keepdim;                                                                                 \
        sh_fold fold = extreme_of(SH_FOLD_SPREAD, r, self);                                            \
        fold.finish = finish_##name;                                                                   \
        fold.parameter = unbiased;                                                                     \
        return reduce(fold, self, dim);                                                                \
    }
SPREAD(var)
SPREAD(std)
