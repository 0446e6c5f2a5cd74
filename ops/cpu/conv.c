/* conv.c - convolution in the cpu backend.
 *
 * The tile (tile.h) adds up all channels and taps of a filter for a block of output channels and pixels without a
 * matrix of patches, but it wants the pixels of one tap side by side. So some channels and rows of the input at a time
 * are staged: copied, with their padding, into a buffer that stays in the cache. Rows are sorted by their remainder
 * modulo the stride, so that neighbours in the output are neighbours there too. Columns are laid out in one of two
 * ways:
 *
 *   shifted   a copy for each column of the filter, moved by so much that all outputs of a chunk are one line
 *   in rows   a copy for each remainder modulo the stride; each row of outputs is a line of its own
 *
 * Shifted wastes nothing at the ends of rows, but copies more. No oneDNN here: its kernels want layouts of their own,
 * and bringing a lone call's tensors there and back costs more than they win. No Winograd either: it would spread one
 * Inf or NaN over its neighbours.
 *
 * Filters of one pixel read the input as it lies; those as large as the input are matrix products. The half types are convolved as
 * f32 and rounded once. */
#include <string.h>

#include "ops/cpu/gemm.h"
#include "ops/cpu/tile.h"
#include "ops/cpu/widen.h"
#include "ops/infer_window.h"
#include "ops/iter.h"
#include "ops/kernels.h"

enum {
    STAGE_BYTES = 512 * 1024, /* of staged input at a time: about half a level-2 cache */
    DEPTH_TAPS = 576,         /* products in a row before sums go back to memory */
    LINE = 16,                /* the longest vector, in f32 */
    BLOCK_PIXELS = 192,       /* of a filter of one pixel, at a time */
    FEW_OUTPUTS = 8           /* so few output channels do not pay for shifted copies */
};

/* One convolution on its way: input of any layout, weight, bias and result contiguous. */
typedef struct job {
    sh_conv c;
    size_t element;
    sh_dtype dtype;
    const char *input, *weight, *bias;
    char *result;
    int64_t image, channel, row, column; /* strides of input, in elements */
    int64_t depth, width;                /* channels in and out of one group */
} job;

/* How a chunk is staged. Row q of phase p of variant v of a channel begins at ((v * phases + p) * rows + q) * pitch. */
typedef struct stage {
    bool shifted;
    int64_t variants, phases, rows, pitch;
    int64_t plane;    /* elements of one channel */
    int64_t channels; /* at a time */
    int64_t lines;    /* output rows at a time */
    int64_t *taps;
} stage;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* ---- staging ---- */

/* Paddings are a few elements, for which memset is slow. */
static void clear(char *to, int64_t bytes) {
    if (bytes > 128)
        memset(to, 0, (size_t)bytes);
    else
        while (bytes-- > 0) *to++ = 0;
}

#define DEFINE_COPY(T)                                                               \
    static void copy_##T(T *to, const T *from, int64_t step, int64_t n) {            \
        if (step == 2)                                                               \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) to[i] = from[2 * i]; \
        else                                                                         \
            for (int64_t i = 0; i < n; i++) to[i] = from[i * step];                  \
    }
DEFINE_COPY(uint64_t)
DEFINE_COPY(uint32_t)
DEFINE_COPY(uint16_t)
DEFINE_COPY(uint8_t)

static void copy_strided(size_t element, void *to, const void *from, int64_t step, int64_t n) {
    if (step == 1)
        memcpy(to, from, (size_t)n * element);
    else if (element == 4)
        copy_uint32_t(to, from, step, n);
    else if (element == 8)
        copy_uint64_t(to, from, step, n);
    else if (element == 2)
        copy_uint16_t(to, from, step, n);
    else
        copy_uint8_t(to, from, step, n);
}

/* Elements from, from + stride, ... of an input row; outside of it zeros. */
static void stage_row(const job *j, char *to, const char *row, int64_t from, int64_t n) {
    const int64_t stride = j->c.x.stride, size = j->c.x.in, e = (int64_t)j->element;
    const int64_t low = from < 0 ? least((-from + stride - 1) / stride, n) : 0;
    const int64_t end = from < size ? least((size - from + stride - 1) / stride, n) : 0,
                  high = end < low ? low : end;
    clear(to, low * e);
    copy_strided(j->element, to + low * e, row + (from + low * stride) * j->column * e, stride * j->column,
                 high - low);
    clear(to + high * e, (n - high) * e);
}

/* The rows of one phase, from output row `first` on. */
static void stage_phase(const job *j, const stage *s, char *to, const char *plane, int64_t first,
                        int64_t rows, int64_t phase, int64_t from) {
    const size_t bytes = (size_t)s->pitch * j->element;
    for (int64_t q = 0; q < rows; q++, to += bytes) {
        const int64_t y = (first + q) * j->c.y.stride + phase - j->c.y.padding;
        if (y < 0 || y >= j->c.y.in)
            clear(to, (int64_t)bytes);
        else
            stage_row(j, to, plane + y * j->row * (int64_t)j->element, from, s->pitch);
    }
}

