/* doctor.c - shunt doctor: what this machine and this environment give. */
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

extern char **environ;

static void cpu(void) {
    __builtin_cpu_init();
    printf("cpu\n    features: sse2%s%s%s%s%s\n", __builtin_cpu_supports("avx") ? " avx" : "",
           __builtin_cpu_supports("avx2") ? " avx2" : "", __builtin_cpu_supports("fma") ? " fma" : "",
           __builtin_cpu_supports("avx512f") ? " avx512f" : "",
           __builtin_cpu_supports("avx512vl") ? " avx512vl" : "");
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    const bool half = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    printf("    kernels use: %s\n    processors: %ld\n",
           wide   ? "avx512"
           : half ? "avx2"
                  : "sse2",
           sysconf(_SC_NPROCESSORS_ONLN));
}

static void library(const char *name, const char *file, const char *what_for) {
    void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    printf("    %-10s %s (%s)\n", name, handle ? "found" : "NOT FOUND", what_for);
    if (handle) dlclose(handle);
}

static bool in_path(const char *program) {
    const char *path = getenv("PATH");
    char copy[4096], *save = NULL, file[4352];
    snprintf(copy, sizeof copy, "%s", path ? path : "");
    for (char *folder = strtok_r(copy, ":", &save); folder; folder = strtok_r(NULL, ":", &save)) {
        snprintf(file, sizeof file, "%s/%s", folder, program);
        if (access(file, X_OK) == 0) return true;
    }
    return false;
}

static void libraries(void) {
    const dnnl_version_t *v = dnnl_version();
    printf("libraries\n    %-10s %d.%d.%d (matrix products, convolution, pooling)\n", "oneDNN", v->major,
           v->minor, v->patch);
    library("libmvec", "libmvec.so.1", "vector functions");
    library("libdw", "libdw.so.1", "file and line of a call; package libdw1");
    printf("    %-10s %s (pictures of graphs; package graphviz)\n", "dot",
           in_path("dot") ? "found" : "NOT FOUND");
}

static void backends(void) {
    puts("backends");
    for (uint32_t i = 0; i < sh_backend_count(); i++)
        printf("    %-10s on %s\n", sh_backend_name(i), sh_device_name(sh_backend_device(i)));
    printf("    ops: %u; table check: %s\n", sh_op_count(), sh_table_check() == SH_OK ? "ok" : "FAILED");
}

static void plugins(void) {
    sh_plugin_info p;
    for (size_t i = 0; sh_plugin_at(i, &p); i++) {
        if (!i) puts("plug-ins");
        printf("    %-10s %s%s%s (%s)\n", p.name, p.version, *p.description ? ": " : "", p.description,
               p.path);
    }
}

static void variables(void) {
    bool any = false;
    puts("environment");
    for (char **at = environ; *at; at++) {
        if (strncmp(*at, "SHUNT_", 6) != 0 && strncmp(*at, "OMP_NUM_THREADS=", 16) != 0) continue;
        printf("    %s\n", *at);
        any = true;
    }
    if (!any)
        puts("    nothing set (SHUNT_HOOK SHUNT_MODES SHUNT_BACKEND SHUNT_OUT SHUNT_CACHE SHUNT_STRICT)");
    char *modes = sh_modes_describe();
    printf("modes pushed\n    %s\n", modes ? modes : "?");
    free(modes);
}

static int take_word(void *context, const char *word) {
    (void)context;
    return cli_usage("doctor", "%s: expected no argument", word);
}

int cli_doctor(int argc, char **argv) {
    static const cli_option none[] = {{NULL, false, NULL}};
    const int code = cli_parse(argc, argv, "doctor", none, take_word, NULL);
    if (code != EXIT_CLEAN) return code;
    printf("shunt %s\n", sh_version());
    cpu();
    libraries();
    backends();
    plugins();
    variables();
    if (sh_error()) return cli_failed("doctor", CLI_WRITES);
    return EXIT_CLEAN;
}
