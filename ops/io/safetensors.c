/* safetensors.c - eight bytes of header length, a JSON header, the data.
 *
 * As the format demands, the byte ranges of the tensors must cover the data without gap or overlap; so each is checked to
 * begin where the last one, in order of offset, ended. JSON is jansson's work; what it makes of the header, up to a hundred
 * bytes out of one, comes out of a budget before. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/device.h"
#include "dispatch/memory_impl.h"
#include "dispatch/no_data.h"
#include "dispatch/text.h"
#include "ops/io/budget.h"
#include "ops/io/file.h"
#include "ops/io/io.h"
#include "ops/io/npy.h"
#include "ops/io/safetensors.h"
#include "ops/ops.h"

enum { LONGEST_HEADER = 100 << 20 };

static const struct {
    const char *name;
    sh_dtype dtype;
} names[] = {{"F32", SH_F32}, {"F64", SH_F64}, {"F16", SH_F16}, {"BF16", SH_BF16}, {"I64", SH_I64},
             {"I32", SH_I32}, {"I16", SH_I16}, {"I8", SH_I8},   {"U8", SH_U8},     {"BOOL", SH_B8}};
enum { NAMES = sizeof names / sizeof *names };

/* ---- reading ---- */

typedef struct entry {
    const char *name;
    sh_dtype dtype;
    int ndim;
    int64_t sizes[SH_MAX_DIMS];
    uint64_t begin, end;
} entry;

static sh_status bad(const char *what, const char *name, const char *why) {
    return sh_fail(SH_ERROR_FORMAT, "%s: tensor %.100s: %s", what, name, why);
}

static sh_status read_shape(const char *what, entry *e, json_t *shape) {
    if (!json_is_array(shape) || json_array_size(shape) > SH_MAX_DIMS)
        return bad(what, e->name, "shape is no list of up to 8 sizes");
    e->ndim = (int)json_array_size(shape);
    for (int i = 0; i < e->ndim; i++) {
        json_t *size = json_array_get(shape, (size_t)i);
        e->sizes[i] = json_integer_value(size);
        if (!json_is_integer(size) || e->sizes[i] < 0)
            return bad(what, e->name, "a size is no non-negative integer");
    }
    return SH_OK;
}

static sh_status read_offsets(const char *what, entry *e, json_t *offsets) {
    json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
        json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return bad(what, e->name, "data_offsets are no two increasing integers");
    e->begin = (uint64_t)json_integer_value(begin);
    e->end = (uint64_t)json_integer_value(end);
    int64_t need = (int64_t)sh_dtype_size(e->dtype);
    for (int i = 0; i < e->ndim; i++)
        if (__builtin_mul_overflow(need, e->sizes[i], &need))
            return bad(what, e->name, "the shape is too large");
    return (uint64_t)need == e->end - e->begin
               ? SH_OK
               : bad(what, e->name, "shape and data_offsets disagree on its bytes");
}

static sh_status read_entry(const char *what, const char *name, json_t *value, entry *e) {
    *e = (entry){.name = name};
    if (!sh__is_text(name)) return bad(what, name, "its name holds control characters");
    const char *dtype = json_string_value(json_object_get(value, "dtype"));
    for (size_t i = 0; dtype && i < NAMES; i++)
        if (strcmp(dtype, names[i].name) == 0) e->dtype = names[i].dtype;
    if (!e->dtype) {
        char why[96];
        snprintf(why, sizeof why, "dtype %.40s is not known", dtype ? dtype : "(none)");
        return bad(what, name, why);
    }
    SH_TRY(read_shape(what, e, json_object_get(value, "shape")));
    return read_offsets(what, e, json_object_get(value, "data_offsets"));
}

static int by_offset(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : (x->end > y->end) - (x->end < y->end);
}

static sh_status check_cover(const char *what, entry *entries, size_t n, size_t size) {
    uint64_t at = 0;
    qsort(entries, n, sizeof *entries, by_offset);
    for (size_t i = 0; i < n; i++) {
        if (entries[i].begin != at)
            return bad(what, entries[i].name, "its bytes leave a gap or overlap others");
        at = entries[i].end;
    }
    if (at == size) return SH_OK;
    return sh_fail(SH_ERROR_FORMAT, "%s: the tensors take %" PRIu64 " bytes, the file has %zu", what, at,
                   size);
}