/* Are staged rows as long as the input's and next to each other there, so that they can be copied at once? */
static bool is_whole(const job *j, const stage *s) {
    return s->pitch == j->c.x.in && j->column == 1 && j->row == j->c.x.in && j->c.x.stride == 1 &&
           j->c.y.stride == 1;
}

/* stage_phase where is_whole: the columns that came from the neighbouring row are cleared after. */
static void stage_whole(const job *j, char *to, const char *plane, int64_t first, int64_t rows,
                        int64_t from) {
    const int64_t size = j->c.x.in, e = (int64_t)j->element, top = first - j->c.y.padding;
    const int64_t low = top < 0 ? least(-top, rows) : 0, high = least(j->c.y.in - top, rows);
    const int64_t shift = from < 0 ? least(-from, size) : least(from, size);
    clear(to, low * size * e);
    if (high > low) {
        const int64_t n = (high - low) * size - shift;
        char *at = to + low * size * e;
        const char *source = plane + (top + low) * size * e;
        if (from < 0)
            memcpy(at + shift * e, source, (size_t)(n * e));
        else
            memcpy(at, source + shift * e, (size_t)(n * e));
        for (int64_t q = low; q < high; q++, at += size * e)
            clear(from < 0 ? at : at + (size - shift) * e, shift * e);
    }
    const int64_t end = high > low ? high : low;
    clear(to + end * size * e, (rows - end) * size * e);
}

static void stage_channel(const job *j, const stage *s, char *to, const char *plane, int64_t first,
                          int64_t rows) {
    const int64_t step = s->shifted ? j->c.x.dilation : 1;
    const bool whole = is_whole(j, s);
    for (int64_t v = 0; v < s->variants; v++)
        for (int64_t p = 0; p < s->phases; p++, to += s->rows * s->pitch * (int64_t)j->element) {
            const int64_t from = v * step - j->c.x.padding;
            if (whole)
                stage_whole(j, to, plane, first, rows, from);
            else
                stage_phase(j, s, to, plane, first, rows, p, from);
        }
}

/* ---- layout ---- */

static bool prefers_shifted(const job *j) {
    const int64_t out = j->c.x.out;
    if (j->c.x.kernel == 1) return true;
    return !(j->width < FEW_OUTPUTS && out >= LINE) && round_up(out, LINE) * 24 > out * 25;
}

/* Rows of one phase that `lines` output rows meet. */
static int64_t rows_for(const job *j, int64_t lines) {
    return lines + (j->c.y.kernel - 1) * j->c.y.dilation / j->c.y.stride;
}

/* The most output rows that fit into STAGE_BYTES, made even, and so many chunks that `parts` threads have work. */
static int64_t lines_of(const job *j, const stage *s, int parts) {
    const int64_t row = s->channels * s->variants * s->phases * s->pitch * (int64_t)j->element,
                  out = j->c.y.out;
    int64_t lines = STAGE_BYTES / row - rows_for(j, 0);
    if (parts > 1) lines = least(lines, (out * j->c.batch * j->c.groups + parts - 1) / parts);
    lines = lines < 1 ? 1 : least(lines, out);
    const int64_t chunks = (out + lines - 1) / lines;
    return (out + chunks - 1) / chunks;
}

static stage stage_of(const job *j, int parts) {
    const sh_window *x = &j->c.x, *y = &j->c.y;
    const int64_t reach = (x->kernel - 1) * x->dilation, taps = x->kernel * y->kernel;
    stage s = {.shifted = prefers_shifted(j), .phases = least(y->stride, (y->kernel - 1) * y->dilation + 1)};
    s.variants = s.shifted ? x->kernel : least(x->stride, reach + 1);
    s.pitch = s.shifted ? x->out : x->out + reach / x->stride;
    s.channels = taps > DEPTH_TAPS ? 1 : least(j->depth, DEPTH_TAPS / taps);
    if (s.channels < 1) s.channels = 1;
    s.lines = lines_of(j, &s, parts);
    s.rows = rows_for(j, s.lines);
    s.plane = s.variants * s.phases * s.rows * s.pitch;
    return s;
}

static void set_taps(const job *j, const stage *s) {
    int64_t *tap = s->taps;
    for (int64_t ky = 0; ky < j->c.y.kernel; ky++)
        for (int64_t kx = 0; kx < j->c.x.kernel; kx++) {
            const int64_t y = ky * j->c.y.dilation, x = kx * j->c.x.dilation;
            const int64_t v = s->shifted ? kx : x % j->c.x.stride, right = s->shifted ? 0 : x / j->c.x.stride;
            *tap++ = ((v * s->phases + y % j->c.y.stride) * s->rows + y / j->c.y.stride) * s->pitch + right;
        }
}

