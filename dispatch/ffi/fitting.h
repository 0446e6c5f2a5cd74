/* fitting.h - the making of a program: what is known of each parameter so far. */
#ifndef SH_DISPATCH_FFI_FITTING_H
#define SH_DISPATCH_FFI_FITTING_H

#include "dispatch/ffi/program.h"

typedef struct fitting {
    sh_cprogram *p;
    const sh_signature *s;
    const sh_schema *schema;
    uint32_t used_args, used_results;
    uint8_t puts[SH_C_ITEMS];   /* what each item is, or UNKNOWN */
    uint8_t source[SH_C_ITEMS]; /* its argument or result */
    bool result[SH_C_ITEMS];
    uint8_t array[SH_C_ITEMS]; /* its step */
} fitting;
enum { UNKNOWN = 0xff };

/* Parameters that are known by name, then tensors that are left over in order: their puts, sources and results. */
sh_status sh__fitting_names(fitting *f);
/* x_strides and its like: what it is of which array parameter. */
bool sh__fitting_derived(const fitting *f, const sh_citem *item, sh_put *put, const sh_citem **base);
/* Does a parameter bring the strides of this one? */
bool sh__fitting_has_strides(const fitting *f, const sh_citem *item);
sh_status sh__fitting_wrong_kind(const fitting *f, const sh_citem *item, int arg);

static inline bool is_closure(const fitting *f) { return (f->p->flags & SH_C_CLOSURE) != 0; }

static inline int find_named(const sh_param *params, uint32_t n, sh_cword name) {
    for (uint32_t i = 0; i < n; i++)
        if (sh__cword_is(name, params[i].name)) return (int)i;
    return -1;
}

static inline int find_arg(const fitting *f, sh_cword name) {
    return find_named(f->schema->params, f->schema->nparams, name);
}

static inline sh_type arg_type(const fitting *f, int i) { return f->schema->params[i].type; }

static inline bool is_tensor_arg(const fitting *f, int i) {
    return i >= 0 && arg_type(f, i) == SH_TYPE_TENSOR;
}

static inline bool is_plain_arg(const fitting *f, int i) {
    return i >= 0 && arg_type(f, i) != SH_TYPE_TENSOR && arg_type(f, i) != SH_TYPE_TENSORS;
}

#endif
