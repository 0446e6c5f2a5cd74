/* width.c - how wide the integers of a BLAS are. Its names don't say unless they carry OpenBLAS's suffix: then the library
 * is asked (OpenBLAS tells how it was built), its file's name is read as distributions write it (libblas64, ilp64), and at
 * last ilaver_ is called, which writes three integers over more memory than the narrow kind fills. */
#include <dlfcn.h>
#include <string.h>

#include "interpose/machine.h"

typedef char *(*config_function)(void);
typedef void (*version_function)(void *major, void *minor, void *patch);

static int by_config(void *handle) {
    config_function config;
    void *found = dlsym(handle, "openblas_get_config");
    if (!found) return 0;
    memcpy(&config, &found, sizeof config);
    return strstr(config(), "USE64BITINT") ? 8 : 4;
}

/* "64" at the end of the name, but not of an architecture's. */
static bool named_wide(const char *base) {
    const char *const end = strstr(base, ".so"), *at = end;
    if (strstr(base, "ilp64")) return true;
    if (!end) return false;
    if (at > base && at[-1] == '_') at--;
    return at - base > 3 && strncmp(at - 2, "64", 2) == 0 && at[-3] != '_' && at[-3] != 'h' && at[-3] != 'm';
}

static int by_version(void *handle) {
    version_function version;
    int64_t numbers[3] = {-1, -1, -1};
    void *found = dlsym(handle, "ilaver_");
    if (!found) return 0;
    memcpy(&version, &found, sizeof version);
    version(&numbers[0], &numbers[1], &numbers[2]);
    return numbers[0] >> 32 == -1 ? 4 : 8;
}

int wr_integer_width(wr_function function, const char *suffix) {
    Dl_info info;
    void *address;
    memcpy(&address, &function, sizeof address);
    if (*suffix) return 8;
    if (!dladdr(address, &info) || !info.dli_fname) return 4;
    const char *base = strrchr(info.dli_fname, '/');
    void *handle = wr_library_open(info.dli_fname);
    int width = handle ? by_config(handle) : 0;
    if (!width && named_wide(base ? base + 1 : info.dli_fname)) width = 8;
    if (!width && handle) width = by_version(handle);
    wr_library_close(handle);
    return width ? width : 4;
}

int wr_target_width(wr_target *target, const char *suffix) {
    int width = atomic_load_explicit(&target->width, memory_order_relaxed);
    if (width) return width;
    width = wr_integer_width(target->function, suffix);
    atomic_store_explicit(&target->width, width, memory_order_relaxed);
    return width;
}
