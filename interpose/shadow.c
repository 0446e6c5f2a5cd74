/* shadow.c - another BLAS beside the program's: a backend whose kernels are its functions.
 *
 * It is opened in a scope of its own (RTLD_LOCAL, RTLD_DEEPBIND), so the program's calls don't reach it, nor its own ours.
 * A library is opened once and stays. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "interpose/machine.h"

enum { MAX_LIBRARIES = 8 };

typedef struct shadow {
    wr_library library;
    void *handle;
    char backend[64];
} shadow;

static shadow shadows[MAX_LIBRARIES];
static size_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A kernel's user pointer: which routine of which library. */
typedef struct place {
    const wr_routine *routine;
    const shadow *in;
} place;
enum { MAX_PLACES = 1024 };
static place places[MAX_PLACES];
static size_t nplaces;

static wr_function find_in_handle(const wr_library *library, const char *symbol) {
    wr_function function;
    void *found = dlsym((void *)(uintptr_t)library->context, symbol);
    memcpy(&function, &found, sizeof function);
    return function;
}

static sh_status run(sh_call *call, void *user) {
    const place *p = user;
    return wr_run_views(call, p->routine, &p->in->library);
}

/* The spelling of its symbols; false if it has no BLAS. */
static bool find_spelling(shadow *s) {
    static const char *const spellings[][2] = {{"", ""}, {"", "64_"}, {"scipy_", ""}, {"scipy_", "64_"}};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        char symbol[64];
        snprintf(symbol, sizeof symbol, "%sdgemm_%s", spellings[i][0], spellings[i][1]);
        s->library = (wr_library){find_in_handle, s->handle, spellings[i][0], spellings[i][1]};
        if (dlsym(s->handle, symbol)) return true;
    }
    return false;
}

static sh_status register_kernels(const shadow *s, const char *path) {
    const sh_op *last = NULL;
    WR_EACH_ENTRY(e) {
        if (!e->routine->of || e->routine->of == last || nplaces == MAX_PLACES) continue;
        last = e->routine->of;
        places[nplaces] = (place){e->routine, s};
        SH_TRY(sh_kernel_register(e->routine->op, s->backend, run, &places[nplaces++], path, NULL));
    }
    return SH_OK;
}

static sh_status open_library(const char *path, shadow *s) {
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    s->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!s->handle) return sh_fail(SH_ERROR_FILE, "%s", dlerror());
    if (!find_spelling(s)) return sh_fail(SH_ERROR_FILE, "%s has no BLAS: there is no dgemm_ in it", path);
    snprintf(s->backend, sizeof s->backend, "%.*s%zu", (int)strcspn(base, "."), base, count + 1);
    SH_TRY(sh_backend_register(s->backend, SH_HOST, path));
    return register_kernels(s, path);
}

static shadow *find_open(const char *path) {
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    for (size_t i = 0; handle && i < count; i++)
        if (shadows[i].handle == handle) {
            wr_library_close(handle);
            return &shadows[i];
        }
    wr_library_close(handle);
    return NULL;
}

__attribute__((visibility("default"))) sh_status wr_shadow_library(const char *path, char *backend,
                                                                   size_t size) {
    sh_status status = SH_OK;
    pthread_mutex_lock(&lock);
    shadow *s = find_open(path);
    if (!s && count == MAX_LIBRARIES) {
        status = sh_fail(SH_ERROR_FILE, "%s: more than %d libraries to compare with", path, MAX_LIBRARIES);
    } else if (!s) {
        s = &shadows[count];
        status = open_library(path, s);
        if (status >= 0) count++;
    }
    if (status >= 0) snprintf(backend, size, "%s", s->backend);
    pthread_mutex_unlock(&lock);
    return status;
}
