/* signature.h - the C signature of a function, read from its text.
 *
 *     void(const float x[n], float y[n], size_t n)
 *     int scale(const double a[m][k], double c[m][k], int m, int k, double alpha)
 *
 * A function declarator as C99 has it, with or without the function's name, with or without names of parameters. Each
 * parameter has a base type, levels of pointer (an array parameter is one), the sizes of its brackets, and where it is a
 * struct the parameters that are its fields. Names of dimensions are numbered as they are met. The signature owns its
 * text; words point into it, or into the text of a struct type that was named (which lives for ever). */
#ifndef SH_DISPATCH_FFI_SIGNATURE_H
#define SH_DISPATCH_FFI_SIGNATURE_H

#include "dispatch/schema_reader.h"
#include "dispatch/value.h"

typedef enum sh_ctype {
#define SH_CTYPE(name, text, type, class) SH_C_##name,
#include "dispatch/ffi/ctypes.def"
#undef SH_CTYPE
    SH_C_STRUCT,
    SH_C_TENSOR, /* sh_tensor */
    SH_C_TYPES
} sh_ctype;

typedef enum sh_cclass { SH_CLASS_NONE, SH_CLASS_SIGNED, SH_CLASS_UNSIGNED, SH_CLASS_REAL } sh_cclass;

enum {
    SH_C_PARAMS = 24, /* of one function */
    SH_C_ITEMS = 64,  /* those, and behind them the fields of their structs */
    SH_C_DIMS = 24    /* different names of dimensions */
};

typedef struct sh_cword {
    const char *at;
    uint32_t n;
} sh_cword;

/* A size in brackets: a name's number, or SH_DIM_ANY for [], or SH_DIM_FIXED with the size. */
enum { SH_DIM_ANY = -1, SH_DIM_FIXED = -2 };
typedef struct sh_cdim {
    int32_t name;
    int64_t size;
} sh_cdim;

typedef struct sh_citem {
    sh_cword name;
    sh_ctype type;    /* what it is, or what it points to */
    uint8_t pointers; /* 1: float *x and float x[n]; 2: sh_tensor *x[n] */
    uint8_t constant; /* what it points to is const */
    uint8_t brackets; /* it was written as an array */
    uint8_t rank;
    sh_cdim dims[SH_MAX_DIMS];
    uint16_t fields,
        next;             /* items: the first field of a struct, the one after this in its list; 0 for none */
    uint16_t size, align; /* as passed, in bytes */
    uint16_t offset;      /* of a field in its struct */
    uint16_t column;      /* where it stands in the text, from 1 */
} sh_citem;

typedef struct sh_signature {
    char *text;
    sh_citem returns;
    sh_citem items[SH_C_ITEMS]; /* parameters from 0, fields from SH_C_PARAMS on */
    uint32_t nparams, nfields;
    sh_cword dims[SH_C_DIMS];
    uint32_t ndims;
} sh_signature;

/* NULL and an error with the column and what was expected there. */
sh_signature *sh__signature_parse(const char *text);
void sh__signature_free(sh_signature *signature);
/* The dimension of this name, or -1. */
int sh__signature_dim(const sh_signature *signature, sh_cword name);

bool sh__cword_is(sh_cword word, const char *text);
bool sh__cword_equal(sh_cword a, sh_cword b);

/* ---- ctype.c ---- */
/* Reads a base type without its struct forms; false, and nothing read, where none stands. */
bool sh__ctype_read(sh_reader *p, sh_ctype *type);
size_t sh__ctype_size(sh_ctype type);
sh_cclass sh__ctype_class(sh_ctype type);
const char *sh__ctype_name(sh_ctype type);
/* The dtypes whose elements lie in memory as this type does, as bits 1 << dtype. void: all. */
uint32_t sh__ctype_dtypes(sh_ctype type);
/* The dtype that stands for it alone; SH_NO_DTYPE where there is none. */
sh_dtype sh__ctype_dtype(sh_ctype type);

/* ---- struct_type.c ---- */
/* The text "{float x, y;}" of a struct type that was named, or NULL. */
const char *sh__struct_text(const char *at, size_t n);

#endif
