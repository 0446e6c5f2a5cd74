/* npz.c - a zip archive of .npy entries, which are unpacked straight into their tensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory_impl.h"
#include "dispatch/scope.h"
#include "dispatch/text.h"
#include "ops/io/archive.h"
#include "ops/io/file.h"
#include "ops/io/io.h"
#include "ops/io/npy.h"

/* ---- reading ---- */

typedef struct reading {
    sh_archive archive;
    sh_dict *dict;
} reading;

static sh_status read_entry(reading *r, const zip_stat_t *info, const char *name, const char *what) {
    sh_archive_entry entry;
    if (!sh__is_text(name)) return sh_fail(SH_ERROR_FORMAT, "%s has a name that is no text", what);
    if (sh_dict_find(r->dict, name)) return sh_fail(SH_ERROR_FORMAT, "%s is there twice", what);
    SH_TRY(sh__archive_enter(&r->archive, info, what, &entry));
    SH_SCOPE_HERE;
    sh_source source = sh__archive_source(&entry);
    sh_tensor *t = sh_npy_read(&source);
    SH_TRY(sh__archive_leave(&entry, t ? SH_OK : sh_error()->code));
    return sh_dict_set(r->dict, name, t);
}

/* What isn't named like an array is no tensor and is passed over. */
static sh_status add_entry(reading *r, zip_uint64_t i) {
    zip_stat_t info;
    char what[300];
    if (zip_stat_index(r->archive.zip, i, 0, &info) != 0 || !(info.valid & ZIP_STAT_NAME))
        return sh_fail(SH_ERROR_FORMAT, "%s: entry %llu has no name", r->archive.what, (unsigned long long)i);
    const size_t n = strlen(info.name);
    if (n < 4 || strcmp(info.name + n - 4, ".npy") != 0) return SH_OK;
    snprintf(what, sizeof what, "%.140s: entry %.140s", r->archive.what, info.name);
    char *name = sh__strdup(info.name);
    if (!name) return SH_ERROR_MEMORY;
    name[n - 4] = 0;
    const sh_status status = read_entry(r, &info, name, what);
    sh__free(name);
    return status;
}

static sh_status read_archive(reading *r, const sh_zip_bytes *from) {
    SH_TRY(sh__archive_open(&r->archive, from));
    const zip_int64_t n = zip_get_num_entries(r->archive.zip, 0);
    sh_status status = SH_OK;
    for (zip_int64_t i = 0; i < n && status >= 0; i++) status = add_entry(r, (zip_uint64_t)i);
    sh__archive_close(&r->archive);
    return status;
}

static sh_status read_all(const sh_zip_bytes *from, sh_dict **dict) {
    reading r = {.dict = sh_dict_new()};
    const sh_status status = r.dict ? read_archive(&r, from) : SH_ERROR_MEMORY;
    if (status < 0) sh_dict_free(r.dict);
    *dict = status < 0 ? NULL : r.dict;
    return status;
}

sh_status sh_parse_npz(const void *bytes, size_t size, const char *what, sh_dict **dict) {
    if (dict) *dict = NULL;
    if (sh_error()) return sh_error()->code;
    if (!bytes || !dict) return sh_fail(SH_ERROR_NULL, "sh_parse_npz: an argument is NULL");
    return read_all(&(sh_zip_bytes){bytes, NULL, size, what ? what : "the archive"}, dict);
}

sh_status sh_load_npz(const char *path, sh_dict **dict) {
    sh_file_in in;
    if (dict) *dict = NULL;
    if (sh_error()) return sh_error()->code;
    if (!dict) return sh_fail(SH_ERROR_NULL, "sh_load_npz: dict is NULL");
    SH_TRY(sh_file_open(&in, path));
    const sh_status status = read_all(&(sh_zip_bytes){NULL, &in, in.size, path}, dict);
    sh_file_close(&in);
    return status;
}

/* ---- writing ---- */

static sh_status put_entry(sh_archive_out *out, const char *name, const sh_tensor *t) {
    char header[SH_NPY_HEADER + 64], entry[512];
    if (!sh__is_text(name)) return sh_fail(SH_ERROR_VALUE, "the name %.40s is no text in UTF-8", name);
    if ((size_t)snprintf(entry, sizeof entry, "%s.npy", name) >= sizeof entry)
        return sh_fail(SH_ERROR_VALUE, "the name %.40s... is too long", name);
    const sh_tensor *plain = sh_npy_plain(t);
    if (!plain) return sh_error()->code;
    const size_t head = sh_npy_header(plain, header),
                 body = (size_t)sh_tensor_numel(plain) * sh_dtype_size(sh_tensor_dtype(plain));
    char *bytes = malloc(head + body);
    if (!bytes) return sh_fail(SH_ERROR_MEMORY, "out of memory for %zu bytes", head + body);
    memcpy(bytes, header, head);
    if (body) memcpy(bytes + head, sh_tensor_data(plain), body);
    return sh__archive_add(out, entry, bytes, head + body);
}

static sh_status put_all(sh_archive_out *out, const sh_dict *dict) {
    SH_SCOPE_HERE;
    for (size_t i = 0; i < sh_dict_size(dict); i++)
        SH_TRY(put_entry(out, sh_dict_name(dict, i), sh_dict_at(dict, i)));
    return SH_OK;
}

sh_status sh_save_npz(const char *path, const sh_dict *dict) {
    sh_archive_out out;
    if (sh_error()) return sh_error()->code;
    if (!dict) return sh_fail(SH_ERROR_NULL, "sh_save_npz: dict is NULL");
    SH_TRY(sh__archive_begin(&out, path));
    return sh__archive_end(&out, put_all(&out, dict));
}
