/* compile.h - what tests of compiled functions share. */
#ifndef SH_TESTS_COMPILE_H
#define SH_TESTS_COMPILE_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include "shunt.h"

/* x + y*x: the seed of the project. */
static inline sh_value x_plus_yx(sh_values in, void *user) {
    (void)user;
    sh_tensor *x = in.at[0].as.tensor, *y = in.at[1].as.tensor;
    return sh_value_tensor(sh_add(x, sh_mul(y, x)));
}

static inline sh_tensor *call_compiled(sh_compiled *c, sh_tensor *x, sh_tensor *y) {
    const sh_value inputs[] = {sh_value_tensor(x), sh_value_tensor(y)};
    return sh_value_as_tensor(sh_compiled_call(c, (sh_values){inputs, y ? 2 : 1}));
}

/* The function itself on these inputs, under whatever is pushed. */
static inline sh_tensor *call_eager(sh_traceable function, void *user, sh_tensor *x, sh_tensor *y) {
    const sh_value inputs[] = {sh_value_tensor(x), sh_value_tensor(y)};
    return sh_value_as_tensor(function((sh_values){inputs, y ? 2 : 1}, user));
}

static inline bool same_bits(sh_tensor *a, sh_tensor *b) {
    if (!a || !b || sh_tensor_ndim(a) != sh_tensor_ndim(b) || sh_tensor_dtype(a) != sh_tensor_dtype(b))
        return false;
    for (int i = 0; i < sh_tensor_ndim(a); i++)
        if (sh_tensor_size(a, i) != sh_tensor_size(b, i)) return false;
    a = sh_contiguous(a);
    b = sh_contiguous(b);
    return memcmp(sh_tensor_data(a), sh_tensor_data(b),
                  (size_t)sh_tensor_numel(a) * sh_dtype_size(sh_tensor_dtype(a))) == 0;
}

static inline void no_error(void) {
    cr_assert(sh_error() == NULL, "%s", sh_error() ? sh_error()->message : "");
}

static inline void expect_error(const char *part) {
    cr_assert(sh_error() != NULL, "an error about %s was expected", part);
    cr_expect(strstr(sh_error()->message, part) != NULL, "\"%s\" in: %s", part, sh_error()->message);
    sh_clear_error();
}

static inline sh_compiled *compile_exactly(sh_traceable function, void *user) {
    sh_compile_options options = SH_COMPILE_OPTIONS_INIT;
    options.exact = true;
    return sh_compile_function(function, user, &options);
}

/* A function to compile: of x, and of y where there is one. */
#define FUNCTION(name, body)                                                       \
    static sh_value name(sh_values in, void *user) {                               \
        sh_tensor *x = in.at[0].as.tensor, *y = in.n > 1 ? in.at[1].as.tensor : x; \
        (void)user, (void)y;                                                       \
        body                                                                       \
    }

/* k/7 in a matrix. */
static inline sh_tensor *some(int64_t rows, int64_t columns) {
    return sh_div(sh_reshape(sh_arange(rows * columns, .dtype = SH_F32), SH_SIZES(rows, columns)), 7.0);
}

#endif
