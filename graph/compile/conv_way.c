/* conv_way.c - see conv_way.h.
 *
 * A unit is timed as it will run: with nothing of its memory in a core's own caches, as in the midst of a plan. A hot loop would
 * hide what reading transformed filters costs, which are up to four times as large. Ways differ by tens of percent, the least
 * of a few runs by few. Milliseconds on one core (AVX-512), and what oneDNN's own Winograd takes, which wants blocks of 16 channels:
 *
 *     channels and size          64, 56    128, 28    256, 14    512, 7
 *     direct                     1.39      1.31       1.27       1.51
 *     F(2x2, 3x3)                0.92      0.85       0.83       1.18
 *     F(4x4, 3x3)                0.62      0.56       0.72       1.51
 *     oneDNN's F(2x2), F(4x4)    0.82 0.61 0.74 0.66  1.06 0.83  1.37 7.9
 */
#include "graph/compile/conv_way.h"

#include <float.h>
#include <string.h>
#include <time.h>

#include "dispatch/tensor_impl.h"
#include "ops/iter.h"

void sh__conv_choice_free(sh_conv_choice *c) {
    sh__primitive_free(c->direct);
    sh__unit_winograd.free(c->winograd);
    c->direct = NULL;
    c->winograd = NULL;
}

/* Neither, without an error: it can't be done in this way. */
static sh_status make(sh_conv_choice *c, sh_conv_way way) {
    c->way = way;
    if (way == SH_CONV_DIRECT)
        c->direct = sh__conv_new(&c->conv);
    else
        c->winograd = sh__winograd_new(&c->conv, way == SH_CONV_WINOGRAD_2 ? 2 : 4);
    return sh_error() ? sh_error()->code : SH_OK;
}

/* ---- measuring ---- */

enum { SOURCE, RESULT, ADDED, VALUES, OTHER_BYTES = 4 << 20 };

/* Memory to measure on. */
typedef struct bench {
    size_t size;
    size_t capacity;
    char *memory; /* the values one behind the other, scratch memory, and what fills caches */
    char *other;
    sh_tensor *records;
    sh_unit_frame frame;
} bench;

static size_t bytes_of(const sh_conv_shape *s, int value) {
    const int64_t n =
        value == SOURCE ? s->channels * s->in[0] * s->in[1] : s->outputs * s->out[0] * s->out[1];
    return (size_t)(s->batch * n * 4 + 63) / 64 * 64;
}

static void close_bench(bench *b) {
    if (b->memory) sh__block_free(b->memory, b->capacity);
    sh__free(b->records);
}

static sh_status open_bench(bench *b, const sh_conv_shape *s, size_t scratch) {
    b->size = OTHER_BYTES + (scratch + 63) / 64 * 64;
    for (int i = 0; i < VALUES; i++) b->size += bytes_of(s, i);
    b->memory = sh__block_alloc(b->size, &b->capacity);
    b->records = sh__calloc(VALUES, sizeof *b->records);
    if (!b->memory || !b->records) return SH_ERROR_MEMORY;
    b->other = b->memory;
    char *at = b->memory + OTHER_BYTES;
    for (int i = 0; i < VALUES; i++) {
        b->records[i].data = memset(at, 0, bytes_of(s, i));
        at += bytes_of(s, i);
    }
    b->frame = (sh_unit_frame){.records = b->records, .scratch = at};
    return SH_OK;
}

