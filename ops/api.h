/* api.h - what the macros of the typed op functions are made of.
 *
 * Every op is a plain exported C function, sh_add(self, other, options), with the required arguments in
 * order and one options struct (NULL = defaults). The macro of the same name adds what C lacks: keyword
 * arguments with PyTorch's names, and a number where a tensor may stand:
 *
 *     sh_add(x, 2.0, .alpha = 3)      sh_conv2d(x, w, .bias = b, .stride = {2, 2})      sh_sum(x, .dim = 0)
 *
 * Options may also be given in order: sh_softmax(x, 1). An int[2] option takes one number for both or
 * braces for each; several axes are SH_DIMS(0, 1). The functions themselves are in the generated ops.h. */
#ifndef SH_OPS_API_H
#define SH_OPS_API_H

#include "dispatch/byname.h"
#include "dispatch/mode.h"

SH_BEGIN_DECLS

/* The number as a 0-d tensor that promotes like a Python number; scope-owned. */
SH_API sh_tensor *sh__wrap_float(double number);
SH_API sh_tensor *sh__wrap_int(int64_t number);
SH_API sh_tensor *sh__wrap_flag(bool flag);
SH_API sh_tensor *sh__wrap_unsigned(uint64_t number); /* an error beyond 2^63 - 1 */

static inline sh_tensor *sh__wrap_wide(long double number) { return sh__wrap_float((double)number); }

static inline sh_tensor *sh__tensor_itself(sh_tensor *t) { return t; }
static inline sh_tensor *sh__tensor_null(void *null) { return (sh_tensor *)null; }
/* In an int[2] option: the second is as the first. */
#define SH_SAME (INT64_MIN + 1)

SH_END_DECLS

#ifndef __cplusplus

#ifdef __clang__
#define SH__QUIET                                                                                    \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Winitializer-overrides\"") \
        _Pragma("clang diagnostic ignored \"-Wmissing-braces\"")                                     \
            _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"")
#define SH__LOUD _Pragma("clang diagnostic pop")
#else
#define SH__QUIET                                                                        \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Woverride-init\"") \
        _Pragma("GCC diagnostic ignored \"-Wmissing-braces\"")                           \
            _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")
#define SH__LOUD _Pragma("GCC diagnostic pop")
#endif

/* Each argument's text stands once in an expansion, so nesting does not grow it. */
#define SH__TENSOR(x) SH__TENSOR_(SH__UNIQUE(sh__v), x)
#define SH__TENSOR_(v, x)                                                                                                  \
    __extension__({                                                                                                        \
        __auto_type v = (x);                                                                                               \
        _Generic(v, sh_tensor *: sh__tensor_itself, void *: sh__tensor_null, bool: sh__wrap_flag, float: sh__wrap_float, \
                 double: sh__wrap_float, long double: sh__wrap_wide, unsigned long: sh__wrap_unsigned,                      \
                 unsigned long long: sh__wrap_unsigned, default: sh__wrap_int)(v); \
    })
#define SH__SCALAR(x) SH__SCALAR_(SH__UNIQUE(sh__v), x)
#define SH__SCALAR_(v, x)                                 \
    __extension__({                                       \
        __auto_type v = (x);                              \
        _Generic(v, sh_value                              \
                 : sh__value_itself, bool                 \
                 : sh_value_flag, float                   \
                 : sh_value_float, double                 \
                 : sh_value_float, long double            \
                 : sh__value_wide, unsigned long          \
                 : sh__value_unsigned, unsigned long long \
                 : sh__value_unsigned, default            \
                 : sh_value_int)(v);                      \
    })

#else
namespace sh__cxx {

/* A tensor, or a number in its place. */
class operand {
  public:
    operand(sh_tensor *t) : t_(t) {}
    operand(std::nullptr_t) : t_(nullptr) {}
    template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>> operand(N n) : t_(wrap(n)) {}
    operator sh_tensor *() const { return t_; }

  private:
    static sh_tensor *wrap(bool n) { return sh__wrap_flag(n); }
    template <class N> static sh_tensor *wrap(N n) {
        if constexpr (std::is_floating_point_v<N>)
            return sh__wrap_float(static_cast<double>(n));
        else if constexpr (std::is_unsigned_v<N>)
            return sh__wrap_unsigned(n);
        else
            return sh__wrap_int(n);
    }
    sh_tensor *t_;
};

/* A number. */
class scalar {
  public:
    scalar(sh_value v) : v_(v) {}
    template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>> scalar(N n) : v_(value(n)) {}
    operator sh_scalar() const { return v_; }

  private:
    sh_scalar v_;
};

/* Integers: SH_SIZES, an sh_ints, or braces. */
class sizes {
  public:
    sizes(sh_ints list) : list_(list) {}
    sizes(std::initializer_list<int64_t> list) : list_(numbers(list)) {}
    template <std::size_t N> sizes(const in_place<sh_ints, int64_t, N> &list) : list_(list) {}
    operator sh_ints() const { return list_; }

  private:
    sh_ints list_;
};

} // namespace sh__cxx
#endif

#endif
