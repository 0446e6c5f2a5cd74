/* lapack.c - LAPACK drivers as ops on views of the caller's memory.
 *
 * A wrapper collects the pointers of its Fortran call, and lapack_drivers.c says which tensors go in and come out. Then the
 * op goes through the modes, and its kernel calls the real function with the very same pointers. Input matrices are written
 * over by LAPACK anyway, so that what a mode put in an argument's place is copied there first; what it put in a result's
 * place, afterwards. Workspace queries and arguments that LAPACK will refuse go straight to it, and so do the drivers that
 * LAPACK itself calls, unless SHUNT_NESTED=1. */
#include "interpose/lapack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "dispatch/call.h"
#include "dispatch/mode.h"
#include "interpose/real.h"
#include "modes/environment.h"
#include "ops/ops.h"

#define SEEN __attribute__((visibility("default")))
#define NAME(op) "lapack::" #op

typedef struct sh_lapack_routine {
    const char *op;
    void (*lay)(sh_lapack *);
    void (*call)(sh_function, void *const *args);
} routine;

static __thread sh_lapack *current; /* what the kernel is to run */

/* ---- the kernel ---- */

/* What a mode put in the place of an input goes into the caller's memory. */
static sh_status copy_edited(const sh_lapack *f, const sh_call *call) {
    for (uint32_t i = 0; i < f->ninputs; i++) {
        sh_tensor *had = sh_value_as_tensor(f->inputs[i].value), *now = sh_call_tensor(call, i);
        if (!had || !now || now == had) continue;
        if (sh_tensor_dtype(now) != sh_tensor_dtype(had))
            return sh_fail(SH_ERROR_DTYPE, "%s: argument %u must stay %s, got %s", f->routine->op, i,
                           sh_dtype_name(sh_tensor_dtype(had)), sh_dtype_name(sh_tensor_dtype(now)));
        if (!sh_copy_(had, now)) return sh_error()->code;
    }
    return SH_OK;
}

static sh_value read_number(const sh_lapack *f, int at) {
    return sh_value_int(f->integer == SH_I64 ? *(const int64_t *)f->args[at] : *(const int32_t *)f->args[at]);
}

static sh_status kernel(sh_call *call, void *user) {
    sh_lapack *f = current;
    if (!f || f->routine->op != user)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s runs only where a program calls it", (const char *)user);
    SH_TRY(copy_edited(f, call));
    f->ran = true;
    f->routine->call(f->function, f->args);
    for (uint32_t i = 0; i < f->nresults; i++) {
        const sh_value v = f->results[i];
        SH_TRY(sh_call_set_result(call, i, v.tag == SH_TAG_NONE ? read_number(f, f->numbers[i]) : v));
    }
    return SH_OK;
}

/* ---- the op ---- */

static sh_status put_tensor(sh_tensor *to, sh_tensor *from) {
    return !from || from == to || sh_copy_(to, from) ? SH_OK : sh_error()->code;
}

/* What a mode or a hooked kernel gave instead goes where the caller looks. */
static sh_status put_result(const sh_lapack *f, uint32_t i, sh_value v) {
    const sh_value had = f->results[i];
    if (had.tag == SH_TAG_NONE) {
        const int64_t number = v.tag == SH_TAG_TENSOR ? sh_item_int(v.as.tensor) : 0;
        if (f->integer == SH_I64)
            *(int64_t *)f->args[f->numbers[i]] = number;
        else
            *(int32_t *)f->args[f->numbers[i]] = (int32_t)number;
        return SH_OK;
    }
    if (had.tag == SH_TAG_TENSOR) return put_tensor(had.as.tensor, sh_value_as_tensor(v));
    for (uint32_t k = 0; k < had.count && k < v.count; k++)
        SH_TRY(put_tensor(had.as.tensors[k], v.as.tensors[k]));
    return SH_OK;
}

static sh_status put_results(const sh_lapack *f, const sh_value *results) {
    sh_switch off;
    sh_status status = SH_OK;
    sh_switch_off(&off, SH_OFF_ALL);
    for (uint32_t i = 0; i < f->nresults && status >= 0; i++) status = put_result(f, i, results[i]);
    sh_switch_end(&off);
    return status;
}

/* A finding was told already. The program goes on in any case, with its own library's results. */
static void tell_failure(const sh_lapack *f) {
    const sh_error_info *error = sh_error();
    if (error && error->code != SH_ERROR_FINDING)
        sh_warn("%s: %s%s", f->routine->op, error->message,
                f->ran ? "" : "; the program's own library computes it");
    sh_clear_error();
}

/* Was the call computed, by whomever? */
static bool call_op(sh_lapack *f, const void *caller) {
    sh_value results[SH_MAX_RESULTS] = {{0}};
    sh_lapack *outer = current;
    current = f;
    const sh_status status = sh__call_by_name(f->routine->op, f->inputs, f->ninputs, results, caller);
    current = outer;
    return status >= 0 && put_results(f, results) >= 0;
}

static void show(sh_lapack *f, const void *caller) {
    bool done = false;
    SH_SCOPE {
        f->routine->lay(f);
        if (!f->straight) done = call_op(f, caller);
    }
    if (sh_error()) tell_failure(f);
    if (!done && !f->ran) f->routine->call(f->function, f->args);
}

