/* npy.c - NumPy's .npy: a magic string, a version, a Python dict literal, then the elements.
 *
 * The literal is read by a small strict reader: the three keys NumPy writes, in any order, once each. The number of bytes
 * that shape and dtype ask for must be exactly what is left of the file, so no allocation exceeds the file. The elements
 * are read straight into the tensor: a file takes its own size. */
#include "ops/io/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/device.h"
#include "dispatch/memory_impl.h"
#include "dispatch/no_data.h"
#include "ops/io/file.h"
#include "ops/io/io.h"
#include "ops/ops.h"

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

static const struct {
    const char *code; /* without the byte order */
    sh_dtype dtype;
} codes[] = {{"f4", SH_F32}, {"f8", SH_F64}, {"f2", SH_F16}, {"i8", SH_I64}, {"i4", SH_I32},
             {"i2", SH_I16}, {"i1", SH_I8},  {"u1", SH_U8},  {"b1", SH_B8}};
enum { CODES = sizeof codes / sizeof *codes };

/* ---- the literal ---- */

typedef struct literal {
    const char *what, *at, *end;
    sh_dtype dtype;
    bool swapped, fortran;
    int ndim;
    int64_t sizes[SH_MAX_DIMS];
    uint32_t seen;
} literal;

static sh_status bad(const literal *l, const char *expected) {
    int n = (int)(l->end - l->at < 12 ? l->end - l->at : 12);
    for (int i = 0; i < n; i++)
        if (l->at[i] < 0x20 || l->at[i] > 0x7e) n = i;
    return sh_fail(SH_ERROR_FORMAT, "%s: the .npy header has '%.*s' where %s was expected", l->what, n, l->at,
                   expected);
}

static void blanks(literal *l) {
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\n')) l->at++;
}

static bool take(literal *l, const char *text) {
    blanks(l);
    const size_t n = strlen(text);
    if ((size_t)(l->end - l->at) < n || memcmp(l->at, text, n) != 0) return false;
    l->at += n;
    return true;
}

static sh_status read_descr(literal *l) {
    const char quote = take(l, "'") ? '\'' : '"';
    if ((quote == '"' && !take(l, "\"")) || l->end - l->at < 4) return bad(l, "a dtype such as '<f4'");
    const char order = *l->at;
    l->swapped = order == '>';
    if (!memchr("<>|=", order, 4)) return bad(l, "a byte order");
    for (size_t i = 0; i < CODES; i++)
        if (memcmp(l->at + 1, codes[i].code, 2) == 0 && l->at[3] == quote) l->dtype = codes[i].dtype;
    if (!l->dtype) return bad(l, "a dtype that shunt has (f2 f4 f8 i1 i2 i4 i8 u1 b1)");
    l->at += 4;
    return SH_OK;
}

static sh_status read_size(literal *l) {
    int64_t size = 0;
    blanks(l);
    if (l->at == l->end || *l->at < '0' || *l->at > '9') return bad(l, "a size");
    for (; l->at < l->end && *l->at >= '0' && *l->at <= '9'; l->at++)
        if (__builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, *l->at - '0', &size))
            return bad(l, "a size below 2^63");
    if (l->ndim == SH_MAX_DIMS)
        return sh_fail(SH_ERROR_FORMAT, "%s: more than %d dimensions", l->what, SH_MAX_DIMS);
    l->sizes[l->ndim++] = size;
    return SH_OK;
}

static sh_status read_shape(literal *l) {
    if (!take(l, "(")) return bad(l, "(");
    while (!take(l, ")")) {
        SH_TRY(read_size(l));
        if (!take(l, ",")) return take(l, ")") ? SH_OK : bad(l, ", or )");
    }
    return SH_OK;
}

static sh_status read_entry(literal *l) {
    static const char *const keys[] = {"'descr'", "'fortran_order'", "'shape'"};
    uint32_t k = 0;
    while (k < 3 && !take(l, keys[k])) k++;
    if (k == 3) return bad(l, "'descr', 'fortran_order' or 'shape'");
    if (l->seen >> k & 1)
        return sh_fail(SH_ERROR_FORMAT, "%s: the .npy header has %s twice", l->what, keys[k]);
    l->seen |= 1u << k;
    if (!take(l, ":")) return bad(l, ":");
    if (k == 0) return read_descr(l);
    if (k == 2) return read_shape(l);
    l->fortran = take(l, "True");
    return l->fortran || take(l, "False") ? SH_OK : bad(l, "True or False");
}