/* In order of offset, straight from the source. */
static sh_status add_tensors(const entry *entries, size_t n, sh_source *source, sh_dict *dict) {
    SH_SCOPE_HERE;
    for (size_t i = 0; i < n; i++) {
        const entry *e = &entries[i];
        sh_tensor *t = sh_tensor_new(e->dtype, (sh_ints){e->sizes, (size_t)e->ndim});
        if (!t) return sh_error()->code;
        uint8_t *bytes = sh_tensor_data(t);
        SH_TRY(sh__source_fill(source, bytes, (size_t)(e->end - e->begin)));
        for (int64_t k = 0; e->dtype == SH_B8 && k < sh_tensor_numel(t); k++) bytes[k] = bytes[k] != 0;
        SH_TRY(sh_dict_set(dict, e->name, t));
    }
    return SH_OK;
}

static sh_status read_tensors(json_t *header, sh_source *source, sh_dict *dict) {
    const char *name;
    json_t *value;
    size_t n = 0;
    entry *entries = sh__calloc(json_object_size(header) + 1, sizeof *entries);
    if (!entries) return SH_ERROR_MEMORY;
    sh_status status = SH_OK;
    json_object_foreach(header, name, value) {
        if (strcmp(name, "__metadata__") == 0) continue;
        status = read_entry(source->what, name, value, &entries[n++]);
        if (status < 0) break;
    }
    if (status >= 0) status = check_cover(source->what, entries, n, source->left);
    if (status >= 0) status = add_tensors(entries, n, source, dict);
    sh__free(entries);
    return status;
}

/* At most, in jansson 2.14 on 64 bits: an object or array with its first slots, a value with its slot. */
static sh_status take_header(const char *text, size_t length, const char *what, size_t size) {
    enum { OBJECT = 256, ARRAY = 160, MEMBER = 208, ELEMENT = 112, OWN = sizeof(entry) + 512 };
    sh_budget budget = sh__budget_for(size, what);
    size_t objects = 0, arrays = 0, members = 0, elements = 0;
    for (size_t i = 0; i < length; i++) {
        objects += text[i] == '{';
        arrays += text[i] == '[';
        members += text[i] == ':';
        elements += text[i] == ',';
    }
    SH_TRY(sh__budget_take_many(&budget, objects, OBJECT + OWN));
    SH_TRY(sh__budget_take_many(&budget, arrays, ARRAY));
    SH_TRY(sh__budget_take_many(&budget, members, MEMBER));
    SH_TRY(sh__budget_take_many(&budget, elements, ELEMENT));
    return sh__budget_take(&budget, size + length);
}

static sh_status parse_header(const char *text, size_t length, const char *what, json_t **header) {
    json_error_t error;
    *header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(*header)) return SH_OK;
    const bool parsed = *header != NULL;
    json_decref(*header);
    if (!parsed && json_error_code(&error) == json_error_out_of_memory)
        return sh_fail(SH_ERROR_MEMORY, "%s: out of memory for the header", what);
    return sh_fail(SH_ERROR_FORMAT, "%s: the header is no JSON object: %s (byte %d)", what,
                   parsed ? "it is another value" : error.text, error.position);
}

static sh_status read_header(sh_source *source, json_t **header) {
    const size_t size = source->left;
    uint64_t length = 0;
    if (size < 8)
        return sh_fail(SH_ERROR_FORMAT, "%s is no safetensors file: it has %zu bytes", source->what, size);
    SH_TRY(sh__source_fill(source, &length, 8));
    if (length > size - 8 || length > LONGEST_HEADER)
        return sh_fail(SH_ERROR_FORMAT,
                       "%s is no safetensors file: a header of %" PRIu64 " bytes in a file of %zu",
                       source->what, length, size);
    char *text = sh__alloc(length);
    if (!text) return SH_ERROR_MEMORY;
    sh_status status = sh__source_fill(source, text, length);
    if (status >= 0) status = take_header(text, length, source->what, size);
    if (status >= 0) status = parse_header(text, length, source->what, header);
    sh__free(text);
    return status;
}

sh_status sh__safetensors_read(sh_source *source, sh_dict **dict) {
    json_t *header = NULL;
    SH_TRY(read_header(source, &header));
    *dict = sh_dict_new();
    const sh_status status = *dict ? read_tensors(header, source, *dict) : SH_ERROR_MEMORY;
    json_decref(header);
    if (status >= 0) return SH_OK;
    sh_dict_free(*dict);
    *dict = NULL;
    return status;
}

sh_status sh_parse_safetensors(const void *bytes, size_t size, const char *what, sh_dict **dict) {
    if (dict) *dict = NULL;
    if (sh_error()) return sh_error()->code;
    if (!bytes || !dict) return sh_fail(SH_ERROR_NULL, "sh_parse_safetensors: an argument is NULL");
    sh_source source = sh__memory_source(bytes, size, what ? what : "the archive");
    return sh__safetensors_read(&source, dict);
}

