/* lower_args.c - the arguments of a step: the program's template and loads, with values in the place of nodes.
 *
 * The template is copied into the plan, for the program goes with its graph. A number that stands where a tensor may is
 * made a tensor now and becomes a constant. */
#include <string.h>

#include "graph/compile/lower_impl.h"

/* ---- copies that live as long as the plan ---- */

sh_status sh__lower_place(sh_lowering *l, const sh_node *node, sh_plan_step *step) {
    step->site = node->site;
    step->name = sh__plan_text(l->plan, node->name->text);
    step->scope = sh__plan_text(l->plan, node->scope);
    return step->name && step->scope ? SH_OK : SH_ERROR_MEMORY;
}

static sh_status copy_list(sh_plan *plan, sh_value *value) {
    const size_t size = (size_t)(value->count + 1) * sizeof *value->as.ints;
    int64_t *own = sh__plan_alloc(plan, size);
    if (!own) return SH_ERROR_MEMORY;
    memcpy(own, value->as.ints, value->count * sizeof *own);
    value->as.ints = own;
    return SH_OK;
}

static sh_status copy_template(sh_plan *plan, const sh_step *from, sh_value *args) {
    memcpy(args, from->args, from->nargs * sizeof *args);
    for (uint32_t i = 0; i < from->nargs; i++) {
        if (args[i].tag == SH_TAG_INTS || args[i].tag == SH_TAG_TENSORS) SH_TRY(copy_list(plan, &args[i]));
        if (args[i].tag != SH_TAG_STRING) continue;
        args[i].as.string = sh__plan_text(plan, args[i].as.string);
        if (!args[i].as.string) return SH_ERROR_MEMORY;
    }
    return SH_OK;
}

/* ---- loads ---- */

sh_status sh__lower_inputs(sh_lowering *l, const sh_node *node, sh_plan_step *step) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < node->ninputs; i++) n += l->nodes[node->uses[i].input->id].n;
    step->loads = sh__plan_alloc(l->plan, (n + 1) * sizeof *step->loads);
    if (!step->loads) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const sh_lowered from = l->nodes[node->uses[i].input->id];
        for (uint32_t k = 0; k < from.n; k++) step->loads[step->nloads++] = (sh_load){from.first + k, i, k};
    }
    return SH_OK;
}

/* Does the value of this node go there as it is? A list goes where a list is wanted only entry by entry. */
static bool fits(const sh_lowering *l, const sh_step *from, const sh_load *load) {
    const sh_lowered value = l->nodes[load->id];
    if (value.n != 1 || l->plan->values[value.first].is_list) return false;
    if (load->argument == SH__TARGET) return true;
    const sh_type type = from->schema->params[load->argument].type;
    return load->entry < 0 ? type == SH_TYPE_TENSOR : type == SH_TYPE_TENSORS;
}

static sh_status add_number(sh_lowering *l, sh_plan_step *step, uint32_t i) {
    sh_tensor *number = sh_tensor_from_number(step->args[i]);
    const uint32_t id = number ? sh__lower_constant(l, "", number) : UINT32_MAX;
    if (id == UINT32_MAX) return sh__error_ensure(SH_ERROR_MEMORY);
    step->args[i] = (sh_value){.tag = SH_TAG_TENSOR};
    step->loads[step->nloads++] = (sh_load){id, i, -1};
    return SH_OK;
}

static sh_status add_loads(sh_lowering *l, const sh_step *from, sh_plan_step *step) {
    const uint32_t numbers = (uint32_t)__builtin_popcount(from->numbers);
    step->loads = sh__plan_alloc(l->plan, (from->nloads + numbers + 1) * sizeof *step->loads);
    if (!step->loads) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < from->nloads; i++) {
        const sh_load load = from->loads[i];
        step->loads[step->nloads++] = (sh_load){l->nodes[load.id].first, load.argument, load.entry};
        if (load.argument < step->nargs && load.entry < 0)
            step->args[load.argument] = (sh_value){.tag = SH_TAG_TENSOR};
    }
    for (uint32_t left = from->numbers; left; left &= left - 1)
        SH_TRY(add_number(l, step, (uint32_t)__builtin_ctz(left)));
    return SH_OK;
}

sh_status sh__lower_arguments(sh_lowering *l, const sh_step *from, sh_plan_step *step, bool *placed) {
    *placed = false;
    for (uint32_t i = 0; i < from->nloads; i++)
        if (!fits(l, from, &from->loads[i])) return SH_OK;
    step->op = from->op;
    step->schema = from->schema;
    step->variant = from->variant;
    step->nargs = from->nargs;
    step->args = sh__plan_alloc(l->plan, (from->nargs + 1) * sizeof *step->args);
    if (!step->args) return SH_ERROR_MEMORY;
    SH_TRY(copy_template(l->plan, from, step->args));
    SH_TRY(add_loads(l, from, step));
    *placed = true;
    return sh__lower_place(l, from->node, step);
}

/* ---- models ---- */

bool sh__lower_model_args(const sh_lowering *l, const sh_plan_step *step, sh_value *args) {
    memcpy(args, step->args, step->nargs * sizeof *args);
    for (uint32_t i = 0; i < step->nargs; i++) {
        if (args[i].tag != SH_TAG_TENSORS) continue;
        const size_t size = args[i].count * sizeof(sh_tensor *);
        sh_tensor **entries = sh__plan_alloc(l->plan, size + sizeof *entries);
        if (!entries) return false;
        memset(entries, 0, size);
        args[i].as.tensors = entries;
    }
    for (uint32_t i = 0; i < step->nloads; i++) {
        const sh_load *load = &step->loads[i];
        sh_tensor *model = sh__model(&l->models, load->id);
        if (!model || load->argument >= step->nargs) return false;
        if (load->entry < 0)
            args[load->argument] = sh_value_tensor(model);
        else
            ((sh_tensor **)(uintptr_t)args[load->argument].as.tensors)[load->entry] = model;
    }
    return true;
}
