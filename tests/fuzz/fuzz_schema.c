/* Schemas from anywhere: parsed and printed or refused, with nothing read or written out of bounds. What was
 * accepted is accepted again from its own text. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static void look_at(const sh_param *params, uint8_t n) {
    char printed[32];
    for (uint8_t i = 0; i < n; i++) {
        sh_type_print(&params[i], printed, sizeof printed);
        require(strlen(printed) + 1 < sizeof printed && params[i].type < SH_TYPE_COUNT);
        require(sh_value_equal(params[i].value, params[i].value));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = malloc(size + 1);
    sh_schema *schema, *again;
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (sh_schema_parse(text, &schema) >= 0) {
        look_at(schema->params, schema->nparams);
        look_at(schema->returns, schema->nreturns);
        require(sh_schema_parse(schema->text, &again) >= 0);
        sh_schema_free(again);
        sh_schema_free(schema);
    } else {
        require(sh_error() != NULL);
        sh_clear_error();
    }
    free(text);
    return 0;
}
