/* ops.c - puts the built-in ops into the table, and the slower halves of what typed functions share. */
#include <pthread.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "dispatch/copy.h"
#include "ops/fast.h"
#include "ops/kernels.h"

sh_ints sh__option_axes(int64_t packed, int64_t *at) {
    size_t n = 0;
    if (packed == SH_NO_INT || !sh__dims_unpack(packed, at, &n)) return (sh_ints){NULL, 0};
    return (sh_ints){at, n};
}

void sh__fast_drop(sh_tensor **t, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) sh__release(t[i]);
}

bool sh__fast_own(sh_tensor **t, uint32_t n) {
    const uint32_t mark = sh__thread.nitems;
    for (uint32_t i = 0; i < n; i++) {
        if (sh__own(t[i])) continue;
        sh__scope_release(mark, NULL, 0);
        for (uint32_t k = 0; k <= i; k++) t[k] = sh_keep(NULL);
        return false;
    }
    return true;
}

bool sh__fast_returned(sh_status status, uint32_t mark, const sh_value *results, uint32_t n, const char *op,
                       const sh_slot *slot) {
    const bool good = status >= 0 && !sh__error_pending();
    if (!good) {
        sh__error_ensure(status);
        sh__error_at(op, "kernel", slot->backend);
    }
    sh__scope_release(mark, results, good ? n : 0);
    return good;
}

sh_tensor *sh__wrap_float(double number) { return sh_tensor_from_number(sh_value_float(number)); }
sh_tensor *sh__wrap_int(int64_t number) { return sh_tensor_from_number(sh_value_int(number)); }
sh_tensor *sh__wrap_unsigned(uint64_t number) {
    if (number <= INT64_MAX) return sh__wrap_int((int64_t)number);
    sh_fail(SH_ERROR_VALUE, "the number %llu does not fit in 64 bits with a sign",
            (unsigned long long)number);
    return NULL;
}
sh_tensor *sh__wrap_flag(bool flag) { return sh_tensor_from_number(sh_value_flag(flag)); }

static sh_status copy_into(sh_tensor *to, const sh_tensor *from) {
    return sh_cpu_copy(to, to, (sh_tensor *)(uintptr_t)from, false);
}

static sh_status copy_by_op(sh_tensor *to, sh_tensor *from) {
    return sh_copy_(to, from) ? SH_OK : sh_error()->code;
}

#ifdef _OPENMP
/* The threads of OpenMP's pool do not live on in a forked child; one thread needs no pool. */
static void one_thread(void) { omp_set_num_threads(1); }
#endif

__attribute__((constructor(101))) static void install(void) {
#ifdef _OPENMP
    pthread_atfork(NULL, NULL, one_thread);
#endif
    sh__set_copier(copy_into);
    sh__set_copying_op(copy_by_op);
    sh__table_install(sh__ops, SH_OP_BUILTIN_COUNT, sh__builtin_kernels, sh__builtin_kernel_count);
}
