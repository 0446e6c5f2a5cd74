/* c_kernel.h - plain C functions as kernels of ops, and ops as plain C functions. Both go through libffi.
 *
 *     void scale(const float *x, float *y, size_t n, double by);
 *     sh_kernel_register_c("mylib::scale", "cpu", "void(const float x[n], float y[n], size_t n, double by)",
 *                          (sh_c_function)scale, NULL, &kernel);
 *     float (*plus)(float, float) = (float (*)(float, float))sh_closure_code(sh_closure_new("add", "float(float, float)", NULL));
 *
 * A signature is a C99 declarator: `void(const float x[n], float y[n], size_t n)`, with the function's name or without.
 * What each parameter gets, in a kernel:
 *   T x[m][n]       the elements of a tensor, row-major. `const`: an argument of the op; else a result, or an argument that
 *                   the schema marks (a!). Which one: that of the same name, else tensors in the order of the schema,
 *                   arguments that are written, then results, last. A size is a number, a name (bound by the first array
 *                   that has it, checked against the others) or nothing. A tensor whose elements lie otherwise is copied
 *                   first and, if written, copied back. None gives NULL.
 *   T *x            the same with any shape; where int64_t x_strides[] is a parameter the tensor is passed as it lies
 *   void *x         elements of any dtype; int x_dtype says which (SH_F32 ...)
 *   x_sizes, x_strides, x_ndim, x_numel   of the array parameter x (const int64_t *, in elements; or a whole number)
 *   sh_tensor *x    the tensor itself; sh_tensor *x[n]: a Tensor[]
 *   a number        the dimension of that name, else the op's argument of that name (a tensor of one element too);
 *                   int *n, const float *alpha: the same by its address, as Fortran passes it
 *   int64_t x[n]    an int[] of the op; const char *x: a str
 *   struct {...} s  each field as a number named s_field, else as element or entry of the op's tensor or int[] s, else as a
 *                   number named field
 * The value returned: nothing; int where all results are parameters: 0, or an error that says the number; else the result.
 * Whole numbers must fit: 300 for an int8_t is an error. An argument of the op that no parameter takes must have its default
 * at each call. dtypes must be those of the C types (complex64 for float complex, f16 and bf16 for uint16_t), unless
 * SH_C_CONVERT is set. Threads may call a kernel at once. */
#ifndef SH_DISPATCH_FFI_C_KERNEL_H
#define SH_DISPATCH_FFI_C_KERNEL_H

#include "dispatch/byname.h"

SH_BEGIN_DECLS

typedef void (*sh_c_function)(void); /* any function; its signature says what it is */

/* How a function is led over tensors that are larger than what it takes. */
typedef enum sh_c_adapter {
    SH_C_PLAIN = 0, /* one call on whole tensors */
    /* Every argument is broadcast to the shape of the result. `float(float)`, `double(double, double)`: called for each element;
     * parameters are tensors in order, those named for another argument of the op (float alpha) are that number.
     * `void(const float x[n], float y[n], size_t n)`: called once, n is the number of elements. */
    SH_C_ELEMENTWISE,
    /* `void(const float row[n], float out[n], size_t n)`, `float(const float row[n], size_t n)`: called for each row, the last
     * dimension, or that which the op's argument `dim` names; arrays of two sizes for each matrix, and so on. A tensor of
     * no more dimensions than its array has is passed whole each time. None for `dim` makes all of it one row. */
    SH_C_ROWS,
    /* Matrix products of mm, matmul, bmm, addmm and ops like these, by a function of BLAS: see SH_CBLAS_GEMM, SH_BLAS_GEMM.
     * Parameters are known by BLAS's names. Matrices are passed as they lie where one of their strides is 1. */
    SH_C_GEMM
} sh_c_adapter;

/* Signatures of cblas_sgemm(order, ...) and of Fortran's sgemm_(...): SH_CBLAS_GEMM(float). */
#define SH_CBLAS_GEMM(T)                                                                   \
    "void(int order, int transa, int transb, int m, int n, int k, " #T " alpha, const " #T \
    " *a, int lda, const " #T " *b, int ldb, " #T " beta, " #T " *c, int ldc)"
#define SH_BLAS_GEMM(T)                                                                                  \
    "void(const char *transa, const char *transb, const int *m, const int *n, const int *k, const " #T   \
    " *alpha, const " #T " *a, const int *lda, const " #T " *b, const int *ldb, const " #T " *beta, " #T \
    " *c, const int *ldc)"

