/* run.c - one call of a C kernel: the steps of its program, the function, what it gave.
 *
 * The straight way reads each tensor's dtype, layout and sizes and stores one address; whatever does not fit leaves it for
 * fit.c. Results of an op without infer function are made here, from the sizes that the arrays have. */
#include <inttypes.h>
#include <math.h>

#include "dispatch/ffi/program.h"

/* ---- arrays ---- */

static sh_status mismatch(const sh_crun *r, const sh_cstep *s, const sh_tensor *t, int skipped, int d) {
    const int64_t size = s->sizes[d], got = t->sizes[skipped + d];
    char type[160];
    sh__tensor_print_type(t, type, sizeof type);
    if (size >= 0)
        return sh_fail(SH_ERROR_SHAPE,
                       "%s: parameter %.*s: dimension %d is %" PRId64 ", expected %" PRId64 " (%s)",
                       r->call->op->name, (int)s->item->name.n, s->item->name.at, d, got, size, type);
    const uint32_t name = (uint32_t)(SH_SIZE_NAME - size);
    const sh_cword word = r->program->signature->dims[name];
    return sh_fail(SH_ERROR_SHAPE,
                   "%s: parameter %.*s: dimension %.*s is %" PRId64 ", but %" PRId64
                   " in an array before (%s)",
                   r->call->op->name, (int)s->item->name.n, s->item->name.at, (int)word.n, word.at, got,
                   r->dims[name], type);
}

static sh_status wrong_rank(const sh_crun *r, const sh_cstep *s, const sh_tensor *t) {
    char type[160];
    sh__tensor_print_type(t, type, sizeof type);
    return sh_fail(
        SH_ERROR_SHAPE, "%s: parameter %.*s has %d dimension%s in the C signature, the tensor is %s",
        r->call->op->name, (int)s->item->name.n, s->item->name.at, s->rank, s->rank == 1 ? "" : "s", type);
}

sh_status sh__step_bind(sh_crun *r, const sh_cstep *s, const sh_tensor *t, int skipped) {
    if (!(s->flags & SH_STEP_SHAPED)) return SH_OK;
    if (t->ndim - skipped != s->rank) return wrong_rank(r, s, t);
    for (int d = 0; d < s->rank; d++) {
        const int64_t size = s->sizes[d], got = t->sizes[skipped + d];
        if (size == SH_SIZE_ANY) continue;
        const uint32_t name = (uint32_t)(SH_SIZE_NAME - size);
        if (size < 0 && !(r->bound >> name & 1)) {
            r->dims[name] = got;
            r->bound |= 1u << name;
        } else if (got != (size >= 0 ? size : r->dims[name])) {
            return mismatch(r, s, t, skipped, d);
        }
    }
    return SH_OK;
}

/* A result that the op's infer function did not lay out. */
static sh_status make_result(sh_crun *r, const sh_cstep *s, sh_tensor **t) {
    sh_spec spec = {.dtype = sh__ctype_dtype((sh_ctype)s->type), .ndim = s->rank};
    for (int d = 0; d < s->rank; d++) {
        const uint32_t name = (uint32_t)(SH_SIZE_NAME - s->sizes[d]);
        spec.sizes[d] = s->sizes[d] <= SH_SIZE_NAME ? r->bound >> name & 1 ? r->dims[name] : -1 : s->sizes[d];
    }
    bool known = spec.dtype != SH_NO_DTYPE && (s->rank || s->put != SH_PUT_ARRAY);
    for (int d = 0; d < s->rank; d++) known &= spec.sizes[d] >= 0;
    if (!known || s->put == SH_PUT_TENSOR)
        return sh_fail(
            SH_ERROR_RESULT,
            "%s: nothing says what result %d is: the op has no infer function, and parameter %.*s no sizes "
            "that arguments have",
            r->call->op->name, s->source, (int)s->item->name.n, s->item->name.at);
    *t = sh__tensor_alloc_any(&spec, r->call->device);
    if (!*t || !sh__own(*t)) return SH_ERROR_MEMORY;
    r->call->results[s->source] = sh_value_tensor(*t);
    return SH_OK;
}

