/* unit_product.c - see unit_product.h.
 *
 * Microseconds of an eager product, and of one with a packed weight, of m x k x n on one core (AVX-512), caches warm:
 *
 *     m \ k, n    64, 64       256, 256     512, 1000     1024, 1024     768, 3072
 *     1           2.3  0.48    3.2  2.9     35  39        161  158       384  401
 *     4           2.5  0.59    5.2  3.8     75  47        323  162       760  407
 *     16          2.0  1.2     22   13      211  119      667  382       1090  667
 *     64          4.5  3.6     62   50      520  412      1489 907       2610  2121
 *     256         15   13      216  198     1713 1654     3694 3624      8536  8364
 *     1024        56   50      879  874     6959 7055     14601 13898    31508 33205
 *
 * Packing is what the eager product does each time. One row reads a weight once either way. Below 32 x 32 the call costs more
 * than the work. A bias or function that is fused saves a step. */
#include "graph/compile/unit_product.h"

#include <string.h>

#include "dispatch/tensor_impl.h"
#include "ops/cpu/onednn.h"
#include "ops/ops.h"

/* ---- reading steps ---- */

static bool is_matrix(const sh_tensor *t) {
    return t && t->dtype == SH_F32 && t->ndim == 2 && t->numel > 0 && t->data;
}

static bool is_row(const sh_tensor *t, int64_t n) {
    return t && t->dtype == SH_F32 && t->data && t->numel == n && t->ndim > 0 && t->sizes[t->ndim - 1] == n &&
           (t->flags & SH_TENSOR_CONTIGUOUS);
}

static bool is_one(const sh_plan_step *step, const char *param) {
    const sh_value v = sh__step_argument(step, param);
    return !sh_value_is_number(v) || sh_value_as_double(v) == 1;
}

/* `weight` is [k, n], or [n, k] if it is `turned`. */
static bool read_operands(const sh_plan *plan, const sh_plan_step *step, const char *input,
                          const char *weight, bool turned, sh_product_unit *p) {
    p->input = sh__step_value(step, input);
    p->output = step->results[0];
    p->weight_value = sh__step_value(step, weight);
    p->weight = sh__value_constant(plan, p->weight_value);
    if (p->input == UINT32_MAX || !is_matrix(p->weight)) return false;
    const sh_plan_value *in = &plan->values[p->input], *out = &plan->values[p->output];
    p->k = p->weight->sizes[turned];
    p->n = p->weight->sizes[!turned];
    p->row = p->weight->strides[turned];
    p->column = p->weight->strides[!turned];
    p->m = 1;
    for (int i = 0; i < in->spec.ndim - 1; i++) p->m *= in->spec.sizes[i];
    return in->spec.ndim > 0 && p->m > 0 && in->spec.sizes[in->spec.ndim - 1] == p->k &&
           sh__value_is_contiguous(in) && sh__value_is_contiguous(out);
}

static bool read_bias(const sh_plan *plan, const sh_plan_step *step, const char *param, sh_product_unit *p) {
    const uint32_t bias = sh__step_value(step, param);
    if (bias == UINT32_MAX) return true;
    p->bias = sh__value_constant(plan, bias);
    return is_row(p->bias, p->n);
}

bool sh__product_read(const sh_plan *plan, const sh_plan_step *step, sh_product_unit *p) {
    if (!sh__step_is_own(plan, step)) return false;
    memset(p, 0, sizeof *p);
    switch (step->op->id) {
    case SH_OP_linear:
        return read_operands(plan, step, "input", "weight", true, p) && read_bias(plan, step, "bias", p);
    case SH_OP_matmul: return read_operands(plan, step, "self", "other", false, p);
    case SH_OP_mm: return read_operands(plan, step, "self", "mat2", false, p);
    case SH_OP_addmm:
        return is_one(step, "alpha") && is_one(step, "beta") &&
               read_operands(plan, step, "mat1", "mat2", false, p) && read_bias(plan, step, "self", p);
    default: return false;
    }
}

/* ---- fusing ---- */

static bool take_add(const sh_plan *plan, const sh_plan_step *step, uint32_t from, sh_product_unit *p) {
    const uint32_t self = sh__step_value(step, "self"), other = sh__step_value(step, "other");
    const uint32_t added = self == from ? other : self;
    if (added == UINT32_MAX || added == from || !is_one(step, "alpha")) return false;
    const sh_tensor *constant = sh__value_constant(plan, added);
    if (!p->bias && p->after.n == 0 && is_row(constant, p->n)) {
        p->bias = constant;
        return true;
    }
    for (uint32_t i = 0; i < p->after.n; i++)
        if (p->after.at[i].kind != SH_POSTOP_FUNCTION) return false;
    const sh_plan_value *v = &plan->values[added];
    return sh__same_sizes(&v->spec, &plan->values[p->output].spec) && sh__value_is_contiguous(v) &&
           sh__postop_append(&p->after, (sh_postop){.kind = SH_POSTOP_ADD, .value = added});
}