static sh_status read_literal(literal *l) {
    if (!take(l, "{")) return bad(l, "{");
    while (!take(l, "}")) {
        SH_TRY(read_entry(l));
        if (!take(l, ",")) {
            if (!take(l, "}")) return bad(l, ", or }");
            break;
        }
    }
    blanks(l);
    if (l->at != l->end) return bad(l, "the end of the header");
    return l->seen == 7
               ? SH_OK
               : sh_fail(SH_ERROR_FORMAT, "%s: the .npy header lacks descr, fortran_order or shape", l->what);
}

/* ---- the elements ---- */

static void swap_bytes(char *at, size_t element, int64_t n) {
    for (int64_t i = 0; i < n; i++, at += element)
        for (size_t k = 0; k < element / 2; k++) {
            const char byte = at[k];
            at[k] = at[element - 1 - k];
            at[element - 1 - k] = byte;
        }
}

/* Any byte but 0 is true; a bool tensor holds 0 and 1 only. */
static void normalise_bools(sh_tensor *t) {
    uint8_t *at = sh_tensor_data(t);
    for (int64_t i = 0; i < sh_tensor_numel(t); i++) at[i] = at[i] != 0;
}

/* In Fortran order the first dimension runs fastest: the same bytes with reversed sizes, seen transposed. */
static sh_tensor *as_fortran(sh_tensor *t, const literal *l) {
    int64_t strides[SH_MAX_DIMS], stride = 1;
    for (int i = 0; i < l->ndim; i++) {
        strides[i] = stride;
        stride *= l->sizes[i];
    }
    return sh_tensor_as_strided(t, (sh_ints){l->sizes, (size_t)l->ndim}, (sh_ints){strides, (size_t)l->ndim},
                                0);
}

static sh_status check_size(const literal *l, size_t left) {
    int64_t need = (int64_t)sh_dtype_size(l->dtype);
    bool overflow = false;
    for (int i = 0; i < l->ndim; i++) overflow |= __builtin_mul_overflow(need, l->sizes[i], &need);
    if (!overflow && (size_t)need == left) return SH_OK;
    return sh_fail(SH_ERROR_FORMAT, "%s: the shape needs %s%" PRId64 " bytes, the file has %zu", l->what,
                   overflow ? "more than " : "", overflow ? INT64_MAX : need, left);
}

static sh_tensor *read_elements(const literal *l, sh_source *source) {
    if (check_size(l, source->left) < 0) return NULL;
    sh_tensor *t = sh_tensor_new(l->dtype, (sh_ints){l->sizes, (size_t)l->ndim});
    if (!t || sh__source_fill(source, sh_tensor_data(t), source->left) < 0) return NULL;
    if (l->swapped) swap_bytes(sh_tensor_data(t), sh_dtype_size(l->dtype), sh_tensor_numel(t));
    if (l->dtype == SH_B8) normalise_bools(t);
    return l->fortran && l->ndim > 1 ? as_fortran(t, l) : t;
}

/* ---- the whole ---- */

/* Magic, version and the length of the header behind them. */
static sh_status read_prefix(sh_source *source, size_t *length) {
    unsigned char head[12] = {0};
    const size_t size = source->left;
    if (size >= 10) SH_TRY(sh__source_fill(source, head, 10));
    if (size < 10 || memcmp(head, magic, sizeof magic) != 0)
        return sh_fail(SH_ERROR_FORMAT, "%s is no .npy file: it does not start with \\x93NUMPY",
                       source->what);
    const bool wide = head[6] > 1;
    if (head[6] < 1 || head[6] > 3 || (wide && size < 12))
        return sh_fail(SH_ERROR_FORMAT, "%s: .npy version %d is not known", source->what, head[6]);
    if (wide) SH_TRY(sh__source_fill(source, head + 10, 2));
    *length = head[8] | (size_t)head[9] << 8 | (size_t)head[10] << 16 | (size_t)head[11] << 24;
    if (*length <= source->left) return SH_OK;
    return sh_fail(SH_ERROR_FORMAT, "%s: a .npy header of %zu bytes in a file of %zu", source->what, *length,
                   size);
}

