/* closure_call.c - one call of a closure: what the parameters bring becomes arguments, what the op gives is written.
 *
 * Numbers are read first, since they say how large arrays are; then arrays become views. Nothing is copied in. A result
 * goes straight into its array by the op's `out` or in-place form, else it is computed and copied. */
#include <math.h>

#include "dispatch/ffi/closure.h"

/* ---- numbers ---- */

static sh_value read_number(sh_ctype type, const void *at) {
    sh_value v = sh_value_int(0);
    switch (type) {
    case SH_C_F32: return sh_value_float(*(const float *)at);
    case SH_C_F64: return sh_value_float(*(const double *)at);
    case SH_C_LONG_DOUBLE: return sh_value_float((double)*(const long double *)at);
    case SH_C_BOOL: return sh_value_flag(*(const uint8_t *)at != 0);
    case SH_C_CHAR: v.as.i = *(const char *)at; break;
    case SH_C_I8: v.as.i = *(const int8_t *)at; break;
    case SH_C_U8: v.as.i = *(const uint8_t *)at; break;
    case SH_C_I16: v.as.i = *(const int16_t *)at; break;
    case SH_C_U16: v.as.i = *(const uint16_t *)at; break;
    case SH_C_I32: v.as.i = *(const int32_t *)at; break;
    case SH_C_U32: v.as.i = *(const uint32_t *)at; break;
    default: memcpy(&v.as.i, at, sizeof v.as.i); break;
    }
    return v;
}

/* A step's place in the frame is its parameter's, but for fields and what is passed by address. */
static const void *place(const sh_ccall *c, const sh_cstep *s) {
    const sh_cprogram *p = c->closure->program;
    const uint16_t at = s->flags & SH_STEP_BY_ADDRESS ? s->address_at : s->at;
    uint32_t i = 0;
    while (i + 1 < p->nparams && p->places[i + 1] <= at) i++;
    return (const char *)c->at[i] + (at - p->places[i]);
}

static void *pointer(const sh_ccall *c, const sh_cstep *s) {
    void *address;
    memcpy(&address, place(c, s), sizeof address);
    return address;
}

sh_value sh__closure_number(const sh_ccall *c, const sh_cstep *s) {
    const void *at = s->flags & SH_STEP_BY_ADDRESS ? pointer(c, s) : place(c, s);
    if (at) return read_number((sh_ctype)s->type, at);
    sh_fail(SH_ERROR_NULL, "%s: parameter %.*s of the closure is NULL", c->closure->op->name,
            (int)s->item->name.n, s->item->name.at);
    return sh_value_int(0);
}

static sh_status read_dim(sh_ccall *c, const sh_cstep *s) {
    const int64_t size = sh_value_as_int(sh__closure_number(c, s));
    if (sh__error_pending()) return sh_error()->code;
    if (size < 0)
        return sh_fail(SH_ERROR_SHAPE, "%s: parameter %.*s of the closure is %lld", c->closure->op->name,
                       (int)s->item->name.n, s->item->name.at, (long long)size);
    c->dims[s->source] = size;
    c->bound |= 1u << s->source;
    return SH_OK;
}

