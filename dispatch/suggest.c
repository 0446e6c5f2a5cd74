/* suggest.c - edit distance with swaps of neighbours (optimal string alignment), three rows of the table at a
 * time on the stack. What is longer than the rows is no typing error and has no suggestion. */
#include "dispatch/suggest.h"

#include <string.h>

enum { LONGEST = 63 };

static int lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* now[j] is the distance between a[0..i] and b[0..j); `last` and `before` are the two rows above. */
static void fill_row(const char *a, size_t i, const char *b, size_t nb, unsigned *now, const unsigned *last,
                     const unsigned *before) {
    now[0] = (unsigned)i + 1;
    for (size_t j = 0; j < nb; j++) {
        const bool same = lower(a[i]) == lower(b[j]);
        now[j + 1] = least(last[j] + !same, least(last[j + 1], now[j]) + 1);
        if (i && j && lower(a[i]) == lower(b[j - 1]) && lower(a[i - 1]) == lower(b[j]))
            now[j + 1] = least(now[j + 1], before[j - 1] + 1);
    }
}

/* Both at most LONGEST long. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb) {
    unsigned rows[3][LONGEST + 1];
    for (size_t j = 0; j <= nb; j++) rows[0][j] = (unsigned)j;
    for (size_t i = 0; i < na; i++) fill_row(a, i, b, nb, rows[(i + 1) % 3], rows[i % 3], rows[(i + 2) % 3]);
    return rows[na % 3][nb];
}

const char *sh_suggest(const char *word, const char *const *words, size_t n) {
    const size_t length = strlen(word);
    if (!length || length > LONGEST) return NULL;
    unsigned best = least((unsigned)(length + 2) / 3, (unsigned)length - 1) + 1; /* too far by one */
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        const size_t other = strlen(words[i]);
        const unsigned d = other > LONGEST ? best : distance(word, length, words[i], other);
        if (d >= best) continue;
        best = d;
        nearest = words[i];
    }
    return nearest;
}
