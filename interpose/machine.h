/* machine.h - a routine as data, its call as words, and what becomes of the two.
 *
 * A wrapper stands under the routine's name. It finds the real function as the program would have without it, and calls
 * that straight while nobody wants to see (wrapper.h). Else the call becomes an op on views of the program's memory
 * (show.c), whose kernel calls the real function with the words as they came, unless a mode changed something (kernel.c):
 * then words are made from what the tensors say (views.c).
 *
 * Words: each argument of the Fortran routine as a pointer to it, those of CBLAS by value too; then the lengths of letters
 * (Fortran), or the order and the place of a complex result (CBLAS). */
#ifndef SH_INTERPOSE_MACHINE_H
#define SH_INTERPOSE_MACHINE_H

#include <stdatomic.h>

#include "dispatch/foreign.h"

typedef void (*wr_function)(void);

typedef union wr_result {
    float s;
    double d;
    float _Complex c;
    double _Complex z;
    int64_t i;
} wr_result;

/* ---- routines ---- made from a .def */

typedef enum wr_kind { WR_LETTER, WR_LENGTH, WR_STEP, WR_NUMBER, WR_ARRAY } wr_kind;
typedef enum wr_access { WR_IN, WR_OUT, WR_INOUT, WR_BETA } wr_access;
typedef enum wr_storage { WR_PLAIN, WR_BAND, WR_PACKED } wr_storage;
/* Lengths; what is behind WR_DIM_ku follows from those before it (see blas.def). */
typedef enum wr_dim {
    WR_DIM_m,
    WR_DIM_n,
    WR_DIM_k,
    WR_DIM_kl,
    WR_DIM_ku,
    WR_DIM_s,
    WR_DIM_r,
    WR_DIM_c,
    WR_DIM_p,
    WR_DIM_b,
    WR_DIM_g,
    WR_DIM_5,
    WR_DIM_COUNT
} wr_dim;

typedef struct wr_arg {
    const char *name;
    uint8_t kind, access, storage, real, ndim, dims[3];
    int8_t step, trans, uplo, diag; /* arguments, or -1 */
} wr_arg;

enum { WR_MAX_ARGS = 24, WR_MAX_WORDS = 32 };

/* Where an argument stands in the schema of the op; -1: nowhere. */
typedef struct wr_place {
    int8_t value, imaginary, conjugated;
} wr_place;

typedef struct wr_routine {
    const char *op, *schema;
    const wr_arg *args;
    uint8_t nargs, nwritten, narrays;
    char returns; /* - T R D I */
    int8_t order; /* place of the argument `order` */
    const sh_op *of;
    wr_place places[WR_MAX_ARGS];
} wr_routine;

typedef void (*wr_caller)(wr_function function, void **words, wr_result *result);

/* A routine for one type. */
typedef struct wr_entry {
    wr_routine *routine;
    sh_dtype dtype;
    const char *symbol; /* dgemm */
    wr_caller fortran, cblas;
} wr_entry;

extern wr_entry *const wr_blas_entries[];

/* ---- real functions ---- bind.c */

/* What a symbol means to one loaded object. Never freed. */
typedef struct wr_target wr_target;
struct wr_target {
    uintptr_t low, size; /* of the object that calls */
    wr_function function;
    atomic_uint generation; /* dlclose ends all that were found before */
    atomic_int width;       /* bytes of an integer of the library that holds the function; 0: not asked yet */
    wr_target *next;
};

typedef struct wr_binding {
    const char *symbol; /* as the program writes it */
    wr_entry *entry;
    const char *prefix, *suffix; /* of its Fortran siblings */
    bool cblas;
    _Atomic(wr_target *) last, all;
} wr_binding;

extern atomic_uint wr_generation;

static inline bool wr_serves(wr_target *t, const void *site) {
    return (uintptr_t)site - t->low < t->size &&
           atomic_load_explicit(&t->generation, memory_order_relaxed) ==
               atomic_load_explicit(&wr_generation, memory_order_relaxed);
}

