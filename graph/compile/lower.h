/* lower.h - from a graph to the draft of a plan. */
#ifndef SH_GRAPH_COMPILE_LOWER_H
#define SH_GRAPH_COMPILE_LOWER_H

#include "graph/compile/plan.h"

/* The graph, whose placeholders get `inputs` in order (tensors of the shapes and layouts that the plan is for; their data
 * is not read), as a draft. Takes the graph over, on failure too. NULL and an error. */
sh_plan *sh__plan_lower(sh_graph *graph, sh_tensors inputs);

#endif