/* ---- the work ---- */

/* Output rows `first` to `first + lines` of one group of one image. */
static void convolve_chunk(const job *j, const stage *s, char *buffer, int64_t image, int64_t group,
                           int64_t first) {
    const int64_t taps = j->c.x.kernel * j->c.y.kernel, out = j->c.y.out * j->c.x.out,
                  e = (int64_t)j->element;
    const int64_t output = group * j->width, lines = least(s->lines, j->c.y.out - first);
    const char *input = j->input + (image * j->image + group * j->depth * j->channel) * e;
    sh_tile tile = {.b = buffer,
                    .a_row = j->depth * taps,
                    .a_step = 1,
                    .b_plane = s->plane,
                    .ntaps = taps,
                    .taps = s->taps,
                    .c_row = out};
    tile.c = j->result + ((image * j->c.outputs + output) * out + first * j->c.x.out) * e;
    tile.bias = j->bias ? j->bias + output * e : NULL;
    tile.lines = s->shifted ? 1 : lines;
    tile.b_line = s->pitch;
    tile.c_line = j->c.x.out;
    for (int64_t c = 0; c == 0 || c < j->depth; c += s->channels) {
        tile.planes = least(s->channels, j->depth - c);
        for (int64_t i = 0; i < tile.planes; i++)
            stage_channel(j, s, buffer + i * s->plane * e, input + (c + i) * j->channel * e, first,
                          rows_for(j, lines));
        tile.a = j->weight + (output * j->depth + c) * taps * e;
        tile.accumulate = c > 0;
        sh_tile_for(j->dtype)(&tile, j->width, s->shifted ? lines * j->c.x.out : j->c.x.out);
    }
}

static sh_status convolve_staged(const job *j) {
    const int64_t products =
        j->c.outputs * j->c.y.out * j->c.x.out * j->depth * j->c.x.kernel * j->c.y.kernel;
    const int parts = sh__threads(j->c.batch * products / 64);
    stage s = stage_of(j, parts);
    const int64_t chunks = (j->c.y.out + s.lines - 1) / s.lines, tasks = j->c.batch * j->c.groups * chunks;
    const int64_t taps = round_up(j->c.x.kernel * j->c.y.kernel * (int64_t)sizeof *s.taps, 64);
    const int64_t buffer = round_up(s.channels * s.plane * (int64_t)j->element, 64);
    size_t capacity;
    char *block = sh__block_alloc((size_t)(taps + parts * buffer), &capacity);
    if (!block) return SH_ERROR_MEMORY;
    s.taps = (int64_t *)(void *)block;
    set_taps(j, &s);
    SH_PARALLEL(parts)
    for (int i = 0; i < parts; i++)
        for (int64_t t = tasks * i / parts; t < tasks * (i + 1) / parts; t++)
            convolve_chunk(j, &s, block + taps + i * buffer, t / chunks / j->c.groups,
                           t / chunks % j->c.groups, t % chunks * s.lines);
    sh__block_free(block, capacity);
    return SH_OK;
}

/* ---- special sizes ---- */

static bool steps_by_one(const sh_window *w) { return w->stride == 1 && w->padding == 0; }

/* Filters of one pixel over planes without gaps: each group's channels out are its weights times its channels in. */
static bool is_pointwise(const job *j) {
    return j->c.x.kernel == 1 && j->c.y.kernel == 1 && steps_by_one(&j->c.x) && steps_by_one(&j->c.y) &&
           j->column == 1 && (j->row == j->c.x.in || j->c.y.in == 1);
}

static void convolve_pointwise(const job *j) {
    static const int64_t one_tap[1] = {0};
    const int64_t pixels = j->c.y.out * j->c.x.out, e = (int64_t)j->element,
                  blocks = (pixels + BLOCK_PIXELS - 1) / BLOCK_PIXELS;
    const int64_t tasks = j->c.batch * j->c.groups * blocks;
    SH_PARALLEL(sh__threads(j->c.batch * j->c.outputs * pixels * j->depth / 64))
    for (int64_t t = 0; t < tasks; t++) {
        const int64_t image = t / blocks / j->c.groups, group = t / blocks % j->c.groups,
                      first = t % blocks * BLOCK_PIXELS;
        const int64_t output = group * j->width;
        const sh_tile tile = {.a = j->weight + output * j->depth * e,
                              .a_row = j->depth,
                              .a_step = 1,
                              .b = j->input + (image * j->image + group * j->depth * j->channel + first) * e,
                              .b_plane = j->channel,
                              .planes = j->depth,
                              .ntaps = 1,
                              .taps = one_tap,
                              .c = j->result + ((image * j->c.outputs + output) * pixels + first) * e,
                              .c_row = pixels,
                              .bias = j->bias ? j->bias + output * e : NULL,
                              .lines = 1};
        sh_tile_for(j->dtype)(&tile, j->width, least(BLOCK_PIXELS, pixels - first));
    }
}

