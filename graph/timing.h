/* timing.h - how long the nodes of a graph take, over whole runs.
 *
 *     sh_timing *t = sh_timing_new(graph);
 *     for (int i = 0; i < 10; i++) SH_SCOPE sh_timing_run(t, SH_ARGUMENTS(x), &y);
 *     fputs(table = sh_timing_table(t), stderr);
 *
 * The first run warms up and counts floating-point operations; its times count only as long as it is the only one.
 * Numbers are of the nodes as they are called: what modes take is in them. */
#ifndef SH_GRAPH_TIMING_H
#define SH_GRAPH_TIMING_H

#include "graph/interpreter.h"

SH_BEGIN_DECLS

typedef struct sh_timing sh_timing;

/* The caller ends it by sh_timing_free. The graph must outlive it. */
SH_API sh_timing *sh_timing_new(sh_graph *graph);
SH_API void sh_timing_free(sh_timing *timing);
/* As sh_interpreter_run. Nodes added since are timed from now on. */
SH_API sh_status sh_timing_run(sh_timing *timing, sh_arguments inputs, sh_value *result);

SH_API size_t sh_timing_runs(const sh_timing *timing); /* those whose times count */
/* Mean time of a whole run, and of the node in it, in ns; 0 before a run. */
SH_API double sh_timing_run_ns(const sh_timing *timing);
SH_API double sh_timing_node_ns(const sh_timing *timing, const sh_node *node);
/* Floating-point operations of the node in one run: two for each multiply-add of a product or convolution. */
SH_API double sh_timing_node_flops(const sh_timing *timing, const sh_node *node);
/* Nodes by the time they take, the longest first: opcode, target, name, mean time, share, FLOPs, FLOP/s; then the sum of what
 * calls of each target take. The caller's to free(); NULL and an error when memory is out. */
SH_API char *sh_timing_table(const sh_timing *timing);

SH_END_DECLS

#endif
