/* tensor.h - strided, reference-counted tensors.
 *
 * A tensor is a shape, strides (in elements) and a dtype over a storage that views share. Reference
 * counts are atomic; the data is the user's to synchronise.
 *
 * Who owns: an op returns a tensor that belongs to the thread's innermost open scope (scope.h).
 * sh_keep gives the caller a reference of its own, sh_release ends one. Arguments are borrowed. The
 * makers in this header are no ops: modes do not see them, and their result is scope-owned too. */
#ifndef SH_DISPATCH_TENSOR_H
#define SH_DISPATCH_TENSOR_H

#include "dispatch/cxx.h"

SH_BEGIN_DECLS

/* Where memory is. Plug-ins add devices of their own, with numbers from 2: see device.h. */
typedef enum sh_device { SH_HOST = 0, SH_META = 1, SH_NO_DEVICE = 255 } sh_device;

/* ---- looking ---- t must not be NULL unless it says so */
SH_API int sh_tensor_ndim(const sh_tensor *t);
/* Size or stride (in elements) of axis `dim`; -1 is the last. 0 and an error if out of range. */
SH_API int64_t sh_tensor_size(const sh_tensor *t, int dim);
SH_API int64_t sh_tensor_stride(const sh_tensor *t, int dim);
SH_API const int64_t *sh_tensor_sizes(const sh_tensor *t);
SH_API const int64_t *sh_tensor_strides(const sh_tensor *t);
SH_API int64_t sh_tensor_numel(const sh_tensor *t);
SH_API sh_dtype sh_tensor_dtype(const sh_tensor *t);
SH_API sh_device sh_tensor_device(const sh_tensor *t);
SH_API bool sh_tensor_is_contiguous(const sh_tensor *t);
/* A number that stood where a tensor may stand, as in sh_add(x, 2.0): a 0-d tensor that takes part
 * in type promotion as PyTorch's wrapped numbers do. */
SH_API bool sh_tensor_is_wrapped_number(const sh_tensor *t);
/* The first element; NULL for a meta tensor. Strides say where the others are. On a device with memory of its own it is an
 * address there, for that device's kernels alone. */
SH_API void *sh_tensor_data(const sh_tensor *t);
SH_API bool sh_tensor_same_storage(const sh_tensor *a, const sh_tensor *b);
/* How often the storage was written through an in-place or out form. */
SH_API uint64_t sh_tensor_version(const sh_tensor *t);
/* References held on t: scopes, sh_keep, modes. For tests and leak hunts. */
SH_API int sh_tensor_refs(const sh_tensor *t);

/* The value of a tensor with one element, as double or int64_t. NaN or 0 and an error otherwise; complex numbers
 * are an error too (wrap their parts). */
SH_API double sh_item(const sh_tensor *t);
SH_API int64_t sh_item_int(const sh_tensor *t);
/* Element at `index` (sh_tensor_ndim entries), bounds-checked, as double. */
SH_API double sh_tensor_at(const sh_tensor *t, const int64_t *index);

/* ---- parts ---- */
/* Of a matrix (the last two dimensions) that only a triangle of counts: what is outside is neither read nor written,
 * whatever lies there. With SH_PART_UNIT the diagonal is taken for ones and does not count either. */
enum { SH_PART_ALL = 0, SH_PART_LOWER = 1, SH_PART_UPPER = 2, SH_PART_UNIT = 4 };
/* For ops defined at run time: built-in ops refuse such a tensor. An error below two dimensions. */
SH_API sh_status sh_tensor_set_part(sh_tensor *t, unsigned part);
SH_API unsigned sh_tensor_part(const sh_tensor *t);

/* ---- making ---- */
/* Uninitialised memory, row-major. */
SH_API sh_tensor *sh_tensor_new(sh_dtype dtype, sh_ints sizes);
SH_API sh_tensor *sh_tensor_new_on(sh_device device, sh_dtype dtype, sh_ints sizes);
/* A copy of `data`, row-major. */
SH_API sh_tensor *sh_tensor_copy_of(const void *data, sh_dtype dtype, sh_ints sizes);
/* Wraps memory that the user owns and keeps alive until `deleter(context)` runs (may be NULL), which
 * happens once, when the last view dies. `strides` in elements; a NULL list means row-major. */
SH_API sh_tensor *sh_from_data(void *data, sh_dtype dtype, sh_ints sizes, sh_ints strides,
                               void (*deleter)(void *context), void *context);
/* A view of t's storage with other sizes and strides, `offset` elements from t's first element.
 * An error if it would reach outside the storage. */
SH_API sh_tensor *sh_tensor_as_strided(const sh_tensor *t, sh_ints sizes, sh_ints strides, int64_t offset);
/* The 0-d tensor that stands for a number; see sh_tensor_is_wrapped_number. */
SH_API sh_tensor *sh_tensor_from_number(sh_scalar number);

/* ---- keeping ---- both take NULL */
SH_API sh_tensor *sh_keep(sh_tensor *t);
SH_API void sh_release(sh_tensor *t);

#define SH_FLOATS(...) SH__ARRAY(float, SH_F32, __VA_ARGS__)
#define SH_DOUBLES(...) SH__ARRAY(double, SH_F64, __VA_ARGS__)
#define SH_INT64S(...) SH__ARRAY(int64_t, SH_I64, __VA_ARGS__)
/* A 1-d tensor with these values. */
#ifdef __cplusplus
#define SH__ARRAY(ctype, dtype, ...) (::sh__cxx::array<ctype>(dtype, __VA_ARGS__))
#else
#define SH__ARRAY(ctype, dtype, ...)                       \
    sh_tensor_copy_of((const ctype[]){__VA_ARGS__}, dtype, \
                      SH_SIZES((int64_t)(sizeof((const ctype[]){__VA_ARGS__}) / sizeof(ctype))))
#endif

SH_END_DECLS

#ifdef __cplusplus
namespace sh__cxx {
template <class T, class... N> sh_tensor *array(sh_dtype dtype, N... n) {
    const T values[] = {static_cast<T>(n)...};
    return sh_tensor_copy_of(values, dtype, ints(sizeof...(N)));
}
} // namespace sh__cxx
#endif

#endif
