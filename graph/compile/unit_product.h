/* unit_product.h - a matrix product of f32 with a constant matrix, packed once: linear, matmul, mm, addmm. */
#ifndef SH_GRAPH_COMPILE_UNIT_PRODUCT_H
#define SH_GRAPH_COMPILE_UNIT_PRODUCT_H

#include "graph/compile/postop.h"

typedef struct sh_product_unit {
    int64_t m, n, k;        /* [m, k] @ [k, n]; the rows of the input are flattened */
    uint32_t input, output; /* values of the draft, contiguous */
    const sh_tensor *weight;
    uint32_t weight_value;
    int64_t row, column;   /* strides of the weight as [k, n] */
    const sh_tensor *bias; /* of n, or NULL */
    sh_postops after;
    uint32_t last;      /* the step in whose place it stands */
    sh_primitive *made; /* the weight not packed */
} sh_product_unit;

/* Is the step such a product? Then it is described, without what is fused. */
bool sh__product_read(const sh_plan *plan, const sh_plan_step *step, sh_product_unit *product);
/* Takes what a step makes of its result over. `from` is the value as it is so far. */
bool sh__product_take_step(const sh_plan *plan, const sh_plan_step *step, uint32_t from,
                           sh_product_unit *product);
/* Is a packed weight worth it? See the figures there. */
bool sh__product_pays(const sh_product_unit *product);
/* All bound but what is packed. NULL: an error, or, without one, oneDNN has only plain loops for it. */
sh_primitive *sh__product_new(const sh_product_unit *product);
sh_status sh__product_pack(const sh_product_unit *product, sh_primitive *p);

#endif
