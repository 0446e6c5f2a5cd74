/* 16_hook_matmul.c - a hand-written matrix product takes the place of the built-in one, for large f32 matrices only.
 *
 * It uses AVX2 where the CPU has it. The first two calls are checked against the reference; what the kernel is not for goes
 * to the built-in one, as `sh_set_verbose` shows. */
#include <shunt.h>
#include <stdio.h>

#if defined(__x86_64__)
#include <immintrin.h>
__attribute__((target("avx2,fma"))) static void row_avx2(float *c, const float *a, const float *b, int64_t k,
                                                         int64_t n) {
    int64_t j = 0;
    for (; j + 8 <= n; j += 8) {
        __m256 sum = _mm256_setzero_ps();
        for (int64_t p = 0; p < k; p++)
            sum = _mm256_fmadd_ps(_mm256_set1_ps(a[p]), _mm256_loadu_ps(b + p * n + j), sum);
        _mm256_storeu_ps(c + j, sum);
    }
    for (; j < n; j++) {
        c[j] = 0;
        for (int64_t p = 0; p < k; p++) c[j] += a[p] * b[p * n + j];
    }
}
static int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
static int has_avx2(void) { return 0; }
#define row_avx2 row_plain
#endif

static void row_plain(float *c, const float *a, const float *b, int64_t k, int64_t n) {
    for (int64_t j = 0; j < n; j++) c[j] = 0;
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < n; j++) c[j] += a[p] * b[p * n + j];
}

static int calls;

/* A boxed kernel may decline: it only takes plain matrices that lie row by row. */
static sh_status my_matmul(sh_call *call, void *user) {
    sh_tensor *a = sh_call_tensor(call, 0), *b = sh_call_tensor(call, 1);
    sh_tensor *c = sh_call_result(call, 0).as.tensor;
    (void)user;
    if (sh_tensor_ndim(a) != 2 || sh_tensor_ndim(b) != 2 || !sh_tensor_is_contiguous(a) ||
        !sh_tensor_is_contiguous(b) || !sh_tensor_is_contiguous(c))
        return SH_PASS;
    const int64_t m = sh_tensor_sizes(a)[0], k = sh_tensor_sizes(a)[1], n = sh_tensor_sizes(b)[1];
    const float *pa = sh_tensor_data(a), *pb = sh_tensor_data(b);
    float *pc = sh_tensor_data(c);
    void (*row)(float *, const float *, const float *, int64_t, int64_t) = has_avx2() ? row_avx2 : row_plain;
    for (int64_t i = 0; i < m; i++) row(pc + i * n, pa + i * k, pb, k, n);
    calls++;
    return SH_OK;
}

static void print_line(const char *line, void *user) {
    (void)user;
    printf("%s\n", line);
}

int main(void) {
    sh_kernel kernel;
    const sh_kernel_options options = {.size = sizeof options,
                                       .where = "dtype=f32,numel=65536..",
                                       .policy = "verify:first=2,then=0",
                                       .registrant = "my_matmul"};
    sh_set_warning_sink(print_line, NULL);
    if (sh_kernel_register_with("matmul", my_matmul, &options, &kernel) < 0) {
        fprintf(stderr, "%s\n", sh_error()->message);
        return 1;
    }
    SH_SCOPE {
        sh_tensor *small = sh_full(SH_SIZES(4, 4), 0.5), *large = sh_full(SH_SIZES(256, 256), 0.5);
        sh_tensor *doubles = sh_full(SH_SIZES(256, 256), 0.5, .dtype = SH_F64);
        sh_set_verbose("dispatch");
        printf("-- small\n");
        sh_tensor *x = sh_matmul(small, small);
        printf("-- f64\n");
        sh_tensor *z = sh_matmul(doubles, doubles);
        printf("-- large\n");
        sh_tensor *y = sh_matmul(large, large);
        sh_set_verbose(NULL);
        for (int i = 0; i < 3; i++) sh_matmul(large, large);
        printf("results %g, %g, %g\n", sh_tensor_at(x, (const int64_t[]){0, 0}),
               sh_tensor_at(z, (const int64_t[]){0, 0}), sh_tensor_at(y, (const int64_t[]){255, 255}));
    }
    printf("my kernel ran %d times, findings: %d\n", calls, (int)sh_finding_count());
    sh_kernel_remove(kernel);
    return sh_error() != NULL;
}
