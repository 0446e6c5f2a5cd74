/* npz.c - a zip archive of .npy entries, through libzip.
 *
 * What an archive may unpack to comes out of a budget: a zip bomb is refused before it is unpacked. Entries are unpacked
 * straight into their tensors. They may not share their packed bytes, or a small file could ask for days of unpacking. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "dispatch/memory_impl.h"
#include "dispatch/scope.h"
#include "dispatch/text.h"
#include "ops/io/budget.h"
#include "ops/io/file.h"
#include "ops/io/io.h"
#include "ops/io/npy.h"
#include "ops/io/zip_end.h"

static sh_status zip_failed(const char *what, const char *doing, zip_error_t *error) {
    const sh_status status =
        sh_fail(SH_ERROR_FORMAT, "%s: can't %s: %s", what, doing, zip_error_strerror(error));
    zip_error_fini(error);
    return status;
}

/* ---- reading ---- */

enum { PER_DIRECTORY_BYTE = 12 }; /* what libzip keeps of the directory, at worst */

typedef struct reading {
    zip_t *archive;
    const char *what;
    sh_budget budget;
    size_t packed; /* bytes of the archive that no entry was unpacked from yet */
    sh_dict *dict;
} reading;

static sh_status read_unpacked(sh_npy_source *source, void *to, size_t n) {
    for (char *at = to; n;) {
        const zip_int64_t got = zip_fread(source->user, at, n);
        if (got <= 0)
            return sh_fail(SH_ERROR_FORMAT, "%s is damaged: %s", source->what,
                           got ? zip_file_strerror(source->user) : "it ends too early");
        at += got;
        n -= (size_t)got;
    }
    return SH_OK;
}

/* Behind the last byte libzip compares the checksums. */
static sh_status check_end(sh_npy_source *source) {
    char more;
    const zip_int64_t got = zip_fread(source->user, &more, 1);
    if (got == 0) return SH_OK;
    return sh_fail(SH_ERROR_FORMAT, "%s is damaged: %s", source->what,
                   got < 0 ? zip_file_strerror(source->user) : "it is longer than the archive says");
}

static sh_status check_entry(reading *r, const zip_stat_t *info, const char *what) {
    const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((info->valid & needed) != needed)
        return sh_fail(SH_ERROR_FORMAT, "%s has no size or no method of compression", what);
    if (info->comp_method != ZIP_CM_STORE && info->comp_method != ZIP_CM_DEFLATE)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s is compressed by method %d; stored and deflated are read",
                       what, info->comp_method);
    if (info->comp_size > r->packed)
        return sh_fail(SH_ERROR_FORMAT, "%s shares its bytes with other entries", what);
    r->packed -= info->comp_size;
    return sh__budget_take(&r->budget, info->size);
}

static sh_status read_entry(reading *r, const zip_stat_t *info, const char *name, const char *what) {
    SH_TRY(check_entry(r, info, what));
    if (!sh__is_text(name)) return sh_fail(SH_ERROR_FORMAT, "%s has a name that is no text", what);
    if (sh_dict_find(r->dict, name)) return sh_fail(SH_ERROR_FORMAT, "%s is there twice", what);
    zip_file_t *file = zip_fopen_index(r->archive, info->index, 0);
    if (!file) return sh_fail(SH_ERROR_FORMAT, "%s can't be opened: %s", what, zip_strerror(r->archive));
    SH_SCOPE_HERE;
    sh_npy_source source = {read_unpacked, (size_t)info->size, what, file};
    sh_tensor *t = sh_npy_read(&source);
    const sh_status status = t ? check_end(&source) : sh_error()->code;
    zip_fclose(file);
    return status < 0 ? status : sh_dict_set(r->dict, name, t);
}

/* What isn't named like an array is no tensor and is passed over. */
static sh_status add_entry(reading *r, zip_uint64_t i) {
    zip_stat_t info;
    char what[300];
    if (zip_stat_index(r->archive, i, 0, &info) != 0 || !(info.valid & ZIP_STAT_NAME))
        return sh_fail(SH_ERROR_FORMAT, "%s: entry %llu has no name", r->what, (unsigned long long)i);
    const size_t n = strlen(info.name);
    if (n < 4 || strcmp(info.name + n - 4, ".npy") != 0) return SH_OK;
    snprintf(what, sizeof what, "%.140s: entry %.140s", r->what, info.name);
    char *name = sh__strdup(info.name);
    if (!name) return SH_ERROR_MEMORY;
    name[n - 4] = 0;
    const sh_status status = read_entry(r, &info, name, what);
    sh__free(name);
    return status;
}

static sh_status open_archive(reading *r, const void *bytes, size_t size) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(bytes, size, 0, &error);
    r->archive = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
    if (!r->archive) {
        zip_source_free(source);
        return zip_failed(r->what, "open as .npz", &error);
    }
    zip_error_fini(&error);
    return SH_OK;
}

static sh_status read_archive(reading *r, const void *bytes, size_t size) {
    size_t directory;
    SH_TRY(sh__zip_directory(bytes, size, r->what, &directory));
    SH_TRY(sh__budget_take_many(&r->budget, directory, PER_DIRECTORY_BYTE));
    SH_TRY(open_archive(r, bytes, size));
    const zip_int64_t n = zip_get_num_entries(r->archive, 0);
    sh_status status = SH_OK;
    for (zip_int64_t i = 0; i < n && status >= 0; i++) status = add_entry(r, (zip_uint64_t)i);
    zip_discard(r->archive);
    return status;
}

