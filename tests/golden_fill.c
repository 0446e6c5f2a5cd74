/* The fills of the golden files, the same numbers as golden.py makes.
 *
 * Float values are computed as double, rounded to float, and from there to a half type: both sides
 * round twice in the same way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/golden.h"

/* One element: `f` counts for float types, `i` for the others. */
typedef struct number {
    double f;
    int64_t i;
} number;

static void store(void *data, sh_dtype dtype, int64_t at, number n) {
    switch (dtype) {
    case SH_F32: ((float *)data)[at] = (float)n.f; return;
    case SH_F64: ((double *)data)[at] = n.f; return;
    case SH_F16: ((uint16_t *)data)[at] = sh_f32_to_f16((float)n.f); return;
    case SH_BF16: ((uint16_t *)data)[at] = sh_f32_to_bf16((float)n.f); return;
    case SH_I64: ((int64_t *)data)[at] = n.i; return;
    case SH_I32: ((int32_t *)data)[at] = (int32_t)n.i; return;
    case SH_I16: ((int16_t *)data)[at] = (int16_t)n.i; return;
    case SH_I8: ((int8_t *)data)[at] = (int8_t)n.i; return;
    case SH_U8: ((uint8_t *)data)[at] = (uint8_t)n.i; return;
    case SH_B8: ((uint8_t *)data)[at] = n.i != 0; return;
    default: return;
    }
}

static number read_number(const char **at, sh_dtype dtype) {
    char *end;
    number n = {0, 0};
    if (sh_dtype_kind_of(dtype) == SH_KIND_FLOAT)
        n.f = strtod(*at, &end);
    else
        n.i = strtoll(*at, &end, 10);
    if (end == *at) n.i = strtod(*at, &end) != 0; /* True, nan and the like */
    *at = end + (*end == ',');
    return n;
}