bool sh__product_take_step(const sh_plan *plan, const sh_plan_step *step, uint32_t from, sh_product_unit *p) {
    const sh_plan_value *result = &plan->values[step->results[0]];
    if (!sh__step_is_own(plan, step) || !sh__same_sizes(&result->spec, &plan->values[from].spec) ||
        !sh__value_is_contiguous(result))
        return false;
    const bool taken = step->op->id == SH_OP_add              ? take_add(plan, step, from, p)
                       : sh__step_value(step, "self") == from ? sh__postop_function(step, &p->after)
                                                              : false;
    if (taken) p->output = step->results[0];
    return taken;
}

bool sh__product_pays(const sh_product_unit *p) {
    const int64_t weight = p->k * p->n;
    if (weight < 1024) return false;
    return p->after.n > 0 || (p->m == 1 ? weight <= 65536 : p->m <= 512);
}

/* ---- making ---- */

/* The weight as it lies, or in any layout. */
static dnnl_status_t describe_weight(const sh_product_unit *p, bool lies, dnnl_memory_desc_t *d) {
    const dnnl_dims_t sizes = {p->k, p->n}, strides = {p->row, p->column};
    return lies ? dnnl_memory_desc_init_by_strides(d, 2, sizes, dnnl_f32, strides)
                : dnnl_memory_desc_init_by_tag(d, 2, sizes, dnnl_f32, dnnl_format_tag_any);
}

static dnnl_status_t describe(const sh_product_unit *p, dnnl_matmul_desc_t *d, dnnl_memory_desc_t *result) {
    const dnnl_dims_t source_sizes = {p->m, p->k}, result_sizes = {p->m, p->n}, bias_sizes = {1, p->n};
    dnnl_memory_desc_t source, weight, bias;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&source, 2, source_sizes, dnnl_f32, dnnl_ab);
    if (!status) status = dnnl_memory_desc_init_by_tag(result, 2, result_sizes, dnnl_f32, dnnl_ab);
    if (!status) status = dnnl_memory_desc_init_by_tag(&bias, 2, bias_sizes, dnnl_f32, dnnl_ab);
    if (!status) status = describe_weight(p, false, &weight);
    if (!status) status = dnnl_matmul_desc_init(d, &source, &weight, p->bias ? &bias : NULL, result);
    return status;
}

static sh_status bind_all(const sh_product_unit *unit, const dnnl_memory_desc_t *result, sh_primitive *p) {
    SH_TRY(sh__primitive_bind(p, DNNL_ARG_SRC, dnnl_query_src_md, 0, unit->input));
    SH_TRY(sh__primitive_bind(p, DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0, SH_NO_VALUE));
    if (unit->bias) SH_TRY(sh__primitive_bind(p, DNNL_ARG_BIAS, dnnl_query_weights_md, 1, SH_NO_VALUE));
    SH_TRY(sh__primitive_bind(p, DNNL_ARG_DST, dnnl_query_dst_md, 0, unit->output));
    return sh__postop_bind(&unit->after, result, p);
}

sh_primitive *sh__product_new(const sh_product_unit *unit) {
    dnnl_matmul_desc_t d;
    dnnl_memory_desc_t result;
    if (describe(unit, &d, &result) != dnnl_success) return NULL;
    sh_primitive *p = sh__primitive_of(&d, &unit->after, &result);
    if (!p) return NULL;
    snprintf(p->note, sizeof p->note, "%lldx%lldx%lld", (long long)unit->m, (long long)unit->k,
             (long long)unit->n);
    sh__postop_print(&unit->after, p->note, sizeof p->note);
    if (bind_all(unit, &result, p) == SH_OK) return p;
    sh__primitive_free(p);
    return NULL;
}

sh_status sh__product_pack(const sh_product_unit *unit, sh_primitive *p) {
    dnnl_memory_desc_t lies;
    SH_TRY(sh_onednn_status(describe_weight(unit, true, &lies), "describing a matrix"));
    SH_TRY(sh__primitive_pack(p, DNNL_ARG_WEIGHTS, &lies, unit->weight->data));
    if (!unit->bias) return SH_OK;
    const dnnl_memory_desc_t row = sh__primitive_argument(p, DNNL_ARG_BIAS)->layout;
    return sh__primitive_pack(p, DNNL_ARG_BIAS, &row, unit->bias->data);
}
