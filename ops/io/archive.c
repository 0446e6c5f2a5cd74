#include "ops/io/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "ops/io/file.h"

enum { PER_DIRECTORY_BYTE = 12 }; /* what libzip keeps of the directory, at worst */

static sh_status zip_failed(const char *what, const char *doing, zip_error_t *error) {
    const sh_status status =
        sh_fail(SH_ERROR_FORMAT, "%s: can't %s: %s", what, doing, zip_error_strerror(error));
    zip_error_fini(error);
    return status;
}

/* ---- reading ---- */

/* libzip closes what it is given. */
static zip_source_t *source_of_file(const sh_file_in *in, zip_error_t *error) {
    const int descriptor = fcntl(in->descriptor, F_DUPFD_CLOEXEC, 0);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    zip_source_t *source = file ? zip_source_filep_create(file, 0, -1, error) : NULL;
    if (source) return source;
    if (!file) zip_error_set(error, ZIP_ER_OPEN, errno);
    if (file)
        fclose(file);
    else if (descriptor >= 0)
        close(descriptor);
    return NULL;
}

static sh_status open_zip(sh_archive *a, const sh_zip_bytes *from) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = from->bytes ? zip_source_buffer_create(from->bytes, from->size, 0, &error)
                                       : source_of_file(from->file, &error);
    a->zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
    if (!a->zip) {
        zip_source_free(source);
        return zip_failed(a->what, "open as a zip archive", &error);
    }
    zip_error_fini(&error);
    return SH_OK;
}

sh_status sh__archive_open(sh_archive *archive, const sh_zip_bytes *from) {
    *archive = (sh_archive){
        .what = from->what, .budget = sh__budget_for(from->size, from->what), .packed = from->size};
    size_t directory;
    SH_TRY(sh__zip_directory(from, &directory));
    SH_TRY(sh__budget_take_many(&archive->budget, directory, PER_DIRECTORY_BYTE));
    return open_zip(archive, from);
}

void sh__archive_close(sh_archive *archive) { zip_discard(archive->zip); }

static sh_status check_entry(sh_archive *a, const zip_stat_t *info, const char *what) {
    const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((info->valid & needed) != needed)
        return sh_fail(SH_ERROR_FORMAT, "%s has no size or no method of compression", what);
    if (info->comp_method != ZIP_CM_STORE && info->comp_method != ZIP_CM_DEFLATE)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s is compressed by method %d; stored and deflated are read",
                       what, info->comp_method);
    if (info->comp_size > a->packed)
        return sh_fail(SH_ERROR_FORMAT, "%s shares its bytes with other entries", what);
    a->packed -= info->comp_size;
    return sh__budget_take(&a->budget, info->size);
}

sh_status sh__archive_enter(sh_archive *archive, const zip_stat_t *info, const char *what,
                            sh_archive_entry *entry) {
    SH_TRY(check_entry(archive, info, what));
    *entry = (sh_archive_entry){zip_fopen_index(archive->zip, info->index, 0), (size_t)info->size, what};
    if (entry->file) return SH_OK;
    return sh_fail(SH_ERROR_FORMAT, "%s can't be opened: %s", what, zip_strerror(archive->zip));
}

sh_status sh__archive_fill(sh_archive_entry *entry, void *to, size_t n) {
    for (char *at = to; n;) {
        const zip_int64_t got = zip_fread(entry->file, at, n);
        if (got <= 0)
            return sh_fail(SH_ERROR_FORMAT, "%s is damaged: %s", entry->what,
                           got ? zip_file_strerror(entry->file) : "it ends too early");
        at += got;
        n -= (size_t)got;
    }
    return SH_OK;
}

static sh_status read_entry(sh_source *source, void *to, size_t n) {
    return sh__archive_fill(source->user, to, n);
}

sh_source sh__archive_source(sh_archive_entry *entry) {
    return (sh_source){read_entry, entry->size, entry->what, entry};
}

/* Behind the last byte libzip compares the checksums. */
sh_status sh__archive_leave(sh_archive_entry *entry, sh_status so_far) {
    char more;
    const zip_int64_t got = so_far < 0 ? 0 : zip_fread(entry->file, &more, 1);
    if (got != 0)
        so_far = sh_fail(SH_ERROR_FORMAT, "%s is damaged: %s", entry->what,
                         got < 0 ? zip_file_strerror(entry->file) : "it is longer than the archive says");
    zip_fclose(entry->file);
    return so_far;
}

/* ---- writing ---- */

sh_status sh__archive_begin(sh_archive_out *out, const char *path) {
    zip_error_t error;
    *out = (sh_archive_out){.path = path};
    zip_error_init(&error);
    out->source = zip_source_buffer_create(NULL, 0, 0, &error);
    out->zip = out->source ? zip_open_from_source(out->source, ZIP_TRUNCATE, &error) : NULL;
    if (!out->zip) {
        zip_source_free(out->source);
        return zip_failed(path, "make an archive", &error);
    }
    zip_source_keep(out->source);
    zip_error_fini(&error);
    return SH_OK;
}

/* Stored, and dated at the first day that a zip archive knows. */
static bool set_form(zip_t *zip, zip_int64_t i) {
    enum { FIRST_DAY = 1 << 5 | 1 };
    return i >= 0 && zip_set_file_compression(zip, (zip_uint64_t)i, ZIP_CM_STORE, 0) == 0 &&
           zip_file_set_dostime(zip, (zip_uint64_t)i, 0, FIRST_DAY, 0) == 0;
}

sh_status sh__archive_add(sh_archive_out *out, const char *name, void *bytes, size_t n) {
    zip_source_t *source = zip_source_buffer(out->zip, bytes, n, 1);
    if (!source) free(bytes);
    const zip_int64_t i = source ? zip_file_add(out->zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (set_form(out->zip, i)) {
        out->n++;
        return SH_OK;
    }
    if (source && i < 0) zip_source_free(source);
    return sh_fail(SH_ERROR_FILE, "can't add %s: %s", name, zip_strerror(out->zip));
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

sh_status sh__archive_end(sh_archive_out *out, sh_status so_far) {
    if (so_far >= 0 && out->n && zip_close(out->zip) == 0) {
        so_far = write_source(out->source, out->path);
    } else {
        if (so_far >= 0 && out->n)
            so_far = sh_fail(SH_ERROR_FILE, "can't write %s: %s", out->path, zip_strerror(out->zip));
        zip_discard(out->zip);
        if (so_far >= 0) so_far = write_empty(out->path);
    }
    zip_source_free(out->source);
    return so_far;
}
