/* zip_end.h - what the end of a zip archive says of it, looked at before libzip believes it.
 *
 * libzip reads the directory once for every end record in the last 64 KiB, which may be thousands, makes room for as many
 * entries as the record claims, and keeps each field of the directory in a block of its own. */
#ifndef SH_OPS_IO_ZIP_END_H
#define SH_OPS_IO_ZIP_END_H

#include "ops/io/file.h"

/* An archive in memory, or in a file. */
typedef struct sh_zip_bytes {
    const void *bytes; /* NULL: it is the file */
    sh_file_in *file;
    size_t size;
    const char *what; /* its name, for errors */
} sh_zip_bytes;

/* The bytes of the archive's directory; an error unless there is one end record and what it says fits the archive. */
sh_status sh__zip_directory(const sh_zip_bytes *archive, size_t *directory);

#endif
