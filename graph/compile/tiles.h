/* tiles.h - runs of elementwise steps as one unit, which passes memory once: tile after tile of the elements goes
 * through all the loops while it lies in the first cache. */
#ifndef SH_GRAPH_COMPILE_TILES_H
#define SH_GRAPH_COMPILE_TILES_H

#include "graph/compile/plan.h"

/* Puts a unit in the place of each run of two and more elementwise steps over one shape. Results are those of the steps,
 * bit for bit. To be called on a draft after everything that looks for ops in it. */
sh_status sh__plan_tile(sh_plan *plan);

#endif
