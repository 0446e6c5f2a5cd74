/* quantized_table.h - the loops of quantised ops for one level: what a quantized_LEVEL.c file defines.
 *
 * Products are made in pairs of i16: two inputs, their zero point taken off, times two weights, added up in i32. That
 * is exact for any u8 and i8, unlike the instructions that multiply bytes and saturate in i16, and takes no more
 * time: both do 16 products of a vector of 32 bytes for each multiplier and cycle. */
#ifndef SH_OPS_CPU_QUANTIZED_TABLE_H
#define SH_OPS_CPU_QUANTIZED_TABLE_H

#include "ops/iter.h"
#include "ops/quantize.h"

enum {
    SH_QUANTIZED_ROWS = 4,    /* outputs that are worked on at once */
    SH_QUANTIZED_SLACK = 32,  /* pairs behind a staged buffer that are read, and ignored */
    SH_QUANTIZED_TURNED = 64, /* pixels that are turned at once */
    SH_QUANTIZED_DOTS = 2     /* rows of x that are worked on at once */
};

/* Some outputs for lines of neighbouring pixels. `pixels` holds pairs of i16; the pair for plane i, tap j and column
 * p is pixels[i * plane + taps[j] + p]. Weights are pairs too, `rows` of them for each plane and tap. */
typedef struct sh_quantized_lines {
    const int32_t *pixels, *weights;
    int64_t planes, plane, ntaps;
    const int64_t *taps;
    int rows; /* 1 or SH_QUANTIZED_ROWS */
    int used; /* of those */
    int64_t columns, lines;
    const sh_requantize *to;
    int64_t output; /* of the first row */
    char *result;
    int64_t result_row;               /* bytes from output to output */
    int64_t pixels_line, result_line; /* from line to line, in pairs and in bytes */
} sh_quantized_lines;

/* The parameters of the loops for sh__map. */
typedef struct sh_quantize_loop {
    sh_grid grid;
    float inverse, low, high; /* ends in steps */
} sh_quantize_loop;
typedef struct sh_quantized_add_loop {
    float a_zero, a, b_zero, b;
    sh_steps to;
} sh_quantized_add_loop;

typedef struct sh_quantized_table {
    /* Loops for sh__map. Grids of their own come as the second operand, scales, and the third, zero points, in f32. */
    sh_loop *quantize, *quantize_channels, *dequantize_channels, *fake, *fake_channels;
    sh_loop *dequantize[2], *add[2][2]; /* of u8, and of i8, as they are */
    /* to[i] = from[i * step] - zero_point, of u8 or i8. */
    void (*widen)(int16_t *to, const void *from, int64_t step, bool is_signed, int32_t zero_point, int64_t n);
    /* Two lines as pairs. */
    void (*pair)(int32_t *to, const int16_t *first, const int16_t *second, int64_t n);
    /* Pair i * 4 + m is w[m][i * step] and the weight `second` behind it; step is 1, or 2 with second 1. */
    void (*pack)(int32_t *to, const int8_t *const w[4], int64_t step, int64_t second, int64_t n);
    void (*lines)(const sh_quantized_lines *lines);
    /* sums[m * sums_row + o] = row m of x times row o of weight, for n outputs. */
    void (*dots)(const int16_t *x, int64_t rows, const int8_t *weight, int64_t depth, int64_t n,
                 int32_t *sums, int64_t sums_row);
    /* Sums of outputs side by side, from `output` on. */
    void (*finish)(const sh_requantize *to, int64_t output, const int32_t *sums, int64_t n, void *result);
    /* Sums of SH_QUANTIZED_ROWS outputs, of which the first `used` count, for n pixels, at most SH_QUANTIZED_TURNED and
     * `row` sums apart, as `used` lines of results, `result_row` bytes apart. */
    void (*finish_turned)(const sh_requantize *to, int64_t output, const int32_t *sums, int64_t row,
                          int64_t used, int64_t n, char *result, int64_t result_row);
} sh_quantized_table;

extern const sh_quantized_table sh_quantized_sse2, sh_quantized_avx2, sh_quantized_avx512;
/* The one of the level in force (vmath.h). */
const sh_quantized_table *sh_quantized_loops(void);

#endif