static sh_status read_arg(sh_ccall *c, const sh_cstep *s) {
    const sh_param *param = &c->closure->program->schema->params[s->source];
    sh_value v = sh__closure_number(c, s);
    if (param->type == SH_TYPE_FLOAT) v = sh_value_float(sh_value_as_double(v));
    if (param->type == SH_TYPE_INT) v = sh_value_int(sh_value_as_int(v));
    if (param->type == SH_TYPE_FLAG) v = sh_value_flag(sh_value_as_double(v) != 0);
    if (param->type == SH_TYPE_DTYPE) v = sh_value_dtype((sh_dtype)sh_value_as_int(v));
    c->args[s->source] = v;
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

/* ---- arrays ---- */

/* The step that says `put` of an array, or NULL. */
static const sh_cstep *about(const sh_cprogram *p, const sh_cstep *array, sh_put put) {
    for (uint32_t i = p->narrays; i < p->nsteps; i++)
        if (p->steps[i].put == put && p->steps[i].source == array->index) return &p->steps[i];
    return NULL;
}

static int rank_of(const sh_ccall *c, const sh_cstep *s) {
    const sh_cprogram *p = c->closure->program;
    const sh_cstep *sizes = about(p, s, SH_PUT_SIZES), *ndim = about(p, s, SH_PUT_NDIM);
    if (s->flags & SH_STEP_SHAPED || !sizes) return s->rank;
    if (ndim) return (int)sh_value_as_int(sh__closure_number(c, ndim));
    const int64_t size = sizes->sizes[0];
    return (int)(size >= 0 ? size : c->dims[SH_SIZE_NAME - size]);
}

static sh_status array_sizes(const sh_ccall *c, const sh_cstep *s, int *ndim, int64_t *sizes) {
    const sh_cprogram *p = c->closure->program;
    const sh_cstep *given = about(p, s, SH_PUT_SIZES), *numel = about(p, s, SH_PUT_NUMEL);
    const int64_t *from = given ? pointer(c, given) : NULL;
    *ndim = rank_of(c, s);
    if (*ndim < 0 || *ndim > SH_MAX_DIMS || (given && *ndim && !from))
        return sh_fail(SH_ERROR_SHAPE, "%s: parameter %.*s of the closure has %d dimensions%s",
                       c->closure->op->name, (int)s->item->name.n, s->item->name.at, *ndim,
                       from || !given ? "" : " and no sizes");
    for (int d = 0; d < *ndim; d++) {
        const int64_t size = s->flags & SH_STEP_SHAPED ? s->sizes[d] : SH_SIZE_ANY;
        sizes[d] = size >= 0              ? size
                   : size <= SH_SIZE_NAME ? c->dims[SH_SIZE_NAME - size]
                   : from                 ? from[d]
                                          : 0;
    }
    if (given || s->flags & SH_STEP_SHAPED || !numel) return SH_OK;
    *ndim = 1;
    sizes[0] = sh_value_as_int(sh__closure_number(c, numel));
    return SH_OK;
}

static sh_dtype dtype_of(const sh_ccall *c, const sh_cstep *s) {
    const sh_cstep *given = about(c->closure->program, s, SH_PUT_DTYPE);
    if (given) return (sh_dtype)sh_value_as_int(sh__closure_number(c, given));
    return s->type == SH_C_CHAR ? SH_I8 : sh__ctype_dtype((sh_ctype)s->type);
}

sh_tensor *sh__closure_view(const sh_ccall *c, const sh_cstep *s, void *data, sh_dtype dtype, int ndim,
                            const int64_t *sizes, const int64_t *strides) {
    static const int64_t none = 0;
    sh_tensor *t = sh_from_data(data, dtype, (sh_ints){ndim ? sizes : &none, (size_t)ndim},
                                (sh_ints){strides, strides ? (size_t)ndim : 0}, NULL, NULL);
    if (!t)
        sh__error_at(c->closure->op->name, "parameter of a closure", s->item->name.n ? s->item->name.at : "");
    return t;
}

static sh_tensor *view_of(const sh_ccall *c, const sh_cstep *s) {
    const sh_cstep *lie = about(c->closure->program, s, SH_PUT_STRIDES);
    int64_t sizes[SH_MAX_DIMS];
    int ndim;
    if (s->put == SH_PUT_TENSOR) return pointer(c, s);
    if (s->put == SH_PUT_ITEM)
        return sh_tensor_copy_of(place(c, s), sh__ctype_dtype((sh_ctype)s->type), (sh_ints){sizes, 0});
    if (array_sizes(c, s, &ndim, sizes) < 0) return NULL;
    return sh__closure_view(c, s, pointer(c, s), dtype_of(c, s), ndim, sizes, lie ? pointer(c, lie) : NULL);
}

static bool may_be_none(const sh_ccall *c, const sh_cstep *s) {
    return s->put == SH_PUT_ARRAY && !(s->flags & SH_STEP_RESULT) && !pointer(c, s) &&
           c->closure->program->schema->params[s->source].optional;
}

static sh_status read_array(sh_ccall *c, const sh_cstep *s) {
    c->arrays[s->index] = NULL;
    sh_tensor *t = may_be_none(c, s) ? NULL : view_of(c, s);
    if (!t && !may_be_none(c, s))
        return sh__error_pending() ? sh_error()->code
                                   : sh_fail(SH_ERROR_NULL, "%s: parameter %.*s of the closure is NULL",
                                             c->closure->op->name, (int)s->item->name.n, s->item->name.at);
    c->arrays[s->index] = t;
    if (!(s->flags & SH_STEP_RESULT)) c->args[s->source] = sh_value_tensor(t);
    return SH_OK;
}

/* ---- lists and strings ---- */

static sh_status read_list(sh_ccall *c, const sh_cstep *s) {
    void *at = pointer(c, s);
    const int64_t size = s->rank == 1 ? s->sizes[0] : SH_SIZE_ANY;
    const int64_t n = size >= 0 ? size : size <= SH_SIZE_NAME ? c->dims[SH_SIZE_NAME - size] : 0;
    c->args[s->source] = s->put == SH_PUT_INTS ? sh_value_ints((sh_ints){at, (size_t)n})
                                               : sh_value_tensors((sh_tensors){at, (size_t)n});
    return SH_OK;
}

static sh_status read_rest(sh_ccall *c) {
    const sh_cprogram *p = c->closure->program;
    for (uint32_t i = p->narrays; i < p->nsteps; i++) {
        const sh_cstep *s = &p->steps[i];
        if (s->put == SH_PUT_DIM) SH_TRY(read_dim(c, s));
        if (s->put == SH_PUT_NUMBER) SH_TRY(read_arg(c, s));
        if (s->put == SH_PUT_STRING) c->args[s->source] = sh_value_string(pointer(c, s));
    }
    for (uint32_t i = p->narrays; i < p->nsteps; i++)
        if (p->steps[i].put == SH_PUT_LIST || p->steps[i].put == SH_PUT_INTS)
            SH_TRY(read_list(c, &p->steps[i]));
    return SH_OK;
}

/* ---- results ---- */

sh_status sh__closure_call(sh_ccall *c, sh_tensor *target) {
    const sh_closure *closure = c->closure;
    const sh_variant variant = !target                                    ? SH_FUNCTIONAL
                               : target == sh_value_as_tensor(c->args[0]) ? SH_INPLACE
                                                                          : SH_OUT;
    return sh__call_results(closure->op, variant, target, c->args, c->results, -1, c->frame);
}

static sh_status write_back(sh_ccall *c, const sh_cstep *s, sh_tensor *to) {
    sh_tensor *from = sh_value_as_tensor(c->results[s->source]);
    char got[160], expected[160];
    if (from == to) return SH_OK;
    if (!from)
        return sh_fail(SH_ERROR_RESULT, "%s: result %d of a closure is no tensor", c->closure->op->name,
                       s->source);
    sh__tensor_print_type(from, got, sizeof got);
    sh__tensor_print_type(to, expected, sizeof expected);
    const bool shapes =
        from->ndim == to->ndim && !memcmp(from->sizes, to->sizes, (size_t)to->ndim * sizeof *to->sizes);
    if (!shapes || (from->dtype != to->dtype && !(c->closure->program->flags & SH_C_CONVERT)) || !from->data)
        return sh_fail(shapes ? SH_ERROR_DTYPE : SH_ERROR_SHAPE,
                       "%s: the result is %s, parameter %.*s of the closure %s", c->closure->op->name, got,
                       (int)s->item->name.n, s->item->name.at, expected);
    return sh__copy_elements(to, from);
}

/* The array that the op may write itself. */
static sh_tensor *find_target(sh_ccall *c) {
    const sh_cprogram *p = c->closure->program;
    const bool one = p->schema->nreturns == 1;
    for (uint32_t i = 0; i < p->narrays; i++) {
        const sh_cstep *s = &p->steps[i];
        if (!(s->flags & SH_STEP_RESULT) || !one) continue;
        if (c->closure->in_place) c->args[0] = sh_value_tensor(c->arrays[s->index]);
        const bool out = (c->closure->op->tags & SH_OP_OUT) && !(p->flags & SH_C_CONVERT);
        return c->closure->in_place || out ? c->arrays[s->index] : NULL;
    }
    return NULL;
}

static sh_status give_value(sh_ccall *c, void *value) {
    const sh_cprogram *p = c->closure->program;
    const sh_ctype type = (sh_ctype)p->signature->returns.type;
    sh_tensor *t = sh_value_as_tensor(c->results[p->given]);
    if (p->gives == SH_GIVES_TENSOR) {
        t = sh_escape(t);
        memcpy(value, &t, sizeof t);
        return SH_OK;
    }
    const bool real = sh__ctype_class(type) == SH_CLASS_REAL;
    const double number = real ? sh_item(t) : 0;
    const float narrow = (float)number;
    const long double wide = number;
    const int64_t whole = real ? 0 : sh_item_int(t);
    if (sh__error_pending()) return sh_error()->code;
    const void *from = !real              ? (const void *)&whole
                       : type == SH_C_F32 ? (const void *)&narrow
                       : type == SH_C_F64 ? (const void *)&number
                                          : &wide;
    memcpy(value, from, sh__ctype_size(type));
    return SH_OK;
}

sh_status sh__closure_run(sh_ccall *c, void *value) {
    const sh_cprogram *p = c->closure->program;
    memcpy(c->args, c->closure->values, sizeof c->args);
    if (p->adapter == SH_C_GEMM) return sh__closure_gemm(c);
    SH_TRY(read_rest(c));
    for (uint32_t i = 0; i < p->narrays; i++) SH_TRY(read_array(c, &p->steps[i]));
    SH_TRY(sh__closure_call(c, find_target(c)));
    for (uint32_t i = 0; i < p->narrays; i++)
        if (p->steps[i].flags & SH_STEP_RESULT)
            SH_TRY(write_back(c, &p->steps[i], c->arrays[p->steps[i].index]));
    return p->gives >= SH_GIVES_NUMBER ? give_value(c, value) : SH_OK;
}

/* ---- beforehand ---- */

static sh_status check_size(const sh_closure *closure, const sh_cstep *s, int64_t size) {
    const sh_cprogram *p = closure->program;
    if (size > SH_SIZE_NAME) return SH_OK;
    const uint8_t name = (uint8_t)(SH_SIZE_NAME - size);
    for (uint32_t i = p->narrays; i < p->nsteps; i++)
        if (p->steps[i].put == SH_PUT_DIM && p->steps[i].source == name) return SH_OK;
    const sh_cword word = p->signature->dims[name];
    return sh__cprogram_fail(p->signature, s->item, "no parameter says what %.*s is", (int)word.n, word.at);
}

static sh_status check_array(const sh_closure *closure, const sh_cstep *s) {
    const sh_cprogram *p = closure->program;
    const bool sizes = about(p, s, SH_PUT_SIZES), numel = about(p, s, SH_PUT_NUMEL);
    bool known = s->flags & SH_STEP_SHAPED || sizes || numel;
    for (int d = 0; d < s->rank; d++) {
        SH_TRY(check_size(closure, s, s->sizes[d]));
        known &= s->sizes[d] != SH_SIZE_ANY || sizes || (numel && s->rank == 1);
    }
    if (!known) return sh__cprogram_fail(p->signature, s->item, "nothing says how large this array is");
    if (sh__ctype_dtypes((sh_ctype)s->type) == ~0u
            ? !about(p, s, SH_PUT_DTYPE)
            : !sh__ctype_dtype((sh_ctype)s->type) && s->type != SH_C_CHAR)
        return sh__cprogram_fail(p->signature, s->item, "nothing says which dtype %s is",
                                 sh__ctype_name((sh_ctype)s->type));
    return SH_OK;
}

sh_status sh__closure_check(const sh_closure *closure) {
    const sh_cprogram *p = closure->program;
    for (uint32_t i = 0; i < p->nsteps && p->adapter != SH_C_GEMM; i++) {
        const sh_cstep *s = &p->steps[i];
        if (s->put == SH_PUT_ARRAY) SH_TRY(check_array(closure, s));
        if (s->put == SH_PUT_ITEM && !sh__ctype_dtype((sh_ctype)s->type))
            return sh__cprogram_fail(p->signature, s->item, "no dtype has elements of %s",
                                     sh__ctype_name((sh_ctype)s->type));
        if (s->put == SH_PUT_ELEMENT)
            return sh__cprogram_fail(p->signature, s->item,
                                     "fields that are entries of one argument can't be read back");
        if ((s->put == SH_PUT_LIST || s->put == SH_PUT_INTS)) {
            if (s->rank != 1 || s->sizes[0] == SH_SIZE_ANY)
                return sh__cprogram_fail(p->signature, s->item, "nothing says how long this list is");
            SH_TRY(check_size(closure, s, s->sizes[0]));
        }
        if (s->put == SH_PUT_SIZES && s->rank) SH_TRY(check_size(closure, s, s->sizes[0]));
    }
    return SH_OK;
}
