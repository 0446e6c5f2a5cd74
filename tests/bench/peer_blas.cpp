/* peer_blas.cpp - the side of pairs_blas.def that is OpenBLAS's, one thread. peers.sh compiles it. */
#include <cblas.h>
#include <cstdint>
#include <cstdio>
#include <vector>

enum { N = 1024 };
static const std::vector<float> square(N *N, 0.5f);

/* With a result of its own, as sh_matmul; that its pages are not new each time spares OpenBLAS what ours is spared too. */
static void multiply(const std::vector<float> &a) {
    static std::vector<float> result(N * N);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a.data(), N, a.data(), N, 0,
                result.data(), N);
}

extern "C" const char *peer_name(void) {
    static char name[64];
    openblas_set_num_threads(1);
    snprintf(name, sizeof name, "OpenBLAS %s", openblas_get_corename());
    return name;
}

#define PAIR(name, turns, most, ours, theirs)             \
    extern "C" void theirs_##name(int64_t times) {        \
        for (int64_t i = 0; i < times; i++) (void)theirs; \
    }
#include "tests/bench/pairs_blas.def"
