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

/* No stream gives more elements at a time than there are. */
static size_t stream_tile(const sh_tiles *t) {
    return to_line((size_t)(t->numel < SH_TILE ? t->numel : SH_TILE) * (SH_TILE_BYTES / SH_TILE));
}

static size_t temporaries_at(const sh_tiles *t) {
    return stream_tiles_at(t) + t->nplaces[SH_PLACE_STREAM] * stream_tile(t);
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
    const sh_unit_frame *frame;
    char **at;             /* by place */
    int64_t *steps;        /* by place: how many bytes an element moves it on */
    uint32_t first, n;     /* the first place that is in a tensor; how many there are in all */
    uint32_t first_stream; /* the first that is of a stream */
    sh_stream *streams;
} part;

static inline const sh_tensor *record_read(const sh_unit_frame *frame, uint32_t i) {
    return &frame->records[frame->step->loads[i].id];
}
static inline const sh_tensor *record_written(const sh_unit_frame *frame, uint32_t i) {
    return &frame->records[frame->step->results[i]];
}

/* The addresses of what is in no tensor; behind the last of them. */
static inline char **place_own(const sh_tiles *t, char **at, char *memory) {
    char *temporary = memory + temporaries_at(t), *number = t->numbers;
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_TEMPORARY]; i++, temporary += t->row) *at++ = temporary;
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_NUMBER]; i++, number += t->row) *at++ = number;
    return at;
}

/* The next place, in a tensor. */
static void place_tensor(part *p, const sh_tensor *t, int64_t begin) {
    p->steps[p->n] = (int64_t)t->element;
    p->at[p->n++] = t->data + begin * (int64_t)t->element;
}

static void open_streams(part *p, char *tiles, int64_t begin) {
    const sh_tiles *t = p->t;
    const sh_order order = sh__order_of(record_written(p->frame, 0));
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_STREAM]; i++) {
        const sh_tensor *from = record_read(p->frame, t->nplaces[SH_PLACE_WHOLE] + i);
        const sh_operand operand = {from, (sh_dtype)from->dtype, (sh_dtype)from->dtype};
        p->streams[i].tile = tiles + i * stream_tile(t);
        p->streams[i].spare = NULL;
        sh__stream_open(&p->streams[i], &operand, &order, begin);
    }
}

static void open_part(part *p, char *memory, int64_t begin) {
    const sh_tiles *t = p->t;
    p->at = (char **)(void *)memory;
    p->steps = (int64_t *)(void *)(memory + steps_at(t));
    p->first = p->n = (uint32_t)(place_own(t, p->at, memory) - p->at);
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_WHOLE]; i++)
        place_tensor(p, record_read(p->frame, i), begin);
    p->first_stream = p->n;
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_STREAM]; i++) p->steps[p->n++] = 0;
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_WRITTEN]; i++)
        place_tensor(p, record_written(p->frame, i), begin);
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
        p->at[p->first_stream + i] = (char *)(uintptr_t)sh__stream_take(&p->streams[i], n);
    return n;
}

static void go_on(const part *p, int64_t n) {
    for (uint32_t i = p->first; i < p->n; i++) p->at[i] += n * p->steps[i];
    for (uint32_t i = 0; i < p->t->nplaces[SH_PLACE_STREAM]; i++) sh__stream_leave(&p->streams[i], n);
}

/* ---- the code ---- */

static inline void run_loop(const sh_tiles_code *c, char *const *at, int64_t n) {
    c->loop(at[c->to], at[c->from[0]], at[c->from[1]], at[c->from[2]], n, c->parameters);
}

static inline void run_code(const sh_tiles *t, char *const *at, int64_t n) {
    for (const sh_tiles_code *c = t->code, *const end = c + t->ncode; c < end; c++) run_loop(c, at, n);
}

/* Slice number `i` of the tile after this one, of each tensor. */
static void fetch_ahead(const part *p, int64_t n, uint32_t i) {
    const int64_t slice = p->t->slice, begin = slice * i, end = begin + slice < n ? begin + slice : n;
    for (uint32_t k = p->first; k < p->n; k++) {
        const char *next = p->at[k] + n * p->steps[k], *const last = next + end * p->steps[k];
        for (next += begin * p->steps[k]; next < last; next += LINE) __builtin_prefetch(next, 0, 2);
    }
}

static void run_code_fetching(const part *p, int64_t n) {
    for (uint32_t i = 0; i < p->t->ncode; i++) {
        fetch_ahead(p, n, i);
        run_loop(&p->t->code[i], p->at, n);
    }
}

static void run_part(const sh_tiles *t, const sh_unit_frame *frame, char *memory, int64_t begin,
                     int64_t end) {
    part p = {.t = t, .frame = frame};
    const bool fetches = end - begin >= FAR;
    open_part(&p, memory, begin);
    for (int64_t n; begin < end; begin += n) {
        n = end - begin < t->tile ? end - begin : t->tile;
        if (t->nplaces[SH_PLACE_STREAM]) n = take(&p, n);
        if (fetches && end - begin >= 2 * n)
            run_code_fetching(&p, n);
        else
            run_code(t, p.at, n);
        if (begin + n < end) go_on(&p, n);
    }
}

/* All elements are one tile, as they lie. */
static void run_once(const sh_tiles *t, const sh_unit_frame *frame) {
    char **at = (char **)(void *)frame->scratch, **next = place_own(t, at, frame->scratch);
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_WHOLE]; i++) *next++ = record_read(frame, i)->data;
    for (uint32_t i = 0; i < t->nplaces[SH_PLACE_WRITTEN]; i++) *next++ = record_written(frame, i)->data;
    run_code(t, at, t->numel);
}

/* ---- the unit ---- */

static void run_parts(const sh_tiles *t, const sh_unit_frame *frame) {
    const int useful = sh__threads(t->numel), threads = useful < t->threads ? useful : t->threads;
    SH_PARALLEL(threads)
    for (int i = 0; i < threads; i++)
        run_part(t, frame, frame->scratch + (size_t)i * t->part, sh__part_begin(t->numel, i, threads),
                 sh__part_begin(t->numel, i + 1, threads));
}

static sh_status run(const void *unit, const sh_unit_frame *frame) {
    const sh_tiles *t = unit;
    if (t->numel == t->tile && !t->nplaces[SH_PLACE_STREAM])
        run_once(t, frame);
    else if (t->threads == 1)
        run_part(t, frame, frame->scratch, 0, t->numel);
    else
        run_parts(t, frame);
    return SH_OK;
}

/* A tile of the load is read for the last time before, or by, the loop that writes that of the result. */
static bool takes_over(const void *unit, uint32_t load, uint32_t result) {
    const sh_tiles *t = unit;
    const uint32_t nown = t->nplaces[SH_PLACE_TEMPORARY] + t->nplaces[SH_PLACE_NUMBER], from = nown + load,
                   to = nown + t->nplaces[SH_PLACE_WHOLE] + t->nplaces[SH_PLACE_STREAM] + result;
    bool written = false;
    if (load >= t->nplaces[SH_PLACE_WHOLE]) return false;
    for (uint32_t i = 0; i < t->ncode; i++) {
        const sh_tiles_code *c = &t->code[i];
        const bool reads = c->from[0] == from || c->from[1] == from || c->from[2] == from;
        if (written && reads) return false;
        written |= c->to == to;
    }
    return true;
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

const sh_unit_type sh__tiles_unit = {.name = "tiles",
                                     .run = run,
                                     .scratch = scratch,
                                     .takes_over = takes_over,
                                     .print = print,
                                     .free = sh__tiles_free};
