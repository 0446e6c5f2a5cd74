/* text.c - UTF-8 by RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF. */
#include "dispatch/text.h"

#include <string.h>

static bool is_control(uint32_t code) {
    return (code < 0x20 && code != '\t' && code != '\n' && code != '\r') || (code >= 0x7f && code < 0xa0);
}

/* The code of the character of `size` bytes at `at`, 0 if it is malformed. The NUL at the end stops it. */
static uint32_t decode(const uint8_t *at, int size) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code = size == 1 ? *at : *at & (0x7f >> size);
    for (int i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    return code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : code;
}

/* By its first byte; 0: no character begins with it. */
static int length_of(uint8_t first) {
    if (first < 0x80) return 1;
    if (first < 0xc0 || first >= 0xf8) return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

bool sh__is_text(const char *text) {
    for (const uint8_t *at = (const uint8_t *)text; *at;) {
        const int size = length_of(*at);
        const uint32_t code = size ? decode(at, size) : 0;
        if (!code || is_control(code)) return false;
        at += size;
    }
    return true;
}

void sh__disarm(char *text) {
    for (uint8_t *at = (uint8_t *)text; *at; at++)
        if (is_control(*at) && *at < 0x80) *at = '?';
}
