/* program.h - a signature fitted to an op's schema: a list of steps that fill the frame of one call.
 *
 * The frame holds the values of all parameters, each at a place that is known beforehand; a step writes one of them.
 * Arrays come first, inputs before those that are written, results last, so that dimensions are bound when numbers are
 * asked for. No step looks at a string. A program is immutable; its run is on the C stack. */
#ifndef SH_DISPATCH_FFI_PROGRAM_H
#define SH_DISPATCH_FFI_PROGRAM_H

#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/ffi/c_kernel.h"
#include "dispatch/ffi/interface.h"
#include "dispatch/ffi/signature.h"

typedef enum sh_put {
    SH_PUT_ARRAY,  /* the address of a tensor's elements */
    SH_PUT_TENSOR, /* a tensor */
    SH_PUT_ITEM,   /* an element of a tensor, by value: SH_C_ELEMENTWISE */
    SH_PUT_LIST,   /* the tensors of a list */
    SH_PUT_INTS,   /* the entries of an int[] */
    SH_PUT_STRING,
    SH_PUT_SIZES, /* of an array */
    SH_PUT_STRIDES,
    SH_PUT_NDIM,
    SH_PUT_NUMEL,
    SH_PUT_DTYPE,
    SH_PUT_DIM,     /* a dimension */
    SH_PUT_DIM_64,  /* one that surely has a size, as size_t or int64_t */
    SH_PUT_DIM_32,  /* the same as int */
    SH_PUT_NUMBER,  /* an argument */
    SH_PUT_ELEMENT, /* element or entry `index` of an argument */
    SH_PUT_ROLE     /* of BLAS: see gemm.c */
} sh_put;

enum {
    SH_STEP_RESULT = 1,     /* source is a result, else an argument */
    SH_STEP_WRITES = 2,     /* a result, or an argument marked (a!) */
    SH_STEP_AS_IT_LIES = 4, /* strides go with it */
    SH_STEP_SHAPED = 8,     /* it has brackets with sizes: the rank counts */
    SH_STEP_BY_ADDRESS = 16
};

/* A size of a step: a number, anything, or a dimension as SH_SIZE_NAME - its number. */
enum { SH_SIZE_ANY = -1, SH_SIZE_NAME = -2 };

typedef struct sh_cstep {
    uint8_t put, type, flags;
    uint8_t source; /* argument, result, array (another step) or dimension */
    uint8_t index, rank;
    uint16_t at, address_at; /* places in the frame */
    uint32_t dtypes;         /* that an array takes, as bits */
    /* Of an array that has but one dtype, names for all sizes, and none before it that may be None: how a tensor that needs
     * no second look begins (sh__shape_word), its sizes' dimensions, and of those the ones that are new, as bits. */
    uint32_t simple;
    uint8_t names[SH_MAX_DIMS];
    uint32_t binds;
    const sh_citem *item;
    int64_t sizes[SH_MAX_DIMS];
} sh_cstep;

typedef enum sh_cgives {
    SH_GIVES_NOTHING,
    SH_GIVES_STATUS,
    SH_GIVES_NUMBER, /* result `given` */
    SH_GIVES_TENSOR
} sh_cgives;

enum { SH_C_FRAME = 640, SH_NO_SOURCE = 0xff };
/* Of the options' flags: parameters are what a call brings, so what an in-place form writes is a result. */
enum { SH_C_CLOSURE = 0x8000 };

typedef struct sh_cprogram {
    const sh_schema *schema;
    const sh_signature *signature;
    const sh_interface *interface;
    sh_c_function function;
    sh_c_adapter adapter;
    uint32_t flags;
    uint32_t idle_args; /* bits: arguments that no parameter takes */
    uint8_t nsteps, narrays, nparams;
    bool ends;        /* some results are arguments: see alias */
    uint8_t nwritten; /* arguments that are written */
    uint8_t written[SH_C_PARAMS];
    uint8_t gives, given;
    uint8_t dim_arg;                    /* of SH_C_ROWS: the op's `dim`, or SH_NO_SOURCE */
    uint8_t alias[SH_MAX_RESULTS];      /* the argument that a result is, or SH_NO_SOURCE */
    uint16_t places[SH_C_PARAMS];       /* of the parameters in the frame */
    uint8_t added, alpha_arg, beta_arg; /* of SH_C_GEMM: arguments, or SH_NO_SOURCE */
    bool by_rows;                       /* of SH_C_GEMM: it has an order, else columns come first */
    sh_cstep returned; /* of the number that the function returns: an array behind the others */
    sh_cstep steps[SH_C_ITEMS];
} sh_cprogram;

