/* file.h - bytes in and out: whole files, files read in order, memory. */
#ifndef SH_OPS_IO_FILE_H
#define SH_OPS_IO_FILE_H

#include "dispatch/status.h"

/* What takes bytes, in order: a file, memory. */
typedef struct sh_sink {
    sh_status (*write)(void *user, const void *bytes, size_t size);
    void *user;
} sh_sink;

/* What gives bytes, in order: a file, memory, an entry of an archive. `read` gives the next n, or an error. */
typedef struct sh_source {
    sh_status (*read)(struct sh_source *source, void *to, size_t n);
    size_t left;
    const char *what; /* its name, for errors */
    void *user;
} sh_source;
/* The next n of those that are left. */
sh_status sh__source_fill(sh_source *source, void *to, size_t n);
sh_source sh__memory_source(const void *bytes, size_t size, const char *what);

/* A file that is open for reading. Directories, pipes, missing and unreadable files are errors with the reason; none is
 * waited for. */
typedef struct sh_file_in {
    const char *path; /* borrowed */
    size_t size;
    int descriptor;
} sh_file_in;
sh_status sh_file_open(sh_file_in *in, const char *path);
/* The next n bytes. */
sh_status sh_file_fill(sh_file_in *in, void *to, size_t n);
/* n bytes from `at` on, which does not count as reading on. */
sh_status sh_file_fill_at(sh_file_in *in, size_t at, void *to, size_t n);
/* What follows in it. */
sh_source sh__file_source(sh_file_in *in);
void sh_file_close(sh_file_in *in);

/* The bytes of a file; free them with sh__free. */
sh_status sh_file_read(const char *path, void **bytes, size_t *size);

/* Writing beside the file, then taking its place; until sh_file_end nothing of the old file is touched. */
typedef struct sh_file_out {
    char *path, *temporary;
    int descriptor;
} sh_file_out;
sh_status sh_file_begin(sh_file_out *out, const char *path);
sh_status sh_file_write(sh_file_out *out, const void *bytes, size_t size);
/* The same as a sink: `user` is the sh_file_out. */
sh_status sh_file_sink(void *user, const void *bytes, size_t size);
/* Ends it: with SH_OK so far the new file takes the place of the old, otherwise it is removed. Returns what came of it. */
sh_status sh_file_end(sh_file_out *out, sh_status so_far);

#endif
