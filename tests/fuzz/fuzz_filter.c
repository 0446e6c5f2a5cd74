/* Filters from anywhere: the first byte tells the syntax (e: regular expression, else glob), a newline parts the
 * filter from a name. Each is refused or matches the name or not, and its negation the other way round, in the
 * time and memory that one input may take. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

/* `text` begins with a '!'. */
static void match(const char *text, sh_filter_syntax syntax, const char *name) {
    sh_filter *const plain = sh_filter_new(text + 1, syntax);
    if (!plain) {
        require(sh_error() != NULL);
        sh_clear_error();
        return;
    }
    const bool found = sh_filter_match(plain, name);
    sh_filter *const negated = text[1] && text[1] != '!' ? sh_filter_new(text, syntax) : NULL;
    if (negated) require(sh_filter_match(negated, name) != found);
    require(!sh_error());
    sh_filter_free(negated);
    sh_filter_free(plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = malloc(size + 2);
    if (!text || !size) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[0] = '!';
    text[size] = text[size + 1] = '\0';
    char *const newline = strchr(text, '\n');
    if (newline) *newline = '\0';
    match(text, data[0] == 'e' ? SH_FILTER_ERE : SH_FILTER_GLOB, newline ? newline + 1 : "");
    free(text);
    return 0;
}
