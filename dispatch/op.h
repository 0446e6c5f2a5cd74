/* op.h - the dispatch table: ops, kernels, backends.
 *
 * An op has a name, a schema, an infer function (result shapes and dtypes from the arguments) and
 * kernels by backend. A backend is a column of kernels that works on one device: `cpu` (fast) and
 * `ref` (plain loops, double accumulation) on host memory, `meta` (shapes only), more from plug-ins.
 *
 *     sh_kernel k;
 *     sh_kernel_register("add", "cpu", my_add, NULL, "my add", &k);   // newest wins
 *     ...
 *     sh_kernel_remove(k);                                            // the older one is back
 *
 * Choice of a kernel (D2): device of the arguments, then the backend (rules, sh_with_backend, the
 * device's default), then the composite kernel, then the backend's fallback, then an error that
 * lists what is registered. Registration is thread-safe; calls take no lock. */
#ifndef SH_DISPATCH_OP_H
#define SH_DISPATCH_OP_H

#include "dispatch/schema.h"
#include "dispatch/tensor.h"

SH_BEGIN_DECLS

typedef struct sh_op sh_op;
typedef struct sh_call sh_call;

enum {
    SH_OP_PURE = 1,    /* same arguments, same results, no effect: may be merged or dropped */
    SH_OP_INPLACE = 2, /* has a form that ends in _ */
    SH_OP_OUT = 4,     /* takes `out` */
    SH_OP_VIEW = 8,    /* its result shares storage with an argument */
    SH_OP_RANDOM = 16,
    SH_OP_COMPOSITE = 32, /* its default kernel is written with other ops */
    SH_OP_POINTWISE = 64,
    SH_OP_REDUCTION = 128,
    SH_OP_FACTORY = 256,       /* makes a tensor from no tensor */
    SH_OP_CUSTOM = 512,        /* defined at run time */
    SH_OP_EXACT = 1024,        /* `out` must have the dtype of the result, it is not cast to */
    SH_OP_TARGET_DTYPE = 2048, /* where `dtype` is not given, that of `out` or the in-place self is meant */
    SH_OP_TAKES_ALL = 4096 /* complex numbers and parts of matrices too, which else only custom ops take */
};

/* ---- ops ---- */
/* By name, "max.dim", "mylib::gate"; NULL without an error if there is none. */
SH_API const sh_op *sh_op_find(const char *name);
/* The name of the op that a misspelt name is nearest to, or NULL. */
SH_API const char *sh_op_suggest(const char *name);
SH_API const sh_op *sh_op_by_id(uint32_t id);
SH_API uint32_t sh_op_count(void);
SH_API const char *sh_op_name(const sh_op *op);
SH_API uint32_t sh_op_id(const sh_op *op);
/* The id of the op that names the family: SH_OP_max for max.dim. */
SH_API uint32_t sh_op_family(const sh_op *op);
SH_API uint32_t sh_op_tags(const sh_op *op);
/* NULL while kernels are registered for the name but no schema is defined. */
SH_API const sh_schema *sh_op_schema(const sh_op *op);

/* What a result will be; filled by an infer function. */
typedef struct sh_spec {
    const sh_tensor *like; /* built-in ops only: laid out as this tensor, the rest need not be filled */
    sh_dtype dtype;
    int32_t ndim;
    int64_t sizes[SH_MAX_DIMS];
} sh_spec;

/* Shapes and dtypes of the results from the arguments (in schema order). Reads no data. */
typedef sh_status (*sh_infer)(const sh_value *args, sh_spec *results, void *user);
/* A boxed kernel, for any op: arguments and results through call.h. With an infer function its results are
 * allocated before it runs; without one it sets them. SH_PASS declines: the next kernel runs; after sh_next_kernel it keeps
 * that one's results. */
typedef sh_status (*sh_boxed)(sh_call *call, void *user);

/* What one call costs: floating-point operations, a multiply-add being two, and bytes read and written. Of a call that
 * has run. */
typedef void (*sh_cost)(const sh_call *call, double *flops, double *bytes, void *user);

/* Everything is optional. Unless an infer function says what results will be, the op can't run on tensors without data,
 * and so not in a trace. */
