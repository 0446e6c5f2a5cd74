/* ctype.c - the words of C for its types. int, long, short, unsigned come in any order, as C has it; how wide they are is
 * asked of the compiler. */
#include <limits.h>
#include <string.h>

#include "dispatch/ffi/signature.h"

static const struct {
    const char *name;
    size_t size;
    sh_cclass class;
} types[SH_C_TYPES] = {
#define SH_CTYPE(name, text, type, class) {text, sizeof(type), SH_CLASS_##class},
#include "dispatch/ffi/ctypes.def"
#undef SH_CTYPE
    {"struct", 0, SH_CLASS_NONE},
    {"sh_tensor", sizeof(void *), SH_CLASS_NONE},
};

static const struct {
    const char *word;
    sh_ctype type;
} words[] = {
#define SH_CTYPE(name, text, type, class)
#define SH_CWORD(word, name) {word, SH_C_##name},
#include "dispatch/ffi/ctypes.def"
#undef SH_CTYPE
    {"sh_tensor", SH_C_TENSOR},
};

size_t sh__ctype_size(sh_ctype type) { return types[type].size; }
sh_cclass sh__ctype_class(sh_ctype type) { return types[type].class; }
const char *sh__ctype_name(sh_ctype type) { return types[type].name; }

/* ---- reading ---- */

enum { INT, SHORT, LONG, CHAR, SIGNED, UNSIGNED, FLOAT, DOUBLE, COMPLEX, PARTS };
static const char *const parts[PARTS][2] = {
    [INT] = {"int"},     [SHORT] = {"short"},   [LONG] = {"long"},
    [CHAR] = {"char"},   [SIGNED] = {"signed"}, [UNSIGNED] = {"unsigned"},
    [FLOAT] = {"float"}, [DOUBLE] = {"double"}, [COMPLEX] = {"complex", "_Complex"},
};

static int accept_part(sh_reader *p) {
    for (int i = 0; i < PARTS; i++)
        if (sh__accept_word(p, parts[i][0]) || (parts[i][1] && sh__accept_word(p, parts[i][1]))) return i;
    return -1;
}

static sh_ctype integer_of(size_t size, bool sign) {
    switch (size) {
    case 1: return sign ? SH_C_I8 : SH_C_U8;
    case 2: return sign ? SH_C_I16 : SH_C_U16;
    case 4: return sign ? SH_C_I32 : SH_C_U32;
    default: return sign ? SH_C_I64 : SH_C_U64;
    }
}

/* How often each part came; SH_C_TYPES for what is no type. */
static sh_ctype combine(const uint8_t *n) {
    const int integers = n[INT] + n[SHORT] + n[CHAR] + n[SIGNED] + n[UNSIGNED];
    if (n[FLOAT] || n[DOUBLE]) {
        if (integers || n[FLOAT] + n[DOUBLE] + n[LONG] > 1 + (n[DOUBLE] && n[LONG] == 1) || n[COMPLEX] > 1)
            return SH_C_TYPES;
        if (n[COMPLEX]) return n[LONG] ? SH_C_TYPES : n[FLOAT] ? SH_C_C64 : SH_C_C128;
        return n[FLOAT] ? SH_C_F32 : n[LONG] ? SH_C_LONG_DOUBLE : SH_C_F64;
    }
    const bool one_each =
        n[INT] < 2 && n[SHORT] < 2 && n[CHAR] < 2 && n[LONG] < 3 && n[SIGNED] + n[UNSIGNED] < 2;
    const bool one_width = (n[SHORT] != 0) + (n[LONG] != 0) + (n[CHAR] != 0) < 2 && !(n[CHAR] && n[INT]);
    if (!one_each || !one_width || n[COMPLEX]) return SH_C_TYPES;
    if (n[CHAR] && !n[SIGNED] && !n[UNSIGNED]) return SH_C_CHAR;
    const size_t size = n[CHAR]        ? 1
                        : n[SHORT]     ? sizeof(short)
                        : n[LONG] == 1 ? sizeof(long)
                        : n[LONG]      ? sizeof(long long)
                                       : sizeof(int);
    return integer_of(size, !n[UNSIGNED]);
}

bool sh__ctype_read(sh_reader *p, sh_ctype *type) {
    uint8_t counts[PARTS] = {0};
    const char *const start = sh__skip_space(p);
    int part, n = 0;
    while (n < 6 && (part = accept_part(p)) >= 0) {
        counts[part]++;
        n++;
    }
    if (n) {
        *type = combine(counts);
        if (*type != SH_C_TYPES) return true;
        p->at = start;
        return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (sh__accept_word(p, words[i].word)) {
            *type = words[i].type;
            return true;
        }
    return false;
}

/* ---- dtypes ---- */

uint32_t sh__ctype_dtypes(sh_ctype type) {
    switch (type) {
    case SH_C_VOID: return ~0u;
    case SH_C_BOOL: return 1u << SH_B8;
    case SH_C_CHAR: return 1u << SH_I8 | 1u << SH_U8;
    case SH_C_U8: return 1u << SH_U8 | 1u << SH_B8;
    case SH_C_U16: return 1u << SH_F16 | 1u << SH_BF16;
    default: break;
    }
    const sh_dtype dtype = sh__ctype_dtype(type);
    return dtype ? 1u << dtype : 0;
}

sh_dtype sh__ctype_dtype(sh_ctype type) {
    static const uint8_t dtypes[SH_C_TYPES] = {
        [SH_C_BOOL] = SH_B8, [SH_C_I8] = SH_I8,     [SH_C_U8] = SH_U8,   [SH_C_I16] = SH_I16,
        [SH_C_I32] = SH_I32, [SH_C_I64] = SH_I64,   [SH_C_F32] = SH_F32, [SH_C_F64] = SH_F64,
        [SH_C_F16] = SH_F16, [SH_C_BF16] = SH_BF16, [SH_C_C64] = SH_C64, [SH_C_C128] = SH_C128,
    };
    return (sh_dtype)dtypes[type];
}
