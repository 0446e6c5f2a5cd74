/* plan.h - a compiled graph: a flat list of steps over values that lie in buffers laid out beforehand.
 *
 * A plan is made as a draft that passes edit (lower.c makes it from a graph; blocked.c and tiles.c put units in the place
 * of steps) and then sealed: buffers get their place in the arena, constants that no step reads are dropped. A sealed plan
 * never changes and is shared by threads; what one run writes is in a workspace (workspace.h), one per thread at a time.
 *
 * value    a tensor with dtype, sizes and strides, at an offset of a buffer. A view is a value on its base's buffer, made
 *          once, without a step.
 * buffer   memory with a home: an input's, a constant's, the arena's, or fresh for each run.
 * step     a kernel on values; or a unit, a step with code of its own; or what keeps going through the dispatcher. */
#ifndef SH_GRAPH_COMPILE_PLAN_H
#define SH_GRAPH_COMPILE_PLAN_H

#include <stdio.h>

#include "dispatch/chain.h"
#include "dispatch/pool.h"
#include "graph/graph_impl.h"
#include "graph/program.h"

#define SH_NO_BUFFER UINT32_MAX

typedef enum sh_home {
    SH_HOME_INPUT,    /* an argument of the call; `input` is which */
    SH_HOME_CONSTANT, /* of `tensor`, which the plan keeps */
    SH_HOME_ARENA,    /* in the workspace, at `at`; other buffers have the same place at other times */
    SH_HOME_FRESH, /* a tensor of its own for each run: what the caller gets, or what others may hold on to */
} sh_home;

typedef struct sh_plan_buffer {
    sh_home home;
    size_t size; /* bytes */
    uint32_t input;
    sh_tensor *tensor;    /* CONSTANT: one reference; NULL once no step reads it */
    bool written;         /* CONSTANT: a step writes to it in each run, so that its numbers aren't known */
    uint32_t first, last; /* the steps between which it is in use; set by sealing */
    size_t at;            /* ARENA: bytes from its start, a multiple of 64; set by sealing */
    uint32_t own;         /* the value that is its tensor itself, no view; UINT32_MAX: none; set by sealing */
    sh_spec spec;         /* FRESH: of the tensor that each run makes; set by sealing */
} sh_plan_buffer;

typedef struct sh_plan_value {
    const char *name; /* the node's, "" for what has none; the plan's string */
    uint32_t
        buffer; /* SH_NO_BUFFER: made by its step as the run goes (a list, a shape that depends on data) */
    size_t at;  /* bytes into the buffer */
    bool is_list;
    bool
        opaque; /* numbers lie as only the units that write and read it know; the buffer's size says how many bytes */
    bool output;  /* the caller gets it: it must stay plain, and is not to be left out */
    sh_spec spec; /* dtype and sizes; of a value without a buffer only if `known` */
    bool known;
    uint32_t
        last; /* the last step that reads or writes it; that of an output is behind all; set by sealing */
    int64_t strides[SH_MAX_DIMS]; /* in elements */
} sh_plan_value;

typedef enum sh_step_kind {
    SH_STEP_KERNEL, /* a typed kernel in out form on values with buffers, by the op's thunk */
    SH_STEP_MAKER, /* a typed kernel that makes its results: views of what is only known when it runs, lists */
    SH_STEP_CALL, /* through the dispatcher with interception off: boxed or ruled kernels, in-place forms, functions */
    SH_STEP_KEPT, /* through the modes that could not be baked in, from one of them on */
    SH_STEP_ITEM, /* entry `item` of a list */
    SH_STEP_UNIT  /* code of its own */
} sh_step_kind;

typedef struct sh_unit_type sh_unit_type;

/* `args` is a template in schema order, in which the loads put values: a load's `id` is a value's, not a node's. A unit's
 * loads say what it reads, in an order of its own (`argument` and `entry` are its). */
typedef struct sh_plan_step {
    sh_step_kind kind;
    const char *name;  /* the node's */
    const char *scope; /* the scopes it was recorded in, "" for none */
    const void *site;
    const sh_op *op; /* NULL for items, functions and units */
    const sh_schema *schema;
    const sh_slot *slot; /* KERNEL, MAKER */
    const sh_node *
        node; /* CALL by name, with arguments that only the dispatcher places: functions too; of plan->graph */
    sh_variant variant;
    uint32_t nargs, nloads, nresults;
    sh_value *args;
    sh_load *loads;
    uint32_t results[SH_MAX_RESULTS]; /* values */
    int64_t item;
    uint64_t kept;            /* KEPT: position << 32 | index from the bottom of that position's entries */
    const sh_unit_type *type; /* UNIT */
    void *unit;
} sh_plan_step;

typedef struct sh_plan_steps {
    sh_plan_step *at;
    uint32_t n, capacity;
} sh_plan_steps;

