/* cxx.h - the same spellings in C++17: what macros do in C, overloads and guards do here. Empty in C.
 *
 *     SH_SCOPE {
 *         sh_tensor *x = sh_rand({2, 3}), *y = sh_add(x, 2.0, sh::alpha = 3);
 *         SH_WITH_MODE(add_to_mul) { y = sh_sum(y, sh::dim = 0, sh::keepdim = true); }
 *     }
 *
 * A keyword is written sh::name = value; one that the function lacks is a compile error that names it. Lists in
 * braces, SH_SIZES, SH_LIST and what else is written in place live to the end of the full expression, so don't keep
 * an sh_ints made of one. Guards run when an exception passes too; one that leaves a callback must not pass C code. */
#ifndef SH_DISPATCH_CXX_H
#define SH_DISPATCH_CXX_H

#include "dispatch/status.h"
#include "dispatch/value.h"

#ifdef __cplusplus
#include <cstddef>
#include <initializer_list>
#include <type_traits>

/* Initialisers by name are C++20, and both compilers take them before. */
#define SH_BEGIN_CXX                                                                        \
    extern "C++" {                                                                          \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wc++20-extensions\"") \
        _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")
#define SH_END_CXX                \
    _Pragma("GCC diagnostic pop") \
    }

namespace sh__cxx {

/* ---- written in place ---- */

/* N of them in a row; becomes the C struct that points to them. */
template <class List, class T, std::size_t N> struct in_place {
    T at[N ? N : 1];
    operator List() const { return List{at, N}; }
};
template <class... I> in_place<sh_ints, int64_t, sizeof...(I)> ints(I... i) {
    return {{static_cast<int64_t>(i)...}};
}
template <class... T> in_place<sh_tensors, sh_tensor *, sizeof...(T)> tensors(T... t) { return {{t...}}; }
template <class... I> int64_t dims(I... i) {
    const int64_t axes[] = {static_cast<int64_t>(i)...};
    return sh__dims(axes, sizeof...(I));
}

/* ---- keywords ---- */

struct keyword {};
template <class... K> using keywords = std::enable_if_t<(std::is_base_of_v<keyword, K> && ...)>;

/* One integer or several in braces. */
class numbers {
  public:
    template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
    numbers(I one) : one_(static_cast<int64_t>(one)), list_() {}
    numbers(std::initializer_list<int64_t> list) : one_(0), list_(list), is_list_(true) {}
    /* As an initialiser in C: a number is the first entry and leaves the others, braces set all. */
    void into(int64_t *to, std::size_t n) const {
        if (!is_list_) to[0] = one_;
        if (list_.size() > n)
            sh_fail(SH_ERROR_ARGUMENT, "%zu numbers given where %zu at most belong", list_.size(), n);
        for (std::size_t i = 0; is_list_ && i < n; i++) to[i] = i < list_.size() ? list_.begin()[i] : 0;
    }
    operator sh_ints() const {
        static const int64_t none = 0;
        if (!is_list_) return sh_ints{&one_, 1};
        return sh_ints{list_.size() ? list_.begin() : &none, list_.size()};
    }

  private:
    int64_t one_;
    std::initializer_list<int64_t> list_;
    bool is_list_ = false;
};

/* What a keyword gives goes into the field of its name. */
template <class To, class From> std::enable_if_t<!std::is_array_v<To>> assign(To &to, const From &from) {
    to = static_cast<To>(from);
}
template <std::size_t N> void assign(int64_t (&to)[N], const numbers &from) { from.into(to, N); }
/* Several are axes, which SH_DIMS packs. */
inline void assign(int64_t &to, const numbers &from) {
    const sh_ints list = from;
    to = list.n == 1 ? list.at[0] : sh__dims(list.at, list.n);
}

} // namespace sh__cxx

/* sh::name, whose `= value` is an argument. */
#define SH__KEYWORD(name_)                                                                     \
    namespace sh {                                                                             \
    struct name_##_keyword {                                                                   \
        template <class T> struct given_ : ::sh__cxx::keyword {                                \
            T value_;                                                                          \
            explicit given_(T t_) : value_(t_) {}                                              \
            template <class O> void into(O &o_) const { ::sh__cxx::assign(o_.name_, value_); } \
        };                                                                                     \
        template <class T> given_<T> operator=(T t_) const { return given_<T>(t_); }           \
        given_<::sh__cxx::numbers> operator=(std::initializer_list<int64_t> list_) const {     \
            return given_<::sh__cxx::numbers>(list_);                                          \
        }                                                                                      \
    };                                                                                         \
    inline constexpr name_##_keyword name_{};                                                  \
    }

#endif

#endif
