/* reduce.c - reductions of the cpu backend. */
#include "ops/kernels.h"
sh_status sh_cpu_softmax(sh_tensor *result0, sh_tensor *self, int64_t dim, sh_dtype dtype) {
    return sh_ref_softmax(result0, self, dim, dtype);
}
sh_status sh_cpu_log_softmax(sh_tensor *result0, sh_tensor *self, int64_t dim, sh_dtype dtype) {
    return sh_ref_log_softmax(result0, self, dim, dtype);
}
sh_status sh_cpu_sum(sh_tensor *result0, sh_tensor *self, sh_ints dim, bool keepdim, sh_dtype dtype) {
    return sh_ref_sum(result0, self, dim, keepdim, dtype);
}
sh_status sh_cpu_mean(sh_tensor *result0, sh_tensor *self, sh_ints dim, bool keepdim, sh_dtype dtype) {
    return sh_ref_mean(result0, self, dim, keepdim, dtype);
}
sh_status sh_cpu_prod(sh_tensor *result0, sh_tensor *self, int64_t dim, bool keepdim, sh_dtype dtype) {
    return sh_ref_prod(result0, self, dim, keepdim, dtype);
}
sh_status sh_cpu_amax(sh_tensor *result0, sh_tensor *self, sh_ints dim, bool keepdim) {
    return sh_ref_amax(result0, self, dim, keepdim);
}
sh_status sh_cpu_amin(sh_tensor *result0, sh_tensor *self, sh_ints dim, bool keepdim) {
    return sh_ref_amin(result0, self, dim, keepdim);
}
sh_status sh_cpu_max(sh_tensor *result0, sh_tensor *self) { return sh_ref_max(result0, self); }
sh_status sh_cpu_max_dim(sh_tensor *result0, sh_tensor *result1, sh_tensor *self, int64_t dim, bool keepdim) {
    return sh_ref_max_dim(result0, result1, self, dim, keepdim);
}
sh_status sh_cpu_min(sh_tensor *result0, sh_tensor *self) { return sh_ref_min(result0, self); }
sh_status sh_cpu_min_dim(sh_tensor *result0, sh_tensor *result1, sh_tensor *self, int64_t dim, bool keepdim) {
    return sh_ref_min_dim(result0, result1, self, dim, keepdim);
}
sh_status sh_cpu_argmax(sh_tensor *result0, sh_tensor *self, int64_t dim, bool keepdim) {
    return sh_ref_argmax(result0, self, dim, keepdim);
}
sh_status sh_cpu_argmin(sh_tensor *result0, sh_tensor *self, int64_t dim, bool keepdim) {
    return sh_ref_argmin(result0, self, dim, keepdim);
}
sh_status sh_cpu_any(sh_tensor *result0, sh_tensor *self, sh_ints dim, bool keepdim) {
    return sh_ref_any(result0, self, dim, keepdim);
}
sh_status sh_cpu_all(sh_tensor *result0, sh_tensor *self, sh_ints dim, bool keepdim) {
    return sh_ref_all(result0, self, dim, keepdim);
}
sh_status sh_cpu_var(sh_tensor *result0, sh_tensor *self, sh_ints dim, bool unbiased, bool keepdim) {
    return sh_ref_var(result0, self, dim, unbiased, keepdim);
}
sh_status sh_cpu_std(sh_tensor *result0, sh_tensor *self, sh_ints dim, bool unbiased, bool keepdim) {
    return sh_ref_std(result0, self, dim, unbiased, keepdim);
}
sh_status sh_cpu_norm(sh_tensor *result0, sh_tensor *self, sh_scalar p, sh_ints dim, bool keepdim,
                      sh_dtype dtype) {
    return sh_ref_norm(result0, self, p, dim, keepdim, dtype);
}
sh_status sh_cpu_logsumexp(sh_tensor *result0, sh_tensor *self, sh_ints dim, bool keepdim) {
    return sh_ref_logsumexp(result0, self, dim, keepdim);
}
sh_status sh_cpu_cumsum(sh_tensor *result0, sh_tensor *self, int64_t dim, sh_dtype dtype) {
    return sh_ref_cumsum(result0, self, dim, dtype);
}