sh_status sh_load_safetensors(const char *path, sh_dict **dict) {
    sh_file_in in;
    if (dict) *dict = NULL;
    if (sh_error()) return sh_error()->code;
    if (!dict) return sh_fail(SH_ERROR_NULL, "sh_load_safetensors: dict is NULL");
    SH_TRY(sh_file_open(&in, path));
    sh_source source = sh__file_source(&in);
    const sh_status status = sh__safetensors_read(&source, dict);
    sh_file_close(&in);
    return status;
}

/* ---- writing ---- */

static const char *dtype_name(sh_dtype dtype) {
    for (size_t i = 0; i < NAMES; i++)
        if (names[i].dtype == dtype) return names[i].name;
    return "F32";
}

static uint64_t bytes_of(const sh_tensor *t) {
    return (uint64_t)sh_tensor_numel(t) * sh_dtype_size(sh_tensor_dtype(t));
}

static sh_status check_entries(const sh_dict *dict) {
    for (size_t i = 0; i < sh_dict_size(dict); i++) {
        if (!sh__is_text(sh_dict_name(dict, i)))
            return sh_fail(SH_ERROR_VALUE, "the name %.80s is no text in UTF-8", sh_dict_name(dict, i));
        if (strcmp(sh_dict_name(dict, i), "__metadata__") == 0)
            return sh_fail(SH_ERROR_VALUE, "no tensor in a safetensors file can be named __metadata__");
        if (sh_tensor_device(sh_dict_at(dict, i)) == SH_META)
            return sh__no_data(sh_dict_at(dict, i), sh_dict_name(dict, i));
        const sh_dtype dtype = sh_tensor_dtype(sh_dict_at(dict, i));
        if (sh_dtype_kind_of(dtype) == SH_KIND_COMPLEX)
            return sh_fail(SH_ERROR_UNSUPPORTED, "%s: %s can't be written to a safetensors file",
                           sh_dict_name(dict, i), sh_dtype_name(dtype));
    }
    return SH_OK;
}

static json_t *make_header(const sh_dict *dict) {
    json_t *header = json_object();
    uint64_t at = 0;
    for (size_t i = 0; header && i < sh_dict_size(dict); i++) {
        const sh_tensor *t = sh_dict_at(dict, i);
        json_t *shape = json_array();
        for (int k = 0; k < sh_tensor_ndim(t); k++)
            json_array_append_new(shape, json_integer(sh_tensor_sizes(t)[k]));
        json_t *value = json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_name(sh_tensor_dtype(t)), "shape",
                                  shape, "data_offsets", (json_int_t)at, (json_int_t)(at + bytes_of(t)));
        if (!value || json_object_set_new(header, sh_dict_name(dict, i), value) != 0) {
            json_decref(header);
            return NULL;
        }
        at += bytes_of(t);
    }
    return header;
}

static sh_status write_data(const sh_sink *sink, const sh_dict *dict) {
    for (size_t i = 0; i < sh_dict_size(dict); i++) {
        SH_SCOPE_HERE;
        sh_tensor *t = sh_tensor_to(sh_dict_at(dict, i), SH_HOST);
        if (t && !sh_tensor_is_contiguous(t)) t = sh_call_op("contiguous", t);
        if (!t) return sh_error()->code;
        SH_TRY(sink->write(sink->user, sh_tensor_data(t), bytes_of(t)));
    }
    return SH_OK;
}

/* The header is padded with blanks so that the data begins at a multiple of eight. */
static sh_status write_header(const sh_sink *sink, const char *text) {
    static const char blanks[8] = "       ";
    const uint64_t n = strlen(text), length = (n + 7) / 8 * 8;
    SH_TRY(sink->write(sink->user, &length, sizeof length));
    SH_TRY(sink->write(sink->user, text, n));
    return sink->write(sink->user, blanks, length - n);
}

sh_status sh__safetensors_write(const sh_sink *sink, const sh_dict *dict) {
    SH_TRY(check_entries(dict));
    json_t *header = make_header(dict);
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (!text) return sh_fail(SH_ERROR_MEMORY, "out of memory for the header");
    sh_status status = write_header(sink, text);
    if (status >= 0) status = write_data(sink, dict);
    free(text);
    return status;
}

sh_status sh_save_safetensors(const char *path, const sh_dict *dict) {
    if (sh_error()) return sh_error()->code;
    if (!dict) return sh_fail(SH_ERROR_NULL, "sh_save_safetensors: dict is NULL");
    sh_file_out out;
    sh_status status = sh_file_begin(&out, path);
    if (status >= 0) status = sh__safetensors_write(&(sh_sink){sh_file_sink, &out}, dict);
    return sh_file_end(&out, status);
}
