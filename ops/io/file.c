#include "ops/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dispatch/memory_impl.h"

static sh_status check_file(sh_file_in *in) {
    struct stat info;
    if (fstat(in->descriptor, &info) != 0)
        return sh_fail(SH_ERROR_FILE, "can't read %s: %s", in->path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return sh_fail(SH_ERROR_FILE, "%s is no regular file", in->path);
    in->size = (size_t)info.st_size;
    return SH_OK;
}

/* O_NONBLOCK: opening a pipe would wait for its other end. */
sh_status sh_file_open(sh_file_in *in, const char *path) {
    *in = (sh_file_in){path, 0, -1};
    if (!path) return sh_fail(SH_ERROR_NULL, "the path is NULL");
    in->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (in->descriptor < 0) return sh_fail(SH_ERROR_FILE, "can't open %s: %s", path, strerror(errno));
    const sh_status status = check_file(in);
    if (status < 0) sh_file_close(in);
    return status;
}

/* `place` NULL: where the last read ended. */
static sh_status fill(sh_file_in *in, const size_t *place, void *to, size_t n) {
    for (size_t done = 0; done < n;) {
        char *at = (char *)to + done;
        const ssize_t got = place ? pread(in->descriptor, at, n - done, (off_t)(*place + done))
                                  : read(in->descriptor, at, n - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return sh_fail(SH_ERROR_FILE, "can't read %s: %s", in->path, strerror(errno));
        if (got == 0) return sh_fail(SH_ERROR_FILE, "%s became shorter while it was read", in->path);
        done += (size_t)got;
    }
    return SH_OK;
}

sh_status sh_file_fill(sh_file_in *in, void *to, size_t n) { return fill(in, NULL, to, n); }

sh_status sh_file_fill_at(sh_file_in *in, size_t at, void *to, size_t n) { return fill(in, &at, to, n); }

void sh_file_close(sh_file_in *in) {
    if (in->descriptor >= 0) close(in->descriptor);
    in->descriptor = -1;
}

sh_status sh_file_read(const char *path, void **bytes, size_t *size) {
    sh_file_in in;
    *bytes = NULL;
    SH_TRY(sh_file_open(&in, path));
    *size = in.size;
    *bytes = sh__alloc(in.size);
    const sh_status status = *bytes ? sh_file_fill(&in, *bytes, in.size) : SH_ERROR_MEMORY;
    sh_file_close(&in);
    if (status >= 0) return SH_OK;
    sh__free(*bytes);
    *bytes = NULL;
    return status;
}

/* ---- sources ---- */

sh_status sh__source_fill(sh_source *source, void *to, size_t n) {
    source->left -= n;
    return source->read(source, to, n);
}

static sh_status read_memory(sh_source *source, void *to, size_t n) {
    const char *at = source->user;
    if (n) memcpy(to, at, n);
    source->user = (void *)(uintptr_t)(at + n);
    return SH_OK;
}

sh_source sh__memory_source(const void *bytes, size_t size, const char *what) {
    return (sh_source){read_memory, size, what, (void *)(uintptr_t)bytes};
}

static sh_status read_file(sh_source *source, void *to, size_t n) {
    return sh_file_fill(source->user, to, n);
}

sh_source sh__file_source(sh_file_in *in) { return (sh_source){read_file, in->size, in->path, in}; }

/* ---- writing ---- */

sh_status sh_file_begin(sh_file_out *out, const char *path) {
    *out = (sh_file_out){NULL, NULL, -1};
    if (!path) return sh_fail(SH_ERROR_NULL, "the path is NULL");
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return sh_fail(SH_ERROR_FILE, "can't write %s: it is no regular file", path);
    const size_t n = strlen(path);
    out->path = sh__strdup(path);
    out->temporary = out->path ? sh__alloc(n + 8) : NULL;
    if (!out->temporary) return SH_ERROR_MEMORY;
    snprintf(out->temporary, n + 8, "%s.XXXXXX", path);
    out->descriptor = mkstemp(out->temporary);
    if (out->descriptor < 0) return sh_fail(SH_ERROR_FILE, "can't write %s: %s", path, strerror(errno));
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(out->descriptor, 0666 & ~mask);
    return SH_OK;
}

sh_status sh_file_write(sh_file_out *out, const void *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        const ssize_t n = write(out->descriptor, (const char *)bytes + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sh_fail(SH_ERROR_FILE, "can't write %s: %s", out->path, strerror(errno));
        at += (size_t)n;
    }
    return SH_OK;
}

sh_status sh_file_sink(void *user, const void *bytes, size_t size) {
    return sh_file_write(user, bytes, size);
}

sh_status sh_file_end(sh_file_out *out, sh_status so_far) {
    if (out->descriptor >= 0) {
        if (close(out->descriptor) != 0 && so_far >= 0)
            so_far = sh_fail(SH_ERROR_FILE, "can't write %s: %s", out->path, strerror(errno));
        if (so_far >= 0 && rename(out->temporary, out->path) != 0)
            so_far = sh_fail(SH_ERROR_FILE, "can't write %s: %s", out->path, strerror(errno));
        if (so_far < 0) unlink(out->temporary);
    }
    sh__free(out->path);
    sh__free(out->temporary);
    return so_far;
}