/* One thread's own time doesn't count what others do meanwhile. */
static double now(void) {
    struct timespec t;
    clock_gettime(sh__threads(OTHER_BYTES) > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Each thread of a run writes to a part. */
static void fill_caches(char *other) {
    enum { PARTS = 16, PART = OTHER_BYTES / PARTS };
    SH_PARALLEL(sh__threads(OTHER_BYTES))
    for (int i = 0; i < PARTS; i++) memset(other + i * PART, 1, PART);
}

/* The first run makes code and pages ready; what takes twice as long as is known to be enough is given up. */
static sh_status time_runs(const sh_unit_type *type, const void *unit, const bench *b, double enough,
                           double *ns) {
    enum { RUNS = 3 };
    *ns = DBL_MAX;
    for (int i = 0; i < RUNS && (i < 2 || *ns <= 2 * enough); i++) {
        fill_caches(b->other);
        const double begin = now();
        SH_TRY(type->run(unit, &b->frame));
        const double took = now() - begin;
        if (i > 0 && took < *ns) *ns = took;
    }
    return SH_OK;
}

static sh_status time_unit(const sh_unit_type *type, const void *unit, const sh_conv_shape *s, double enough,
                           double *ns) {
    bench b = {0};
    sh_status status = open_bench(&b, s, type->scratch(unit));
    if (status == SH_OK && type->open) {
        b.frame.own = type->open(unit);
        if (!b.frame.own) status = sh_error()->code;
    }
    if (status == SH_OK) status = time_runs(type, unit, &b, enough, ns);
    if (b.frame.own) type->close(b.frame.own);
    close_bench(&b);
    return status;
}

static sh_status time_direct(sh_primitive *p, const sh_conv_shape *s, double enough, double *ns) {
    sh__primitive_argument(p, DNNL_ARG_SRC)->value = SOURCE;
    sh__primitive_argument(p, DNNL_ARG_DST)->value = RESULT;
    for (uint32_t i = 0; i < p->nargs; i++)
        if (p->args[i].role >= DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE) p->args[i].value = ADDED;
    SH_TRY(sh__primitive_reserve(p));
    return time_unit(&sh__unit_conv, p, s, enough, ns);
}

static sh_status time_winograd(const sh_conv_unit *conv, sh_winograd_unit *u, double enough, double *ns) {
    u->input = SOURCE;
    u->output = RESULT;
    if (conv->after.n && conv->after.at[0].kind != SH_POSTOP_FUNCTION) u->added = ADDED;
    SH_TRY(sh__winograd_reserve(u));
    return time_unit(&sh__unit_winograd, u, &conv->shape, enough, ns);
}

static sh_status time_way(sh_conv_choice *c, sh_conv_way way, double enough, double *ns) {
    sh_status status = make(c, way);
    *ns = DBL_MAX;
    if (status == SH_OK && c->direct) status = time_direct(c->direct, &c->conv.shape, enough, ns);
    if (status == SH_OK && c->winograd) status = time_winograd(&c->conv, c->winograd, enough, ns);
    sh__conv_choice_free(c);
    return status;
}

/* ---- choosing ---- */

/* What follows a convolution takes little of its time, in any way. */
static bool same(const sh_conv_unit *a, const sh_conv_unit *b) {
    return memcmp(&a->shape, &b->shape, sizeof a->shape) == 0;
}

static bool may_be_winograd(const sh_conv_choice *c) {
    const sh_conv_shape *s = &c->conv.shape;
    return s->groups == 1 && s->kernel[0] == 3 && s->kernel[1] == 3 && s->stride[0] == 1 && s->stride[1] == 1;
}

/* With few tiles a filter of F(4x4) is used too seldom for what reading it costs, with many it never is: 14x14 are 16, where
 * F(2x2) gave 0.683 to 0.695 of a peer's time in ResNet18 and F(4x4) 0.687 to 0.698; 28x28 are 49. */
static bool is_tried(const sh_conv_shape *s, uint32_t ways, sh_conv_way way) {
    enum { FEW = 20, MANY = 49 };
    const int64_t tiles = s->batch * ((s->out[0] + 3) / 4) * ((s->out[1] + 3) / 4);
    if (!(ways >> way & 1)) return false;
    if (way == SH_CONV_WINOGRAD_2) return tiles < MANY || !(ways >> SH_CONV_WINOGRAD_4 & 1);
    return way != SH_CONV_WINOGRAD_4 || tiles >= FEW;
}

/* Larger tiles take more memory, which counts twice where other memory waits to be read, and lose more bits: so they must win by
 * more than a little. */
static sh_status find_fastest(sh_conv_choice *c, uint32_t ways, sh_conv_way *best) {
    static const double gain[SH_CONV_WAYS] = {1, 1.05, 1.2};
    double least = DBL_MAX;
    for (sh_conv_way way = 0; way < SH_CONV_WAYS; way++) {
        double ns = DBL_MAX;
        if (!is_tried(&c->conv.shape, ways, way)) continue;
        SH_TRY(time_way(c, way, least, &ns));
        if (ns >= least / gain[way]) continue;
        least = ns;
        *best = way;
    }
    return SH_OK;
}

static sh_status choose_way(sh_conv_choice *choices, uint32_t i, uint32_t ways, sh_conv_way *way) {
    *way = SH_CONV_DIRECT;
    if (!ways || !may_be_winograd(&choices[i])) return SH_OK;
    for (uint32_t k = 0; k < i; k++)
        if (same(&choices[k].conv, &choices[i].conv)) {
            *way = choices[k].way;
            return SH_OK;
        }
    return find_fastest(&choices[i], ways, way);
}

sh_status sh__conv_choose(sh_conv_choice *choices, uint32_t n, uint32_t ways) {
    for (uint32_t i = 0; i < n; i++) {
        sh_conv_way way;
        SH_TRY(choose_way(choices, i, ways, &way));
        SH_TRY(make(&choices[i], way));
        /* Another of this shape was measured, which may be followed by what this way can't do. */
        if (way != SH_CONV_DIRECT && !choices[i].winograd) SH_TRY(make(&choices[i], SH_CONV_DIRECT));
    }
    return SH_OK;
}
