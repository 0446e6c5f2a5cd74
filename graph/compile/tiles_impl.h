/* tiles_impl.h - the code that a unit of tiles runs, and how it is written.
 *
 * Code is a list of loops (iter.h) over places: a place is where a tile of elements of one dtype lies while the code runs.
 * They are numbered kind after kind. */
#ifndef SH_GRAPH_COMPILE_TILES_IMPL_H
#define SH_GRAPH_COMPILE_TILES_IMPL_H

#include "graph/compile/tiles.h"
#include "ops/stream.h"

typedef enum sh_place_kind {
    SH_PLACE_TEMPORARY, /* of the unit's scratch */
    SH_PLACE_NUMBER,    /* a constant over and over, laid out once for all runs */
    SH_PLACE_WHOLE,     /* in a tensor that is read as it lies */
    SH_PLACE_STREAM,    /* what a stream gives of a tensor that broadcasts, or is not contiguous */
    SH_PLACE_WRITTEN,   /* in a tensor that is written */
    SH_PLACE_KINDS
} sh_place_kind;

typedef struct sh_tiles_code {
    sh_loop *loop;
    uint16_t to, from[SH_MAP_OPERANDS]; /* places; 0 for an operand that the loop doesn't have */
    const void *parameters;             /* NULL or `own` */
    _Alignas(8) char own[SH_MAP_PARAMETERS];
} sh_tiles_code;

/* The unit. What it reads are its step's loads, whole ones first; what it writes are the step's results. */
typedef struct sh_tiles {
    int64_t numel, tile; /* elements in all and at a time */
    int64_t slice;       /* elements of the next tile that one loop fetches */
    int threads;         /* the most that its scratch is for */
    uint32_t nops, ncode, nplaces[SH_PLACE_KINDS];
    size_t row;  /* bytes from one temporary, or number, to the next */
    size_t part; /* bytes of scratch for one thread: see tiles_run.c */
    sh_tiles_code *code;
    char *numbers;
    size_t numbers_capacity;
} sh_tiles;

extern const sh_unit_type sh__tiles_unit;
void sh__tiles_free(void *unit);
/* Fills in `part` and `slice`, once code, places and tile are known. */
void sh__tiles_measure(sh_tiles *unit);

/* ---- tiles_describe.c ---- */

/* What one step maps, and of which values. */
typedef struct sh_tiles_op {
    sh_map_note note;
    uint32_t values[SH_MAP_OPERANDS];
} sh_tiles_op;

/* Can the step be part of a unit? Not where it may fail, nor where its kernel is not the library's own. */
bool sh__tiles_describe(const sh_plan *plan, const sh_plan_step *step, sh_tiles_op *op);

/* ---- tiles_write.c ---- */

typedef struct sh_tiles_operand sh_tiles_operand;

/* What writing units needs to remember, from one to the next too. */
typedef struct sh_tiles_writer {
    const sh_plan *plan;
    const bool *inner; /* by value: only the unit's own steps want it */
    sh_tiles *unit;
    sh_tiles_operand *operands;
    uint32_t noperands, operands_room, code_room;
    uint32_t *of_value; /* by value: its operand plus one, 0 for none yet; all 0 between units */
} sh_tiles_writer;

/* The values that a unit reads and writes, for sh__plan_add_unit. */
typedef struct sh_tiles_edges {
    uint32_t *reads, nreads; /* the caller gives room for as many as its steps load */
    uint32_t writes[SH_MAX_RESULTS], nwrites;
} sh_tiles_edges;

/* A unit for n steps, each of which can be described. NULL and an error: memory is out. */
sh_tiles *sh__tiles_write(sh_tiles_writer *w, const sh_plan_step *steps, uint32_t n, sh_tiles_edges *edges);
void sh__tiles_writer_end(sh_tiles_writer *w);

#endif
