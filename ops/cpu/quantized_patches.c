/* quantized_patches.c - convolution of integers as a product of oneDNN's, exact where quantized_bytes.h says so.
 *
 * For some pixels of the result at a time, what they meet is copied: a line of bytes for each channel and tap, which
 * is the transposed of a matrix of patches, and oneDNN turns it while it packs it. Padding is the zero point. Filters of
 * one pixel find these lines in the input. Sums come pixel by pixel and are turned on their way to results.
 *
 * No convolution of oneDNN's: it wins a tenth where it wants no copy of patches, but it wants channels last and
 * weights in layouts of its own, takes its sums through f32, exact below 2^24 only, and must be made for each shape. */
#include "ops/cpu/quantized_patches.h"

#include <string.h>

#include "dispatch/memory_impl.h"
#include "ops/cpu/conv_part.h"
#include "ops/cpu/onednn.h"
#include "ops/cpu/quantized_table.h"

enum {
    PATCH_BYTES = 192 * 1024, /* of patches at a time, to stay in the level-2 cache */
    MOST_BYTES = 1024 * 1024, /* where weights, which are packed for each part again, are more */
    SUMS = 64 * 1024,         /* at a time */
    FEW_PIXELS = 64,          /* at least so many pixels */
    FEW_OUTPUTS = 16,         /* fewer are sooner done by ourselves */
    MANY_WEIGHTS = 8192,      /* of a group: the copies pay; half without copies */
    PRODUCTS = 32             /* one element's worth of work */
};

typedef struct job {
    const sh_quantized_table *loops;
    const sh_requantize *to;
    sh_conv c;
    const uint8_t *input;
    const int8_t *weight;
    char *result;
    uint8_t zero_point;
    int64_t element;                /* bytes of a result */
    int64_t depth, width, products; /* channels in and out of one group; products of one result */
    int64_t lines, columns;         /* of a part, at most */
    bool is_direct;                 /* no patches but the input itself */
} job;

/* What each thread has for itself. */
typedef struct room {
    uint8_t *patches; /* [products, pixels] */
    int32_t *sums;    /* [pixels, width] */
} room;

/* Filters of one pixel over what counts as one line. */
static bool is_direct(const sh_conv *c) {
    return sh_window_is_plain(&c->x) && sh_window_is_plain(&c->y) && c->y.out == 1;
}

bool sh_quantized_patches_win(const sh_conv *c) {
    const int64_t width = c->outputs / c->groups,
                  products = c->channels / c->groups * c->y.kernel * c->x.kernel;
    return width >= FEW_OUTPUTS && width * products >= (is_direct(c) ? MANY_WEIGHTS / 2 : MANY_WEIGHTS);
}

/* ---- patches ---- */

static void copy_bytes(uint8_t *to, const uint8_t *from, int64_t step, int64_t n) {
    if (step == 1)
        memcpy(to, from, (size_t)n);
    else if (step == 2)
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) to[i] = from[2 * i];
    else
        for (int64_t i = 0; i < n; i++) to[i] = from[i * step];
}

/* Inputs from, from + stride, ... of a row. */
static void copy_row(const job *j, uint8_t *to, const uint8_t *row, int64_t from, int64_t n) {
    const int64_t stride = j->c.x.stride;
    int64_t low, high;
    sh_window_inside(&j->c.x, from, n, &low, &high);
    memset(to, j->zero_point, (size_t)low);
    if (high > low) copy_bytes(to + low, row + from + low * stride, stride, high - low);
    memset(to + high, j->zero_point, (size_t)(n - high));
}

/* Are the lines of one tap the rows of the input, side by side there too, but for a shift? */
static bool is_shifted(const job *j) {
    return j->c.x.stride == 1 && j->c.y.stride == 1 && j->c.x.in == j->c.x.out && j->columns == j->c.x.out;
}

/* Rows `top` and those below, moved by `from` columns: all at once, and then the ends, which came from their
 * neighbours. */
static void copy_shifted(const job *j, uint8_t *to, const uint8_t *plane, int64_t top, int64_t from,
                         int64_t lines) {
    const int64_t size = j->c.x.in, shift = sh_least(from < 0 ? -from : from, size);
    int64_t low, high;
    sh_window_inside(&j->c.y, top, lines, &low, &high);
    memset(to, j->zero_point, (size_t)(low * size));
    if (high > low)
        memcpy(to + low * size + (from < 0 ? shift : 0), plane + (top + low) * size + (from < 0 ? 0 : shift),
               (size_t)((high - low) * size - shift));
    for (int64_t l = low; l < high; l++)
        for (int64_t i = 0; i < shift; i++) to[l * size + (from < 0 ? i : size - 1 - i)] = j->zero_point;
    memset(to + high * size, j->zero_point, (size_t)((lines - high) * size));
}

static const uint8_t *plane_of(const job *j, const sh_conv_part *t, int64_t channel) {
    const int64_t first = t->image * j->c.channels + t->group * j->depth;
    return j->input + (first + channel) * j->c.y.in * j->c.x.in;
}

/* What the pixels of a part meet in one channel and tap. */
static void copy_tap(const job *j, const sh_conv_part *t, int64_t i, uint8_t *to) {
    const sh_window *x = &j->c.x, *y = &j->c.y;
    const int64_t tap = i / x->kernel, top = t->line * y->stride - y->padding + tap % y->kernel * y->dilation;
    const int64_t from = t->column * x->stride - x->padding + i % x->kernel * x->dilation;
    const uint8_t *plane = plane_of(j, t, tap / y->kernel);
    if (is_shifted(j)) {
        copy_shifted(j, to, plane, top, from, t->lines);
        return;
    }
    for (int64_t l = 0; l < t->lines; l++, to += t->columns) {
        const int64_t row = top + l * y->stride;
        if (row < 0 || row >= y->in)
            memset(to, j->zero_point, (size_t)t->columns);
        else
            copy_row(j, to, plane + row * x->in, from, t->columns);
    }
}

