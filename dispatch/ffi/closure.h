/* closure.h - what a closure is made of. The program of its signature is read the other way round: steps say what each
 * parameter of a call brings. */
#ifndef SH_DISPATCH_FFI_CLOSURE_H
#define SH_DISPATCH_FFI_CLOSURE_H

#include "dispatch/ffi/program.h"

struct sh_closure {
    const sh_op *op;
    sh_signature *signature;
    sh_interface *interface;
    sh_trampoline *trampoline;
    sh_c_function code;
    sh_cprogram *program;
    bool in_place;  /* self is the memory of the result */
    uint32_t given; /* bits: arguments with a value of their own */
    sh_value
        values[SH_MAX_ARGS]; /* those, and the defaults of all others; lists and strings are the closure's */
    atomic_uint running;
    atomic_bool live;
    sh_closure *next; /* of the live, or of the dead that are kept */
};

/* One call. `at` are the addresses of the parameters' values; the frame is what sh__call_results is given. */
typedef struct sh_ccall {
    const sh_closure *closure;
    void **at;
    const void *frame;
    uint32_t bound;
    int64_t dims[SH_C_DIMS];
    sh_value args[SH_MAX_ARGS], results[SH_MAX_RESULTS];
    sh_tensor *arrays[SH_C_PARAMS];
} sh_ccall;

/* Runs the op and writes what comes back; the value of the function, where it has one, into *value (16 zeroed bytes). */
sh_status sh__closure_run(sh_ccall *c, void *value);
sh_status sh__closure_gemm(sh_ccall *c);
/* The value of a parameter, through its address where it is passed so. */
sh_value sh__closure_number(const sh_ccall *c, const sh_cstep *s);
/* A view of the caller's memory, owned by the scope. */
sh_tensor *sh__closure_view(const sh_ccall *c, const sh_cstep *s, void *data, sh_dtype dtype, int ndim,
                            const int64_t *sizes, const int64_t *strides);
/* The op on the arguments as they stand, into `target` where it is not NULL. */
sh_status sh__closure_call(sh_ccall *c, sh_tensor *target);
/* Can every array that a call brings be told how large it is? */
sh_status sh__closure_check(const sh_closure *closure);

/* site.c: the address in the program that called the closure whose handler was given `args`; NULL where it can't be found. */
const void *sh__closure_site(const void *args);

#endif
