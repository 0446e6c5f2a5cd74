/* quantized_conv.c - convolution of integers in the cpu backend.
 *
 * As in conv.c some rows of the input at a time are staged, with their padding, before a tile that adds up all
 * channels and taps for a few outputs and a line of pixels. What is staged are pairs of i16 whose zero point is taken
 * off, so that padding is 0: neighbouring channels, or neighbouring taps of a row where that leaves fewer without a
 * partner, as in groups of one channel.
 * Columns are sorted by their remainder modulo the stride, so that pixels are neighbours whatever it is. Filters of
 * one pixel see the whole plane as one row.
 *
 * Weights are brought into pairs in each call, a few percent of it, so that nothing is kept and nothing can be stale.
 *
 * This is for what oneDNN doesn't do exactly, or not sooner; the rest is in quantized_patches.c. */
#include <math.h>
#include <string.h>

#include "dispatch/memory_impl.h"
#include "ops/cpu/conv_part.h"
#include "ops/cpu/quantized_patches.h"
#include "ops/cpu/quantized_table.h"
#include "ops/cpu/widen.h"
#include "ops/kernels.h"

enum {
    STAGE_PAIRS = 48 * 1024,   /* staged at a time: a part of the level-2 cache */
    COLUMNS = 512,             /* output columns at a time */
    NARROW = 16,               /* columns of which two lines make a block */
    WEIGHT_BYTES = 256 * 1024, /* fewer pass by each line again */
    PRODUCTS = 32,             /* one element's worth of work */
    MOST_PAIRS = 1 << 26       /* staged for one line; more are left to ref */
};

typedef struct job {
    const sh_quantized_table *loops;
    const sh_requantize *to;
    sh_conv c;
    const char *input, *weight;
    char *result;
    bool is_signed;
    int32_t zero_point;
    int64_t channel;      /* bytes of one plane of input */
    int64_t depth, width; /* channels in and out of one group */
    int64_t element;      /* bytes of a result */
    /* how pairs are made and laid out */
    bool pairs_taps;
    int64_t planes, ntaps, rows; /* pairs of channels; pairs for each; outputs at once */
    int64_t *taps;
    int32_t *pairs;         /* the weights: [groups, blocks, planes, ntaps, rows] */
    int64_t phases, pitch;  /* columns of one remainder */
    int64_t lines, columns; /* of a task, at most */
} job;

/* ---- layout ---- */

/* Input rows behind `lines` output rows. */
static int64_t rows_for(const job *j, int64_t lines) {
    return (lines - 1) * j->c.y.stride + (j->c.y.kernel - 1) * j->c.y.dilation + 1;
}

static int64_t row_pairs(const job *j) { return j->planes * j->phases * j->pitch; }

static void lay_out(job *j, int64_t parts) {
    const sh_window *x = &j->c.x, *y = &j->c.y;
    const int64_t reach = (x->kernel - 1) * x->dilation;
    j->pairs_taps = j->depth * sh_pieces(x->kernel, 2) < sh_pieces(j->depth, 2) * x->kernel;
    j->planes = j->pairs_taps ? j->depth : sh_pieces(j->depth, 2);
    j->ntaps = y->kernel * (j->pairs_taps ? sh_pieces(x->kernel, 2) : x->kernel);
    j->rows = j->width == 1 ? 1 : SH_QUANTIZED_ROWS;
    j->phases = sh_least(x->stride, reach + 1);
    j->columns = sh_least(x->out, COLUMNS);
    j->pitch = sh_pieces(j->columns + reach / x->stride, 16) * 16;
    j->lines = y->out;
    while (j->lines > 1 && (double)rows_for(j, j->lines) * (double)row_pairs(j) > STAGE_PAIRS)
        j->lines = (j->lines + 1) / 2;
    if (parts > 1) j->lines = sh_least(j->lines, sh_pieces(y->out * j->c.batch * j->c.groups, parts));
}

static void set_taps(const job *j) {
    const int64_t step = j->pairs_taps ? 2 : 1;
    int64_t *tap = j->taps;
    for (int64_t ky = 0; ky < j->c.y.kernel; ky++)
        for (int64_t kx = 0; kx < j->c.x.kernel; kx += step) {
            const int64_t x = kx * j->c.x.dilation;
            *tap++ = ky * j->c.y.dilation * row_pairs(j) + x % j->c.x.stride * j->pitch + x / j->c.x.stride;
        }
}

/* ---- weights ---- */

static int64_t block_pairs(const job *j) { return j->planes * j->ntaps * j->rows; }
static int64_t group_pairs(const job *j) { return sh_pieces(j->width, j->rows) * block_pairs(j); }

