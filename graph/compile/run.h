/* run.h - one run of a sealed plan. */
#ifndef SH_GRAPH_COMPILE_RUN_H
#define SH_GRAPH_COMPILE_RUN_H

#include "graph/compile/workspace.h"

/* `inputs` are as the plan was made for, one a placeholder. The result, a tensor or a list, is the scope's. On an error
 * nothing is left behind, and the plan can run again. */
sh_status sh__plan_run(const sh_plan *plan, sh_workspace *workspace, sh_tensor *const *inputs,
                       sh_value *result);

/* ---- run_step.c ---- */
/* A step of another kind than kernels and units. */
sh_status sh__run_other_step(const sh_plan *plan, sh_workspace *w, uint32_t step);
/* The tensor that stands for a value outside the plan; held by the workspace till the value's last step. NULL and an error. */
sh_tensor *sh__real_tensor(const sh_plan *plan, sh_workspace *w, uint32_t value);

#endif