/* ---- wrappers ---- */

/* A parameter list of n pointers, and their names; a hidden length travels as well in a pointer. */
#define P1 void *a0
#define P2 P1, void *a1
#define P3 P2, void *a2
#define P4 P3, void *a3
#define P5 P4, void *a4
#define P6 P5, void *a5
#define P7 P6, void *a6
#define P8 P7, void *a7
#define P9 P8, void *a8
#define P10 P9, void *a9
#define P11 P10, void *a10
#define P12 P11, void *a11
#define P13 P12, void *a12
#define P14 P13, void *a13
#define P15 P14, void *a14
#define P16 P15, void *a15
#define P17 P16, void *a16
#define N1 a0
#define N2 N1, a1
#define N3 N2, a2
#define N4 N3, a3
#define N5 N4, a4
#define N6 N5, a5
#define N7 N6, a6
#define N8 N7, a7
#define N9 N8, a8
#define N10 N9, a9
#define N11 N10, a10
#define N12 N11, a11
#define N13 N12, a12
#define N14 N13, a13
#define N15 N14, a14
#define N16 N15, a15
#define N17 N16, a16
#define V6 args[0], args[1], args[2], args[3], args[4], args[5]
#define V7 V6, args[6]
#define V8 V7, args[7]
#define V9 V8, args[8]
#define V10 V9, args[9]
#define V11 V10, args[10]
#define V12 V11, args[11]
#define V13 V12, args[12]
#define V14 V13, args[13]
#define V15 V14, args[14]
#define V16 V15, args[15]
#define V17 V16, args[16]

static const sh_dtype dtypes[] = {['s'] = SH_F32, ['d'] = SH_F64, ['c'] = SH_C64, ['z'] = SH_C128};

/* Stays in the stack while the call is on its way; a longjmp out of it leaves `current` below the stack's end. */
static bool is_inner(const void *frame) {
    if (current && (const void *)current < frame) current = NULL;
    return current && !sh__nested();
}

static void run(const routine *r, const char *symbol, char letter, bool wide, void *const *args,
                const void *frame) {
    const sh_function function = sh__real(symbol, ((void *const *)frame)[1]);
    sh__environment_renew();
    const sh_op *op = sh_op_find(r->op);
    if (is_inner(frame) || !op || sh_op_undisturbed(op, kernel)) {
        r->call(function, args);
        return;
    }
    sh_lapack f = {.routine = r,
                   .args = args,
                   .function = function,
                   .dtype = dtypes[(unsigned char)letter],
                   .real = letter == 's' || letter == 'c' ? SH_F32 : SH_F64,
                   .integer = wide ? SH_I64 : SH_I32};
    show(&f, frame);
}

#define WRAPPER(symbol, op, letter, wide, n)                                               \
    SEEN void symbol(P##n);                                                                \
    SEEN void symbol(P##n) {                                                               \
        void *const args[] = {N##n};                                                       \
        run(&routine_##op##_##n, #symbol, letter, wide, args, __builtin_frame_address(0)); \
    }
#define SPELLINGS(x, op, letter, n)                 \
    WRAPPER(x##op##_, op, letter, false, n)         \
    WRAPPER(x##op##_64_, op, letter, true, n)       \
    WRAPPER(scipy_##x##op##_, op, letter, false, n) \
    WRAPPER(scipy_##x##op##_64_, op, letter, true, n)
#define LETTERS_sd(op, n) SPELLINGS(s, op, 's', n) SPELLINGS(d, op, 'd', n)
#define LETTERS_cz(op, n) SPELLINGS(c, op, 'c', n) SPELLINGS(z, op, 'z', n)
#define LETTERS_sdcz(op, n) LETTERS_sd(op, n) LETTERS_cz(op, n)
#define LAPACK(op, letters, n, schema)                                                   \
    static void call_##op##_##n(sh_function function, void *const *args) {               \
        ((void (*)(P##n))function)(V##n);                                                \
    }                                                                                    \
    static const routine routine_##op##_##n = {NAME(op), sh__lay_##op, call_##op##_##n}; \
    LETTERS_##letters(op, n)
#include "interpose/lapack.def"
#undef LAPACK

/* ---- the ops ---- */

static void define(const char *name, const char *schema) {
    static const char *const backends[] = {"cpu", "ref"};
    const sh_op_options options = {.registrant = "LAPACK"};
    sh_kernel handle;
    sh_status status = sh_op_define(schema, &options, NULL);
    for (int i = 0; i < 2 && status >= 0; i++)
        status = sh_kernel_register(name, backends[i], kernel, (void *)(uintptr_t)name, "LAPACK", &handle);
    if (status < 0) sh_warn("%s: %s", name, sh_error() ? sh_error()->message : "can't be defined");
    sh_clear_error();
}

/* A driver with two lines is one op. */
__attribute__((constructor(201))) static void define_all(void) {
    static const char *const names[] = {
#define LAPACK(op, letters, n, schema) NAME(op),
#include "interpose/lapack.def"
#undef LAPACK
    };
    static const char *const schemas[] = {
#define LAPACK(op, letters, n, schema) NAME(op) schema,
#include "interpose/lapack.def"
#undef LAPACK
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0) define(names[i], schemas[i]);
}