/* NULL and an error that names the column and the parameter. `given`: bits of arguments that need no parameter. */
sh_cprogram *sh__cprogram_new(const sh_signature *signature, const sh_schema *schema,
                              const sh_c_options *options, uint32_t given);
/* gemm.c: the steps of a function of BLAS. a, b and c are arrays 0, 1 and 2; the sources of all others are roles. */
typedef enum sh_role {
    SH_ROLE_A,
    SH_ROLE_B,
    SH_ROLE_C,
    SH_ROLE_ORDER,
    SH_ROLE_TRANSA,
    SH_ROLE_TRANSB,
    SH_ROLE_M,
    SH_ROLE_N,
    SH_ROLE_K,
    SH_ROLE_ALPHA,
    SH_ROLE_BETA,
    SH_ROLE_LDA,
    SH_ROLE_LDB,
    SH_ROLE_LDC,
    SH_ROLES
} sh_role;
sh_status sh__cprogram_gemm(sh_cprogram *program, uint32_t given);
/* "C signature ..., column N: " and what is wrong. */
SH_PRINTF(3, 4)
sh_status sh__cprogram_fail(const sh_signature *signature, const sh_citem *item, const char *format, ...);

/* ---- runs ---- */
typedef struct sh_crun {
    const sh_cprogram *program;
    sh_call *call;
    const sh_value *values[2]; /* arguments, and at SH_STEP_RESULT results */
    uint32_t bound;            /* dimensions that have a size */
    uint32_t back;             /* arrays that are to be copied back */
    int64_t dims[SH_C_DIMS];
    const sh_tensor *passed[SH_C_PARAMS + 1]; /* by array */
    sh_tensor *behind[SH_C_PARAMS + 1];       /* where `back` has the bit */
    _Alignas(16) unsigned char frame[SH_C_FRAME];
} sh_crun;

/* The whole kernel. */
sh_status sh__crun(const sh_cprogram *program, sh_call *call);
/* Each adapter's part between gathering and copying back. */
sh_status sh__crun_elements(sh_crun *r);
sh_status sh__crun_rows(sh_crun *r);
sh_status sh__crun_gemm(sh_crun *r);

/* The tensor that a step is about, NULL for None. A result that is not there yet is made, from the step's sizes. */
sh_status sh__step_tensor(sh_crun *r, const sh_cstep *s, sh_tensor **t);
/* Checks rank and sizes of an array, `t` without its first `skipped` dimensions, and binds dimensions. */
sh_status sh__step_bind(sh_crun *r, const sh_cstep *s, const sh_tensor *t, int skipped);
/* What a tensor must become to be passed: another dtype, another layout. The last `inner` dimensions must be row-major. `*t`
 * becomes that tensor, and is noted for copying back. */
sh_status sh__step_fit(sh_crun *r, const sh_cstep *s, sh_tensor **t, int inner);
/* A view with these sizes and strides, owned by the scope. */
sh_tensor *sh__step_view(const sh_tensor *t, int ndim, const int64_t *sizes, const int64_t *strides);
/* Every step that is no array. */
sh_status sh__steps_rest(sh_crun *r);
/* One call of the function on the frame; its status, or its value in *value (16 bytes). */
sh_status sh__crun_call(sh_crun *r, void *value);
/* Puts a whole number or a real into the frame as the step's type has it; an error where it does not fit. */
sh_status sh__step_put_int(sh_crun *r, const sh_cstep *s, int64_t value);
sh_status sh__step_put(sh_crun *r, const sh_cstep *s, sh_value value);
/* Where numbers that a function returns go: the result, or what will be copied there. Row-major, of the function's type. */
sh_status sh__crun_result(sh_crun *r, sh_tensor **t);
void sh__crun_store(const sh_tensor *t, int64_t at, const void *value);
/* Copies and converts between tensors of one shape. */
sh_status sh__copy_elements(sh_tensor *to, const sh_tensor *from);

/* dtype, device and rank in one word. */
enum { SH_NOT_SIMPLE = 0x7f000000 };
static inline uint32_t sh__shape_word(const sh_tensor *t) {
    uint32_t word;
    _Static_assert(offsetof(struct sh_tensor, ndim) - offsetof(struct sh_tensor, dtype) == 2,
                   "read as one word");
    memcpy(&word, &t->dtype, sizeof word);
    return word & 0xffffff;
}

static inline void sh__step_address(sh_crun *r, const sh_cstep *s, const void *address) {
    memcpy(r->frame + s->at, &address, sizeof address);
}

#endif