typedef struct sh_plan {
    sh_plan_steps steps;
    sh_plan_buffer *buffers;
    sh_plan_value *values;
    uint32_t nbuffers, nvalues, buffers_room, values_room;
    uint32_t *inputs; /* the value of each placeholder, in order */
    uint32_t ninputs;
    uint32_t *outputs; /* values that the caller gets */
    uint32_t noutputs;
    uint32_t *fresh; /* buffers of that home; set by sealing */
    uint32_t nfresh;
    bool output_is_list;         /* a tuple, of one too */
    bool plain;                  /* kernels and units are all its steps; set by sealing */
    size_t arena;                /* bytes, the units' scratch at its end included */
    size_t scratch_at;           /* where that begins */
    sh_graph *graph;             /* where a step needs its node; else NULL */
    sh_pool pool;                /* of all that steps and values point to but units */
    struct sh_plan_large *large; /* what is too large for it */
} sh_plan;

/* ---- units ---- */

/* What a unit finds when it runs. The address of a value is records[id].data: its first element. */
typedef struct sh_unit_frame {
    sh_tensor *records;       /* one a value, by id; those without a buffer are not to be looked at */
    const sh_plan_step *step; /* its reads are its loads' ids, its writes its results */
    char *scratch;            /* 64-byte aligned, as many bytes as the type says; nothing stays in it */
    void *own;                /* what `open` made for this workspace, or NULL */
} sh_unit_frame;

struct sh_unit_type {
    const char *name; /* "conv", "tiles", "reorder": in reports */
    sh_status (*run)(const void *unit, const sh_unit_frame *frame);
    size_t (*scratch)(const void *unit); /* optional: none */
    /* May a result lie where that load lies, element on element, if nobody reads that afterwards? Optional: no. */
    bool (*takes_over)(const void *unit, uint32_t load, uint32_t result);
    /* State that one run at a time may use, for one workspace; NULL and an error. Optional, both or neither. */
    void *(*open)(const void *unit);
    void (*close)(void *own);
    /* One line's rest for `shunt graph --plan`: algorithm, layouts, what is fused. Optional. */
    void (*print)(const void *unit, FILE *out);
    void (*free)(void *unit);
};

/* ---- drafting ---- all give NULL, or a negative status, and an error when memory is out */

sh_plan *sh__plan_new(void);
void sh__plan_free(sh_plan *plan);
/* Memory that ends with the plan, for what steps point to; 16-byte aligned, not cleared. */
void *sh__plan_alloc(sh_plan *plan, size_t size);
/* A copy of the text in such memory; "" for none. */
const char *sh__plan_text(sh_plan *plan, const char *text);
/* A new entry, all zero but what is said; its index, or UINT32_MAX. Pointers to entries are good until the next. */
uint32_t sh__plan_add_buffer(sh_plan *plan, sh_home home, size_t size);
uint32_t sh__plan_add_value(sh_plan *plan, const char *name, const sh_spec *spec, uint32_t buffer);
/* Appends a copy of the step to a list, which may be another than the plan's own; where it then stands, or NULL. */
sh_plan_step *sh__plan_add_step(sh_plan_steps *steps, const sh_plan_step *step);
/* A plan's constant tensor as a value; the tensor is kept. */
uint32_t sh__plan_add_constant(sh_plan *plan, const char *name, sh_tensor *tensor);
/* A unit in the place of steps: reads and writes are values. `unit` is the plan's from here on, on failure too. */
sh_plan_step *sh__plan_add_unit(sh_plan *plan, sh_plan_steps *steps, const char *name,
                                const sh_unit_type *type, void *unit, const uint32_t *reads, uint32_t nreads,
                                const uint32_t *writes, uint32_t nwrites);
/* The list takes the place of the plan's steps, whose array is freed. */
void sh__plan_set_steps(sh_plan *plan, sh_plan_steps *steps);

/* How often steps read a value, being an output counted once: 1 means that its reader may take it over. A value on a buffer
 * that other values are on too (views) is counted as read twice, so that nobody does. `counts` has room for nvalues. */
sh_status sh__plan_count_reads(const sh_plan *plan, uint32_t *counts);
/* The value that argument `i` of a step is: by its schema name, UINT32_MAX if it is none or was left out. */
uint32_t sh__step_value(const sh_plan_step *step, const char *param);
/* What its elements take. */
size_t sh__spec_bytes(const sh_spec *spec);
bool sh__same_sizes(const sh_spec *a, const sh_spec *b);
/* Contiguous by its strides. */
bool sh__value_is_contiguous(const sh_plan_value *value);
/* Notes which constants are written to, through whatever tensor of their memory; when all steps are there. */
void sh__plan_note_written(sh_plan *plan);
/* The tensor of which this value is the whole, as it lies; NULL: it is no constant, a view of one, or written to. */
const sh_tensor *sh__value_constant(const sh_plan *plan, uint32_t value);

#endif
