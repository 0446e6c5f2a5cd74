/* compile.h - functions and modules that run as plans, with the modes that are pushed baked in.
 *
 *     sh_compiled *fast = sh_compile(net, NULL);
 *     SH_WITH_MODE(add_to_mul) y = sh_compiled_run(fast, x);    // traced once under the mode, then a plan
 *     puts(text = sh_compiled_report(fast));
 *     sh_compiled_free(fast);
 *
 * At the first call under each guard (shapes, dtypes and layouts of the inputs, which of them share memory, modes in their
 * order with their configuration, switches, backends, the dispatch table, the module with the versions of its tensors) it
 * is traced without data, and a plan is made: no interception, no lookup, memory laid out beforehand. Later calls under
 * the same guard run that plan. What a forward does in C is run once and baked in, as with sh_symbolic_trace. While it is traced,
 * neither it nor the callback of a mode that is baked in may be left by longjmp.
 *
 * Modes: one that is declared `rewriting` is baked in and its callback never runs again. A `watching` or `stateful` one
 * keeps intercepting exactly the calls that it wants, from its place on the stack down; under `strict` that is an error.
 *
 * Results are those of the eager call bit for bit with `exact`; without it convolutions and products may run in oneDNN's
 * own layouts with what follows them fused, which rounds otherwise: see the options. Outputs are fresh tensors, inputs
 * and constants themselves where the function returns such.
 *
 * Threads may call one compiled object at once; each run has a workspace of its own. Inputs or
 * weights that carry an override, and calls from inside a trace, go the eager way. */
#ifndef SH_GRAPH_COMPILE_COMPILE_H
#define SH_GRAPH_COMPILE_COMPILE_H

#include "graph/trace.h"

SH_BEGIN_DECLS

typedef struct sh_compiled sh_compiled;

typedef enum sh_winograd {
    SH_WINOGRAD_MEASURE, /* where it is faster for this shape on this machine: measured while compiling */
    SH_WINOGRAD_OFF
} sh_winograd;

typedef struct sh_compile_options {
    size_t size;      /* of this struct: SH_COMPILE_OPTIONS_INIT */
    const char *name; /* in reports; NULL: the module's type */
    bool strict;      /* a mode that can't be baked in is an error that names it */
    bool
        exact; /* the eager kernels on the eager layouts, bit for bit: nothing of oneDNN's own, no batch norm folded */
    bool unfused; /* exact, and one kernel a node */
    bool
        frozen; /* the first call lets the module go as soon as it is traced, and while the plan is made each weight once it
                         is folded or packed: a call under another guard is an error, and so is any after one that made no plan */
    bool
        any_batch; /* one trace for all sizes of dimension 0, from 2 on: made at three of them, of which integers may differ
                         as a*N + b; else an error that names the call. A branch that C takes at other sizes alone is not
                         seen: it is baked in. Each size gets a plan of its own from it. Nothing if frozen */
    sh_winograd winograd;
    size_t most_plans; /* that are kept; the one used least recently goes. 0: SH_COMPILE_PLANS */
} sh_compile_options;
#define SH_COMPILE_OPTIONS_INIT \
    { .size = sizeof(sh_compile_options) }
enum { SH_COMPILE_PLANS = 64 };

/* The module is kept. Nothing is traced yet. The caller's; options may be NULL. */
SH_API sh_compiled *sh_compile(sh_module *module, const sh_compile_options *options);
SH_API sh_compiled *sh_compile_function(sh_traceable function, void *user, const sh_compile_options *options);
/* When no call of it is running. NULL is fine. */
SH_API void sh_compiled_free(sh_compiled *compiled);

/* What the module or function would return; the scope's. NONE and an error. */
SH_API sh_value sh_compiled_call(sh_compiled *compiled, sh_values inputs);
/* The same of one tensor to one. */
SH_API sh_tensor *sh_compiled_run(sh_compiled *compiled, sh_tensor *x);

typedef struct sh_compile_stats {
    uint64_t compilations, hits, eager; /* calls that traced, that found a plan, that went the eager way */
    uint64_t resized;                   /* calls that made a plan for another batch size without a trace */
    size_t plans;                       /* kept now */
    /* Of the plan used last: */
    size_t steps, arena_bytes,
        constant_bytes;            /* its memory beside inputs and outputs, in one workspace; its constants */
    uint64_t trace_ns, compile_ns; /* how long it took to trace, and to make in all */
} sh_compile_stats;
SH_API sh_compile_stats sh_compiled_stats(sh_compiled *compiled);

/* For people: the plans, why each was made, which modes were baked in and which kept. free() it. */
SH_API char *sh_compiled_report(sh_compiled *compiled);
/* The steps of the plan used last, with layouts and buffers. free() it. NULL and an error if there is none. */
SH_API char *sh_compiled_plan_text(sh_compiled *compiled);

/* From now on the module's forward runs its graph as a plan, one kernel a node, under the same guards; bit for bit what an
 * interpreter gives. An edit of the graph counts from the next call on, and makes one plan however many edits there were. */
SH_API sh_status sh_graph_module_recompile(sh_module *module);
/* What its forward runs, for stats and report; borrowed. NULL without an error if it was never asked to. */
SH_API sh_compiled *sh_graph_module_compiled(const sh_module *module);

SH_END_DECLS

#endif