static bool is_covered(const sh_window *w) {
    return w->kernel == w->in && w->padding == 0 && (w->dilation == 1 || w->kernel == 1);
}

/* Filters as large as an input without gaps: images times transposed filters. */
static bool is_full(const job *j) {
    return j->c.groups == 1 && is_covered(&j->c.x) && is_covered(&j->c.y) &&
           (j->column == 1 || j->c.x.in == 1) && (j->row == j->c.x.in || j->c.y.in == 1) &&
           (j->channel == j->c.x.in * j->c.y.in || j->c.channels == 1);
}

static sh_status convolve_full(const job *j) {
    const int64_t products = j->depth * j->c.x.in * j->c.y.in;
    for (int64_t i = 0; j->bias && i < j->c.batch; i++)
        memcpy(j->result + i * j->c.outputs * (int64_t)j->element, j->bias,
               (size_t)j->c.outputs * j->element);
    return sh_gemm(j->dtype, j->c.batch, j->c.outputs, products,
                   (sh_matrix){(void *)(uintptr_t)j->input, j->image, 1},
                   (sh_matrix){(void *)(uintptr_t)j->weight, 1, products},
                   (sh_matrix){j->result, j->c.outputs, 1}, j->bias != NULL);
}

/* ---- kernels ---- */

static int64_t stride_of(const sh_tensor *t, int from_end) {
    return t->ndim >= from_end ? t->strides[t->ndim - from_end] : 0;
}

/* Any dtype but the half types; weight and bias are contiguous. */
static sh_status convolve(sh_tensor *r, const sh_tensor *input, const sh_tensor *weight,
                          const sh_tensor *bias, const sh_conv *c) {
    const int axes = weight->ndim - 2;
    job j = {.c = *c,
             .element = r->element,
             .dtype = (sh_dtype)r->dtype,
             .input = input->data,
             .weight = weight->data,
             .bias = bias ? bias->data : NULL,
             .result = r->data};
    j.column = stride_of(input, 1);
    j.row = axes == 2 ? stride_of(input, 2) : 0;
    j.channel = stride_of(input, axes + 1);
    j.image = stride_of(input, axes + 2);
    j.depth = c->channels / c->groups;
    j.width = c->outputs / c->groups;
    if (is_full(&j)) return convolve_full(&j);
    if (!is_pointwise(&j)) return convolve_staged(&j);
    convolve_pointwise(&j);
    return SH_OK;
}

static sh_status convolve_half(sh_tensor *r, sh_tensor *input, sh_tensor *weight, sh_tensor *bias,
                               const sh_conv *c) {
    sh_tensor *x, *w = NULL, *b = NULL, *y = NULL;
    sh_status status = sh_aside_copy(input, SH_F32, &x);
    if (status >= 0) status = sh_aside_copy(weight, SH_F32, &w);
    if (status >= 0) status = sh_aside_copy(bias, SH_F32, &b);
    if (status >= 0) status = (y = sh_aside_like(r, SH_F32)) ? convolve(y, x, w, b, c) : SH_ERROR_MEMORY;
    if (status >= 0) status = sh_cpu_copy(r, r, y, false);
    sh_aside_drop(x);
    sh_aside_drop(w);
    sh_aside_drop(b);
    sh_aside_drop(y);
    return status;
}

sh_status sh_cpu_conv2d(sh_tensor *r, sh_tensor *input, sh_tensor *weight, sh_tensor *bias, sh_ints stride,
                        sh_ints padding, sh_ints dilation, int64_t groups) {
    const sh_conv c = sh_conv_of(input, weight, stride, padding, dilation, groups);
    if (!r->numel) return SH_OK;
    if (sh_is_half(r)) return convolve_half(r, input, weight, bias, &c);
    sh_tensor *w, *b = NULL;
    sh_status status = sh_aside_contiguous(weight, (sh_dtype)r->dtype, &w);
    if (status >= 0) status = sh_aside_contiguous(bias, (sh_dtype)r->dtype, &b);
    if (status >= 0) status = convolve(r, input, w, b, &c);
    sh_aside_drop(w);
    sh_aside_drop(b);
    return status;
}

sh_status sh_cpu_conv1d(sh_tensor *r, sh_tensor *input, sh_tensor *weight, sh_tensor *bias, sh_ints stride,
                        sh_ints padding, sh_ints dilation, int64_t groups) {
    return sh_cpu_conv2d(r, input, weight, bias, stride, padding, dilation, groups);
}
