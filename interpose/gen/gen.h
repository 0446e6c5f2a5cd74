/* gen.h - a line of a .def file as its two halves share it: main.c reads, write.c writes. */
#ifndef SH_INTERPOSE_GEN_GEN_H
#define SH_INTERPOSE_GEN_GEN_H

#include <stdbool.h>
#include <stdio.h>

enum { MAX_ARGS = 24, MAX_TYPES = 8, MAX_LINES = 256 };

typedef enum kind { LETTER, LENGTH, STEP, NUMBER, ARRAY } kind;

typedef struct arg {
    char name[16];
    kind kind;
    bool shown, real;
    const char *access, *storage; /* WR_... */
    int ndim;
    char dims[2][8];
    int trans, uplo, diag, step; /* arguments, or -1 */
} arg;

typedef struct line {
    char op[32], symbol[32], types[MAX_TYPES][4];
    char returns; /* - T R D I */
    int ntypes, nargs, number;
    arg args[MAX_ARGS];
} line;

void gen_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void gen_write(FILE *out, const char *family, const line *lines, int n);

#endif
