/* copy_unit.c - what a reshape or a change of dtype costs where it is no view. */
#include "graph/compile/copy_unit.h"

#include "dispatch/device_impl.h"

/* All that a copier needs is in the records. */
static sh_status run(const void *unit, const sh_unit_frame *frame) {
    (void)unit;
    const sh_plan_step *step = frame->step;
    return sh__host_copy(&frame->records[step->results[0]], &frame->records[step->loads[0].id]);
}

static void no_free(void *unit) { (void)unit; }

const sh_unit_type sh__copy_unit = {.name = "copy", .run = run, .free = no_free};
