/* reduce_table.h - the inner loops of reductions and scans, one table a level of the vector math (vmath.h).
 *
 * A fold takes a block of elements into the states of its results. A state is one or two numbers, kept in two
 * arrays, `a` and `b`, with one entry a result: what a sum needs is in `a`, argmax has its value there and
 * its index in `b`. There are two loops for each fold: `run` has one result and a contiguous run of elements;
 * `rows` has one result a column and goes down the rows. Adjacent results are adjacent entries. */
#ifndef SH_OPS_CPU_REDUCE_TABLE_H
#define SH_OPS_CPU_REDUCE_TABLE_H

#include "dispatch/dtype.h"

/* `rows` x `cols` elements, the rows `ld` elements apart; a run is a row of a block with one row. `before` elements
 * of each result were folded already. */
typedef struct sh_fold sh_fold;
typedef struct sh_block {
    const sh_fold *fold; /* reduce_walk.h; NULL where a loop of the table is called by itself */
    const void *data;
    int64_t rows, cols, ld, before;
} sh_block;

typedef void sh_fold_fn(void *a, void *b, const sh_block *block);

typedef enum sh_fold_id {
    SH_FOLD_SUM,         /* a: the sum, f64 of floats and i64 of integers, so of the next three */
    SH_FOLD_SUM_SQUARES, /* floats only, and so the next */
    SH_FOLD_SUM_ABS,
    SH_FOLD_COUNT,   /* of elements that are not 0; not of u8 */
    SH_FOLD_PRODUCT, /* a: the product, f64 or i64; not of i32 and u8 */
    SH_FOLD_MAX,     /* a: of the elements' type, and so the next three; NaN wins */
    SH_FOLD_MIN,
    SH_FOLD_MAX_ABS, /* floats only, and so the next */
    SH_FOLD_MIN_ABS,
    SH_FOLD_ARGMAX, /* a: the value; b: its first place, an integer as wide; not of u8 */
    SH_FOLD_ARGMIN,
    SH_FOLD_SPREAD, /* a: the mean; b: the sum of squared distances from it; both f64; floats only */
    SH_FOLD_COUNT_OF_FOLDS
} sh_fold_id;

/* Elements of y from those of x and one number, or an array of as many numbers; y may be x. */
typedef void sh_with_number_fn(void *y, const void *x, int64_t n, double number);
typedef void sh_with_array_fn(void *y, const void *x, int64_t n, const void *numbers);
/* Running sums: y from x and the sums so far, one number (along) or one a column (across). */
typedef void sh_scan_fn(void *y, const void *x, int64_t n, void *sums);

typedef struct sh_reduce_table {
    sh_fold_fn *run[SH_FOLD_COUNT_OF_FOLDS][SH_DTYPE_COUNT], *rows[SH_FOLD_COUNT_OF_FOLDS][SH_DTYPE_COUNT];
    sh_with_number_fn *subtract_number[SH_DTYPE_COUNT], *multiply_number[SH_DTYPE_COUNT];
    sh_with_array_fn *subtract_array[SH_DTYPE_COUNT], *multiply_array[SH_DTYPE_COUNT];
    sh_scan_fn *scan_along[SH_DTYPE_COUNT], *scan_across[SH_DTYPE_COUNT]; /* sums: f64 or i64 */
} sh_reduce_table;

extern const sh_reduce_table sh_reduce_sse2, sh_reduce_avx2, sh_reduce_avx512;

/* The table of the level in force. */
const sh_reduce_table *sh__reduce_table(void);

#endif