typedef struct sh_op_options {
    size_t size;            /* sizeof(sh_op_options) as the caller knows it; 0: as it is here */
    sh_infer infer;         /* results that are lists, or (a!) arguments handed back, are not asked of it */
    uint32_t tags;          /* SH_OP_PURE | ... */
    void *user;             /* for infer and cost */
    const char *registrant; /* shown in notes and errors; copied */
    sh_boxed cpu, ref;      /* kernels of these backends */
    sh_boxed
        composite;     /* the op written with other ops: what it is without a kernel, and its decomposition */
    void *kernel_user; /* for the three kernels */
    sh_cost cost;      /* for the profile mode; without it no flops, and the bytes of arguments and results */
} sh_op_options;
#define SH_OP_OPTIONS_INIT \
    { .size = sizeof(sh_op_options) }

/* Defines an op at run time from its schema (schema.h), with the kernels of `options`, all at once. Kernels may have been
 * registered before. `op`, optional, stays valid for ever. From then on it is an op like any other: by name, under modes,
 * in graphs, in the ONNX reader (domain "mylib", op_type "Gate" or "gate" for mylib::gate).
 *
 * What the schema marks is done here: (a!) arguments count as written when a kernel returns (versions of their storages
 * are raised), a result Tensor(a!) is that argument, a Tensor(a) is left to the kernel, which gives a view.
 *
 * SH_ERROR_SCHEMA: the text does not parse, or says what can't be: results other than Tensor or one Tensor[], a result
 * (a!) of an argument that is only (a). SH_ERROR_OP: the name has a schema already. SH_ERROR_ARGUMENT: tags that the
 * schema contradicts (PURE and written arguments, a form in place without a tensor to write). */
SH_API sh_status sh_op_define(const char *schema, const sh_op_options *options, const sh_op **op);
/* Ends a definition made by sh_op_define and removes the kernels that came with it; those registered apart stay for the
 * next definition of the name. Calls through old pointers and names then are clean errors, calls in flight end as they
 * began or with such an error. */
SH_API sh_status sh_op_undefine(const char *name);
/* What the op's definition says that a call costs; false if it says nothing. */
SH_API bool sh_call_cost(const sh_call *call, double *flops, double *bytes);
/* Who defined the op; "built-in" where the library did. Valid until sh_op_undefine. */
SH_API const char *sh_op_registrant(const sh_op *op);

/* ---- kernels ---- a handle; checked by generation, so a dead one is an error, not a crash */
typedef struct sh_kernel {
    uint32_t index, generation;
} sh_kernel;

#define SH_COMPOSITE "composite" /* the column of kernels written with other ops */

/* Registers `boxed` for op `name` (defined or not yet) in a backend's column. Replacing an existing
 * kernel is allowed and writes one note that names both registrants. */
SH_API sh_status sh_kernel_register(const char *name, const char *backend, sh_boxed boxed, void *user,
                                    const char *registrant, sh_kernel *kernel);
/* The same with a condition and a policy. Zero is "left out" throughout: (sh_kernel_options){.where = "numel=65536.."}. */
enum {
    SH_KERNEL_CALLS_OPS = 1, /* a typed kernel that calls ops: modes are hidden while it runs */
    SH_KERNEL_BASE = 2       /* it stays behind all others of its column, those of before too */
};
typedef struct sh_kernel_options {
    size_t size; /* sizeof(sh_kernel_options), or 0 for that of this header; no field past it is read */
    const char *backend; /* "cpu" if NULL */
    /* Which calls it is for, as in a mode's specification: "dtype=f32,numel=65536..,shape=[*,64],scope=[layer1],call=1..9".
     * For others the kernel is no candidate, and the next one is taken. Calls are numbered from 1 by kernel: those that
     * meet the rest of the condition. NULL: all. */
    const char *where;
    /* "verify:first=10,then=1/100,tol=1e-4" compares the first 10 calls and then one of 100 with ref (or, where ref has no
     * kernel, with the next one); a kernel found wrong is taken out for good and the call is done again without it.
     * "fallback": where it fails the next one runs. Both undo what it wrote. "verify:...;fallback" is both. NULL: none. */
    const char *policy;
    const char *registrant; /* shown in notes and errors */
    void *user;             /* for a boxed kernel */
    uint32_t flags;         /* SH_KERNEL_... */
    /* Runs once, after the kernel was removed by its handle; calls in flight may still use `user`. Optional. */
    void (*removed)(void *user);
} sh_kernel_options;
/* A bad condition or policy is SH_ERROR_SPEC, with a caret under the place. */
SH_API sh_status sh_kernel_register_with(const char *name, sh_boxed boxed, const sh_kernel_options *options,
                                         sh_kernel *kernel);
