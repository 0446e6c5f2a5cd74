/* lapack.c - LAPACK drivers as ops on views of the caller's memory.
 *
 * A wrapper collects the pointers of its Fortran call, and lapack_drivers.c says which tensors go in and come out. Then the
 * op goes through the modes, and its kernel calls the real function with the very same pointers. Input matrices are written
 * over by LAPACK anyway, so that what a mode put in an argument's place is copied there first; what it put in a result's
 * place, afterwards. Workspace queries and arguments that LAPACK will refuse go straight to it, and so do the drivers that
 * LAPACK itself calls, unless SHUNT_NESTED=1. */
#include "interpose/lapack.h"

#include <string.h>

#include "dispatch/call.h"
#include "dispatch/scope.h"
#include "interpose/wrapper.h"
#include "modes/environment.h"

#define NAME(op) "lapack::" #op

typedef struct sh_lapack_routine {
    const char *op;
    void (*lay)(sh_lapack *);
    void (*call)(wr_function function, void *const *args);
} routine;

static __thread sh_lapack *current; /* what the kernel is to run */

/* ---- the kernel ---- */

static sh_status copy(const sh_lapack *f, sh_tensor *to, const sh_tensor *from) {
    const int ndim = sh_tensor_ndim(to);
    bool fits = sh_tensor_dtype(from) == sh_tensor_dtype(to) && sh_tensor_ndim(from) == ndim;
    for (int i = 0; fits && i < ndim; i++) fits = sh_tensor_sizes(from)[i] == sh_tensor_sizes(to)[i];
    if (!fits)
        return sh_fail(SH_ERROR_SHAPE,
                       "%s: a tensor in the program's place must stay %s of %lld elements, got %s of %lld",
                       f->routine->op, sh_dtype_name(sh_tensor_dtype(to)), (long long)sh_tensor_numel(to),
                       sh_dtype_name(sh_tensor_dtype(from)), (long long)sh_tensor_numel(from));
    wr_copy(to, from);
    return SH_OK;
}

/* What a mode put in the place of an input goes into the caller's memory. */
static sh_status copy_edited(const sh_lapack *f, const sh_call *call) {
    for (uint32_t i = 0; i < f->ninputs; i++) {
        sh_tensor *had = sh_value_as_tensor(f->inputs[i]), *now = sh_call_tensor(call, i);
        if (had && now && now != had) SH_TRY(copy(f, had, now));
    }
    return SH_OK;
}

static sh_value read_number(const sh_lapack *f, int at) {
    return sh_value_int(f->integer == SH_I64 ? *(const int64_t *)f->args[at] : *(const int32_t *)f->args[at]);
}

static void run_real(sh_lapack *f) {
    const bool shows = wr_shows_nested();
    sh_inside inside;
    f->ran = true;
    if (shows) sh_inside_show(&inside);
    f->routine->call(f->function, f->args);
    if (shows) sh_inside_end(&inside);
}

static sh_status kernel(sh_call *call, void *user) {
    sh_lapack *f = current;
    if (!f || strcmp(f->routine->op, user) != 0)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s runs only where a program calls it", (const char *)user);
    SH_TRY(copy_edited(f, call));
    run_real(f);
    for (uint32_t i = 0; i < f->nresults; i++) {
        const sh_value v = f->results[i];
        SH_TRY(sh_call_set_result(call, i, v.tag == SH_TAG_NONE ? read_number(f, f->numbers[i]) : v));
    }
    return SH_OK;
}

/* ---- the op ---- */

static void write_number(const sh_lapack *f, int at, const sh_tensor *t) {
    const int64_t number = t ? sh_item_int(t) : 0;
    if (f->integer == SH_I64)
        *(int64_t *)f->args[at] = number;
    else
        *(int32_t *)f->args[at] = (int32_t)number;
}

/* What a mode or a hooked kernel gave instead goes where the caller looks. */
static sh_status put_result(const sh_lapack *f, uint32_t i, sh_value v) {
    const sh_value had = f->results[i];
    const sh_tensor *t = sh_value_as_tensor(v);
    if (had.tag == SH_TAG_NONE) write_number(f, f->numbers[i], t);
    return had.tag == SH_TAG_TENSOR && t && t != had.as.tensor ? copy(f, had.as.tensor, t) : SH_OK;
}

static sh_status put_results(const sh_lapack *f, const sh_value *results) {
    for (uint32_t i = 0; i < f->nresults; i++) SH_TRY(put_result(f, i, results[i]));
    return SH_OK;
}

/* A finding was told already. The program goes on in any case, with its own library's results. */
static void tell_failure(const sh_lapack *f) {
    const sh_error_info *error = sh_error();
    if (error && error->code != SH_ERROR_FINDING)
        sh_warn("%s%s: %s", f->routine->op, f->ran ? "" : " ran unseen", error->message);
    sh_clear_error();
}

