/* text.c - growing text, and numbers as Python writes them. */
#include "graph/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory_impl.h"

static bool reserve(sh_text *text, size_t more) {
    if (text->failed) return false;
    if (text->length + more < text->capacity) return true;
    const size_t capacity = (text->length + more + 64) * 2;
    char *at = sh__realloc(text->at, capacity);
    text->failed = !at;
    if (!at) return false;
    text->at = at;
    text->capacity = capacity;
    return true;
}

void sh__text_add(sh_text *text, const char *bytes, size_t n) {
    if (!reserve(text, n)) return;
    memcpy(text->at + text->length, bytes, n);
    text->length += n;
    text->at[text->length] = 0;
}

void sh__text_cut(sh_text *text, size_t length) {
    if (length >= text->length) return;
    text->length = length;
    text->at[length] = 0;
}

void sh__text_put(sh_text *text, const char *format, ...) {
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    const int n = vsnprintf(NULL, 0, format, list);
    if (n > 0 && reserve(text, (size_t)n)) {
        vsnprintf(text->at + text->length, (size_t)n + 1, format, again);
        text->length += (size_t)n;
    }
    va_end(again);
    va_end(list);
}

/* The fewest digits that read back as the same number; with an exponent below 1e-4 and from 1e16 on. */
void sh__text_float(sh_text *text, double value) {
    char digits[40];
    int precision = 0;
    if (!isfinite(value)) {
        sh__text_put(text, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    do snprintf(digits, sizeof digits, "%.*e", precision, value);
    while (strtod(digits, NULL) != value && ++precision < 17);
    const int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent >= -4 && exponent < 16) {
        const int decimals = precision > exponent ? precision - exponent : 1;
        sh__text_put(text, "%.*f", decimals, value);
    } else {
        sh__text_put(text, "%s", digits);
    }
}

char *sh__text_take(sh_text *text) {
    if (!text->at) sh__text_add(text, "", 0);
    if (!text->failed) return text->at;
    sh__text_drop(text);
    return NULL;
}

void sh__text_drop(sh_text *text) {
    sh__free(text->at);
    *text = (sh_text){0};
}