/* A kernel with the op's own C signature, made by sh_add_kernel(my_add), which checks that (ops.h). It costs what a
 * built-in one does. It can't decline, and calls no op unless SH_KERNEL_CALLS_OPS says so. Ops whose kernel fills its
 * results get them allocated by the infer function; others set `results` to tensors of the current scope. */
typedef struct sh_typed_kernel {
    uint32_t op;
    void (*function)(void);
} sh_typed_kernel;
SH_API sh_status sh_kernel_register_typed(sh_typed_kernel typed, const sh_kernel_options *options,
                                          sh_kernel *kernel);
/* From inside a boxed kernel: runs the one before it on this call, that is the older registration of its column, then what
 * would run without it (composite, fallthrough, fallback), conditions and policies applied. The results are then in the
 * call; the kernel may change them, set others, or return as it is. May be used more than once: each time the results are
 * others, but what the call writes is written again. A kernel can't edit a call: its predecessor gets the same arguments.
 * SH_ERROR_KERNEL if there is none, or outside of a kernel. */
SH_API sh_status sh_next_kernel(sh_call *call);
/* This backend passes the op on to the next one of its device; costs nothing at call time (D4). */
SH_API sh_status sh_kernel_fallthrough(const char *name, const char *backend, const char *registrant,
                                       sh_kernel *kernel);
/* One kernel for all ops of a backend, those defined later included. */
SH_API sh_status sh_backend_fallback(const char *backend, sh_boxed boxed, void *user, const char *registrant,
                                     sh_kernel *kernel);
SH_API sh_status sh_kernel_remove(sh_kernel kernel);
/* Runs the kernel of this handle on `call`, with all modes hidden. SH_ERROR_HANDLE once it was removed. */
SH_API sh_status sh_kernel_call(sh_kernel kernel, sh_call *call);

/* ---- devices and backends ---- */
/* Adds a backend on a device. It becomes the first in that device's fallthrough order, not its default. */
SH_API sh_status sh_backend_register(const char *name, sh_device device, const char *registrant);
/* Its name is free again, and the next backend of its device takes its place; the built-in ones stay. */
SH_API sh_status sh_backend_remove(const char *name);
SH_API uint32_t sh_backend_count(void);
SH_API const char *sh_backend_name(uint32_t backend);
SH_API sh_device sh_backend_device(uint32_t backend);
/* The index of a backend, or -1. */
SH_API int sh_backend_find(const char *name);
/* Process-wide default of the backend's device. */
SH_API sh_status sh_backend_set_default(const char *name);
/* This thread's choice for the backend's device, until restored: SH_WITH_BACKEND("ref") { ... } */
typedef struct sh_backend_guard {
    int8_t device, outer, open;
} sh_backend_guard;
SH_API sh_backend_guard sh_backend_enter(const char *name);
SH_API void sh_backend_leave(sh_backend_guard *guard);
#define SH_WITH_BACKEND(name) \
    SH__BLOCK(sh_backend_guard, SH__UNIQUE(sh__backend), sh_backend_leave, sh_backend_enter(name))

/* Recomputes every slot from the registrations and compares it with the live table (D5). */
SH_API sh_status sh_table_check(void);
/* What is registered for an op, one line a kernel: "cpu: built-in". Owned by the caller, free() it. */
SH_API char *sh_op_describe(const sh_op *op);

/* ---- rules ---- where a backend is used: op glob, dtype, shape range, scope path, call number (D2) */
typedef struct sh_rule {
    const char *ops;              /* filter on op names; NULL = all */
    const char *backend;          /* used where the rule matches */
    sh_dtype dtype;               /* of the first tensor argument; SH_NO_DTYPE = any */
    int64_t min_numel, max_numel; /* elements of the largest tensor argument; 0 = no bound */
    const char *scopes;           /* filter on the named scope path; NULL = all */
    int64_t first, last; /* call numbers of this op under this rule, 1-based, inclusive; 0 = no bound */
    const char *where;   /* what else is to hold, as in sh_kernel_options: "shape=[*,64]"; NULL = nothing */
} sh_rule;
typedef struct sh_rule_handle {
    uint32_t index, generation;
} sh_rule_handle;
/* Later rules win. Strings are copied. */
SH_API sh_status sh_rule_add(const sh_rule *rule, sh_rule_handle *handle);
SH_API sh_status sh_rule_remove(sh_rule_handle handle);

SH_END_DECLS

#endif