sh_status sh_parse_npz(const void *bytes, size_t size, const char *what, sh_dict **dict) {
    if (dict) *dict = NULL;
    if (sh_error()) return sh_error()->code;
    if (!bytes || !dict) return sh_fail(SH_ERROR_NULL, "sh_parse_npz: an argument is NULL");
    reading r = {.what = what ? what : "the archive", .packed = size, .dict = sh_dict_new()};
    r.budget = sh__budget_for(size, r.what);
    const sh_status status = r.dict ? read_archive(&r, bytes, size) : SH_ERROR_MEMORY;
    if (status < 0) sh_dict_free(r.dict);
    *dict = status < 0 ? NULL : r.dict;
    return status;
}

sh_status sh_load_npz(const char *path, sh_dict **dict) {
    void *bytes;
    size_t size;
    if (dict) *dict = NULL;
    if (sh_error()) return sh_error()->code;
    SH_TRY(sh_file_read(path, &bytes, &size));
    const sh_status status = sh_parse_npz(bytes, size, path, dict);
    sh__free(bytes);
    return status;
}

/* ---- writing ---- the archive is made in memory, then written as one file */

static sh_status put_entry(zip_t *archive, const char *name, const sh_tensor *t) {
    char header[SH_NPY_HEADER + 64], entry[512];
    if (!sh__is_text(name)) return sh_fail(SH_ERROR_VALUE, "the name %.40s is no text in UTF-8", name);
    if ((size_t)snprintf(entry, sizeof entry, "%s.npy", name) >= sizeof entry)
        return sh_fail(SH_ERROR_VALUE, "the name %.40s... is too long", name);
    const sh_tensor *plain = sh_npy_plain(t);
    if (!plain) return sh_error()->code;
    const size_t head = sh_npy_header(plain, header),
                 body = (size_t)sh_tensor_numel(plain) * sh_dtype_size(sh_tensor_dtype(plain));
    char *bytes = malloc(head + body); /* libzip frees it */
    if (!bytes) return sh_fail(SH_ERROR_MEMORY, "out of memory for %zu bytes", head + body);
    memcpy(bytes, header, head);
    if (body) memcpy(bytes + head, sh_tensor_data(plain), body);
    zip_source_t *source = zip_source_buffer(archive, bytes, head + body, 1);
    if (!source) free(bytes);
    const zip_int64_t i = source ? zip_file_add(archive, entry, source, ZIP_FL_ENC_UTF_8) : -1;
    if (i >= 0 && zip_set_file_compression(archive, (zip_uint64_t)i, ZIP_CM_STORE, 0) == 0) return SH_OK;
    if (source && i < 0) zip_source_free(source);
    return sh_fail(SH_ERROR_FILE, "can't add %s: %s", name, zip_strerror(archive));
}

static sh_status put_all(zip_t *archive, const sh_dict *dict) {
    SH_SCOPE_HERE;
    for (size_t i = 0; i < sh_dict_size(dict); i++)
        SH_TRY(put_entry(archive, sh_dict_name(dict, i), sh_dict_at(dict, i)));
    return SH_OK;
}

static sh_status source_failed(zip_source_t *source, const char *path) {
    return sh_fail(SH_ERROR_FILE, "can't write %s: %s", path, zip_error_strerror(zip_source_error(source)));
}

static sh_status write_source(zip_source_t *source, const char *path) {
    sh_file_out out;
    if (zip_source_open(source) != 0) return source_failed(source, path);
    sh_status status = sh_file_begin(&out, path);
    char block[65536];
    for (zip_int64_t n = 1; status >= 0 && n > 0;) {
        n = zip_source_read(source, block, sizeof block);
        status = n < 0 ? source_failed(source, path) : sh_file_write(&out, block, (size_t)n);
    }
    zip_source_close(source);
    return sh_file_end(&out, status);
}

/* An end record alone: libzip makes nothing of an archive without entries. */
static sh_status write_empty(const char *path) {
    static const char end[22] = "PK\5\6";
    sh_file_out out;
    sh_status status = sh_file_begin(&out, path);
    if (status >= 0) status = sh_file_write(&out, end, sizeof end);
    return sh_file_end(&out, status);
}

sh_status sh_save_npz(const char *path, const sh_dict *dict) {
    zip_error_t error;
    if (sh_error()) return sh_error()->code;
    if (!dict) return sh_fail(SH_ERROR_NULL, "sh_save_npz: dict is NULL");
    if (!sh_dict_size(dict)) return write_empty(path);
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, &error);
    zip_t *archive = source ? zip_open_from_source(source, ZIP_TRUNCATE, &error) : NULL;
    if (!archive) {
        zip_source_free(source);
        return zip_failed(path, "make an archive", &error);
    }
    zip_source_keep(source);
    sh_status status = put_all(archive, dict);
    if (status < 0)
        zip_discard(archive);
    else if (zip_close(archive) != 0) {
        status = sh_fail(SH_ERROR_FILE, "can't write %s: %s", path, zip_strerror(archive));
        zip_discard(archive);
    } else {
        status = write_source(source, path);
    }
    zip_source_free(source);
    zip_error_fini(&error);
    return status;
}
