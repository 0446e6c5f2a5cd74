/* postop.c - see postop.h. */
#include "graph/compile/postop.h"

#include <math.h>
#include <string.h>

#include "ops/ops.h"

/* ---- steps ---- */

bool sh__step_is_own(const sh_plan *plan, const sh_plan_step *step) {
    if (step->kind != SH_STEP_KERNEL || step->variant != SH_FUNCTIONAL || step->nresults != 1) return false;
    if (!step->slot || step->slot->hooked || strcmp(step->slot->backend, "cpu") != 0) return false;
    if (plan->values[step->results[0]].spec.dtype != SH_F32) return false;
    for (uint32_t i = 0; i < step->nloads; i++) {
        const sh_plan_value *v = &plan->values[step->loads[i].id];
        if (!v->known || v->buffer == SH_NO_BUFFER || v->opaque || v->spec.dtype != SH_F32) return false;
    }
    return true;
}

sh_value sh__step_argument(const sh_plan_step *step, const char *param) {
    const int i = sh_schema_find(step->schema, param);
    if (i < 0) return sh_none();
    return (uint32_t)i < step->nargs ? step->args[i] : step->schema->params[i].value;
}

static double number(const sh_plan_step *step, const char *param, double missing) {
    const sh_value v = sh__step_argument(step, param);
    return sh_value_is_number(v) ? sh_value_as_double(v) : missing;
}

/* ---- functions ---- */

bool sh__postop_append(sh_postops *to, sh_postop op) {
    if (to->n == SH_POSTOPS) return false;
    to->at[to->n++] = op;
    return true;
}

static bool append(sh_postops *to, dnnl_alg_kind_t function, double alpha, double beta) {
    return sh__postop_append(to, (sh_postop){.kind = SH_POSTOP_FUNCTION,
                                             .function = function,
                                             .alpha = (float)alpha,
                                             .beta = (float)beta,
                                             .value = SH_NO_VALUE});
}

/* Between numbers; a bound may be absent. relu is a clamp too. */
static bool append_clamp(sh_postops *to, const sh_plan_step *step, const char *least, const char *most) {
    const double low = number(step, least, -INFINITY), high = number(step, most, INFINITY);
    if (sh__step_value(step, least) != UINT32_MAX || sh__step_value(step, most) != UINT32_MAX ||
        !(low <= high))
        return false;
    return low == 0 && high == INFINITY ? append(to, dnnl_eltwise_relu, 0, 0)
                                        : append(to, dnnl_eltwise_clip, low, high);
}

static bool append_gelu(sh_postops *to, const sh_plan_step *step) {
    const sh_value form = sh__step_argument(step, "approximate");
    const bool tanh_form = form.tag == SH_TAG_STRING && strcmp(form.as.string, "tanh") == 0;
    return append(to, tanh_form ? dnnl_eltwise_gelu_tanh : dnnl_eltwise_gelu_erf, 0, 0);
}

static bool append_elu(sh_postops *to, const sh_plan_step *step) {
    return number(step, "scale", 1) == 1 && number(step, "input_scale", 1) == 1 &&
           append(to, dnnl_eltwise_elu, number(step, "alpha", 1), 0);
}

static bool append_hardsigmoid(sh_postops *to) {
    if (to->n + 2 > SH_POSTOPS) return false;
    return append(to, dnnl_eltwise_linear, 1. / 6, 0.5) && append(to, dnnl_eltwise_clip, 0, 1);
}

bool sh__postop_function(const sh_plan_step *step, sh_postops *to) {
    switch (step->op->id) {
    case SH_OP_relu: return append(to, dnnl_eltwise_relu, 0, 0);
    case SH_OP_relu6: return append(to, dnnl_eltwise_clip, 0, 6);
    case SH_OP_clamp: return append_clamp(to, step, "min", "max");
    case SH_OP_hardtanh: return append_clamp(to, step, "min_val", "max_val");
    case SH_OP_leaky_relu: return append(to, dnnl_eltwise_relu, number(step, "negative_slope", 0.01), 0);
    case SH_OP_elu: return append_elu(to, step);
    case SH_OP_gelu: return append_gelu(to, step);
    case SH_OP_silu: return append(to, dnnl_eltwise_swish, 1, 0);
    case SH_OP_hardswish: return append(to, dnnl_eltwise_hardswish, 0, 0);
    case SH_OP_hardsigmoid: return append_hardsigmoid(to);
    case SH_OP_sigmoid: return append(to, dnnl_eltwise_logistic, 0, 0);
    case SH_OP_tanh: return append(to, dnnl_eltwise_tanh, 0, 0);
    default: return false;
    }
}

