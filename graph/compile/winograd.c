/* winograd.c - see winograd.h.
 *
 * The products run in tile.h's loops, with filters in panels that stay in the first-level cache while all tiles of a block pass; the
 * first of them has the next panel fetched, as filters are read once a block, from far away.
 * Points lie a line further apart than they are long: powers of two would meet in one set of the cache.
 *
 * Filters are transformed when the plan is made: to do that in each run reads less memory, but writes as much into the cache, and
 * takes as long all in all. */
#include "graph/compile/winograd.h"

#include <math.h>
#include <string.h>

#include "dispatch/tensor_impl.h"
#include "graph/compile/winograd_loops.h"
#include "ops/cpu/tile.h"
#include "ops/cpu/vmath.h"
#include "ops/iter.h"

enum {
    BLOCK_BYTES = 2 << 20, /* of transformed tiles, before and after: what a core's own cache holds */
    GAP = 16,              /* floats between points */
    PANEL = SH_WINOGRAD_PANEL,
    MOST_POINTS = SH_WINOGRAD_MOST * SH_WINOGRAD_MOST
};

const sh_winograd_loops *sh__winograd_loops_for(int m) {
    static const sh_winograd_loops *const levels[SH_VMATH_LEVEL_COUNT] = {[SH_VMATH_SSE2] = sh_winograd_sse2,
                                                                          [SH_VMATH_AVX2] = sh_winograd_avx2,
                                                                          [SH_VMATH_AVX512] =
                                                                              sh_winograd_avx512};
    return &levels[sh_vmath_level_now()][m == 4];
}