/* Was the call computed, by whomever? */
static bool call_op(sh_lapack *f, const sh_op *op, const void *site) {
    sh_value args[SH_MAX_ARGS], results[SH_MAX_RESULTS] = {{0}};
    sh_lapack *outer = current;
    current = f;
    memcpy(args, f->inputs, sizeof args);
    const sh_status status = sh_op_call(op, args, NULL, results, site);
    current = outer;
    return status >= 0 && put_results(f, results) >= 0;
}

static void show(sh_lapack *f, const sh_op *op, const void *site) {
    bool done = false;
    SH_SCOPE {
        f->routine->lay(f);
        if (!f->straight) done = call_op(f, op, site);
    }
    if (sh_error()) tell_failure(f);
    if (!done && !f->ran) f->routine->call(f->function, f->args);
}

/* ---- wrappers ---- */

static const sh_dtype dtypes[] = {['s'] = SH_F32, ['d'] = SH_F64, ['c'] = SH_C64, ['z'] = SH_C128};

static void intercept(const routine *r, const sh_op *op, const wr_binding *binding, wr_target *target,
                      char letter, void *const *args, const void *site) {
    sh_lapack f = {.routine = r,
                   .args = args,
                   .function = target->function,
                   .dtype = dtypes[(unsigned char)letter],
                   .real = letter == 's' || letter == 'c' ? SH_F32 : SH_F64,
                   .integer = wr_target_width(target, binding->suffix) == 8 ? SH_I64 : SH_I32};
    sh__environment_renew();
    show(&f, op, site);
}

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

#define WRAPPER(symbol_, op, letter, prefix_, suffix_, n)                                       \
    WR_SEEN void symbol_(P##n);                                                                 \
    WR_SEEN void symbol_(P##n) {                                                                \
        static wr_binding binding = {.symbol = #symbol_, .prefix = prefix_, .suffix = suffix_}; \
        const void *const site = __builtin_return_address(0);                                   \
        wr_target *target = wr_bound(&binding, site);                                           \
        if (SH_LIKELY(!of_##op || sh_op_undisturbed(of_##op, kernel))) {                        \
            ((void (*)(P##n))target->function)(N##n);                                           \
            return;                                                                             \
        }                                                                                       \
        void *const args[] = {N##n};                                                            \
        intercept(&routine_##op##_##n, of_##op, &binding, target, letter, args, site);          \
    }
#define SPELLINGS(x, op, letter, n)                        \
    WRAPPER(x##op##_, op, letter, "", "", n)               \
    WRAPPER(x##op##_64_, op, letter, "", "64_", n)         \
    WRAPPER(scipy_##x##op##_, op, letter, "scipy_", "", n) \
    WRAPPER(scipy_##x##op##_64_, op, letter, "scipy_", "64_", n)
#define LETTERS_sd(op, n) SPELLINGS(s, op, 's', n) SPELLINGS(d, op, 'd', n)
#define LETTERS_cz(op, n) SPELLINGS(c, op, 'c', n) SPELLINGS(z, op, 'z', n)
#define LETTERS_sdcz(op, n) LETTERS_sd(op, n) LETTERS_cz(op, n)

/* An op may stand on two lines: tentative definitions of one variable. */
#define LAPACK(op, letters, n, schema) static const sh_op *of_##op;
#include "interpose/lapack.def"
#undef LAPACK

#define LAPACK(op, letters, n, schema)                                                   \
    static void call_##op##_##n(wr_function function, void *const *args) {               \
        ((void (*)(P##n))function)(V##n);                                                \
    }                                                                                    \
    static const routine routine_##op##_##n = {NAME(op), sh__lay_##op, call_##op##_##n}; \
    LETTERS_##letters(op, n)
#include "interpose/lapack.def"
#undef LAPACK

/* ---- the ops ---- */

static const sh_op *define(const char *name, const char *schema) {
    static const char *const backends[] = {"cpu", "ref"}, *const who = "the program's LAPACK";
    const sh_op_options options = {.registrant = who, .cost = sh__lapack_cost};
    const sh_op *op = NULL;
    sh_status status = sh_op_define(schema, &options, &op);
    for (int i = 0; i < 2 && status >= 0; i++)
        status = sh_kernel_register_base(name, backends[i], kernel, (void *)(uintptr_t)name, who, NULL);
    if (status >= 0) return op;
    sh_warn("%s can't be shown: %s", name, sh_error() ? sh_error()->message : "no reason");
    sh_clear_error();
    return NULL;
}

__attribute__((constructor)) static void define_all(void) {
#define LAPACK(op, letters, n, schema) \
    if (!of_##op) of_##op = define(NAME(op), NAME(op) schema);
#include "interpose/lapack.def"
#undef LAPACK
}
