/* value.h - one argument or result of an op, as a 16-byte tagged value.
 *
 * A value never owns what it points to: tensors, lists and strings are borrowed from whoever made
 * the call and live at least as long as the call. Padding is zero, so values compare as bytes. */
#ifndef SH_DISPATCH_VALUE_H
#define SH_DISPATCH_VALUE_H

#include "dispatch/dtype.h"

SH_BEGIN_DECLS

typedef struct sh_tensor sh_tensor;

typedef enum sh_tag {
    SH_TAG_NONE = 0, /* an optional argument that was not given */
    SH_TAG_TENSOR,
    SH_TAG_TENSORS, /* a list; `count` of them; entries may be NULL in Tensor?[] */
    SH_TAG_INT,
    SH_TAG_FLOAT,
    SH_TAG_FLAG,
    SH_TAG_INTS,
    SH_TAG_STRING,
    SH_TAG_DTYPE
} sh_tag;

typedef struct sh_value {
    uint32_t tag;
    uint32_t count; /* entries of a list, else 0 */
    union {
        sh_tensor *tensor;
        sh_tensor *const *tensors;
        int64_t i;
        double f;
        const int64_t *ints;
        const char *string;
        uint64_t bits;
    } as;
} sh_value;

/* A number: an sh_value whose tag is INT, FLOAT or FLAG (NONE where it is optional). */
typedef sh_value sh_scalar;

/* A list of integers, borrowed. `at` is NULL for "none given"; an empty list has a non-NULL `at`. */
typedef struct sh_ints {
    const int64_t *at;
    size_t n;
} sh_ints;

/* A list of tensors, borrowed. */
typedef struct sh_tensors {
    sh_tensor *const *at;
    size_t n;
} sh_tensors;

/* How many arguments, 1 to 32, without repeating their text. */
#define SH__COUNT(...)                                                                                      \
    SH__COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, \
               12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SH__COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, \
                   a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, n, ...)              \
    n

/* Sizes, strides, axes, repeats written in place: sh_rand(SH_SIZES(2, 3)). SH_SCALAR_SHAPE is (). In C++: see cxx.h. */
#ifdef __cplusplus
#define SH_SIZES(...) (::sh__cxx::ints(__VA_ARGS__))
#define SH_SCALAR_SHAPE (::sh__cxx::ints())
#define SH_LIST(...) (::sh__cxx::tensors(__VA_ARGS__))
#define SH_DIMS(...) (::sh__cxx::dims(__VA_ARGS__))
#else
#define SH_SIZES(...) \
    ((sh_ints){(const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)})
#define SH_SCALAR_SHAPE ((sh_ints){(const int64_t[]){0}, 0})
/* Up to 32 tensors written in place: sh_cat(SH_LIST(a, b)). */
#define SH_LIST(...) ((sh_tensors){(sh_tensor *const[]){__VA_ARGS__}, SH__COUNT(__VA_ARGS__)})
/* Several axes for a keyword that takes one or more: sh_sum(x, .dim = SH_DIMS(0, -1)). */
#define SH_DIMS(...) \
    sh__dims((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#endif

/* Lists of a length known at run time: sh_reshape(x, sh_ints_of(sizes, n)). */
static inline sh_ints sh_ints_of(const int64_t *at, size_t n) {
    sh_ints list = {at, n};
    return list;
}
static inline sh_tensors sh_tensors_of(sh_tensor *const *at, size_t n) {
    sh_tensors list = {at, n};
    return list;
}

/* Keyword arguments that were left out: an integer, a number, a flag (`int`, `Scalar`, `bool` with default None). */
#define SH_NO_INT INT64_MIN
#define SH_NO_NUMBER __builtin_nan("0x5348")
#define SH_NO_FLAG (-1)
static inline sh_value sh_none(void) {
    sh_value v = {0, 0, {0}};
    return v;
}
static inline sh_value sh_value_tensor(sh_tensor *t) {
    sh_value v = {SH_TAG_TENSOR, 0, {0}};
    v.as.tensor = t;
    if (!t) v.tag = SH_TAG_NONE;
    return v;
}
static inline sh_value sh_value_int(int64_t i) {
    sh_value v = {SH_TAG_INT, 0, {0}};
    v.as.i = i;
    return v;
}
static inline sh_value sh_value_float(double f) {
    sh_value v = {SH_TAG_FLOAT, 0, {0}};
    v.as.f = f;
    return v;
}
static inline sh_value sh_value_flag(bool flag) {
    sh_value v = {SH_TAG_FLAG, 0, {0}};
    v.as.i = flag;
    return v;
}
static inline sh_value sh_value_ints(sh_ints list) {
    sh_value v = {SH_TAG_INTS, 0, {0}};
    v.count = (uint32_t)list.n;
    v.as.ints = list.at;
    if (!list.at) v.tag = SH_TAG_NONE;
    return v;
}
static inline sh_value sh_value_tensors(sh_tensors list) {
    sh_value v = {SH_TAG_TENSORS, 0, {0}};
    v.count = (uint32_t)list.n;
    v.as.tensors = list.at;
    return v;
}
static inline sh_value sh_value_string(const char *string) {
    sh_value v = {SH_TAG_STRING, 0, {0}};
    v.as.string = string;
    if (!string) v.tag = SH_TAG_NONE;
    return v;
}
static inline sh_value sh_value_dtype(sh_dtype dtype) {
    sh_value v = {SH_TAG_DTYPE, 0, {0}};
    v.as.i = dtype;
    if (!dtype) v.tag = SH_TAG_NONE;
    return v;
}
static inline sh_ints sh_value_as_ints(sh_value v) {
    sh_ints list = {v.tag == SH_TAG_INTS ? v.as.ints : NULL, v.tag == SH_TAG_INTS ? v.count : 0};
    return list;
}
static inline sh_tensors sh_value_as_tensors(sh_value v) {
    sh_tensors list = {v.tag == SH_TAG_TENSORS ? v.as.tensors : NULL, v.tag == SH_TAG_TENSORS ? v.count : 0};
    return list;
}
static inline sh_tensor *sh_value_as_tensor(sh_value v) {
    return v.tag == SH_TAG_TENSOR ? v.as.tensor : NULL;
}
static inline bool sh_value_is_number(sh_value v) { return v.tag >= SH_TAG_INT && v.tag <= SH_TAG_FLAG; }
/* A number as double or as int64_t (a float is truncated). NONE gives 0. */
static inline double sh_value_as_double(sh_value v) {
    return v.tag == SH_TAG_FLOAT ? v.as.f : (double)v.as.i;
}
static inline int64_t sh_value_as_int(sh_value v) { return v.tag == SH_TAG_FLOAT ? (int64_t)v.as.f : v.as.i; }

/* Equality of meaning: lists entry by entry, strings by content, tensors by identity. */
SH_API bool sh_value_equal(sh_value a, sh_value b);

/* What SH_DIMS makes: up to 8 axes in -16..15 packed in one integer that no single axis can be. */
SH_API int64_t sh__dims(const int64_t *axes, size_t n);
/* The axes of such a list (up to SH_MAX_DIMS are written) or a single plain axis; false and none for SH_NO_INT. */
SH_API bool sh__dims_unpack(int64_t packed, int64_t *axes, size_t *n);

SH_END_DECLS

#endif
