/* tiles_run.c - a unit of tiles at work.
 *
 * Each thread takes a part of the elements, and of the scratch: the addresses of its places and the bytes of an element
 * where they move on with the elements (in what is read and written whole), its streams, their tiles, the temporaries.
 *
 * Only the first loop that reads a tensor and the last that writes one would wait for memory, while all others leave it
 * idle. So, where there is much of it, each loop fetches a slice of the next tile. */
#include "dispatch/memory_impl.h"
#include "graph/compile/tiles_impl.h"

enum {
    LINE = 64,
    FAR = 256 * 1024
}; /* bytes of a line of the cache; elements that the second one holds no more */

static size_t to_line(size_t bytes) { return (bytes + LINE - 1) & ~(size_t)(LINE - 1); }

static uint32_t count_places(const sh_tiles *t) {
    uint32_t n = 0;
    for (int i = 0; i < SH_PLACE_KINDS; i++) n += t->nplaces[i];
    return n;
}

/* ---- scratch ---- */

static size_t steps_at(const sh_tiles *t) { return to_line(count_places(t) * sizeof(char *)); }

static size_t streams_at(const sh_tiles *t) {
    return steps_at(t) + to_line(count_places(t) * sizeof(int64_t));
}

static size_t stream_tiles_at(const sh_tiles *t) {
    return streams_at(t) + to_line(t->nplaces[SH_PLACE_STREAM] * sizeof(sh_stream));
}

static size_t temporaries_at(const sh_tiles *t) {
    return stream_tiles_at(t) + t->nplaces[SH_PLACE_STREAM] * (size_t)SH_TILE_BYTES;
}

void sh__tiles_measure(sh_tiles *t) {
    t->part = temporaries_at(t) + t->nplaces[SH_PLACE_TEMPORARY] * t->row;
    t->slice = (t->tile / t->ncode + LINE - 1) & ~(int64_t)(LINE - 1);
}

static size_t scratch(const void *unit) {
    const sh_tiles *t = unit;
    return (size_t)t->threads * t->part;
}

/* ---- a part ---- */

/* What one thread works with. */
typedef struct part {
    const sh_tiles *t;
    const sh_plan_step *step;
    const sh_tensor *records;
    char **at;         /* by place */
    int64_t *steps;    /* by place: how many bytes an element moves it on */
    uint32_t first, n; /* the places that are in tensors, and how many there are in all */
    uint32_t streamed; /* the first that is of a stream */
    sh_stream *streams;
} part;

static const sh_tensor *record_read(const part *p, uint32_t i) { return &p->records[p->step->loads[i].id]; }
static const sh_tensor *record_written(const part *p, uint32_t i) { return &p->records[p->step->results[i]]; }

static void open_streams(part *p, char *tiles, int64_t begin) {
    const sh_tiles *t = p->t;
    const sh_order order = sh__order_of(record_written(p, 0));
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_STREAM]; i++) {
        const sh_tensor *from = record_read(p, t->nplaces[SH_PLACE_WHOLE] + i);
        const sh_operand operand = {from, (sh_dtype)from->dtype, (sh_dtype)from->dtype};
        p->streams[i].tile = tiles + i * (size_t)SH_TILE_BYTES;
        p->streams[i].spare = NULL;
        sh__stream_open(&p->streams[i], &operand, &order, begin);
    }
}

/* The next place, in a tensor. */
static void place_tensor(part *p, const sh_tensor *t, int64_t begin) {
    p->steps[p->n] = (int64_t)t->element;
    p->at[p->n++] = t->data + begin * (int64_t)t->element;
}

static void open_part(part *p, char *memory, int64_t begin) {
    const sh_tiles *t = p->t;
    char *temporary = memory + temporaries_at(t), *number = t->numbers;
    p->at = (char **)(void *)memory;
    p->steps = (int64_t *)(void *)(memory + steps_at(t));
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_TEMPORARY]; i++, temporary += t->row)
        p->at[p->n++] = temporary;
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_NUMBER]; i++, number += t->row) p->at[p->n++] = number;
    p->first = p->n;
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_WHOLE]; i++) place_tensor(p, record_read(p, i), begin);
    p->streamed = p->n;
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_STREAM]; i++) p->steps[p->n++] = 0;
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_WRITTEN]; i++) place_tensor(p, record_written(p, i), begin);
    if (!t->nplaces[SH_PLACE_STREAM]) return;
    p->streams = (sh_stream *)(void *)(memory + streams_at(t));
    open_streams(p, memory + stream_tiles_at(t), begin);
}

