/* Mode specifications from anywhere: explained or refused with an error that holds a caret, nothing left behind. */
#include <stdlib.h>
#include <string.h>

#include "modes/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *spec = malloc(size + 1), *text = NULL;
    if (!spec) return 0;
    memcpy(spec, data, size);
    spec[size] = 0;
    if (sh_mode_explain(spec, &text) < 0) {
        if (!sh_error() || text ||
            (strlen(spec) == size && sh_error()->code == SH_ERROR_SPEC && size < 65536 &&
             !strchr(sh_error()->message, '^')))
            abort();
        sh_clear_error();
    }
    free(text);
    free(spec);
    return 0;
}
