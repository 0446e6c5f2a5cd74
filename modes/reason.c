#include "modes/reason.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef bool (*test)(const double *in, size_t n);

static bool negative(const double *in, size_t n) { return n > 0 && in[0] < 0; }
static bool zero(const double *in, size_t n) { return n > 0 && in[0] == 0; }
static bool below_minus_one(const double *in, size_t n) { return n > 0 && in[0] < -1; }
static bool minus_one(const double *in, size_t n) { return n > 0 && in[0] == -1; }
static bool outside_one(const double *in, size_t n) { return n > 0 && fabs(in[0]) > 1; }
static bool both_zero(const double *in, size_t n) { return n > 1 && in[0] == 0 && in[1] == 0; }
static bool both_inf(const double *in, size_t n) { return n > 1 && isinf(in[0]) && isinf(in[1]); }
static bool divisor_zero(const double *in, size_t n) { return n > 1 && in[1] == 0; }
static bool zero_times_inf(const double *in, size_t n) {
    return n > 1 && ((in[0] == 0 && isinf(in[1])) || (in[1] == 0 && isinf(in[0])));
}
static bool is_inf(const double *in, size_t n) { return n > 0 && isinf(in[0]); }
static bool negative_base(const double *in, size_t n) { return n > 1 && in[0] < 0 && in[1] != floor(in[1]); }
static bool zero_base(const double *in, size_t n) { return n > 1 && in[0] == 0 && in[1] < 0; }

static const struct {
    const char *op;
    test test;
    const char *why;
} reasons[] = {
    {"sqrt", negative, "square root of a negative number"},
    {"rsqrt", negative, "square root of a negative number"},
    {"rsqrt", zero, "1 / sqrt(0)"},
    {"log", zero, "logarithm of zero"},
    {"log", negative, "logarithm of a negative number"},
    {"log2", zero, "logarithm of zero"},
    {"log2", negative, "logarithm of a negative number"},
    {"log10", zero, "logarithm of zero"},
    {"log10", negative, "logarithm of a negative number"},
    {"log1p", minus_one, "log1p of -1 is the logarithm of zero"},
    {"log1p", below_minus_one, "log1p of a number below -1"},
    {"asin", outside_one, "asin is defined on [-1, 1]"},
    {"acos", outside_one, "acos is defined on [-1, 1]"},
    {"reciprocal", zero, "1 / 0"},
    {"sin", is_inf, "sin of an infinity"},
    {"cos", is_inf, "cos of an infinity"},
    {"tan", is_inf, "tan of an infinity"},
    {"div", both_zero, "0 / 0"},
    {"div", both_inf, "Inf / Inf"},
    {"div", divisor_zero, "division by zero"},
    {"fmod", divisor_zero, "remainder of a division by zero"},
    {"remainder", divisor_zero, "remainder of a division by zero"},
    {"floor_divide", divisor_zero, "division by zero"},
    {"mul", zero_times_inf, "0 * Inf"},
    {"add", both_inf, "Inf - Inf"},
    {"sub", both_inf, "Inf - Inf"},
    {"pow", negative_base, "a negative number to a power that is no integer"},
    {"pow", zero_base, "zero to a negative power"},
};

const char *sh_reason(const char *op, const double *in, size_t n, double out) {
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].op, op) == 0 && reasons[i].test(in, n)) return reasons[i].why;
    bool finite = n > 0;
    for (size_t i = 0; i < n; i++) finite = finite && isfinite(in[i]);
    return finite && isinf(out) ? "the exact result is larger than the dtype can hold (overflow)" : NULL;
}
