/* postop.h - what a convolution or product does to its result before it stores it. */
#ifndef SH_GRAPH_COMPILE_POSTOP_H
#define SH_GRAPH_COMPILE_POSTOP_H

#include "graph/compile/primitive.h"

typedef enum sh_postop_kind {
    SH_POSTOP_FUNCTION, /* an elementwise function */
    SH_POSTOP_ADD,      /* plus a value of the same shape */
    SH_POSTOP_SUM       /* the same, the value being what the result's memory holds before */
} sh_postop_kind;

typedef struct sh_postop {
    sh_postop_kind kind;
    dnnl_alg_kind_t function;
    float alpha, beta;
    uint32_t value; /* ADD, SUM */
} sh_postop;

enum { SH_POSTOPS = 6 };

typedef struct sh_postops {
    uint32_t n;
    sh_postop at[SH_POSTOPS];
} sh_postops;

/* Is it one of the library's own kernels, in its plain form, of f32 values? What is not stays as it is. */
bool sh__step_is_own(const sh_plan *plan, const sh_plan_step *step);
/* Argument `param` of the step: as it stands in the template, or the schema's default. NONE if there is no such one. */
sh_value sh__step_argument(const sh_plan_step *step, const char *param);

/* Appends what the step does to argument `self`, if it is an elementwise function that oneDNN has; false: it is not, or there
 * is no room. oneDNN's relu and clip give no NaN for a NaN. gelu, silu, sigmoid, tanh and elu are within 4e-6 of ours in
 * absolute terms for results of size 1. */
bool sh__postop_function(const sh_plan_step *step, sh_postops *to);
bool sh__postop_append(sh_postops *to, sh_postop op);
/* Attributes with these post-ops and with scratch memory of the user's; `added` is the layout of what is added. */
dnnl_status_t sh__postop_attributes(const sh_postops *ops, const dnnl_memory_desc_t *added,
                                    dnnl_primitive_attr_t *attr);
/* The primitive of a description with these post-ops; nothing but scratch memory is bound. NULL: an error, or, without one, oneDNN
 * has no more than plain loops for it. */
sh_primitive *sh__primitive_of(const_dnnl_op_desc_t d, const sh_postops *ops,
                               const dnnl_memory_desc_t *added);
/* Binds what is added, in the layout `added`. */
sh_status sh__postop_bind(const sh_postops *ops, const dnnl_memory_desc_t *added, sh_primitive *p);
/* "relu, add", for reports. */
void sh__postop_print(const sh_postops *ops, char *text, size_t size);

#endif