static sh_blas_matrix patches_of(const job *j, const sh_conv_part *t, uint8_t *to) {
    const int64_t pixels = t->lines * t->columns;
    if (j->is_direct) return (sh_blas_matrix){plane_of(j, t, 0) + t->column, j->c.x.in, true};
    for (int64_t i = 0; i < j->products; i++) copy_tap(j, t, i, to + i * pixels);
    return (sh_blas_matrix){to, pixels, true};
}

/* ---- the work ---- */

/* Some neighbouring pixels, all outputs. */
static void finish_pixels(const job *j, const sh_conv_part *t, int64_t first, int64_t pixels,
                          const int32_t *sums) {
    const int64_t out = j->c.y.out * j->c.x.out, at = t->line * j->c.x.out + t->column + first;
    for (int64_t o = 0; o < j->width; o += SH_QUANTIZED_ROWS) {
        const int64_t output = t->group * j->width + o;
        j->loops->finish_turned(j->to, output, sums + first * j->width + o, j->width,
                                sh_least(j->width - o, SH_QUANTIZED_ROWS), pixels,
                                j->result + ((t->image * j->c.outputs + output) * out + at) * j->element,
                                out * j->element);
    }
}

static int convolve_part(const job *j, const sh_conv_part *t, room mine) {
    const int64_t pixels = t->lines * t->columns;
    const sh_blas_matrix a = patches_of(j, t, mine.patches),
                         b = {j->weight + t->group * j->width * j->products, j->products, true};
    const int status = sh_onednn_u8_i8(1, pixels, j->width, j->products, a, j->zero_point, b, mine.sums);
    for (int64_t p = 0; p < pixels && !status; p += SH_QUANTIZED_TURNED)
        finish_pixels(j, t, p, sh_least(SH_QUANTIZED_TURNED, pixels - p), mine.sums);
    return status;
}

/* Whole lines, as many as fit, in parts of like size, and one for each thread. */
static void lay_out(job *j, int64_t threads) {
    const int64_t weights = sh_least(j->width * j->products, MOST_BYTES),
                  bytes = weights > PATCH_BYTES ? weights : PATCH_BYTES;
    const int64_t fit = sh_least(j->is_direct ? INT64_MAX : bytes / j->products, SUMS / j->width);
    const int64_t all = j->c.y.out * j->c.x.out, share = sh_pieces(all * j->c.batch * j->c.groups, threads),
                  pixels = sh_least(fit < FEW_PIXELS ? FEW_PIXELS : fit, share);
    j->columns = sh_least(j->c.x.out, pixels);
    j->lines = j->columns < j->c.x.out ? 1 : sh_least(j->c.y.out, pixels / j->columns);
    j->lines = sh_pieces(j->c.y.out, sh_pieces(j->c.y.out, j->lines));
    j->columns = sh_pieces(j->c.x.out, sh_pieces(j->c.x.out, j->columns));
}

/* The i-th thread's parts. */
static int convolve_share(const job *j, int i, int threads, room mine) {
    const int64_t parts = sh_conv_parts(&j->c, j->lines, j->columns);
    int status = 0;
    for (int64_t p = parts * i / threads; p < parts * (i + 1) / threads && !status; p++) {
        const sh_conv_part part = sh_conv_part_at(&j->c, j->lines, j->columns, p);
        status = convolve_part(j, &part, mine);
    }
    return status;
}

static int64_t aligned(int64_t bytes) { return sh_pieces(bytes, 64) * 64; }

static sh_status convolve(job *j, int threads) {
    lay_out(j, threads);
    const int64_t pixels = j->lines * j->columns,
                  sums = aligned((pixels * j->width + SH_QUANTIZED_ROWS) * (int64_t)sizeof(int32_t)),
                  each = sums + (j->is_direct ? 0 : aligned(pixels * j->products));
    int failed = 0;
    size_t capacity;
    char *block = sh__block_alloc((size_t)(threads * each), &capacity);
    if (!block) return SH_ERROR_MEMORY;
    SH_PARALLEL(threads)
    for (int i = 0; i < threads; i++) {
        char *mine = block + i * each;
        const room own = {(uint8_t *)mine + sums, (int32_t *)(void *)mine};
        const int status = convolve_share(j, i, threads, own);
        if (status) __atomic_store_n(&failed, status, __ATOMIC_RELAXED);
    }
    sh__block_free(block, capacity);
    return sh_onednn_status(failed, "gemm_u8s8s32");
}

sh_status sh_quantized_patches(sh_tensor *r, const sh_conv *c, const sh_quantized_bytes *x,
                               const int8_t *weight, const sh_requantize *to) {
    job j = {.loops = sh_quantized_loops(),
             .to = to,
             .c = *c,
             .input = x->data,
             .weight = weight,
             .result = r->data,
             .zero_point = x->zero_point,
             .element = r->element,
             .depth = c->channels / c->groups,
             .width = c->outputs / c->groups};
    j.products = j.depth * c->y.kernel * c->x.kernel;
    j.is_direct = is_direct(c);
    return convolve(&j, sh__threads(r->numel * j.products / PRODUCTS));
}
