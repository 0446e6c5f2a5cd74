/* compare.h - are two tensors the same, up to a tolerance? */
#ifndef SH_OPS_COMPARE_H
#define SH_OPS_COMPARE_H

#include "ops/api.h"

SH_BEGIN_DECLS

typedef struct sh_allclose_options {
    char sh_;
    double rtol, atol;
    bool equal_nan;
} sh_allclose_options;
#define SH_ALLCLOSE_DEFAULTS .sh_ = 0, .rtol = 1e-5, .atol = 1e-8, .equal_nan = false

/* |a - b| <= atol + rtol * |b| for every element, after broadcasting; equal infinities are equal. False and an error
 * where shapes do not broadcast or an argument is NULL. Not an op: modes do not see it. PyTorch's torch.allclose. */
SH_API bool sh_allclose(const sh_tensor *a, const sh_tensor *b, const sh_allclose_options *options);
/* Same shape, dtype and elements; NaN differs from NaN. torch.equal. */
SH_API bool sh_equal(const sh_tensor *a, const sh_tensor *b);

#ifndef __cplusplus
/* sh_allclose(a, b), sh_allclose(a, b, .rtol = 1e-3) */
#define sh_allclose(...) SH__allclose(SH__UNIQUE(sh__o), __VA_ARGS__, .sh_ = 0)
#define SH__allclose(v, a, b, ...)                                                             \
    __extension__({                                                                            \
        SH__QUIET const sh_allclose_options v = {SH_ALLCLOSE_DEFAULTS, .sh_ = 0, __VA_ARGS__}; \
        SH__LOUD(sh_allclose)(a, b, &v);                                                       \
    })
#else
SH_BEGIN_CXX
template <class... K, class = ::sh__cxx::keywords<K...>>
bool sh_allclose(const sh_tensor *a, const sh_tensor *b, const K &...k) {
    sh_allclose_options o = {SH_ALLCLOSE_DEFAULTS};
    (k.into(o), ...);
    return sh_allclose(a, b, &o);
}
SH_END_CXX
#endif

SH_END_DECLS

#ifdef __cplusplus
SH__KEYWORD(rtol)
SH__KEYWORD(atol)
SH__KEYWORD(equal_nan)
#endif

#endif
