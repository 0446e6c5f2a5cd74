/* tensor.c - the values of a TensorProto.
 *
 * They stand either in raw_data, little-endian and packed, or in a field by type: float_data, double_data,
 * int64_data, and int32_data for all that is smaller, f16 and bf16 as their bits. Nothing is allocated before
 * the number of values is known to be what the shape says. */
#include "graph/onnx/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw_data is copied as it stands");

/* ---- dtypes ---- */

static const struct {
    const char *name;
    sh_dtype dtype;
} types[] = {
    {"UNDEFINED", SH_NO_DTYPE}, {"FLOAT", SH_F32},
    {"UINT8", SH_U8},           {"INT8", SH_I8},
    {"UINT16", SH_NO_DTYPE},    {"INT16", SH_I16},
    {"INT32", SH_I32},          {"INT64", SH_I64},
    {"STRING", SH_NO_DTYPE},    {"BOOL", SH_B8},
    {"FLOAT16", SH_F16},        {"DOUBLE", SH_F64},
    {"UINT32", SH_NO_DTYPE},    {"UINT64", SH_NO_DTYPE},
    {"COMPLEX64", SH_NO_DTYPE}, {"COMPLEX128", SH_NO_DTYPE},
    {"BFLOAT16", SH_BF16},
};
enum { TYPES = sizeof types / sizeof *types };

sh_dtype sh__onnx_dtype(int32_t code) { return code >= 0 && code < TYPES ? types[code].dtype : SH_NO_DTYPE; }

const char *sh__onnx_dtype_name(int32_t code) {
    return code >= 0 && code < TYPES ? types[code].name : "a type unknown here";
}

/* ---- shape ---- */

static sh_status read_shape(const Onnx__TensorProto *proto, sh_dtype dtype, const char *what,
                            int64_t *numel) {
    int64_t bytes;
    if (proto->n_dims > SH_MAX_DIMS)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s has %zu dimensions, %d are supported", what, proto->n_dims,
                       SH_MAX_DIMS);
    *numel = 1;
    for (size_t i = 0; i < proto->n_dims; i++)
        if (proto->dims[i] < 0)
            return sh_fail(SH_ERROR_FORMAT, "%s has a dimension of %" PRId64, what, proto->dims[i]);
    for (size_t i = 0; i < proto->n_dims; i++)
        if (proto->dims[i] == 0) *numel = 0;
    for (size_t i = 0; *numel && i < proto->n_dims; i++)
        if (__builtin_mul_overflow(*numel, proto->dims[i], numel) ||
            __builtin_mul_overflow(*numel, (int64_t)sh_dtype_size(dtype), &bytes))
            return sh_fail(SH_ERROR_FORMAT, "%s has more elements than can be counted", what);
    return SH_OK;
}

/* ---- where the values stand ---- */

typedef struct source {
    const char *field;
    size_t n;
    const void *data;
} source;

static source typed_source(const Onnx__TensorProto *proto, sh_dtype dtype) {
    switch (dtype) {
    case SH_F32: return (source){"float_data", proto->n_float_data, proto->float_data};
    case SH_F64: return (source){"double_data", proto->n_double_data, proto->double_data};
    case SH_I64: return (source){"int64_data", proto->n_int64_data, proto->int64_data};
    default: return (source){"int32_data", proto->n_int32_data, proto->int32_data};
    }
}

static sh_status check_place(const Onnx__TensorProto *proto, const char *what) {
    if (proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL || proto->n_external_data)
        return sh_fail(SH_ERROR_UNSUPPORTED,
                       "%s has its values in another file (external data), which is not read; save the model "
                       "with its weights inside",
                       what);
    if (proto->segment)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s is a segment of a tensor, which is not read", what);
    return SH_OK;
}