sh_status sh__step_tensor(sh_crun *r, const sh_cstep *s, sh_tensor **t) {
    const sh_value *v = s->flags & SH_STEP_RESULT ? &r->call->results[s->source] : &r->call->args[s->source];
    *t = SH_LIKELY(v->tag == SH_TAG_TENSOR) ? v->as.tensor : NULL;
    return SH_LIKELY(*t || !(s->flags & SH_STEP_RESULT)) ? SH_OK : make_result(r, s, t);
}

static sh_status take_array(sh_crun *r, const sh_cstep *s) {
    sh_tensor *t;
    SH_TRY(sh__step_tensor(r, s, &t));
    r->passed[s->index] = t;
    if (SH_UNLIKELY(!t)) {
        sh__step_address(r, s, NULL);
        return SH_OK;
    }
    SH_TRY(sh__step_bind(r, s, t, 0));
    const bool fits = (s->dtypes >> t->dtype & 1) && t->data &&
                      (t->flags & SH_TENSOR_CONTIGUOUS || s->flags & SH_STEP_AS_IT_LIES);
    if (SH_UNLIKELY(!fits)) {
        SH_TRY(sh__step_fit(r, s, &t, SH_MAX_DIMS));
        r->passed[s->index] = t;
    }
    sh__step_address(r, s, s->put == SH_PUT_TENSOR ? (const void *)t : t->data);
    return SH_OK;
}

/* The same where nothing is out of the ordinary; false, and nothing lost, where something is. */
static inline bool take_simple(sh_crun *r, const sh_cstep *s) {
    const sh_value *v = &r->values[s->flags & SH_STEP_RESULT][s->source];
    if (v->tag != SH_TAG_TENSOR) return false;
    const sh_tensor *t = v->as.tensor;
    if (sh__shape_word(t) != s->simple || !(t->flags & SH_TENSOR_CONTIGUOUS) || !t->data) return false;
    for (uint32_t d = 0; d < s->rank; d++) {
        const uint32_t name = s->names[d];
        if (s->binds >> name & 1)
            r->dims[name] = t->sizes[d];
        else if (r->dims[name] != t->sizes[d])
            return false;
    }
    r->bound |= s->binds;
    r->passed[s->index] = t;
    sh__step_address(r, s, t->data);
    return true;
}

/* ---- numbers ---- */

static sh_status does_not_fit(const sh_crun *r, const sh_cstep *s, sh_value v) {
    char shown[64];
    sh_value_print(v, shown, sizeof shown);
    return sh_fail(SH_ERROR_VALUE, "%s: parameter %.*s of the C signature: %s is no value of %s",
                   r->call->op->name, (int)s->item->name.n, s->item->name.at, shown,
                   sh__ctype_name((sh_ctype)s->type));
}

static void put_real(void *at, uint8_t type, double value) {
    const float narrow = (float)value;
    const long double wide = value;
    if (type == SH_C_F32)
        memcpy(at, &narrow, sizeof narrow);
    else if (type == SH_C_F64)
        memcpy(at, &value, sizeof value);
    else
        memcpy(at, &wide, sizeof wide);
}

/* The low bytes of a whole number, if reading them back gives it again. */
static bool put_whole(void *at, uint8_t type, int64_t value) {
    const size_t size = sh__ctype_size((sh_ctype)type), bits = 8 * size;
    const bool sign =
        sh__ctype_class((sh_ctype)type) == SH_CLASS_SIGNED && (type != SH_C_CHAR || (char)-1 < 0);
    if (type == SH_C_BOOL && (value & ~(int64_t)1)) return false;
    if (size < 8 && (sign ? value >> (bits - 1) != value >> 63 : value >> bits != 0)) return false;
    if (size == 8 && !sign && value < 0) return false;
    memcpy(at, &value, size);
    return true;
}

sh_status sh__step_put_int(sh_crun *r, const sh_cstep *s, int64_t value) {
    void *at = r->frame + s->at;
    if (s->type == SH_C_U64 && value >= 0)
        memcpy(at, &value, sizeof value);
    else if (sh__ctype_class((sh_ctype)s->type) == SH_CLASS_REAL)
        put_real(at, s->type, (double)value);
    else if (!put_whole(at, s->type, value))
        return does_not_fit(r, s, sh_value_int(value));
    if (s->flags & SH_STEP_BY_ADDRESS) memcpy(r->frame + s->address_at, &at, sizeof at);
    return SH_OK;
}