static int32_t pair_of(int8_t first, int8_t second) {
    return (int32_t)((uint32_t)(uint16_t)first | (uint32_t)(uint16_t)second << 16);
}

/* Neighbouring taps as pairs, j->rows apart. */
static void pack_taps(const job *j, int32_t *to, const int8_t *w) {
    const int64_t kernel = j->c.x.kernel;
    for (int64_t y = 0; y < j->depth * j->c.y.kernel; y++, w += kernel)
        for (int64_t x = 0; x < kernel; x += 2, to += j->rows)
            *to = pair_of(w[x], x + 1 < kernel ? w[x + 1] : 0);
}

/* The same of neighbouring channels for one output. */
static void pack_channels(const job *j, int32_t *to, const int8_t *w) {
    for (int64_t c = 0; c < j->depth; c += 2, w += 2 * j->ntaps)
        for (int64_t t = 0; t < j->ntaps; t++, to += j->rows)
            *to = pair_of(w[t], c + 1 < j->depth ? w[j->ntaps + t] : 0);
}

/* And for four at once, of an even depth. */
static void pack_four(const job *j, int32_t *to, const int8_t *const w[4]) {
    if (j->ntaps == 1) {
        j->loops->pack(to, w, 2, 1, j->planes);
        return;
    }
    for (int64_t c = 0; c < j->planes; c++, to += 4 * j->ntaps) {
        const int64_t at = 2 * c * j->ntaps;
        j->loops->pack(to, (const int8_t *const[]){w[0] + at, w[1] + at, w[2] + at, w[3] + at}, 1, j->ntaps,
                       j->ntaps);
    }
}

/* The block of outputs from `first` on, within its group. Rows that stand for none repeat one: nobody looks. */
static void pack_block(const job *j, int32_t *to, int64_t first, int64_t used) {
    const int64_t products = j->depth * j->c.y.kernel * j->c.x.kernel;
    const int8_t *w[SH_QUANTIZED_ROWS];
    for (int64_t m = 0; m < j->rows; m++)
        w[m] = (const int8_t *)j->weight + (first + (m < used ? m : 0)) * products;
    if (j->rows == SH_QUANTIZED_ROWS && !j->pairs_taps && j->depth % 2 == 0) {
        pack_four(j, to, w);
        return;
    }
    for (int64_t m = 0; m < j->rows; m++) (j->pairs_taps ? pack_taps : pack_channels)(j, to + m, w[m]);
}

static void pack_weights(const job *j) {
    int32_t *to = j->pairs;
    for (int64_t g = 0; g < j->c.groups; g++)
        for (int64_t o = 0; o < j->width; o += j->rows, to += block_pairs(j))
            pack_block(j, to, g * j->width + o, sh_least(j->rows, j->width - o));
}

/* ---- staging ---- */

/* Inputs from, from + stride, ... of a row, their zero point taken off; outside of it, and without a row, zeros. */
static void widen_row(const job *j, int16_t *to, const char *row, int64_t from, int64_t n) {
    const int64_t stride = j->c.x.stride;
    int64_t low = n, high = n;
    if (row) sh_window_inside(&j->c.x, from, n, &low, &high);
    memset(to, 0, (size_t)low * sizeof *to);
    if (high > low)
        j->loops->widen(to + low, row + from + low * stride, stride, j->is_signed, j->zero_point, high - low);
    memset(to + high, 0, (size_t)(n - high) * sizeof *to);
}

/* Room in each line of one phase for its partners in neighbouring taps. */
static int64_t line_room(const job *j) { return j->pitch + j->c.x.dilation / j->c.x.stride + 1; }

/* One plane of a row as pairs of channels; `other` is the second channel's row. */
static void stage_channels(const job *j, int32_t *to, int16_t *lines, const char *row, const char *other,
                           int64_t from) {
    int16_t *second = lines + j->pitch;
    for (int64_t p = 0; p < j->phases; p++, to += j->pitch) {
        widen_row(j, lines, row, from + p, j->pitch);
        widen_row(j, second, other, from + p, j->pitch);
        j->loops->pair(to, lines, second, j->pitch);
    }
}

/* The same as pairs of taps. A phase that no tap begins in may lack a partner, and gets any. */
static void stage_taps(const job *j, int32_t *to, int16_t *lines, const char *row, int64_t from) {
    const int64_t stride = j->c.x.stride, room = line_room(j);
    for (int64_t p = 0; p < j->phases; p++) widen_row(j, lines + p * room, row, from + p, room);
    for (int64_t p = 0; p < j->phases; p++, to += j->pitch) {
        const int64_t next = p + j->c.x.dilation, phase = next % stride;
        const int16_t *second = lines + (phase < j->phases ? phase : p) * room + next / stride;
        j->loops->pair(to, lines + p * room, second, j->pitch);
    }
}

