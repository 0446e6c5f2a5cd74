/* tiles_describe.c - what an elementwise step does, or a copy, as a map: its kernel is asked (sh__map_note).
 *
 * The kernel is called with records of its arguments that have no data, but for constants. None of those asked looks at
 * data of other arguments, and the result's record does not count as contiguous, so that none takes a short way for few
 * elements. What maps twice looks for errors first (integers divided by 0), and is left as it is. */
#include "graph/compile/tiles_impl.h"

#include <string.h>

#include "dispatch/table.h"
#include "dispatch/tensor_impl.h"
#include "graph/compile/copy_unit.h"
#include "ops/kernels.h"
#include "ops/ops.h"

static bool is_plain(const sh_plan_value *v) {
    return v->known && v->buffer != SH_NO_BUFFER && !v->opaque && !v->is_list;
}

static bool is_fitting(const sh_plan *plan, const sh_plan_step *step) {
    if (step->nresults != 1) return false;
    const sh_plan_value *result = &plan->values[step->results[0]];
    if (!is_plain(result) || !sh__value_is_contiguous(result)) return false;
    for (uint32_t i = 0; i < step->nloads; i++)
        if (step->loads[i].entry >= 0 || !is_plain(&plan->values[step->loads[i].id])) return false;
    return true;
}

static bool is_copy(const sh_plan_step *step) {
    return step->kind == SH_STEP_UNIT && step->type == &sh__copy_unit;
}

/* masked_fill reads its value first, and refuses what the dtype can't hold. */
static bool is_asked(const sh_plan_step *step) {
    const sh_slot *slot = step->slot;
    if (is_copy(step)) return true;
    return step->kind == SH_STEP_KERNEL && (step->op->tags & SH_OP_POINTWISE) && slot->form == SH_FORM_OUT &&
           !slot->hooked && strcmp(slot->backend, "cpu") == 0 && step->op->id != SH_OP_masked_fill;
}

static void lay(sh_tensor *t, const sh_plan_value *v) {
    *t = (sh_tensor){.dtype = (uint8_t)v->spec.dtype, .element = (uint32_t)sh_dtype_size(v->spec.dtype)};
    sh__tensor_set_layout(t, v->spec.ndim, v->spec.sizes, v->strides, 0);
}

/* The step's arguments: a constant as it is, else the record of the same number as the load. */
static void lay_arguments(const sh_plan *plan, const sh_plan_step *step, sh_tensor *records, sh_value *args) {
    if (step->nargs) memcpy(args, step->args, step->nargs * sizeof *args);
    for (uint32_t i = 0; i < step->nloads; i++) {
        const sh_load *load = &step->loads[i];
        const sh_tensor *constant = sh__value_constant(plan, load->id);
        lay(&records[i], &plan->values[load->id]);
        args[load->argument] = sh_value_tensor(constant ? (sh_tensor *)(uintptr_t)constant : &records[i]);
    }
}

static sh_status ask(const sh_plan_step *step, sh_value *results, const sh_value *args) {
    sh_tensor *result = results[0].as.tensor;
    return is_copy(step) ? sh_cpu_copy(result, result, args[0].as.tensor, false)
                         : step->op->thunk_out(step->slot->typed, results, args);
}

/* The value that an operand of the map is. */
static bool find_value(const sh_plan_step *step, const sh_value *args, const sh_tensor *t, uint32_t *value) {
    for (uint32_t i = 0; i < step->nloads; i++)
        if (args[step->loads[i].argument].as.tensor == t) {
            *value = step->loads[i].id;
            return true;
        }
    return false;
}

bool sh__tiles_describe(const sh_plan *plan, const sh_plan_step *step, sh_tiles_op *op) {
    sh_tensor records[SH_MAX_ARGS], result;
    sh_value args[SH_MAX_ARGS], results[1] = {sh_value_tensor(&result)};
    if (!is_asked(step) || step->nloads > SH_MAX_ARGS || !is_fitting(plan, step)) return false;
    lay_arguments(plan, step, records, args);
    lay(&result, &plan->values[step->results[0]]);
    if (result.numel == 0) return false;
    result.flags = 0;
    op->note.maps = 0;
    sh__map_note(&op->note);
    const sh_status status = ask(step, results, args);
    sh__map_note(NULL);
    if (status != SH_OK || op->note.maps != 1 || op->note.map.to != &result) return false;
    for (int i = 0; i < op->note.map.n; i++)
        if (!find_value(step, args, op->note.map.from[i].t, &op->values[i])) return false;
    return true;
}