/* Steele, Lea and Flood's mixer of a 64-bit counter. */
static uint64_t splitmix64(uint64_t counter) {
    uint64_t z = counter + 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

static number uniform(sh_dtype dtype, uint64_t seed, number low, number high, int64_t i) {
    const uint64_t bits = splitmix64((seed << 32) + (uint64_t)i);
    if (dtype == SH_B8) return (number){0, (int64_t)(bits >> 63)};
    if (sh_dtype_kind_of(dtype) == SH_KIND_FLOAT)
        return (number){low.f + (high.f - low.f) * ((double)(bits >> 11) * 0x1p-53), 0};
    return (number){0, low.i + (int64_t)(bits % (uint64_t)(high.i - low.i + 1))};
}

/* Largest, smallest normal and smallest number of each float type. */
static const double EXTREMES[][3] = {
    [SH_F32] = {0x1.fffffep127, 0x1p-126, 0x1p-149},
    [SH_F64] = {0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074},
    [SH_F16] = {65504, 0x1p-14, 0x1p-24},
    [SH_BF16] = {0x1.fep127, 0x1p-126, 0x1p-133},
};

static number special_float(sh_dtype dtype, int64_t i) {
    const double *e = EXTREMES[dtype];
    const double table[] = {NAN,   INFINITY, -INFINITY, 0.0,  -0.0,  1.0,   -1.0,   0.5,    -0.5,
                            1.5,   -1.5,     2.5,       -2.5, 3.5,   e[0],  -e[0],  e[1],   e[2],
                            -e[2], 0.1,      -0.1,      20.0, -20.0, 100.0, -100.0, 1000.0, -1000.0};
    return (number){table[i % (int64_t)(sizeof table / sizeof *table)], 0};
}

static number special_int(sh_dtype dtype, int64_t i) {
    const int bits = 8 * (int)sh_dtype_size(dtype);
    const bool is_signed = dtype != SH_U8;
    const int64_t low = is_signed ? (int64_t)(~UINT64_C(0) << (bits - 1)) : 0;
    const int64_t high = is_signed ? (int64_t) ~(~UINT64_C(0) << (bits - 1)) : 255;
    const int64_t table[] = {0,
                             1,
                             is_signed ? -1 : 128,
                             high,
                             low,
                             2,
                             is_signed ? -2 : 254,
                             3,
                             is_signed ? -3 : 5,
                             7,
                             is_signed ? -7 : 9,
                             100,
                             64};
    return (number){0, table[i % (int64_t)(sizeof table / sizeof *table)]};
}

static number special(sh_dtype dtype, int64_t i) {
    if (dtype == SH_B8) return (number){0, i % 3 != 0};
    return sh_dtype_kind_of(dtype) == SH_KIND_FLOAT ? special_float(dtype, i) : special_int(dtype, i);
}

static const char *fill_uniform(sh_tensor *t, const char *at) {
    const sh_dtype dtype = sh_tensor_dtype(t);
    const uint64_t seed = (uint64_t)read_number(&at, SH_I64).i;
    const number low = read_number(&at, dtype), high = read_number(&at, dtype);
    for (int64_t i = 0; i < sh_tensor_numel(t); i++)
        store(sh_tensor_data(t), dtype, i, uniform(dtype, seed, low, high, i));
    return at;
}

static const char *fill_linear(sh_tensor *t, const char *at) {
    const sh_dtype dtype = sh_tensor_dtype(t);
    const number start = read_number(&at, dtype), step = read_number(&at, dtype);
    for (int64_t i = 0; i < sh_tensor_numel(t); i++)
        store(sh_tensor_data(t), dtype, i, (number){start.f + step.f * (double)i, start.i + step.i * i});
    return at;
}

static const char *fill_special(sh_tensor *t, const char *at) {
    const sh_dtype dtype = sh_tensor_dtype(t);
    const int64_t shift = read_number(&at, SH_I64).i;
    for (int64_t i = 0; i < sh_tensor_numel(t); i++)
        store(sh_tensor_data(t), dtype, i, special(dtype, i + shift));
    return at;
}

static const char *fill_values(sh_tensor *t, const char *at) {
    const sh_dtype dtype = sh_tensor_dtype(t);
    for (int64_t i = 0; i < sh_tensor_numel(t); i++)
        store(sh_tensor_data(t), dtype, i, read_number(&at, dtype));
    return at;
}

/* f32 is read as such: going through double would round twice. */
void golden_read(sh_tensor *t, const char *numbers) {
    const sh_dtype dtype = sh_tensor_dtype(t);
    for (int64_t i = 0; i < sh_tensor_numel(t); i++) {
        const char *start = numbers;
        number n = read_number(&numbers, dtype);
        if (dtype == SH_F32) n.f = strtof(start, NULL);
        store(sh_tensor_data(t), dtype, i, n);
    }
}

static const struct {
    const char *opening;
    const char *(*fill)(sh_tensor *t, const char *at);
} FILLS[] = {{"u(", fill_uniform}, {"lin(", fill_linear}, {"sp(", fill_special}, {"v(", fill_values}};

/* Steps over a fill without a tensor to set: a meta tensor has no data. */
static const char *skip_fill(const char *at) {
    const char *end = strchr(at, ')');
    return end ? end + 1 : NULL;
}

const char *golden_fill(sh_tensor *storage, const char *fill) {
    const bool has_data = sh_tensor_device(storage) == SH_HOST;
    if (*fill == '-') {
        if (has_data)
            memset(sh_tensor_data(storage), 0,
                   (size_t)sh_tensor_numel(storage) * sh_dtype_size(sh_tensor_dtype(storage)));
        return fill + 1;
    }
    for (size_t i = 0; i < sizeof FILLS / sizeof *FILLS; i++) {
        const size_t length = strlen(FILLS[i].opening);
        if (strncmp(fill, FILLS[i].opening, length) != 0) continue;
        if (has_data && *FILLS[i].fill(storage, fill + length) != ')') return NULL;
        return skip_fill(fill);
    }
    return NULL;
}