/* One row of input, all planes and phases. */
static void stage_row(const job *j, int32_t *to, int16_t *lines, const char *channels, int64_t y,
                      int64_t column) {
    const char *row = y >= 0 && y < j->c.y.in ? channels + y * j->c.x.in : NULL;
    const int64_t from = column * j->c.x.stride - j->c.x.padding, plane = j->phases * j->pitch;
    if (j->pairs_taps)
        for (int64_t c = 0; c < j->depth; c++)
            stage_taps(j, to + c * plane, lines, row ? row + c * j->channel : NULL, from);
    else
        for (int64_t c = 0; c < j->depth; c += 2)
            stage_channels(j, to + c / 2 * plane, lines, row ? row + c * j->channel : NULL,
                           row && c + 1 < j->depth ? row + (c + 1) * j->channel : NULL, from);
}

/* ---- the work ---- */

static void convolve_lines(const job *j, const sh_conv_part *t, const int32_t *staged, int64_t first,
                           int64_t lines, int64_t block) {
    const int64_t output = block * j->rows, left = j->width - output, out = j->c.y.out * j->c.x.out;
    const int64_t channel = t->group * j->width + output;
    const sh_quantized_lines work = {.pixels = staged + first * j->c.y.stride * row_pairs(j),
                                     .weights = j->pairs + t->group * group_pairs(j) + block * block_pairs(j),
                                     .planes = j->planes,
                                     .plane = j->phases * j->pitch,
                                     .ntaps = j->ntaps,
                                     .taps = j->taps,
                                     .rows = (int)j->rows,
                                     .used = (int)sh_least(left, j->rows),
                                     .columns = t->columns,
                                     .lines = lines,
                                     .to = j->to,
                                     .output = channel,
                                     .result = j->result + ((t->image * j->c.outputs + channel) * out +
                                                            (t->line + first) * j->c.x.out + t->column) *
                                                               j->element,
                                     .result_row = out * j->element,
                                     .pixels_line = lines > 1 ? j->c.y.stride * row_pairs(j) : 0,
                                     .result_line = j->c.x.out * j->element};
    j->loops->lines(&work);
}

/* Few weights pass by each line, or two narrow ones, again, which stays in the level-1 cache meanwhile; many are read once for all. */
static void convolve_task(const job *j, const sh_conv_part *t, int32_t *staged, int16_t *lines) {
    const char *channels = j->input + (t->image * j->c.channels + t->group * j->depth) * j->channel;
    const int64_t top = t->line * j->c.y.stride - j->c.y.padding, blocks = sh_pieces(j->width, j->rows);
    const int64_t at_once = group_pairs(j) * 4 > WEIGHT_BYTES ? t->lines : t->columns > NARROW ? 1 : 2;
    for (int64_t i = 0; i < rows_for(j, t->lines); i++)
        stage_row(j, staged + i * row_pairs(j), lines, channels, top + i, t->column);
    for (int64_t l = 0; l < t->lines; l += at_once)
        for (int64_t b = 0; b < blocks; b++)
            convolve_lines(j, t, staged, l, sh_least(at_once, t->lines - l), b);
}

static int64_t aligned(int64_t bytes) { return sh_pieces(bytes, 64) * 64; }

static sh_status convolve(job *j) {
    const int64_t outputs = j->c.batch * j->c.outputs * j->c.y.out * j->c.x.out;
    const int threads = sh__threads(outputs * j->depth * j->c.y.kernel * j->c.x.kernel / PRODUCTS);
    lay_out(j, threads);
    const int64_t tasks = sh_conv_parts(&j->c, j->lines, j->columns);
    const int64_t pairs = aligned(j->c.groups * group_pairs(j) * 4), taps = aligned(j->ntaps * 8),
                  staged = aligned((rows_for(j, j->lines) * row_pairs(j) + SH_QUANTIZED_SLACK) * 4),
                  each = staged + aligned((j->phases + 1) * line_room(j) * 2);
    size_t capacity;
    char *block = sh__block_alloc((size_t)(pairs + taps + threads * each), &capacity);
    if (!block) return SH_ERROR_MEMORY;
    j->pairs = (int32_t *)(void *)block;
    j->taps = (int64_t *)(void *)(block + pairs);
    set_taps(j);
    pack_weights(j);
    SH_PARALLEL(threads)
    for (int i = 0; i < threads; i++) {
        char *mine = block + pairs + taps + i * each;
        memset(mine + staged - aligned(SH_QUANTIZED_SLACK * 4), 0, (size_t)aligned(SH_QUANTIZED_SLACK * 4));
        for (int64_t t = tasks * i / threads; t < tasks * (i + 1) / threads; t++) {
            const sh_conv_part at = sh_conv_part_at(&j->c, j->lines, j->columns, t);
            convolve_task(j, &at, (int32_t *)(void *)mine, (int16_t *)(void *)(mine + staged));
        }
    }
    sh__block_free(block, capacity);
    return SH_OK;
}

