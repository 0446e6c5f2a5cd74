/* dtype.c - names, sizes and kinds of element types, and the two 16-bit float formats one element at a time.
 *
 * The 16-bit conversions work on bits, whatever the rounding mode and the CPU: exact, ties to even. A NaN stays
 * one, made quiet, with the payload bits that fit. Whole arrays are converted elsewhere. */
#include "dispatch/dtype.h"

#include <string.h>

typedef struct dtype_row {
    const char *name, *torch_name;
    size_t size;
    sh_dtype_kind kind;
} dtype_row;

static const dtype_row rows[SH_DTYPE_COUNT] = {
    {"none", "none", 0, SH_KIND_NONE},
#define SH_DTYPE(name, torch, ctype, kind) {#name, #torch, sizeof(ctype), SH_KIND_##kind},
#include "dispatch/dtypes.def"
#undef SH_DTYPE
};

static const struct alias {
    const char *alias, *name;
} aliases[] = {
#define SH_DTYPE(name, torch, ctype, kind)
#define SH_DTYPE_ALIAS(alias, name) {#alias, #name},
#include "dispatch/dtypes.def"
#undef SH_DTYPE
};

static const dtype_row *row_of(sh_dtype dtype) {
    return &rows[dtype > SH_NO_DTYPE && dtype < SH_DTYPE_COUNT ? dtype : SH_NO_DTYPE];
}

size_t sh_dtype_size(sh_dtype dtype) { return row_of(dtype)->size; }

sh_dtype_kind sh_dtype_kind_of(sh_dtype dtype) { return row_of(dtype)->kind; }

const char *sh_dtype_name(sh_dtype dtype) { return row_of(dtype)->name; }

const char *sh_dtype_torch_name(sh_dtype dtype) { return row_of(dtype)->torch_name; }

sh_dtype sh_dtype_parse(const char *name) {
    if (!name) return SH_NO_DTYPE;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(name, aliases[i].alias)) name = aliases[i].name;
    for (int dtype = SH_NO_DTYPE + 1; dtype < SH_DTYPE_COUNT; dtype++)
        if (!strcmp(name, rows[dtype].name) || !strcmp(name, rows[dtype].torch_name)) return (sh_dtype)dtype;
    return SH_NO_DTYPE;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* bits >> shift, rounded to nearest, ties to even; 0 < shift < 32. */
static uint32_t shift_round(uint32_t bits, unsigned shift) {
    const uint32_t half = UINT32_C(1) << (shift - 1), odd = (bits >> shift) & 1;
    return (bits + half - 1 + odd) >> shift;
}

/* f16: sign, 5 bits of exponent (bias 15), 10 of fraction. f32: sign, 8 (bias 127), 23. */
float sh_f16_to_f32(uint16_t bits) {
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = (bits >> 10) & 31,
                   fraction = bits & 1023;
    if (exponent == 0) { /* zero or subnormal: fraction * 2^-24, exact in f32 */
        const float magnitude = (float)fraction * 0x1p-24f;
        return float_of(sign | bits_of(magnitude));
    }
    if (exponent == 31) return float_of(sign | 0x7f800000 | (fraction ? 0x400000 | fraction << 13 : 0));
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t sh_f32_to_f16(float value) {
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
    const uint32_t sign = bits >> 16 & 0x8000;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more round to infinity */
    if (magnitude >= 0x38800000) return (uint16_t)(sign | shift_round(magnitude - (112u << 23), 13));
    if (magnitude < 0x33000000) return (uint16_t)sign; /* below 2^-25, half of the smallest subnormal */
    const uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
    return (uint16_t)(sign | shift_round(significand, 126 - (magnitude >> 23)));
}

/* bf16 is the upper half of an f32. */
float sh_bf16_to_f32(uint16_t bits) { return float_of((uint32_t)bits << 16); }

uint16_t sh_f32_to_bf16(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40); /* quiet, so that it stays NaN */
    return (uint16_t)shift_round(bits, 16);
}