sh_status sh__step_put(sh_crun *r, const sh_cstep *s, sh_value v) {
    void *at = r->frame + s->at;
    if (v.tag == SH_TAG_INT || v.tag == SH_TAG_FLAG || v.tag == SH_TAG_DTYPE)
        return sh__step_put_int(r, s, v.as.i);
    if (v.tag != SH_TAG_FLOAT) return does_not_fit(r, s, v);
    if (sh__ctype_class((sh_ctype)s->type) == SH_CLASS_REAL) {
        put_real(at, s->type, v.as.f);
        if (s->flags & SH_STEP_BY_ADDRESS) memcpy(r->frame + s->address_at, &at, sizeof at);
        return SH_OK;
    }
    if (v.as.f != trunc(v.as.f) || fabs(v.as.f) >= 0x1p63) return does_not_fit(r, s, v);
    return sh__step_put_int(r, s, (int64_t)v.as.f);
}

static sh_status put_tensor_number(sh_crun *r, const sh_cstep *s, const sh_tensor *t) {
    if (t->numel == 1 && sh_dtype_kind_of((sh_dtype)t->dtype) < SH_KIND_FLOAT)
        return sh__step_put(r, s, sh_value_int(sh_item_int(t)));
    const double value = sh_item(t);
    return sh__error_pending() ? sh_error()->code : sh__step_put(r, s, sh_value_float(value));
}

static sh_status put_element(sh_crun *r, const sh_cstep *s, const sh_value *v) {
    if (v->tag == SH_TAG_INTS && s->index < v->count) return sh__step_put_int(r, s, v->as.ints[s->index]);
    const sh_tensor *t = sh_value_as_tensor(*v);
    if (!t || s->index >= t->numel)
        return sh_fail(SH_ERROR_SHAPE, "%s: field %.*s of the C signature: there is no element %d",
                       r->call->op->name, (int)s->item->name.n, s->item->name.at, s->index);
    int64_t index[SH_MAX_DIMS], left = s->index;
    for (int d = t->ndim; d-- > 0; left /= t->sizes[d]) index[d] = left % t->sizes[d];
    const double value = sh_tensor_at(t, index);
    return sh__error_pending() ? sh_error()->code : sh__step_put(r, s, sh_value_float(value));
}

static sh_status put_dim(sh_crun *r, const sh_cstep *s) {
    if (SH_LIKELY(r->bound >> s->source & 1)) return sh__step_put_int(r, s, r->dims[s->source]);
    return sh_fail(SH_ERROR_SHAPE, "%s: dimension %.*s of the C signature has no size: its arrays are None",
                   r->call->op->name, (int)s->item->name.n, s->item->name.at);
}

/* ---- lists ---- */

static sh_status bind_count(sh_crun *r, const sh_cstep *s, uint32_t n) {
    sh_tensor list = {.ndim = 1, .sizes = {n}, .dtype = SH_I64, .numel = n};
    return s->rank == 1 ? sh__step_bind(r, s, &list, 0) : SH_OK;
}

static sh_status put_list(sh_crun *r, const sh_cstep *s, const sh_value *v) {
    const void *at = v->tag == SH_TAG_NONE ? NULL : v->as.ints; /* all lists are an address in the value */
    sh__step_address(r, s, at);
    return bind_count(r, s, at ? v->count : 0);
}

static sh_status put_layout(sh_crun *r, const sh_cstep *s) {
    const sh_tensor *t = r->passed[s->source];
    sh__step_address(r, s, !t ? NULL : s->put == SH_PUT_SIZES ? t->sizes : t->strides);
    return t ? bind_count(r, s, t->ndim) : SH_OK;
}

/* ---- all steps ---- */

