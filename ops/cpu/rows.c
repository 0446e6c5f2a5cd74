/* rows.c - see rows.h. Rows are mostly short and lie anywhere: copies of known length are moves and not calls, and rows soon
 * to come are asked for ahead. */
#include "ops/cpu/rows.h"

#include <string.h>

enum { MOVED = 512, AHEAD = 8, LINE = 64 };

/* Of 9 bytes or more, up to MOVED by moves that may overlap. */
static inline void move_row(char *to, const char *from, int64_t bytes) {
    if (bytes > MOVED) {
        memcpy(to, from, (size_t)bytes);
    } else if (bytes < 16) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else {
        for (int64_t i = 0; i < bytes - 16; i += 16) memcpy(to + i, from + i, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
    }
}

static inline void ask_for(const char *row, int64_t bytes) {
    for (int64_t i = 0; i < bytes && i < MOVED; i += LINE) __builtin_prefetch(row + i);
}

static void pick_long(char *to, const sh_rows *r, const int64_t *index, int64_t n) {
    const char *from = r->from;
    for (int64_t k = 0; k < r->tables; k++, from += r->size * r->bytes)
        for (int64_t i = 0; i < n; i++, to += r->bytes) {
            if (i + AHEAD < n) ask_for(from + index[i + AHEAD] * r->bytes, r->bytes);
            move_row(to, from + index[i] * r->bytes, r->bytes);
        }
}

#define PICK(width)                                                                       \
    for (int64_t k = 0; k < r->tables; k++, to += n * (width), from += r->size * (width)) \
        for (int64_t i = 0; i < n; i++) memcpy(to + i * (width), from + index[i] * (width), (size_t)(width));

void sh_pick_rows(char *to, const sh_rows *r, const int64_t *index, int64_t n) {
    const char *from = r->from;
    if (!r->bytes) return;
    switch (r->bytes) {
    case 1: PICK(1) break;
    case 2: PICK(2) break;
    case 4: PICK(4) break;
    case 8: PICK(8) break;
    case 16: PICK(16) break;
    case 32: PICK(32) break;
    default:
        if (r->bytes > 8)
            pick_long(to, r, index, n);
        else
            PICK(r->bytes)
    }
}