/* ---- oneDNN's attributes ---- */

static dnnl_status_t append_one(dnnl_post_ops_t ops, const sh_postop *op, const dnnl_memory_desc_t *added) {
    switch (op->kind) {
    case SH_POSTOP_ADD: return dnnl_post_ops_append_binary(ops, dnnl_binary_add, added);
    case SH_POSTOP_SUM: return dnnl_post_ops_append_sum(ops, 1);
    default: return dnnl_post_ops_append_eltwise(ops, 1, op->function, op->alpha, op->beta);
    }
}

dnnl_status_t sh__postop_attributes(const sh_postops *ops, const dnnl_memory_desc_t *added,
                                    dnnl_primitive_attr_t *attr) {
    dnnl_post_ops_t post = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(attr);
    if (!status) status = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
    if (!status) status = dnnl_post_ops_create(&post);
    for (uint32_t i = 0; i < ops->n && !status; i++) status = append_one(post, &ops->at[i], added);
    if (!status) status = dnnl_primitive_attr_set_post_ops(*attr, post);
    if (post) dnnl_post_ops_destroy(post);
    return status;
}

sh_primitive *sh__primitive_of(const_dnnl_op_desc_t d, const sh_postops *ops,
                               const dnnl_memory_desc_t *added) {
    dnnl_engine_t engine = sh__primitive_engine();
    dnnl_primitive_desc_t descriptor = NULL;
    dnnl_primitive_attr_t attr = NULL;
    const char *name = "ref";
    if (!engine) return NULL;
    if (sh__postop_attributes(ops, added, &attr) == dnnl_success)
        dnnl_primitive_desc_create(&descriptor, d, attr, engine, NULL);
    if (attr) dnnl_primitive_attr_destroy(attr);
    if (!descriptor) return NULL;
    dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name);
    if (strncmp(name, "ref", 3) != 0) return sh__primitive_new(descriptor);
    dnnl_primitive_desc_destroy(descriptor);
    return NULL;
}

sh_status sh__postop_bind(const sh_postops *ops, const dnnl_memory_desc_t *added, sh_primitive *p) {
    for (uint32_t i = 0; i < ops->n; i++)
        if (ops->at[i].kind == SH_POSTOP_ADD)
            SH_TRY(sh__primitive_bind_as(p, DNNL_ARG_ATTR_MULTIPLE_POST_OP((int)i) | DNNL_ARG_SRC_1, added,
                                         ops->at[i].value));
    return SH_OK;
}

static const char *name_of(const sh_postop *op) {
    if (op->kind != SH_POSTOP_FUNCTION) return op->kind == SH_POSTOP_ADD ? "add" : "sum";
    switch (op->function) {
    case dnnl_eltwise_relu: return op->alpha == 0 ? "relu" : "leaky_relu";
    case dnnl_eltwise_clip: return "clip";
    case dnnl_eltwise_elu: return "elu";
    case dnnl_eltwise_gelu_erf: return "gelu";
    case dnnl_eltwise_gelu_tanh: return "gelu-tanh";
    case dnnl_eltwise_swish: return "silu";
    case dnnl_eltwise_hardswish: return "hardswish";
    case dnnl_eltwise_logistic: return "sigmoid";
    case dnnl_eltwise_tanh: return "tanh";
    default: return "linear";
    }
}

void sh__postop_print(const sh_postops *ops, char *text, size_t size) {
    size_t at = strlen(text);
    for (uint32_t i = 0; i < ops->n && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "+%s", name_of(&ops->at[i]));
}
