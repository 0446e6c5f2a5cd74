/* reduce_norm.c - norm and logsumexp of the cpu backend: reductions with loops of their own on top of the tables'.
 *
 * The powers of a norm are summed as they are, in the dtype's arithmetic: as in PyTorch, the squares of large
 * numbers overflow. logsumexp goes over its elements once: the largest so far is taken off the exponents, and the sum is
 * scaled when a larger one turns up. */
#include <math.h>

#include "ops/cpu/reduce_walk.h"
#include "ops/cpu/vmath.h"
#include "ops/infer.h"
#include "ops/kernels.h"

enum { PART = 512 };

static sh_dtype type_of(const sh_tensor *r) { return r->dtype == SH_F64 ? SH_F64 : SH_F32; }

static sh_status reduce(sh_fold *fold, const sh_tensor *self, sh_ints dims) {
    uint32_t mask;
    SH_TRY(sh_axes_mask("reduction", self, dims, &mask));
    sh__reduce(fold, self, mask);
    return SH_OK;
}

static void put(const sh_fold *fold, const double *numbers, int64_t n, int64_t offset, int64_t step) {
    sh_tensor *r = fold->result[0];
    sh__store(r, r->data + offset * (int64_t)r->element, step, n, SH_F64, numbers);
}

/* Calls the loop of the table on n elements: one row of a block, or one run. */
static void fold_part(sh_fold_fn *loop, void *a, const void *x, int64_t n) {
    const sh_block block = {.data = x, .rows = 1, .cols = n, .ld = n};
    loop(a, NULL, &block);
}

/* ---- norm ---- */

#define DEFINE_POWERS(T, s)                                         \
    static void powers_##s(T *y, const T *x, int64_t n, double p) { \
        T exponent[PART];                                           \
        for (int64_t i = 0; i < n; i++) exponent[i] = (T)p;         \
        sh_vmath_abs_##s(x, y, (size_t)n);                          \
        sh_vmath_pow_##s(y, exponent, y, (size_t)n);                \
    }
DEFINE_POWERS(float, f32)
DEFINE_POWERS(double, f64)

static void fold_powers(sh_fold_fn *sum, const sh_fold *fold, void *a, const char *x, int64_t n) {
    double powers[PART];
    if (fold->type == SH_F64)
        powers_f64(powers, (const double *)x, n, fold->parameter);
    else
        powers_f32((float *)powers, (const float *)x, n, fold->parameter);
    fold_part(sum, a, powers, n);
}

static void powers_run(void *a, void *b, const sh_block *block) {
    (void)b;
    const int64_t element = (int64_t)sh_dtype_size(block->fold->type);
    sh_fold_fn *sum = sh__reduce_table()->run[SH_FOLD_SUM][block->fold->type];
    for (int64_t i = 0; i < block->cols; i += PART)
        fold_powers(sum, block->fold, a, (const char *)block->data + i * element,
                    block->cols - i < PART ? block->cols - i : PART);
}

static void powers_rows(void *a, void *b, const sh_block *block) {
    (void)b;
    const int64_t element = (int64_t)sh_dtype_size(block->fold->type);
    sh_fold_fn *sum = sh__reduce_table()->rows[SH_FOLD_SUM][block->fold->type];
    for (int64_t row = 0; row < block->rows; row++)
        fold_powers(sum, block->fold, a, (const char *)block->data + row * block->ld * element, block->cols);
}

static void start_norm(const sh_fold *fold, void *a, void *b, int64_t n) {
    (void)b;
    const double first = fold->id == SH_FOLD_MIN_ABS ? INFINITY : 0;
    for (int64_t i = 0; i < n; i++) {
        if (fold->width == 4)
            ((float *)a)[i] = (float)first;
        else
            ((double *)a)[i] = first;
    }
}

/* The root of each sum, in the dtype's arithmetic. Of nothing it is 0 for every p. */
static void finish_norm(const sh_fold *fold, void *a, void *b, int64_t n, int64_t offset, int64_t step) {
    double *root = b;
    const double p = fold->parameter;
    for (int64_t i = 0; i < n; i++) {
        const double sum = fold->width == 4 ? ((float *)a)[i] : ((double *)a)[i];
        const double kept = fold->type == SH_F32 ? (float)sum : sum;
        root[i] = p == 0 || p == 1 || isinf(p) ? kept : p == 2 ? sqrt(kept) : pow(kept, 1 / p);
        if (fold->count == 0) root[i] = 0;
    }
    put(fold, root, n, offset, step);
}

static sh_fold_id fold_id_of(double p) {
    if (isinf(p)) return p > 0 ? SH_FOLD_MAX_ABS : SH_FOLD_MIN_ABS;
    return p == 0 ? SH_FOLD_COUNT : p == 1 ? SH_FOLD_SUM_ABS : SH_FOLD_SUM_SQUARES;
}

