/* What dispatch/dtype.h promises: names in and out, and 16-bit floats exact and rounded to nearest even. The
 * roundings are checked at every boundary between neighbours, which, as conversion is monotone, is everywhere. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "dispatch/dtype.h"

typedef struct format {
    const char *name;
    float (*widen)(uint16_t bits);
    uint16_t (*narrow)(float value);
    uint16_t infinity;
    float first_infinite; /* the smallest float that rounds to infinity */
} format;

static const format formats[] = {
    {"f16", sh_f16_to_f32, sh_f32_to_f16, 0x7c00, 65520.0f},
    {"bf16", sh_bf16_to_f32, sh_f32_to_bf16, 0x7f80, 0x1.ffp127f},
};

#define EACH_FORMAT(f) for (const format *f = formats; f < formats + sizeof formats / sizeof *formats; f++)

Test(dtype, every_name_and_alias_is_read) {
    static const struct {
        const char *name;
        sh_dtype dtype;
    } names[] = {
        {"f32", SH_F32},     {"float32", SH_F32}, {"float", SH_F32},     {"f64", SH_F64},
        {"float64", SH_F64}, {"double", SH_F64},  {"f16", SH_F16},       {"float16", SH_F16},
        {"half", SH_F16},    {"bf16", SH_BF16},   {"bfloat16", SH_BF16}, {"i64", SH_I64},
        {"int64", SH_I64},   {"long", SH_I64},    {"i32", SH_I32},       {"int32", SH_I32},
        {"int", SH_I32},     {"i16", SH_I16},     {"int16", SH_I16},     {"short", SH_I16},
        {"i8", SH_I8},       {"int8", SH_I8},     {"char", SH_I8},       {"u8", SH_U8},
        {"uint8", SH_U8},    {"byte", SH_U8},     {"b8", SH_B8},         {"bool", SH_B8},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect(eq(int, (int)sh_dtype_parse(names[i].name), (int)names[i].dtype), "%s", names[i].name);
}

Test(dtype, unknown_names_are_no_dtype) {
    static const char *const names[] = {"", "f", "F32", "float3", "float322", "none", "complex32", " f32"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect(eq(int, (int)sh_dtype_parse(names[i]), SH_NO_DTYPE), "'%s'", names[i]);
    cr_expect(eq(int, (int)sh_dtype_parse(NULL), SH_NO_DTYPE));
}

Test(dtype, names_lead_back_to_their_dtype) {
    for (int d = SH_F32; d < SH_DTYPE_COUNT; d++) {
        cr_expect(eq(int, (int)sh_dtype_parse(sh_dtype_name((sh_dtype)d)), d));
        cr_expect(eq(int, (int)sh_dtype_parse(sh_dtype_torch_name((sh_dtype)d)), d));
    }
    cr_expect(eq(str, (char *)sh_dtype_name(SH_BF16), "bf16"));
    cr_expect(eq(str, (char *)sh_dtype_torch_name(SH_B8), "bool"));
}

Test(dtype, sizes_and_kinds) {
    static const size_t sizes[] = {0, 4, 8, 2, 2, 8, 4, 2, 1, 1, 1, 8, 16};
    for (int d = SH_NO_DTYPE; d < SH_DTYPE_COUNT; d++)
        cr_expect(eq(sz, sh_dtype_size((sh_dtype)d), sizes[d]));
    cr_expect(eq(int, (int)sh_dtype_kind_of(SH_BF16), SH_KIND_FLOAT));
    cr_expect(eq(int, (int)sh_dtype_kind_of(SH_U8), SH_KIND_INT));
    cr_expect(eq(int, (int)sh_dtype_kind_of(SH_B8), SH_KIND_BOOL));
    cr_expect(eq(int, (int)sh_dtype_kind_of(SH_NO_DTYPE), SH_KIND_NONE));
}

Test(dtype, a_number_that_is_no_dtype_has_size_0) {
    cr_expect(eq(sz, sh_dtype_size(SH_DTYPE_COUNT), 0));
    cr_expect(eq(sz, sh_dtype_size((sh_dtype)-1), 0));
    cr_expect(eq(int, (int)sh_dtype_kind_of((sh_dtype)1000), SH_KIND_NONE));
}

static unsigned round_trip_faults(const format *f) {
    unsigned faults = 0;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float value = f->widen((uint16_t)bits);
        const bool nan = (bits & 0x7fff) > f->infinity;
        faults += nan ? !isnan(value) || !isnan(f->widen(f->narrow(value))) : f->narrow(value) != bits;
    }
    return faults;
}

Test(dtype, every_16_bit_value_comes_back) {
    EACH_FORMAT(f) cr_expect(eq(uint, round_trip_faults(f), 0), "%s", f->name);
}

/* Between two neighbours: the middle goes to the even one, what is beside it to the nearer one. */
static unsigned rounding_faults(const format *f, float sign) {
    unsigned faults = 0;
    const uint16_t sign_bit = sign < 0 ? 0x8000 : 0;
    for (uint16_t low = 0; low + 1 < f->infinity; low++) {
        const float middle = (float)(((double)f->widen(low) + (double)f->widen((uint16_t)(low + 1))) / 2);
        const uint16_t even = (uint16_t)(low + (low & 1));
        faults += f->narrow(sign * middle) != (sign_bit | even);
        faults += f->narrow(sign * nextafterf(middle, 0)) != (sign_bit | low);
        faults += f->narrow(sign * nextafterf(middle, INFINITY)) != (sign_bit | (low + 1));
    }
    return faults;
}

Test(dtype, narrowing_rounds_to_nearest_even_at_every_boundary) {
    EACH_FORMAT(f) {
        cr_expect(eq(uint, rounding_faults(f, 1), 0), "%s", f->name);
        cr_expect(eq(uint, rounding_faults(f, -1), 0), "-%s", f->name);
    }
}

Test(dtype, narrowing_overflows_to_infinity_where_the_next_value_would_be) {
    EACH_FORMAT(f) {
        cr_expect(eq(u16, f->narrow(f->first_infinite), f->infinity), "%s", f->name);
        cr_expect(eq(u16, f->narrow(nextafterf(f->first_infinite, 0)), f->infinity - 1), "%s", f->name);
        cr_expect(eq(u16, f->narrow(-INFINITY), f->infinity | 0x8000), "%s", f->name);
        cr_expect(eq(u16, f->narrow(0x1.fffffep127f), f->infinity), "%s", f->name);
    }
}

Test(dtype, nan_stays_nan_with_its_sign_whatever_its_payload) {
    EACH_FORMAT(f) {
        for (uint32_t bits = 0x7f800001; bits < 0x80000000 - 4099; bits += 4099) {
            float nan;
            const uint32_t negative = bits | 0x80000000;
            memcpy(&nan, &negative, sizeof nan);
            const uint16_t narrow = f->narrow(nan);
            const bool kept = (narrow & 0x7fff) > f->infinity && narrow >> 15;
            cr_assert(kept, "%s %08x: %04x", f->name, negative, narrow);
        }
    }
}

Test(dtype, known_values) {
    cr_expect(ieee_ulp_eq(flt, sh_f16_to_f32(0x3c00), 1.0f, 0));
    cr_expect(ieee_ulp_eq(flt, sh_f16_to_f32(0x0001), 0x1p-24f, 0));
    cr_expect(ieee_ulp_eq(flt, sh_f16_to_f32(0xfbff), -65504.0f, 0));
    cr_expect(ieee_ulp_eq(flt, sh_bf16_to_f32(0x3f80), 1.0f, 0));
    cr_expect(eq(u16, sh_f32_to_f16(0.1f), 0x2e66));
    cr_expect(eq(u16, sh_f32_to_bf16(0.1f), 0x3dcd));
    cr_expect(eq(u16, sh_f32_to_f16(-0.0f), 0x8000));
    cr_expect(eq(u16, sh_f32_to_bf16(-0.0f), 0x8000));
}
