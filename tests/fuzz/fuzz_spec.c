/* Mode specifications from anywhere: explained or refused with an error that holds a caret; what is explained is made,
 * pushed and called, or refused. Nothing stays behind. */
#include <stdlib.h>
#include <string.h>

#include "modes/spec.h"
#include "shunt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

/* An error in the specification itself shows its place. */
static void refused(void) {
    require(sh_error() != NULL);
    require(sh_error()->code != SH_ERROR_SPEC || strchr(sh_error()->message, '^') ||
            strstr(sh_error()->message, "characters is too long"));
    sh_clear_error();
}

/* The last pushed is the first of those that are left that can be popped. */
static void pop_one(void) {
    sh_mode_info infos[64];
    const size_t n = sh_modes(infos, 64);
    for (size_t i = 0; i < n && i < 64; i++) {
        if (sh_pop_mode(infos[i].mode) >= 0) return;
        sh_clear_error();
    }
    abort();
}

/* What the calls come to is the modes' business. */
static void call_under(const char *spec) {
    if (sh_mode_push_spec(spec) < 0) {
        refused();
        return;
    }
    SH_SCOPE {
        sh_tensor *x = sh_full(SH_SIZES(2, 3), 2.0);
        sh_clear_error();
        if (x) sh_gelu(sh_matmul(sh_add(x, 1), sh_transpose(x, 0, 1)));
        sh_clear_error();
    }
    while (sh_mode_depth()) pop_one();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *spec = malloc(size + 1), *text = NULL;
    if (!spec) return 0;
    memcpy(spec, data, size);
    spec[size] = 0;
    setenv("SHUNT_OUT", "/dev/null", 1);
    const bool read = sh_mode_explain(spec, &text) >= 0;
    require(read == (text != NULL));
    if (!read) refused();
    /* no files, and no SIGTRAP that was asked for */
    if (read && !strstr(spec, "out") && !strstr(spec, "trace") && !strstr(spec, "trap")) call_under(spec);
    free(text);
    free(spec);
    return 0;
}
