/* zip_end.c - the end record is searched for where libzip does: it may be followed by a comment of 64 KiB. Layouts:
 * PKWARE's APPNOTE.TXT, 4.3.14 to 4.3.16. */
#include "ops/io/zip_end.h"

#include <string.h>

enum { END = 22, LOCATOR = 20, END_64 = 56, ENTRY = 46, LONGEST_TAIL = END + LOCATOR + (1 << 16) };

static uint64_t little_endian(const uint8_t *at, int n) {
    uint64_t value = 0;
    while (n-- > 0) value = value << 8 | at[n];
    return value;
}

static sh_status damaged(const char *what, const char *how) {
    return sh_fail(SH_ERROR_FORMAT, "%s is no .npz file, or damaged: %s", what, how);
}

static sh_status find_end(const uint8_t *bytes, size_t size, const char *what, size_t *end) {
    const size_t from = size > LONGEST_TAIL ? size - LONGEST_TAIL : 0;
    size_t found = 0;
    for (size_t at = from; at + END <= size; at++) {
        if (memcmp(bytes + at, "PK\5\6", 4) != 0) continue;
        *end = at;
        found++;
    }
    if (found == 1) return SH_OK;
    return damaged(what, found ? "it has several end records of a zip archive"
                               : "it has no end record of a zip archive");
}

/* The larger record of an archive that outgrew the first: a locator in front of that says where it is. */
static sh_status find_end_64(const uint8_t *bytes, size_t size, const char *what, size_t end,
                             const uint8_t **record) {
    *record = NULL;
    if (end < LOCATOR || memcmp(bytes + end - LOCATOR, "PK\6\7", 4) != 0) return SH_OK;
    const uint64_t at = little_endian(bytes + end - LOCATOR + 8, 8);
    if (size < END_64 || at > size - END_64 || memcmp(bytes + at, "PK\6\6", 4) != 0)
        return damaged(what, "its zip64 end record is not where its locator says");
    *record = bytes + at;
    return SH_OK;
}

sh_status sh__zip_directory(const void *bytes, size_t size, const char *what, size_t *directory) {
    const uint8_t *const archive = bytes, *record;
    size_t end = 0;
    SH_TRY(find_end(archive, size, what, &end));
    SH_TRY(find_end_64(archive, size, what, end, &record));
    const uint64_t entries = record ? little_endian(record + 32, 8) : little_endian(archive + end + 10, 2),
                   length = record ? little_endian(record + 40, 8) : little_endian(archive + end + 12, 4);
    if (length > end || entries > length / ENTRY)
        return damaged(what, "its end record promises a directory that it has no room for");
    *directory = (size_t)length;
    return SH_OK;
}
