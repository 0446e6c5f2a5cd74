/* text.h - text that grows as it is written. A failed allocation is kept and reported once, at the end. */
#ifndef SH_GRAPH_TEXT_H
#define SH_GRAPH_TEXT_H

#include "dispatch/status.h"

typedef struct sh_text {
    char *at; /* ends in 0; NULL while empty */
    size_t length, capacity;
    bool failed;
} sh_text;

void sh__text_put(sh_text *text, const char *format, ...) SH_PRINTF(2, 3);
void sh__text_add(sh_text *text, const char *bytes, size_t n);
/* Leaves the first `length` bytes. */
void sh__text_cut(sh_text *text, size_t length);
/* As Python's repr writes it: 1.0, 1e-05, inf. */
void sh__text_float(sh_text *text, double value);
/* The text, for free(); NULL and an error if memory ran out on the way. */
char *sh__text_take(sh_text *text);
void sh__text_drop(sh_text *text);

#endif