sh_status sh_cpu_norm(sh_tensor *r, sh_tensor *self, sh_scalar power, sh_ints dim, bool keepdim,
                      sh_dtype dtype) {
    (void)keepdim, (void)dtype;
    const double p = power.tag == SH_TAG_NONE ? 2 : sh_value_as_double(power);
    const bool general = !(p == 0 || p == 1 || p == 2 || isinf(p));
    const sh_dtype type = type_of(r);
    const sh_reduce_table *table = sh__reduce_table();
    sh_fold fold = {
        .type = type, .as = (sh_dtype)r->dtype, .id = fold_id_of(p), .parameter = p, .result = {r, NULL}};
    fold.run = general ? powers_run : table->run[fold.id][type];
    fold.rows = general ? powers_rows : table->rows[fold.id][type];
    fold.width = isinf(p) ? (int)sh_dtype_size(type) : 8;
    fold.start = start_norm;
    fold.finish = finish_norm;
    return reduce(&fold, self, dim);
}

/* ---- logsumexp ---- a: the largest, b: the sum of the others' exponentials from there */

/* Infinities are not taken off: their exponential is 0 or infinite as it is. */
static double shift_of(double most) { return isinf(most) ? 0 : most; }

/* Makes `most` the largest of a state if it is larger, or NaN; returns what elements are shifted by. */
static double raise(double *a, double *b, double most) {
    if (most > *a || isnan(most)) {
        if (*b != 0) *b *= exp(shift_of(*a) - shift_of(most));
        *a = most;
    }
    return shift_of(*a);
}

static void exponentials(sh_dtype type, void *y, int64_t n) {
    if (type == SH_F64)
        sh_vmath_exp_f64(y, y, (size_t)n);
    else
        sh_vmath_exp_f32(y, y, (size_t)n);
}

static void fold_exponentials_run(void *a, void *b, const sh_block *block) {
    const sh_dtype type = block->fold->type;
    const sh_reduce_table *table = sh__reduce_table();
    double part[PART];
    for (int64_t i = 0; i < block->cols; i += PART) {
        const int64_t n = block->cols - i < PART ? block->cols - i : PART;
        const char *x = (const char *)block->data + i * (int64_t)sh_dtype_size(type);
        union {
            float f32;
            double f64;
        } most = {.f64 = -INFINITY};
        if (type == SH_F32) most.f32 = -INFINITY;
        fold_part(table->run[SH_FOLD_MAX][type], &most, x, n);
        const double shift = raise(a, b, type == SH_F32 ? most.f32 : most.f64);
        table->subtract_number[type](part, x, n, shift);
        exponentials(type, part, n);
        fold_part(table->run[SH_FOLD_SUM][type], b, part, n);
    }
}

/* The shift of each column, as an element of the block's type. */
static void raise_columns(double *a, double *b, const sh_block *block, void *shift) {
    const sh_dtype type = block->fold->type;
    float *f32 = shift;
    double *f64 = shift;
    for (int64_t i = 0; i < block->cols; i++) {
        if (type == SH_F32)
            f32[i] = -INFINITY;
        else
            f64[i] = -INFINITY;
    }
    sh__reduce_table()->rows[SH_FOLD_MAX][type](shift, NULL, block);
    for (int64_t i = 0; i < block->cols; i++) {
        if (type == SH_F32)
            f32[i] = (float)raise(&a[i], &b[i], f32[i]);
        else
            f64[i] = raise(&a[i], &b[i], f64[i]);
    }
}

static void fold_exponentials_rows(void *a, void *b, const sh_block *block) {
    enum { ROWS = 16 };
    const sh_dtype type = block->fold->type;
    const sh_reduce_table *table = sh__reduce_table();
    double shift[SH_FOLD_GROUP], part[SH_FOLD_GROUP];
    for (int64_t row = 0; row < block->rows; row += ROWS) {
        sh_block few = *block;
        few.data = (const char *)block->data + row * block->ld * (int64_t)sh_dtype_size(type);
        few.rows = block->rows - row < ROWS ? block->rows - row : ROWS;
        raise_columns(a, b, &few, shift);
        for (int64_t k = 0; k < few.rows; k++) {
            table->subtract_array[type](part,
                                        (const char *)few.data + k * block->ld * (int64_t)sh_dtype_size(type),
                                        block->cols, shift);
            exponentials(type, part, block->cols);
            fold_part(table->rows[SH_FOLD_SUM][type], b, part, block->cols);
        }
    }
}

static void start_logsumexp(const sh_fold *fold, void *a, void *b, int64_t n) {
    (void)fold;
    for (int64_t i = 0; i < n; i++) {
        ((double *)a)[i] = -INFINITY;
        ((double *)b)[i] = 0;
    }
}

static void finish_logsumexp(const sh_fold *fold, void *a, void *b, int64_t n, int64_t offset, int64_t step) {
    double *result = b;
    for (int64_t i = 0; i < n; i++) result[i] = log(result[i]) + shift_of(((double *)a)[i]);
    put(fold, result, n, offset, step);
}

sh_status sh_cpu_logsumexp(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim) {
    (void)keepdim;
    sh_fold fold = {.type = type_of(r),
                    .as = (sh_dtype)r->dtype,
                    .width = 8,
                    .result = {r, NULL},
                    .start = start_logsumexp,
                    .run = fold_exponentials_run,
                    .rows = fold_exponentials_rows,
                    .finish = finish_logsumexp};
    return reduce(&fold, self, dim);
}
