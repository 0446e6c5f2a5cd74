/* dtype.h - element types. SH_F32, SH_I64, ..., SH_B8 (bool); SH_NO_DTYPE (0) means "not given".
 *
 * Complex numbers are for memory of other programs and for ops defined at run time: they can be wrapped, viewed,
 * checked and printed, and a built-in op refuses them by name. */
#ifndef SH_DISPATCH_DTYPE_H
#define SH_DISPATCH_DTYPE_H

#include "dispatch/base.h"

SH_BEGIN_DECLS

typedef enum sh_dtype {
    SH_NO_DTYPE = 0,
    SH_F32,
    SH_F64,
    SH_F16,
    SH_BF16,
    SH_I64,
    SH_I32,
    SH_I16,
    SH_I8,
    SH_U8,
    SH_B8,
    SH_C64,
    SH_C128,
    SH_DTYPE_COUNT,
    SH_REAL_DTYPE_END = SH_C64 /* those before it are what built-in ops compute in */
} sh_dtype;

typedef enum sh_dtype_kind {
    SH_KIND_NONE,
    SH_KIND_BOOL,
    SH_KIND_INT,
    SH_KIND_FLOAT,
    SH_KIND_COMPLEX
} sh_dtype_kind;

SH_API size_t sh_dtype_size(sh_dtype dtype); /* bytes of one element; 0 for none */
SH_API sh_dtype_kind sh_dtype_kind_of(sh_dtype dtype);
SH_API const char *sh_dtype_name(sh_dtype dtype);       /* "f32", "bool" */
SH_API const char *sh_dtype_torch_name(sh_dtype dtype); /* "float32" */
/* Reads "f32", "float32", "float", "double", "half", "long", "int", "b8", ...; SH_NO_DTYPE if unknown. */
SH_API sh_dtype sh_dtype_parse(const char *name);

/* One element of f16 or bf16 as float and back (round to nearest even). */
SH_API float sh_f16_to_f32(uint16_t bits);
SH_API uint16_t sh_f32_to_f16(float value);
SH_API float sh_bf16_to_f32(uint16_t bits);
SH_API uint16_t sh_f32_to_bf16(float value);

SH_END_DECLS

#endif