static sh_status check_count(const Onnx__TensorProto *proto, sh_dtype dtype, int64_t numel,
                             const char *what) {
    const source typed = typed_source(proto, dtype);
    const size_t all = proto->n_float_data + proto->n_double_data + proto->n_int64_data +
                       proto->n_int32_data + proto->n_uint64_data + proto->n_string_data;
    const bool raw = proto->has_raw_data && (proto->raw_data.len || !all);
    if (all != (raw ? 0 : typed.n))
        return sh_fail(SH_ERROR_FORMAT, "%s of %s has values in a field that is not for them", what,
                       sh_dtype_name(dtype));
    const size_t got = raw ? proto->raw_data.len : typed.n;
    const size_t expected = raw ? (size_t)numel * sh_dtype_size(dtype) : (size_t)numel;
    if (got == expected) return SH_OK;
    return sh_fail(SH_ERROR_FORMAT, "%s has %zu %s, its shape asks for %zu", what, got,
                   raw ? "bytes of raw_data" : typed.field, expected);
}

/* ---- copying ---- */

/* The values of int32_data that fit; the index of the first that does not, or n. */
static size_t narrow(const int32_t *from, size_t n, sh_dtype dtype, void *to) {
    int8_t *const i8 = to;
    uint8_t *const u8 = to;
    int16_t *const i16 = to;
    uint16_t *const u16 = to;
    for (size_t i = 0; i < n; i++) {
        const int32_t v = from[i];
        switch (dtype) {
        case SH_I8:
            i8[i] = (int8_t)v;
            if (i8[i] != v) return i;
            break;
        case SH_I16:
            i16[i] = (int16_t)v;
            if (i16[i] != v) return i;
            break;
        case SH_U8:
            u8[i] = (uint8_t)v;
            if (u8[i] != v) return i;
            break;
        case SH_B8: u8[i] = v != 0; break;
        default:
            u16[i] = (uint16_t)v;
            if (u16[i] != v) return i;
        }
    }
    return n;
}

static sh_status copy_values(const Onnx__TensorProto *proto, sh_tensor *t, const char *what) {
    const sh_dtype dtype = sh_tensor_dtype(t);
    const size_t n = (size_t)sh_tensor_numel(t), size = sh_dtype_size(dtype);
    const source typed = typed_source(proto, dtype);
    uint8_t *const data = sh_tensor_data(t);
    const bool straight = size >= 4;
    if (!n) return SH_OK;
    if (!typed.n)
        memcpy(data, proto->raw_data.data, n * size);
    else if (straight)
        memcpy(data, typed.data, n * size);
    const size_t bad = typed.n && !straight ? narrow(proto->int32_data, n, dtype, data) : n;
    if (bad < n)
        return sh_fail(SH_ERROR_FORMAT, "%s of %s has the value %" PRId32 " at %zu, which does not fit", what,
                       sh_dtype_name(dtype), proto->int32_data[bad], bad);
    for (size_t i = 0; dtype == SH_B8 && i < n; i++) data[i] = data[i] != 0;
    return SH_OK;
}

sh_tensor *sh__onnx_tensor(const Onnx__TensorProto *proto, sh_budget *budget, const char *what) {
    const sh_dtype dtype = sh__onnx_dtype(proto->data_type);
    int64_t numel = 0;
    if (!dtype) {
        sh_fail(SH_ERROR_UNSUPPORTED, "%s has elements of %s, which is not supported", what,
                sh__onnx_dtype_name(proto->data_type));
        return NULL;
    }
    if (check_place(proto, what) < 0 || read_shape(proto, dtype, what, &numel) < 0 ||
        check_count(proto, dtype, numel, what) < 0 ||
        sh__budget_take(budget, (size_t)numel * sh_dtype_size(dtype)) < 0)
        return NULL;
    sh_tensor *t =
        sh_tensor_new(dtype, (sh_ints){proto->n_dims ? proto->dims : (const int64_t[]){0}, proto->n_dims});
    return t && copy_values(proto, t, what) >= 0 ? t : NULL;
}
