/* gen.h - what the parts of the generator share. */
#ifndef SH_OPS_GEN_GEN_H
#define SH_OPS_GEN_GEN_H

#include <stdio.h>

#include "dispatch/schema.h"

/* How an op is implemented; the first word of its line in ops.def. */
typedef enum form {
    FORM_KERNEL,    /* infer; out-form kernels sh_cpu_X and sh_ref_X */
    FORM_ANY,       /* one returns-form kernel sh_any_X for every backend: views, results of unknown size */
    FORM_COMPOSITE, /* sh_composite_X, written with other ops */
    FORM_FUSED      /* infer; sh_composite_X and a direct out-form kernel sh_cpu_X */
} form;

typedef struct op {
    sh_schema *schema;
    uint32_t id;
    form form;
    const char *infer, *doc;
    bool inplace, out, options;
    char c[64], family[64]; /* as C identifiers */
    char tags[256];
} op;

/* A parameter that the typed function takes in order, not in its options. */
static inline bool gen_is_required(const sh_param *p) { return !p->has_default && !p->keyword_only; }
/* An int[] option that holds axes and so is one packed integer. */
static inline bool gen_is_axes(const sh_param *p) {
    return p->type == SH_TYPE_INTS && p->optional && !p->length;
}

/* "sh_tensor *self, sh_scalar alpha": the arguments as kernels take them. */
void gen_kernel_params(FILE *out, const op *o);
/* The C function's own parameters: "sh_tensor *self, const sh_add_options *options". */
void gen_function_params(FILE *out, const op *o);
/* "sh_tensor *", "sh_list *" or "sh_max_dim_result ". */
void gen_return_type(FILE *out, const op *o);

void gen_header(FILE *out, const op *ops, uint32_t n);
void gen_kernels(FILE *out, const op *ops, uint32_t n);
void gen_table(FILE *out, const op *ops, uint32_t n);
void gen_reference(FILE *out, const op *ops, uint32_t n);

#endif