static int64_t points_of(const sh_winograd_unit *u) { return (u->m + 2) * (u->m + 2); }
static int64_t all_tiles(const sh_winograd_unit *u) { return u->shape.batch * u->tiles[0] * u->tiles[1]; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Scratch memory: zeros for pixels outside, taps of a panel of each width, transformed tiles, products. */
typedef struct rooms {
    float *zeros;
    int64_t *taps; /* of whole panels, then of the last */
    float *taken, *made;
    int64_t taken_step, made_step; /* from point to point */
} rooms;

static char *cut(char **at, int64_t bytes) {
    char *begin = *at;
    *at += (bytes + 63) / 64 * 64;
    return begin;
}

static size_t lay_out(const sh_winograd_unit *u, char *scratch, rooms *r) {
    char *at = scratch;
    const int64_t channels = u->shape.channels, outputs = u->shape.outputs, points = points_of(u);
    r->taken_step = u->block * channels + GAP;
    r->made_step = u->block * outputs + GAP;
    r->zeros = (float *)(void *)cut(&at, channels * 4);
    r->taps = (int64_t *)(void *)cut(&at, 2 * channels * 8);
    r->taken = (float *)(void *)cut(&at, points * r->taken_step * 4);
    r->made = (float *)(void *)cut(&at, points * r->made_step * 4);
    return (size_t)(at - scratch);
}

static size_t scratch_of(const void *unit) {
    static char somewhere[1];
    rooms r;
    return lay_out(unit, somewhere, &r);
}

/* ---- tiles ---- */

typedef struct place {
    int64_t image, y, x; /* of the first output */
} place;

static place place_of(const sh_winograd_unit *u, int64_t tile) {
    const int64_t of_image = u->tiles[0] * u->tiles[1], k = tile % of_image;
    return (place){tile / of_image, k / u->tiles[1] * u->m, k % u->tiles[1] * u->m};
}

static void take_tile(const sh_winograd_unit *u, const sh_winograd_loops *loops, const float *input,
                      const rooms *r, int64_t tile, int64_t in_block) {
    const sh_conv_shape *s = &u->shape;
    const place p = place_of(u, tile);
    const int a = u->m + 2;
    const float *pixels[MOST_POINTS];
    for (int i = 0; i < a; i++)
        for (int k = 0; k < a; k++) {
            const int64_t y = p.y - s->before[0] + i, x = p.x - s->before[1] + k;
            const bool inside = y >= 0 && y < s->in[0] && x >= 0 && x < s->in[1];
            pixels[i * a + k] =
                inside ? input + ((p.image * s->in[0] + y) * s->in[1] + x) * s->channels : r->zeros;
        }
    loops->take(pixels, s->channels, r->taken + in_block * s->channels, r->taken_step);
}

static void give_tile(const sh_winograd_unit *u, const sh_winograd_loops *loops, const float *added,
                      float *output, const rooms *r, int64_t tile, int64_t in_block) {
    const sh_conv_shape *s = &u->shape;
    const place p = place_of(u, tile);
    const sh_winograd_finish finish = {u->bias, u->low, u->high};
    const float *sums[MOST_POINTS];
    float *pixels[MOST_POINTS];
    for (int i = 0; i < u->m; i++)
        for (int k = 0; k < u->m; k++) {
            const int64_t y = p.y + i, x = p.x + k,
                          at = ((p.image * s->out[0] + y) * s->out[1] + x) * s->outputs;
            pixels[i * u->m + k] = y < s->out[0] && x < s->out[1] ? output + at : NULL;
            sums[i * u->m + k] = added ? added + at : NULL;
        }
    loops->give(r->made + in_block * s->outputs, r->made_step, s->outputs, &finish, added ? sums : NULL,
                pixels);
}

/* ---- products ---- */

/* One panel of one point, of `n` tiles. */
static void multiply(const sh_winograd_unit *u, const rooms *r, sh_tile_fn *tile, int64_t point,
                     int64_t panel, int64_t n) {
    const int64_t channels = u->shape.channels, outputs = u->shape.outputs, first = panel * PANEL;
    const int64_t width = least(PANEL, outputs - first);
    const sh_tile t = {.a = r->taken + point * r->taken_step,
                       .b = u->filters + point * channels * outputs + first * channels,
                       .c = r->made + point * r->made_step + first,
                       .a_row = channels,
                       .a_step = 1,
                       .planes = 1,
                       .ntaps = channels,
                       .taps = width == PANEL ? r->taps : r->taps + channels,
                       .c_row = outputs,
                       .lines = 1,
                       .ahead = channels * PANEL};
    tile(&t, n, width);
}

/* ---- running ---- */

static void run_block(const sh_winograd_unit *u, const sh_unit_frame *frame, const rooms *r, int64_t begin,
                      int64_t n, int threads) {
    const sh_winograd_loops *loops = sh__winograd_loops_for(u->m);
    sh_tile_fn *tile = sh_tile_for(SH_F32);
    const float *input = (const float *)(const void *)frame->records[u->input].data;
    const float *added =
        u->added == SH_NO_VALUE ? NULL : (const float *)(const void *)frame->records[u->added].data;
    float *output = (float *)(void *)frame->records[u->output].data;
    const int64_t panels = (u->shape.outputs + PANEL - 1) / PANEL, products = points_of(u) * panels;
    SH_PARALLEL(threads)
    for (int64_t i = 0; i < n; i++) take_tile(u, loops, input, r, begin + i, i);
    SH_PARALLEL(threads)
    for (int64_t i = 0; i < products; i++) multiply(u, r, tile, i / panels, i % panels, n);
    SH_PARALLEL(threads)
    for (int64_t i = 0; i < n; i++) give_tile(u, loops, added, output, r, begin + i, i);
}

static sh_status run_winograd(const void *unit, const sh_unit_frame *frame) {
    const sh_winograd_unit *u = unit;
    const int64_t tiles = all_tiles(u), channels = u->shape.channels;
    const int threads = sh__threads(tiles * channels * u->shape.outputs);
    rooms r;
    lay_out(u, frame->scratch, &r);
    memset(r.zeros, 0, (size_t)channels * sizeof *r.zeros);
    for (int64_t i = 0; i < channels; i++) {
        r.taps[i] = i * PANEL;
        r.taps[channels + i] = i * (u->shape.outputs % PANEL);
    }
    for (int64_t begin = 0; begin < tiles; begin += u->block)
        run_block(u, frame, &r, begin, least(u->block, tiles - begin), threads);
    return SH_OK;
}

static void print_winograd(const void *unit, FILE *out) {
    const sh_winograd_unit *u = unit;
    fprintf(out, "F(%dx%d, 3x3)%s%s", u->m, u->m, u->added == SH_NO_VALUE ? "" : "+add",
            u->low == -INFINITY && u->high == INFINITY ? "" : "+clip");
}

static void free_winograd(void *unit) {
    sh_winograd_unit *u = unit;
    if (!u) return;
    if (u->filters) sh__block_free(u->filters, u->capacity);
    sh__free(u->bias);
    sh__free(u);
}

const sh_unit_type sh__unit_winograd = {.name = "winograd",
                                        .run = run_winograd,
                                        .scratch = scratch_of,
                                        .print = print_winograd,
                                        .free = free_winograd};

/* ---- making ---- */

static bool has_shape(const sh_conv_unit *conv) {
    const sh_conv_shape *s = &conv->shape;
    const int64_t *strides = conv->weight->strides;
    for (int axis = 0; axis < 2; axis++)
        if (s->kernel[axis] != 3 || s->stride[axis] != 1 || s->dilation[axis] != 1) return false;
    return s->groups == 1 && s->channels % SH_WINOGRAD_LANES == 0 && s->outputs % SH_WINOGRAD_LANES == 0 &&
           strides[3] == 1 && strides[2] == 3;
}

/* A sum first, then clamps. */
static bool read_after(const sh_postops *after, sh_winograd_unit *u) {
    for (uint32_t i = 0; i < after->n; i++) {
        const sh_postop *op = &after->at[i];
        if (op->kind != SH_POSTOP_FUNCTION) {
            if (i > 0) return false;
            continue;
        }
        const bool relu = op->function == dnnl_eltwise_relu && op->alpha == 0;
        if (!relu && op->function != dnnl_eltwise_clip) return false;
        const float low = relu ? 0 : op->alpha, high = relu ? INFINITY : op->beta;
        u->low = fminf(fmaxf(u->low, low), high);
        u->high = fminf(fmaxf(u->high, low), high);
    }
    return true;
}

sh_winograd_unit *sh__winograd_new(const sh_conv_unit *conv, int m) {
    sh_winograd_unit read = {.shape = conv->shape,
                             .m = m,
                             .input = SH_NO_VALUE,
                             .output = SH_NO_VALUE,
                             .added = SH_NO_VALUE,
                             .low = -INFINITY,
                             .high = INFINITY};
    if (!has_shape(conv) || !read_after(&conv->after, &read)) return NULL;
    for (int axis = 0; axis < 2; axis++) read.tiles[axis] = (read.shape.out[axis] + m - 1) / m;
    const int64_t bytes = points_of(&read) * (read.shape.channels + read.shape.outputs) * 4;
    const int64_t most = BLOCK_BYTES / bytes > 8 ? BLOCK_BYTES / bytes : 8, tiles = all_tiles(&read);
    const int64_t blocks = (tiles + most - 1) / most;
    read.block = (tiles + blocks - 1) / blocks;
    sh_winograd_unit *u = sh__alloc(sizeof *u);
    if (u) *u = read;
    return u;
}

/* A task is one panel of outputs. */
static void pack_panel(const sh_winograd_unit *u, const sh_conv_filters *filters, int64_t panel) {
    const int64_t channels = u->shape.channels, outputs = u->shape.outputs, first = panel * PANEL;
    const int64_t width = least(PANEL, outputs - first), *strides = filters->strides;
    const float *from = filters->data + first * strides[0];
    const sh_winograd_loops *loops = sh__winograd_loops_for(u->m);
    for (int64_t k = 0; k < channels; k++)
        loops->pack(from + k * strides[1], strides[0], width, u->filters + first * channels + k * width,
                    channels * outputs);
}

static size_t filter_bytes(const sh_winograd_unit *u) {
    return (size_t)(points_of(u) * u->shape.channels * u->shape.outputs) * sizeof *u->filters;
}

static sh_status allocate(sh_winograd_unit *u) {
    u->filters = sh__block_alloc(filter_bytes(u), &u->capacity);
    u->bias = sh__calloc((size_t)u->shape.outputs, sizeof *u->bias);
    return u->filters && u->bias ? SH_OK : SH_ERROR_MEMORY;
}

sh_status sh__winograd_reserve(sh_winograd_unit *u) {
    SH_TRY(allocate(u));
    memset(u->filters, 0, filter_bytes(u));
    return SH_OK;
}

sh_status sh__winograd_pack(const sh_conv_unit *conv, sh_winograd_unit *u) {
    const int64_t channels = u->shape.channels, outputs = u->shape.outputs;
    const int64_t panels = (outputs + PANEL - 1) / PANEL;
    sh_conv_filters filters;
    SH_TRY(allocate(u));
    SH_TRY(sh__conv_filters(conv, &filters));
    sh__conv_bias(conv, u->bias);
    SH_PARALLEL(sh__threads(channels * outputs * points_of(u)))
    for (int64_t i = 0; i < panels; i++) pack_panel(u, &filters, i);
    sh__conv_filters_end(&filters);
    return SH_OK;
}
