/* make_onnx NAME FILE: writes one of the models of tests/onnx_models.c; without arguments it lists them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/onnx_models.h"

int main(int count, char **words) {
    size_t size;
    if (count != 3) {
        for (size_t i = 0; i < onnx_model_count; i++) puts(onnx_models[i].name);
        return count == 1 ? 0 : 2;
    }
    uint8_t *bytes = onnx_model_bytes(words[1], &size);
    FILE *file = bytes ? fopen(words[2], "wb") : NULL;
    const bool written = file && fwrite(bytes, 1, size, file) == size;
    if (file && fclose(file) == 0 && written) {
        free(bytes);
        return 0;
    }
    fprintf(stderr, bytes ? "can't write %s\n" : "there is no model %s\n", words[bytes ? 2 : 1]);
    free(bytes);
    return 1;
}