static sh_status read_header(sh_source *source, literal *l) {
    size_t length = 0;
    SH_TRY(read_prefix(source, &length));
    char *text = sh__alloc(length);
    if (!text) return SH_ERROR_MEMORY;
    l->at = text;
    l->end = text + length;
    sh_status status = sh__source_fill(source, text, length);
    if (status >= 0) status = read_literal(l);
    sh__free(text);
    return status;
}

sh_tensor *sh_npy_read(sh_source *source) {
    literal l = {.what = source->what};
    SH_SCOPE_HERE;
    sh_tensor *t = read_header(source, &l) < 0 ? NULL : read_elements(&l, source);
    return sh_escape(t);
}

sh_tensor *sh_parse_npy(const void *bytes, size_t size, const char *what) {
    if (sh_error()) return NULL;
    if (!bytes && size) {
        sh_fail(SH_ERROR_NULL, "sh_parse_npy: bytes is NULL");
        return NULL;
    }
    sh_source source = sh__memory_source(bytes, size, what ? what : "the array");
    return sh_npy_read(&source);
}

sh_tensor *sh_load_npy(const char *path) {
    sh_file_in in;
    if (sh_error() || sh_file_open(&in, path) < 0) return NULL;
    sh_source source = sh__file_source(&in);
    sh_tensor *t = sh_npy_read(&source);
    sh_file_close(&in);
    return t;
}

/* ---- writing ---- */

sh_tensor *sh_npy_plain(const sh_tensor *t) {
    if (sh_tensor_device(t) == SH_META) {
        sh__no_data(t, "saving");
        return NULL;
    }
    if (sh_dtype_kind_of(sh_tensor_dtype(t)) == SH_KIND_COMPLEX) {
        sh_fail(SH_ERROR_UNSUPPORTED, "saving: %s can't be written", sh_dtype_name(sh_tensor_dtype(t)));
        return NULL;
    }
    sh_tensor *plain = sh_tensor_to((sh_tensor *)(uintptr_t)t, SH_HOST);
    if (!plain) return NULL;
    if (sh_tensor_dtype(t) == SH_BF16) plain = sh_call_op("to", plain, sh_value_dtype(SH_F32));
    return plain && !sh_tensor_is_contiguous(plain) ? sh_call_op("contiguous", plain) : plain;
}

size_t sh_npy_header(const sh_tensor *t, char *header) {
    const char *code = "f4";
    for (size_t i = 0; i < CODES; i++)
        if (codes[i].dtype == sh_tensor_dtype(t)) code = codes[i].code;
    char text[SH_NPY_HEADER];
    int n = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                     code[1] == '1' ? '|' : '<', code);
    for (int i = 0; i < sh_tensor_ndim(t); i++)
        n +=
            snprintf(text + n, sizeof text - (size_t)n, i ? ", %" PRId64 : "%" PRId64, sh_tensor_sizes(t)[i]);
    n += snprintf(text + n, sizeof text - (size_t)n, sh_tensor_ndim(t) == 1 ? ",), }" : "), }");
    const size_t total = (10 + (size_t)n + 1 + 63) / 64 * 64, length = total - 10;
    memcpy(header, magic, sizeof magic);
    header[6] = 1;
    header[7] = 0;
    header[8] = (char)(length & 0xff);
    header[9] = (char)(length >> 8);
    memset(header + 10, ' ', length);
    memcpy(header + 10, text, (size_t)n);
    header[total - 1] = '\n';
    return total;
}

static sh_status write_npy(sh_file_out *out, const sh_tensor *t) {
    char header[SH_NPY_HEADER + 64];
    SH_TRY(sh_file_write(out, header, sh_npy_header(t, header)));
    return sh_file_write(out, sh_tensor_data(t),
                         (size_t)sh_tensor_numel(t) * sh_dtype_size(sh_tensor_dtype(t)));
}

sh_status sh_save_npy(const char *path, const sh_tensor *t) {
    if (sh_error()) return sh_error()->code;
    if (!t) return sh_fail(SH_ERROR_NULL, "sh_save_npy: the tensor is NULL");
    if (sh_tensor_device(t) == SH_META) return sh__no_data(t, "sh_save_npy");
    SH_SCOPE_HERE;
    const sh_tensor *plain = sh_npy_plain(t);
    if (!plain) return sh_error()->code;
    sh_file_out out;
    sh_status status = sh_file_begin(&out, path);
    if (status >= 0) status = write_npy(&out, plain);
    return sh_file_end(&out, status);
}
