/* archive.h - zip archives, through libzip: entries read within a budget, entries stored and written as one file.
 *
 * What an archive may unpack to comes out of a budget: a zip bomb is refused before it is unpacked. Entries may not share
 * their packed bytes, or a small file could ask for days of unpacking. What is written is the same whenever it is written. */
#ifndef SH_OPS_IO_ARCHIVE_H
#define SH_OPS_IO_ARCHIVE_H

#include <zip.h>

#include "ops/io/budget.h"
#include "ops/io/zip_end.h"

/* ---- reading ---- */
typedef struct sh_archive {
    zip_t *zip;
    const char *what; /* its name, for errors */
    sh_budget budget;
    size_t packed; /* bytes of the archive that no entry was unpacked from yet */
} sh_archive;

/* The bytes, or the file, must outlive it. On an error nothing is open. */
sh_status sh__archive_open(sh_archive *archive, const sh_zip_bytes *from);
void sh__archive_close(sh_archive *archive);

/* One entry, checked and open; `what` names it in errors. */
typedef struct sh_archive_entry {
    zip_file_t *file;
    size_t size;
    const char *what;
} sh_archive_entry;
sh_status sh__archive_enter(sh_archive *archive, const zip_stat_t *info, const char *what,
                            sh_archive_entry *entry);
/* The next n bytes. */
sh_status sh__archive_fill(sh_archive_entry *entry, void *to, size_t n);
/* All of it. */
sh_source sh__archive_source(sh_archive_entry *entry);
/* Closes it; unless `so_far` is an error, an error if it isn't at its end or its checksum is wrong. */
sh_status sh__archive_leave(sh_archive_entry *entry, sh_status so_far);

/* ---- writing ---- made in memory, then written as one file */
typedef struct sh_archive_out {
    zip_t *zip;
    zip_source_t *source;
    const char *path; /* borrowed */
    size_t n;
} sh_archive_out;
sh_status sh__archive_begin(sh_archive_out *out, const char *path);
/* Takes the bytes over, which came from malloc, on failure too. */
sh_status sh__archive_add(sh_archive_out *out, const char *name, void *bytes, size_t n);
/* Ends it: with SH_OK so far the file takes the place of the old one. Returns what came of it. */
sh_status sh__archive_end(sh_archive_out *out, sh_status so_far);

#endif
