/* literal.c - one constant at a time. */
#include "graph/code/literal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* C has no negative constants: the least number is made of two. */
void sh__code_int(sh_text *out, int64_t i) {
    if (i == INT64_MIN)
        sh__text_put(out, "(-9223372036854775807LL - 1)");
    else
        sh__text_put(out, "%" PRId64 "%s", i, i < INT32_MIN || i > INT32_MAX ? "LL" : "");
}

/* A NaN keeps its payload; a signalling one can't be written. */
void sh__code_float(sh_text *out, double f) {
    const char *const sign = signbit(f) ? "-" : "";
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (isnan(f))
        sh__text_put(out, "%s__builtin_nan(\"0x%" PRIx64 "\")", sign, bits & UINT64_C(0x7ffffffffffff));
    else if (isinf(f))
        sh__text_put(out, "%s__builtin_inf()", sign);
    else
        sh__text_float(out, f);
}

/* Three octal digits end by themselves, and \? is no part of a trigraph. */
void sh__code_string(sh_text *out, const char *string) {
    sh__text_put(out, "\"");
    for (; *string; string++) {
        const unsigned char c = (unsigned char)*string;
        if (c == '"' || c == '\\' || c == '?')
            sh__text_put(out, "\\%c", c);
        else if (isascii(c) && isprint(c))
            sh__text_add(out, string, 1);
        else
            sh__text_put(out, "\\%03o", c);
    }
    sh__text_put(out, "\"");
}

void sh__code_dtype(sh_text *out, sh_dtype dtype) {
    static const char *const names[SH_DTYPE_COUNT] = {
        "no_dtype",
#define SH_DTYPE(name, ...) #name,
#include "dispatch/dtypes.def"
#undef SH_DTYPE
    };
    sh__text_put(out, "SH_");
    for (const char *c = names[dtype < SH_DTYPE_COUNT ? dtype : SH_NO_DTYPE]; *c; c++)
        sh__text_put(out, "%c", toupper((unsigned char)*c));
}

void sh__code_comment(sh_text *out, const char *text) {
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        sh__text_put(out, "%c", isascii(c) && isprint(c) && c != '*' ? c : '_');
    }
}