/* ---- kernels ---- */

/* Filters of one pixel see a plane as one row. */
static void flatten_plane(sh_conv *c) {
    if (!sh_window_is_plain(&c->x) || !sh_window_is_plain(&c->y)) return;
    c->x.in *= c->y.in;
    c->x.out = c->x.in;
    c->y.in = c->y.out = 1;
}

/* Dilated so far that no line could be staged? Counted in double, as sizes may overflow. */
static bool is_vast(const sh_conv *c) {
    const double reach_x = (double)(c->x.kernel - 1) * (double)c->x.dilation,
                 reach_y = (double)(c->y.kernel - 1) * (double)c->y.dilation,
                 phases = fmin((double)c->x.stride, reach_x + 1), depth = (double)(c->channels / c->groups);
    return (phases * (COLUMNS + 16) + reach_x) * (reach_y + 1) * depth > MOST_PAIRS;
}

static sh_status convolve_pairs(sh_tensor *r, const sh_conv *c, const sh_tensor *x, int64_t zero_point,
                                const sh_tensor *weight, const sh_requantize *to) {
    job j = {.loops = sh_quantized_loops(),
             .to = to,
             .c = *c,
             .input = x->data,
             .weight = weight->data,
             .result = r->data,
             .is_signed = x->dtype == SH_I8,
             .zero_point = (int32_t)zero_point,
             .channel = c->y.in * c->x.in,
             .depth = c->channels / c->groups,
             .width = c->outputs / c->groups,
             .element = r->element};
    return convolve(&j);
}

/* Of a contiguous x and weight. */
static sh_status choose(sh_tensor *r, sh_conv c, const sh_tensor *x, int64_t zero_point,
                        const sh_tensor *weight, const sh_requantize *to) {
    sh_quantized_bytes bytes = {0};
    sh_status status = SH_OK;
    flatten_plane(&c);
    if (sh_quantized_patches_win(&c)) status = sh_quantized_bytes_of(x, zero_point, &bytes);
    if (status >= 0)
        status = bytes.data ? sh_quantized_patches(r, &c, &bytes, (const int8_t *)weight->data, to)
                            : convolve_pairs(r, &c, x, zero_point, weight, to);
    sh_quantized_bytes_drop(&bytes);
    return status;
}

sh_status sh_cpu_quantized_conv2d(sh_tensor *r, sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, sh_tensor *weight, sh_tensor *weight_scales,
                                  sh_tensor *bias, sh_ints stride, sh_ints padding, sh_ints dilation,
                                  int64_t groups, double output_scale, int64_t output_zero_point,
                                  sh_dtype output_dtype, bool relu) {
    const sh_quantized_output output = {output_scale, output_zero_point, output_dtype, relu};
    const sh_conv c = sh_conv_of(input, weight, stride, padding, dilation, groups);
    sh_requantize to;
    sh_tensor *x, *w = NULL;
    if (is_vast(&c))
        return sh_ref_quantized_conv2d(r, input, input_scale, input_zero_point, weight, weight_scales, bias,
                                       stride, padding, dilation, groups, output_scale, output_zero_point,
                                       output_dtype, relu);
    SH_TRY(sh_requantize_make(&to, weight->ndim == 3 ? "quantized_conv1d" : "quantized_conv2d", input_scale,
                              weight_scales, bias, c.outputs, &output));
    sh_status status = sh_aside_contiguous(input, (sh_dtype)input->dtype, &x);
    if (status >= 0) status = sh_aside_contiguous(weight, SH_I8, &w);
    if (status >= 0 && r->numel) status = choose(r, c, x, input_zero_point, w, &to);
    sh_aside_drop(x);
    sh_aside_drop(w);
    sh_requantize_free(&to);
    return status;
}

sh_status sh_cpu_quantized_conv1d(sh_tensor *r, sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, sh_tensor *weight, sh_tensor *weight_scales,
                                  sh_tensor *bias, sh_ints stride, sh_ints padding, sh_ints dilation,
                                  int64_t groups, double output_scale, int64_t output_zero_point,
                                  sh_dtype output_dtype, bool relu) {
    return sh_cpu_quantized_conv2d(r, input, input_scale, input_zero_point, weight, weight_scales, bias,
                                   stride, padding, dilation, groups, output_scale, output_zero_point,
                                   output_dtype, relu);
}