static __attribute__((noinline)) sh_status step(sh_crun *r, const sh_cstep *s) {
    const sh_value *args = r->call->args;
    switch ((sh_put)s->put) {
    case SH_PUT_ARRAY:
    case SH_PUT_TENSOR: return take_array(r, s);
    case SH_PUT_DIM:
    case SH_PUT_DIM_64:
    case SH_PUT_DIM_32: return put_dim(r, s);
    case SH_PUT_NUMBER:
        if (args[s->source].tag == SH_TAG_TENSOR) return put_tensor_number(r, s, args[s->source].as.tensor);
        return sh__step_put(r, s, args[s->source]);
    case SH_PUT_ELEMENT: return put_element(r, s, &args[s->source]);
    case SH_PUT_LIST:
    case SH_PUT_INTS: return put_list(r, s, &args[s->source]);
    case SH_PUT_STRING:
        sh__step_address(r, s, args[s->source].tag == SH_TAG_STRING ? args[s->source].as.string : NULL);
        return SH_OK;
    case SH_PUT_SIZES:
    case SH_PUT_STRIDES: return put_layout(r, s);
    case SH_PUT_NDIM: return sh__step_put_int(r, s, r->passed[s->source] ? r->passed[s->source]->ndim : 0);
    case SH_PUT_NUMEL: return sh__step_put_int(r, s, r->passed[s->source] ? r->passed[s->source]->numel : 0);
    case SH_PUT_DTYPE: return sh__step_put_int(r, s, r->passed[s->source] ? r->passed[s->source]->dtype : 0);
    case SH_PUT_ITEM:
    case SH_PUT_ROLE: break;
    }
    return SH_OK;
}

static inline sh_status steps_rest(sh_crun *r) {
    const sh_cprogram *p = r->program;
    for (const sh_cstep *s = p->steps + p->narrays, *end = p->steps + p->nsteps; s < end; s++) {
        const int64_t *size =
            &r->dims[s->source]; /* of the two that follow; little-endian: the low half comes first */
        if (s->put == SH_PUT_DIM_64)
            memcpy(r->frame + s->at, size, sizeof *size);
        else if (s->put == SH_PUT_DIM_32 && *size == (int32_t)*size)
            memcpy(r->frame + s->at, size, sizeof(int32_t));
        else
            SH_TRY(step(r, s));
    }
    return SH_OK;
}

sh_status sh__steps_rest(sh_crun *r) { return steps_rest(r); }

/* ---- the function ---- */

static __attribute__((noinline, cold)) sh_status bad_status(const sh_crun *r, int code) {
    if (sh__error_pending()) return sh_error()->code;
    return sh_fail(SH_ERROR_CALLBACK, "%s: the C function returned %d", r->call->op->name, code);
}

static inline sh_status call_function(sh_crun *r, void *value) {
    const sh_cprogram *p = r->program;
    void *args[SH_C_PARAMS];
    for (uint32_t i = 0; i < p->nparams; i++) args[i] = r->frame + p->places[i];
    sh__interface_call(p->interface, p->function, value, args);
    return SH_LIKELY(p->gives != SH_GIVES_STATUS || *(int *)value == 0) ? SH_OK
                                                                        : bad_status(r, *(int *)value);
}

sh_status sh__crun_call(sh_crun *r, void *value) { return call_function(r, value); }

/* Its low bytes are the element's, whether libffi widened it or not: memory is little-endian. */
void sh__crun_store(const sh_tensor *t, int64_t at, const void *value) {
    memcpy(t->data + at * (int64_t)t->element, value, t->element);
}

sh_status sh__crun_result(sh_crun *r, sh_tensor **t) {
    const sh_cstep *s = &r->program->returned;
    SH_TRY(sh__step_tensor(r, s, t));
    SH_TRY(sh__step_fit(r, s, t, SH_MAX_DIMS));
    r->passed[s->index] = *t;
    return SH_OK;
}

static __attribute__((noinline)) sh_status take_value(sh_crun *r, const void *value) {
    sh_tensor *t;
    if (r->program->gives == SH_GIVES_TENSOR) {
        memcpy(&t, value, sizeof t);
        if (!t)
            return sh__error_pending()
                       ? sh_error()->code
                       : sh_fail(SH_ERROR_RESULT, "%s: the C function returned NULL", r->call->op->name);
        return sh_call_set_result(r->call, r->program->given, sh_value_tensor(t));
    }
    SH_TRY(sh__crun_result(r, &t));
    if (t->numel == 1) {
        sh__crun_store(t, 0, value);
        return SH_OK;
    }
    char type[160];
    sh__tensor_print_type(t, type, sizeof type);
    return sh_fail(SH_ERROR_SHAPE, "%s: the C function returns one number, the result is %s",
                   r->call->op->name, type);
}