enum {
    SH_C_CONVERT = 1 /* tensors of another dtype are converted, and converted back where written */
};

typedef struct sh_c_options {
    sh_c_adapter adapter;
    uint32_t flags;         /* SH_C_CONVERT */
    const char *registrant; /* of a kernel: shown in notes and errors; optional */
    sh_arguments given;     /* of a closure: arguments of the op that no parameter brings; copied */
} sh_c_options;

/* Registers a C function for op `name` (defined or not yet) in a backend's column: sh_kernel_register with all that a
 * boxed kernel does done here. The text is read and fitted to the op's schema at once, where there is one: an error
 * has the column and says what was expected. What is prepared ends with sh_kernel_remove, once no call uses it. */
SH_API sh_status sh_kernel_register_c(const char *name, const char *backend, const char *signature,
                                      sh_c_function function, const sh_c_options *options, sh_kernel *kernel);

/* Gives a struct type a name that signatures may use: sh_c_struct("vec3", "{float x, y, z;}"), then "void(vec3 v, ...)".
 * A name can't be given to another struct later. */
SH_API sh_status sh_c_struct(const char *name, const char *fields);

/* ---- closures ----
 * A real function for an op, for code that wants a pointer to one: each call goes through the chain, so that modes see it.
 * Arrays become views of the caller's memory, nothing is copied in; results are written in place, by the op's `out` or
 * in-place form where it has one. Sizes come from parameters of the dimensions' names. Numbers become arguments of the op, or
 * tensors without dimensions. With SH_C_GEMM it is called as a function of BLAS is, for an op such as addmm or mm.
 * An error inside stays pending on the thread; the function then returns NaN (0 where it returns a whole number that is a
 * result; a negative sh_status where int says how it went) and writes nothing. Threads may call it at once. */
typedef struct sh_closure sh_closure;
/* The op must be defined. The caller ends it by sh_closure_free; NULL and an error. */
SH_API sh_closure *sh_closure_new(const char *op, const char *signature, const sh_c_options *options);
/* The function; cast it to what the signature says. NULL and an error where the closure is dead. */
SH_API sh_c_function sh_closure_code(const sh_closure *closure);
/* Ends it; calls in flight end well. SH_ERROR_HANDLE where it was ended before. A call of the dead function is an error as
 * above for as long as its memory isn't needed, which is for the next 64 that end. */
SH_API sh_status sh_closure_free(sh_closure *closure);

SH_END_DECLS

#ifndef __cplusplus
/* sh_kernel_register_elementwise("relu", "cpu", my_relu, &kernel): for functions of 1 to 3 floats, or doubles. */
#define sh_kernel_register_elementwise(name, backend, f, kernel)             \
    sh_kernel_register_c(name, backend, SH__C_SCALAR(f), (sh_c_function)(f), \
                         &(const sh_c_options){.adapter = SH_C_ELEMENTWISE, .registrant = #f}, kernel)
/* clang-format off */
#define SH__C_SCALAR(f)                                                                              \
    _Generic((f), float (*)(float): "float(float)", float (*)(float, float): "float(float, float)",  \
             float (*)(float, float, float): "float(float, float, float)",                           \
             double (*)(double): "double(double)", double (*)(double, double): "double(double, double)", \
             double (*)(double, double, double): "double(double, double, double)")
/* clang-format on */
#else
namespace sh__cxx {
template <class T> constexpr const char *scalar_signature(T (*)(T)) {
    return sizeof(T) == 4 ? "float(float)" : "double(double)";
}
template <class T> constexpr const char *scalar_signature(T (*)(T, T)) {
    return sizeof(T) == 4 ? "float(float, float)" : "double(double, double)";
}
template <class T> constexpr const char *scalar_signature(T (*)(T, T, T)) {
    return sizeof(T) == 4 ? "float(float, float, float)" : "double(double, double, double)";
}
} // namespace sh__cxx
template <class T, class... A>
sh_status sh_kernel_register_elementwise(const char *name, const char *backend, T (*f)(A...),
                                         sh_kernel *kernel) {
    static_assert(std::is_floating_point_v<T> && sizeof(T) <= 8, "a function of floats or doubles");
    sh_c_options options = {};
    options.adapter = SH_C_ELEMENTWISE;
    return sh_kernel_register_c(name, backend, ::sh__cxx::scalar_signature(f),
                                reinterpret_cast<sh_c_function>(f), &options, kernel);
}
#endif

#endif