/* The next elements of all streams, `n` or fewer. */
static int64_t take(const part *p, int64_t n) {
    const uint32_t nstreams = p->t->nplaces[SH_PLACE_STREAM];
    for (uint32_t i = 0; i < nstreams; i++) {
        const int64_t reach = sh__stream_reach(&p->streams[i]);
        if (reach < n) n = reach;
    }
    for (uint32_t i = 0; i < nstreams; i++)
        p->at[p->streamed + i] = (char *)(uintptr_t)sh__stream_take(&p->streams[i], n);
    return n;
}

static void go_on(const part *p, int64_t n) {
    for (uint32_t i = p->first; i < p->n; i++) p->at[i] += n * p->steps[i];
    for (uint32_t i = 0; i < p->t->nplaces[SH_PLACE_STREAM]; i++) sh__stream_leave(&p->streams[i], n);
}

/* Slice number `i` of the tile after this one, of each tensor. */
static void fetch_ahead(const part *p, int64_t n, uint32_t i) {
    const int64_t slice = p->t->slice, begin = slice * i, end = begin + slice < n ? begin + slice : n;
    for (uint32_t k = p->first; k < p->n; k++) {
        const char *next = p->at[k] + n * p->steps[k], *const last = next + end * p->steps[k];
        for (next += begin * p->steps[k]; next < last; next += LINE) __builtin_prefetch(next, 0, 2);
    }
}

static void run_code(const part *p, int64_t n, bool fetches) {
    const sh_tiles *t = p->t;
    char *const *at = p->at;
    for (uint32_t i = 0; i < t->ncode; i++) {
        const sh_tiles_code *c = &t->code[i];
        if (fetches) fetch_ahead(p, n, i);
        c->loop(at[c->to], at[c->from[0]], at[c->from[1]], at[c->from[2]], n, c->parameters);
    }
}

static void run_part(const sh_tiles *t, const sh_unit_frame *frame, char *memory, int64_t begin,
                     int64_t end) {
    part p = {.t = t, .step = frame->step, .records = frame->records};
    const bool fetches = end - begin >= FAR;
    open_part(&p, memory, begin);
    for (int64_t n; begin < end; begin += n) {
        n = end - begin < t->tile ? end - begin : t->tile;
        if (t->nplaces[SH_PLACE_STREAM]) n = take(&p, n);
        run_code(&p, n, fetches && end - begin >= 2 * n);
        if (begin + n < end) go_on(&p, n);
    }
}

/* ---- the unit ---- */

static sh_status run(const void *unit, const sh_unit_frame *frame) {
    const sh_tiles *t = unit;
    const int useful = sh__threads(t->numel), threads = useful < t->threads ? useful : t->threads;
    if (threads == 1) {
        run_part(t, frame, frame->scratch, 0, t->numel);
        return SH_OK;
    }
    SH_PARALLEL(threads)
    for (int i = 0; i < threads; i++)
        run_part(t, frame, frame->scratch + (size_t)i * t->part, sh__part_begin(t->numel, i, threads),
                 sh__part_begin(t->numel, i + 1, threads));
    return SH_OK;
}

static void print(const void *unit, FILE *out) {
    const sh_tiles *t = unit;
    fprintf(out, "%u ops in tiles of %lld, %u temporaries", t->nops, (long long)t->tile,
            t->nplaces[SH_PLACE_TEMPORARY]);
}

void sh__tiles_free(void *unit) {
    sh_tiles *t = unit;
    if (t->numbers) sh__block_free(t->numbers, t->numbers_capacity);
    sh__free(t->code);
    sh__free(t);
}

const sh_unit_type sh__tiles_unit = {
    .name = "tiles", .run = run, .scratch = scratch, .print = print, .free = sh__tiles_free};