static inline sh_status run_plain(sh_crun *r) {
    const sh_cprogram *p = r->program;
    _Alignas(16) unsigned char value[16];
    for (uint32_t i = 0; i < p->narrays; i++)
        if (SH_UNLIKELY(!take_simple(r, &p->steps[i]))) SH_TRY(take_array(r, &p->steps[i]));
    SH_TRY(steps_rest(r));
    SH_TRY(call_function(r, value));
    return SH_LIKELY(p->gives < SH_GIVES_NUMBER) ? SH_OK : take_value(r, value);
}

/* ---- before and after ---- */

static bool holds_default(const sh_value *v, const sh_value *expected) {
    if (v->tag == expected->tag && v->as.bits == expected->as.bits) return true;
    if (sh_value_is_number(*v) && sh_value_is_number(*expected))
        return sh_value_as_double(*v) == sh_value_as_double(*expected);
    return sh_value_equal(*v, *expected);
}

static sh_status check_idle(const sh_crun *r) {
    for (uint32_t left = r->program->idle_args; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        const sh_param *param = &r->program->schema->params[i];
        if (SH_LIKELY(holds_default(&r->call->args[i], &param->value))) continue;
        char got[64];
        sh_value_print(r->call->args[i], got, sizeof got);
        return sh_fail(SH_ERROR_ARGUMENT, "%s: the C kernel takes no %s, and it is %s", r->call->op->name,
                       param->name, got);
    }
    return SH_OK;
}

/* Who writes a tensor on two threads at once has to keep them apart, so this needs no locked instruction. */
static void raise_version(sh_storage *storage) {
    const uint64_t version = atomic_load_explicit(&storage->version, memory_order_relaxed);
    atomic_store_explicit(&storage->version, version + 1, memory_order_relaxed);
}

/* What a function wrote elsewhere goes where it belongs; arguments that were written have another version. */
static __attribute__((noinline)) sh_status copy_back(sh_crun *r) {
    const sh_cprogram *p = r->program;
    const uint8_t returned = p->returned.index;
    if (p->gives == SH_GIVES_NUMBER && r->back >> returned & 1)
        SH_TRY(sh__copy_elements(r->behind[returned], r->passed[returned]));
    for (uint32_t i = 0; i < p->narrays; i++) {
        const uint8_t array = p->steps[i].index;
        if (r->back >> array & 1) SH_TRY(sh__copy_elements(r->behind[array], r->passed[array]));
    }
    return SH_OK;
}

static inline sh_status finish(sh_crun *r) {
    const sh_cprogram *p = r->program;
    if (SH_UNLIKELY(r->back)) SH_TRY(copy_back(r));
    for (uint32_t i = 0; i < p->nwritten; i++) {
        const sh_tensor *t = sh_value_as_tensor(r->call->args[p->written[i]]);
        if (t && t->storage) raise_version(t->storage);
    }
    for (uint32_t i = 0; p->ends && i < p->schema->nreturns; i++)
        if (p->alias[i] != SH_NO_SOURCE) r->call->results[i] = r->call->args[p->alias[i]];
    return SH_OK;
}

static __attribute__((noinline)) sh_status run_adapted(sh_crun *r) {
    return r->program->adapter == SH_C_ELEMENTWISE ? sh__crun_elements(r)
           : r->program->adapter == SH_C_ROWS      ? sh__crun_rows(r)
                                                   : sh__crun_gemm(r);
}

sh_status sh__crun(const sh_cprogram *program, sh_call *call) {
    sh_crun r;
    r.program = program;
    r.call = call;
    r.values[0] = call->args;
    r.values[SH_STEP_RESULT] = call->results;
    r.bound = r.back = 0;
    if (program->idle_args) SH_TRY(check_idle(&r));
    SH_TRY(SH_LIKELY(program->adapter == SH_C_PLAIN) ? run_plain(&r) : run_adapted(&r));
    return finish(&r);
}
