/* schema_reader.h - the text of a schema, or of a C signature, as its parser reads it: what stands here, step over it, say what
 * should have stood here instead. */
#ifndef SH_DISPATCH_SCHEMA_READER_H
#define SH_DISPATCH_SCHEMA_READER_H

#include "dispatch/status.h"

typedef struct sh_schema_block sh_schema_block;

typedef struct sh_reader {
    const char *text, *at;
    sh_schema_block *out; /* what is being made */
    int64_t *ints;        /* the next free place of each kind in it */
    char *strings;
    bool is_c; /* the text is a C signature (ffi/signature.h), not a schema */
} sh_reader;

/* ---- looking ---- */
bool sh__is_printable(char c); /* in ASCII */
/* The length of the name at `at`, or 0: a letter or _, then letters, digits and _. */
size_t sh__word_length(const char *at);
bool sh__word_is(const char *at, size_t length, const char *word);
/* The length of [-] digits ["." digits] ["e" [sign] digits], or 0. *whole: neither point nor exponent. */
size_t sh__number_length(const char *at, bool *whole);
const char *sh__skip_digits(const char *at);

/* ---- stepping ---- each skips spaces first */
/* Returns where the reader then stands. */
const char *sh__skip_space(sh_reader *p);
bool sh__accept(sh_reader *p, const char *mark);
bool sh__accept_word(sh_reader *p, const char *word); /* the whole word */
sh_status sh__expect(sh_reader *p, const char *mark, const char *what);

/* ---- faults ---- SH_ERROR_SCHEMA (or SIGNATURE): "schema ..., column N: expected WHAT, got ..." */
sh_status sh__wanted(sh_reader *p, const char *what);
sh_status sh__wanted_at(const sh_reader *p, const char *at, const char *what);

#endif
