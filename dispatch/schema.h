/* schema.h - what an op takes and gives, in PyTorch's schema language.
 *
 *     add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
 *     mylib::fused_gate(Tensor x, Tensor(a!) state, *, float eps=1e-5) -> Tensor
 *     max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
 *
 * Types: Tensor Tensor[] Tensor?[] Scalar int int[] int[N] float bool str ScalarType, each optional with
 * `?`; (a) marks an alias, (a!) one that is written. What stands behind `*` is keyword-only. */
#ifndef SH_DISPATCH_SCHEMA_H
#define SH_DISPATCH_SCHEMA_H

#include "dispatch/status.h"
#include "dispatch/value.h"

SH_BEGIN_DECLS

typedef enum sh_type {
    SH_TYPE_TENSOR,
    SH_TYPE_TENSORS,
    SH_TYPE_SCALAR,
    SH_TYPE_INT,
    SH_TYPE_INTS,
    SH_TYPE_FLOAT,
    SH_TYPE_FLAG,
    SH_TYPE_STRING,
    SH_TYPE_DTYPE,
    SH_TYPE_COUNT
} sh_type;

typedef struct sh_param {
    const char *name;
    sh_type type;
    uint8_t optional;    /* the `?`: may be None */
    uint8_t has_default; /* may be left out */
    uint8_t keyword_only;
    uint8_t length;  /* N of int[N]: one integer stands for N equal ones */
    uint8_t written; /* (a!) */
    uint8_t holes;   /* Tensor?[]: entries may be None */
    char alias;      /* the letter of (a), or 0 */
    sh_value value;  /* the default */
} sh_param;

typedef struct sh_schema {
    const char *name;   /* with overload: "max.dim", "mylib::gate" */
    const char *family; /* without: "max" */
    const char *text;   /* the whole line */
    const sh_param *params;
    const sh_param *returns; /* name may be "" */
    uint8_t nparams;
    uint8_t nreturns;
} sh_schema;

/* Parses one line. The result owns its strings; an error names the column and what stood there. */
SH_API sh_status sh_schema_parse(const char *text, sh_schema **schema);
SH_API void sh_schema_free(sh_schema *schema);
/* The parameter of that name, or -1. */
SH_API int sh_schema_find(const sh_schema *schema, const char *name);
/* "Tensor?", "int[2]", as it stands in a schema. */
SH_API void sh_type_print(const sh_param *param, char *text, size_t size);

SH_END_DECLS

#endif
