/* report.h - a plan in words. */
#ifndef SH_GRAPH_COMPILE_REPORT_H
#define SH_GRAPH_COMPILE_REPORT_H

#include "graph/compile/plan.h"

/* Steps, layouts, buffers. */
void sh__plan_print(const sh_plan *plan, FILE *out);
/* What its constants take that steps read as they are; units know what they packed. */
size_t sh__plan_constant_bytes(const sh_plan *plan);

#endif
