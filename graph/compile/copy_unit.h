/* copy_unit.h - a unit that copies one value to another of the same shape, whatever their layouts and dtypes. */
#ifndef SH_GRAPH_COMPILE_COPY_UNIT_H
#define SH_GRAPH_COMPILE_COPY_UNIT_H

#include "graph/compile/plan.h"

extern const sh_unit_type sh__copy_unit;

#endif
