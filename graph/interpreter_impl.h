/* interpreter_impl.h - an interpreter in memory, and the run of one step. */
#ifndef SH_GRAPH_INTERPRETER_IMPL_H
#define SH_GRAPH_INTERPRETER_IMPL_H

#include "graph/held.h"
#include "graph/interpreter.h"
#include "graph/invoke.h"
#include "graph/program.h"

struct sh_interpreter {
    sh_graph *graph;
    sh_interpreter_options options;
    sh_run_opcode hooks[SH_OUTPUT + 1]; /* those of the options, by opcode */
    sh_program *program;                /* of the run at hand; NULL between runs */
    const sh_step *step;                /* at hand */
    sh_value *values;                   /* by the nodes' ids; held, or absent */
    uint32_t nvalues;
    uint32_t ngiven; /* set before the run */
    uint64_t *words; /* for the lists of a step's arguments */
    uint32_t nwords;
    sh_scratch scratch; /* the same for steps that are not prepared */
    sh_arguments inputs;
    size_t npositional;
    sh_value output; /* held */
};

/* A run by hand: begin, each step of in->program once, in order, and end, on failure too. `result` is as sh_interpreter_run
 * gives it. */
sh_status sh__run_begin(sh_interpreter *in, sh_arguments inputs);
sh_status sh__run_step(sh_interpreter *in, const sh_step *step);
sh_status sh__run_end(sh_interpreter *in, sh_status status, sh_value *result);

/* The step at hand in the interpreter's own way. */
sh_status sh__step_run(sh_interpreter *in, sh_value *result);
/* Which nodes (by id, room for next_id) a run can leave out, since `given` (by id) have their value. */
sh_status sh__needless_nodes(const sh_graph *graph, const bool *given, bool *needless);

#endif
