/* seal.h - the last turn of a draft: every buffer gets its place. */
#ifndef SH_GRAPH_COMPILE_SEAL_H
#define SH_GRAPH_COMPILE_SEAL_H

#include "graph/compile/plan.h"

/* Lifetimes, what is done in place, homes, places in the arena; constants that no step reads are let go. Once. */
sh_status sh__plan_seal(sh_plan *plan);

/* ---- arena.c ---- */
/* Places the buffers of the arena, so that no two that are in use at the same step overlap; sets plan->scratch_at to
 * where they end. */
sh_status sh__arena_place(sh_plan *plan);

#endif
