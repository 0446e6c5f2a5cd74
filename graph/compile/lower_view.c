/* lower_view.c - views are made when the plan is, not when it runs.
 *
 * The view's own kernel runs on models: what shares its base's storage is a value on the base's buffer. What does not, a
 * reshape of what lies otherwise, a change of dtype, is a copy element by element in order, and a view of that. */
#include <string.h>

#include "graph/compile/copy_unit.h"
#include "graph/compile/lower_impl.h"

/* The value among those that the step reads whose model has this storage; UINT32_MAX: none. */
static uint32_t base_of(const sh_lowering *l, const sh_plan_step *step, const sh_tensor *view) {
    for (uint32_t i = 0; i < step->nloads; i++) {
        const uint32_t id = step->loads[i].id;
        const sh_tensor *model = sh__model(&l->models, id);
        if (model && model->storage == view->storage && l->plan->values[id].buffer != SH_NO_BUFFER) return id;
    }
    return UINT32_MAX;
}

static sh_status add_views(sh_lowering *l, const sh_node *node, const sh_plan_step *step, sh_tensors views,
                           bool *done) {
    uint32_t first = 0;
    for (size_t i = 0; i < views.n; i++)
        if (base_of(l, step, views.at[i]) == UINT32_MAX) return SH_OK;
    for (size_t i = 0; i < views.n; i++) {
        const uint32_t id = sh__lower_view(l, node, base_of(l, step, views.at[i]), views.at[i]);
        if (id == UINT32_MAX) return sh__error_ensure(SH_ERROR_MEMORY);
        if (!i) first = id;
    }
    *done = true;
    return sh__lowered_as(l, node, first, (uint32_t)views.n);
}

/* ---- copies ---- */

static sh_status add_copy(sh_lowering *l, const sh_node *node, uint32_t from, const sh_spec *shape,
                          const sh_tensor *result) {
    sh_spec spec = *shape;
    spec.dtype = (sh_dtype)result->dtype;
    const uint32_t copy = sh__lower_arena_value(l, node, &spec);
    if (copy == UINT32_MAX) return sh__error_ensure(SH_ERROR_MEMORY);
    if (!sh__plan_add_unit(l->plan, &l->plan->steps, node->name->text, &sh__copy_unit, NULL, &from, 1, &copy,
                           1))
        return SH_ERROR_MEMORY;
    const sh_ints sizes = {result->sizes, result->ndim};
    if (result->ndim == spec.ndim && memcmp(result->sizes, spec.sizes, sizes.n * sizeof *sizes.at) == 0)
        return sh__lowered_as(l, node, copy, 1);
    sh_tensor *model =
        sh_tensor_as_strided(sh__model(&l->models, copy), sizes, (sh_ints){result->strides, result->ndim}, 0);
    const uint32_t id = model ? sh__lower_view(l, node, copy, model) : UINT32_MAX;
    return id == UINT32_MAX ? sh__error_ensure(SH_ERROR_MEMORY) : sh__lowered_as(l, node, id, 1);
}

/* A copy of the only tensor it reads. `result` was made by running the view, or says dtype and shape. */
static sh_status add_copy_of_only(sh_lowering *l, const sh_node *node, const sh_plan_step *step,
                                  const sh_tensor *result, bool *done) {
    const uint32_t from = step->nloads == 1 ? step->loads[0].id : UINT32_MAX;
    const sh_tensor *model = from == UINT32_MAX ? NULL : sh__model(&l->models, from);
    if (!model || l->plan->values[from].buffer == SH_NO_BUFFER || model->numel != result->numel ||
        !(result->flags & SH_TENSOR_CONTIGUOUS))
        return SH_OK;
    const sh_spec shape = l->plan->values[from].spec;
    *done = true;
    return add_copy(l, node, from, &shape, result);
}

/* `to` is the only composite among views: itself, or a copy. */
static sh_status lower_to(sh_lowering *l, const sh_node *node, const sh_plan_step *step, bool *done) {
    const sh_tensor *model = step->nloads == 1 ? sh__model(&l->models, step->loads[0].id) : NULL;
    if (strcmp(step->op->name, "to") != 0 || !model || step->args[1].tag != SH_TAG_DTYPE) return SH_OK;
    const sh_dtype dtype = (sh_dtype)step->args[1].as.i;
    if (dtype == (sh_dtype)model->dtype) {
        *done = true;
        return sh__lowered_as(l, node, step->loads[0].id, 1);
    }
    sh_spec spec = l->plan->values[step->loads[0].id].spec;
    spec.dtype = dtype;
    sh_tensor *result = sh_dtype_size(dtype) ? sh__model_new(&l->models, &spec, NULL) : NULL;
    return result ? add_copy_of_only(l, node, step, result, done) : SH_OK;
}

sh_status sh__lower_as_view(sh_lowering *l, const sh_node *node, const sh_plan_step *step, bool *done) {
    sh_value args[SH_MAX_ARGS], results[SH_MAX_RESULTS] = {{0}};
    const sh_slot *slot = step->slot;
    if (step->op->tags & SH_OP_COMPOSITE) return lower_to(l, node, step, done);
    if (!slot || slot->form != SH_FORM_RETURNS) return SH_OK;
    if (!sh__lower_model_args(l, step, args)) return sh__error_pending() ? sh_error()->code : SH_OK;
    SH_TRY(step->op->thunk_returns(slot->typed, results, args));
    if (results[0].tag == SH_TAG_TENSORS)
        return add_views(l, node, step, sh_value_as_tensors(results[0]), done);
    sh_tensor *result = sh_value_as_tensor(results[0]);
    if (!result) return SH_OK;
    SH_TRY(add_views(l, node, step, (sh_tensors){&result, 1}, done));
    return *done ? SH_OK : add_copy_of_only(l, node, step, result, done);
}
