/* zip_end.c - the end record is searched for where libzip does: it may be followed by a comment of 64 KiB. Layouts:
 * PKWARE's APPNOTE.TXT, 4.3.14 to 4.3.16. */
#include "ops/io/zip_end.h"

#include <string.h>

#include "dispatch/memory_impl.h"

enum { END = 22, LOCATOR = 20, END_64 = 56, ENTRY = 46, LONGEST_TAIL = END + LOCATOR + (1 << 16) };

static uint64_t little_endian(const uint8_t *at, int n) {
    uint64_t value = 0;
    while (n-- > 0) value = value << 8 | at[n];
    return value;
}

static sh_status damaged(const char *what, const char *how) {
    return sh_fail(SH_ERROR_FORMAT, "%s is no .npz file, or damaged: %s", what, how);
}

static sh_status read_at(const sh_zip_bytes *archive, size_t at, void *to, size_t n) {
    if (!archive->bytes) return sh_file_fill_at(archive->file, at, to, n);
    memcpy(to, (const uint8_t *)archive->bytes + at, n);
    return SH_OK;
}

static sh_status find_end(const uint8_t *tail, size_t size, const char *what, size_t *end) {
    size_t found = 0;
    for (size_t at = 0; at + END <= size; at++) {
        if (memcmp(tail + at, "PK\5\6", 4) != 0) continue;
        *end = at;
        found++;
    }
    if (found == 1) return SH_OK;
    return damaged(what, found ? "it has several end records of a zip archive"
                               : "it has no end record of a zip archive");
}

/* The larger record of an archive that outgrew the first: a locator in front of that says where it is. */
static sh_status find_end_64(const sh_zip_bytes *archive, const uint8_t *tail, size_t end, uint8_t *record,
                             bool *found) {
    *found = end >= LOCATOR && memcmp(tail + end - LOCATOR, "PK\6\7", 4) == 0;
    if (!*found) return SH_OK;
    const uint64_t at = little_endian(tail + end - LOCATOR + 8, 8);
    const bool inside = archive->size >= END_64 && at <= archive->size - END_64;
    if (inside) SH_TRY(read_at(archive, (size_t)at, record, END_64));
    return inside && memcmp(record, "PK\6\6", 4) == 0
               ? SH_OK
               : damaged(archive->what, "its zip64 end record is not where its locator says");
}

/* `tail` is the last `size` bytes. */
static sh_status look_at_end(const sh_zip_bytes *archive, const uint8_t *tail, size_t size,
                             size_t *directory) {
    uint8_t record[END_64];
    size_t end = 0;
    bool large;
    SH_TRY(find_end(tail, size, archive->what, &end));
    SH_TRY(find_end_64(archive, tail, end, record, &large));
    const uint64_t entries = large ? little_endian(record + 32, 8) : little_endian(tail + end + 10, 2),
                   length = large ? little_endian(record + 40, 8) : little_endian(tail + end + 12, 4);
    if (length > archive->size - size + end || entries > length / ENTRY)
        return damaged(archive->what, "its end record promises a directory that it has no room for");
    *directory = (size_t)length;
    return SH_OK;
}

sh_status sh__zip_directory(const sh_zip_bytes *archive, size_t *directory) {
    const size_t size = archive->size < LONGEST_TAIL ? archive->size : LONGEST_TAIL;
    uint8_t *tail = sh__alloc(size);
    if (!tail) return SH_ERROR_MEMORY;
    sh_status status = read_at(archive, archive->size - size, tail, size);
    if (status >= 0) status = look_at_end(archive, tail, size, directory);
    sh__free(tail);
    return status;
}