/* What `site` would have called without us. Ends the program as the loader would if there is none. */
wr_target *wr_bind(wr_binding *binding, const void *site);
/* The function of this name that the object around `site` would find; NULL: none. A NULL site is the program. */
wr_function wr_find(const char *symbol, const void *site);
/* A loaded library's handle, to be ended by wr_library_close; NULL if it isn't loaded (any more). */
void *wr_library_open(const char *path);
void wr_library_close(void *handle);

/* 4 or 8: the bytes of an integer of the library that holds `function`, called under this suffix. width.c */
int wr_integer_width(wr_function function, const char *suffix);
int wr_target_width(wr_target *target, const char *suffix);

/* ---- calls ---- */

/* A call in flight, on the C stack of wr_intercept. */
typedef struct wr_call {
    wr_binding *binding;
    wr_target *target;
    void **words;
    wr_result *result;
    const void *site;
    int width;
    bool row_major, ran;
    int64_t numbers[WR_MAX_ARGS]; /* letters in upper case, lengths, steps */
    int64_t dims[WR_DIM_COUNT];
    sh_tensor *arrays[WR_MAX_ARGS];
    sh_value args[SH_MAX_ARGS];
    sh_tensor *out; /* what the op writes, if that is one array */
} wr_call;

/* show.c: the call as an op, then the real function if that didn't run it. */
void wr_intercept(wr_binding *binding, wr_target *target, void **words, wr_result *result, const void *site);
/* Reads letters, lengths and steps; false if the routine would complain, or do nothing. */
bool wr_read(wr_call *w);
/* The tensors of a call as it was read; false if one can't be shown. */
bool wr_make_arrays(wr_call *w);
/* The call that a tensor was made for, while it is in flight. */
wr_call *wr_call_of(const sh_tensor *t);

/* shadow.c: opens another BLAS by its path and registers a backend whose kernels call it; its name is written. */
sh_status wr_shadow_library(const char *path, char *backend, size_t size);

/* kernel.c */
/* SHUNT_NESTED=1 shows the calls that a routine makes. */
bool wr_shows_nested(void);
sh_status wr_kernel(sh_call *call, void *user);

/* Where Fortran functions are found. */
typedef struct wr_library {
    wr_function (*find)(const struct wr_library *library, const char *symbol);
    const void *context;         /* for find: an address in the calling object, or a handle */
    const char *prefix, *suffix; /* of symbols */
} wr_library;
/* Calls the routine's function for the tensors' dtype by what the tensors say. views.c */
sh_status wr_run_views(sh_call *call, const wr_routine *routine, const wr_library *library);

/* Lengths as far as the arguments say them, in the order of wr_dim; -1 where they don't. An error if two differ. dims.c */
sh_status wr_dims(const wr_routine *routine, const sh_value *args, int64_t *dims);
/* Infers the result of a routine that writes one array, or returns a number. */
sh_status wr_infer(const sh_value *args, sh_spec *results, void *routine);
sh_value wr_argument(const wr_routine *routine, const sh_value *args, uint32_t i);
sh_dtype wr_real_dtype(sh_dtype dtype);

/* cost.c */
void wr_blas_cost(const sh_call *call, double *flops, double *bytes, void *routine);

/* define.c */
extern wr_entry *const *const wr_families[];
#define WR_EACH_ENTRY(e)                                      \
    for (wr_entry *const *const *f_ = wr_families; *f_; f_++) \
        for (wr_entry *const *at_ = *f_, *e; (e = *at_) != NULL; at_++)
/* The routine for this dtype among those of the same op; NULL: none. */
const wr_entry *wr_entry_of(const wr_routine *routine, sh_dtype dtype);

/* copy.c: element by element, only what counts of `to`. Shapes and dtypes are the same. */
void wr_copy(sh_tensor *to, const sh_tensor *from);

#endif
