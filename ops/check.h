/* check.h - showing the modes a number or an array of code that knows no tensors.
 *
 *     float loss, weights[1000];
 *     sh_check(weights, 1000, "weights");
 *     sh_check(loss, "loss");
 *     sh_check_shape(image, SH_SIZES(3, 224, 224), "image");
 *
 * Each is a call of the op check_array on a view of the caller's memory: nancheck tells where a NaN arrived by that name and
 * the line of the call, log prints it, a mode of one's own may read the numbers, or change them in place. While no mode
 * wants to see it nothing is made, read or checked: it costs a call and a test of a bit. What a mode answers is dropped.
 * The status is that of the op: an error of a mode (SH_ERROR_FINDING of nancheck), which stays pending. */
#ifndef SH_OPS_CHECK_H
#define SH_OPS_CHECK_H

#include "ops/api.h"

SH_BEGIN_DECLS

/* Memory of any dtype and layout; `strides` in elements, a NULL list means row-major. */
SH_API sh_status sh_check_data(const void *data, sh_dtype dtype, sh_ints sizes, sh_ints strides,
                               const char *name);
SH_API sh_status sh__check_array(const void *data, sh_dtype dtype, int64_t n, const char *name);
SH_API sh_status sh__check_real(double number, const char *name);
SH_API sh_status sh__check_whole(int64_t number, const char *name);
SH_API sh_status sh__check_tensor(sh_tensor *t, const char *name);

SH_END_DECLS

#ifndef __cplusplus
/* sh_check(array, n, name): n elements of an array of float, double, integers, bool or complex numbers.
 * sh_check(x, name): a number or a tensor. */
#define sh_check(...) SH__CAT(SH__CHECK_, SH__COUNT(__VA_ARGS__))(__VA_ARGS__)
/* clang-format off */
#define SH__CHECK_2(x, name)                                                                    \
    _Generic((x), sh_tensor *: sh__check_tensor, float: sh__check_real, double: sh__check_real, \
             long double: sh__check_real, default: sh__check_whole)(x, name)
/* clang-format on */
#define SH__CHECK_3(array, n, name) sh__check_array(array, SH_DTYPE_OF(*(array)), (int64_t)(n), name)
/* The same in several dimensions, row-major. */
#define sh_check_shape(array, sizes, name) \
    sh_check_data(array, SH_DTYPE_OF(*(array)), sizes, sh_ints_of(NULL, 0), name)
/* The dtype of a number of C; a compile error where none stands for it. */
/* clang-format off */
#define SH_DTYPE_OF(x)                                                                                  \
    _Generic((x), float: SH_F32, double: SH_F64, char: SH_I8, signed char: SH_I8, unsigned char: SH_U8, \
             short: SH_I16, int: SH_I32, long: sizeof(long) == 8 ? SH_I64 : SH_I32, long long: SH_I64,  \
             bool: SH_B8, float _Complex: SH_C64, double _Complex: SH_C128)
/* clang-format on */
#else
#include <complex>
namespace sh__cxx {
template <class T> struct dtype_of;
#define SH__DTYPE_OF(T, dtype) \
    template <> struct dtype_of<T> { static constexpr sh_dtype value = dtype; };
SH__DTYPE_OF(float, SH_F32)
SH__DTYPE_OF(double, SH_F64)
SH__DTYPE_OF(char, SH_I8)
SH__DTYPE_OF(signed char, SH_I8)
SH__DTYPE_OF(unsigned char, SH_U8)
SH__DTYPE_OF(short, SH_I16)
SH__DTYPE_OF(int, SH_I32)
SH__DTYPE_OF(long, sizeof(long) == 8 ? SH_I64 : SH_I32)
SH__DTYPE_OF(long long, SH_I64)
SH__DTYPE_OF(bool, SH_B8)
SH__DTYPE_OF(std::complex<float>, SH_C64)
SH__DTYPE_OF(std::complex<double>, SH_C128)
#undef SH__DTYPE_OF
} // namespace sh__cxx
template <class T, class N, class = std::enable_if_t<std::is_integral_v<N>>>
sh_status sh_check(const T *array, N n, const char *name) {
    return sh__check_array(array, ::sh__cxx::dtype_of<T>::value, static_cast<int64_t>(n), name);
}
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
sh_status sh_check(T x, const char *name) {
    if constexpr (std::is_floating_point_v<T>)
        return sh__check_real(static_cast<double>(x), name);
    else
        return sh__check_whole(static_cast<int64_t>(x), name);
}
inline sh_status sh_check(sh_tensor *t, const char *name) { return sh__check_tensor(t, name); }
template <class T> sh_status sh_check_shape(const T *array, sh_ints sizes, const char *name) {
    return sh_check_data(array, ::sh__cxx::dtype_of<T>::value, sizes, sh_ints_of(nullptr, 0), name);
}
#endif

#endif
