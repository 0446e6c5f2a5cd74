/* npz.c - a zip archive of .npy entries, through libzip.
 *
 * What an archive may unpack to is bounded by four times its own size, or 16 MiB if that is more: a zip bomb is refused
 * before it is unpacked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "dispatch/memory_impl.h"
#include "dispatch/scope.h"
#include "ops/io/file.h"
#include "ops/io/io.h"
#include "ops/io/npy.h"

static sh_status zip_failed(const char *what, const char *doing, zip_error_t *error) {
    const sh_status status =
        sh_fail(SH_ERROR_FORMAT, "%s: can't %s: %s", what, doing, zip_error_strerror(error));
    zip_error_fini(error);
    return status;
}

/* ---- reading ---- */

static sh_status read_bytes(zip_t *archive, zip_uint64_t i, const char *what, void *bytes,
                            zip_uint64_t size) {
    zip_file_t *file = zip_fopen_index(archive, i, 0);
    if (!file)
        return sh_fail(SH_ERROR_FORMAT, "%s: can't open entry %llu: %s", what, (unsigned long long)i,
                       zip_strerror(archive));
    const zip_int64_t n = zip_fread(file, bytes, size);
    const bool whole = n >= 0 && (zip_uint64_t)n == size;
    zip_fclose(file);
    return whole ? SH_OK : sh_fail(SH_ERROR_FORMAT, "%s: entry %llu is damaged", what, (unsigned long long)i);
}

static sh_status add_entry(zip_t *archive, zip_uint64_t i, const char *what, zip_uint64_t *budget,
                           sh_dict *dict) {
    zip_stat_t info;
    char name[512];
    if (zip_stat_index(archive, i, 0, &info) != 0 || !(info.valid & ZIP_STAT_SIZE) ||
        !(info.valid & ZIP_STAT_NAME))
        return sh_fail(SH_ERROR_FORMAT, "%s: entry %llu has no size or name", what, (unsigned long long)i);
    const size_t n = strlen(info.name);
    if (n < 4 || n >= sizeof name || strcmp(info.name + n - 4, ".npy") != 0) return SH_OK; /* not a tensor */
    if (info.size > *budget)
        return sh_fail(SH_ERROR_FORMAT, "%s: entry %s would unpack to %llu bytes", what, info.name,
                       (unsigned long long)info.size);
    *budget -= info.size;
    void *bytes = sh__alloc(info.size);
    if (!bytes) return SH_ERROR_MEMORY;
    memcpy(name, info.name, n - 4);
    name[n - 4] = 0;
    SH_SCOPE_HERE;
    sh_status status = read_bytes(archive, i, what, bytes, info.size);
    sh_tensor *t = status >= 0 ? sh_parse_npy(bytes, info.size, info.name) : NULL;
    sh__free(bytes);
    if (!t) return sh_error()->code;
    if (sh_dict_find(dict, name)) return sh_fail(SH_ERROR_FORMAT, "%s: two entries are named %s", what, name);
    return sh_dict_set(dict, name, t);
}

static sh_status read_archive(zip_t *archive, const char *what, size_t size, sh_dict *dict) {
    zip_uint64_t budget = (zip_uint64_t)size * 4 > 1 << 24 ? (zip_uint64_t)size * 4 : 1 << 24;
    const zip_int64_t n = zip_get_num_entries(archive, 0);
    for (zip_int64_t i = 0; i < n; i++) SH_TRY(add_entry(archive, (zip_uint64_t)i, what, &budget, dict));
    return SH_OK;
}

sh_status sh_parse_npz(const void *bytes, size_t size, const char *what, sh_dict **dict) {
    zip_error_t error;
    if (sh_error()) return sh_error()->code;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(bytes, size, 0, &error);
    zip_t *archive = source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error) : NULL;
    if (!archive) {
        zip_source_free(source);
        return zip_failed(what, "open as .npz", &error);
    }
    zip_error_fini(&error);
    *dict = sh_dict_new();
    const sh_status status = *dict ? read_archive(archive, what, size, *dict) : SH_ERROR_MEMORY;
    zip_discard(archive);
    if (status >= 0) return SH_OK;
    sh_dict_free(*dict);
    *dict = NULL;
    return status;
}

sh_status sh_load_npz(const char *path, sh_dict **dict) {
    void *bytes;
    size_t size;
    if (sh_error()) return sh_error()->code;
    SH_TRY(sh_file_read(path, &bytes, &size));
    const sh_status status = sh_parse_npz(bytes, size, path, dict);
    sh__free(bytes);
    return status;
}

/* ---- writing ---- the archive is made in memory, then written as one file */

static sh_status put_entry(zip_t *archive, const char *name, const sh_tensor *t) {
    char header[SH_NPY_HEADER + 64], entry[512];
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

static sh_status write_source(zip_source_t *source, const char *path) {
    zip_stat_t info;
    sh_file_out out;
    if (zip_source_stat(source, &info) != 0 || zip_source_open(source) != 0)
        return sh_fail(SH_ERROR_FILE, "can't write %s", path);
    sh_status status = sh_file_begin(&out, path);
    char block[65536];
    for (zip_int64_t n = 1; status >= 0 && n > 0;) {
        n = zip_source_read(source, block, sizeof block);
        if (n < 0)
            status = sh_fail(SH_ERROR_FILE, "can't write %s", path);
        else
            status = sh_file_write(&out, block, (size_t)n);
    }
    zip_source_close(source);
    return sh_file_end(&out, status);
}

sh_status sh_save_npz(const char *path, const sh_dict *dict) {
    zip_error_t error;
    if (sh_error()) return sh_error()->code;
    if (!dict) return sh_fail(SH_ERROR_NULL, "sh_save_npz: dict is NULL");
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
