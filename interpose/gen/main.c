/* main.c - makes the preload library's wrappers from interpose/NAME.def: `generate-wrappers DIR FILE.def...`.
 *
 * Of each line come the description of its arguments, the schema of its op and, for each type, the wrappers of the Fortran
 * and the CBLAS function with what calls the real one. How a line reads is told in blas.def. Errors name file and line. */
#include "interpose/gen/gen.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *file_name;
static int line_number;

void gen_die(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s:%d: ", file_name, line_number);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    exit(1);
}

/* ---- one argument ---- */

static bool begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

static bool is_one_of(const char *name, const char *words) {
    char spaced[64];
    snprintf(spaced, sizeof spaced, " %s ", name);
    return strstr(words, spaced) != NULL;
}

static void copy(char *to, size_t size, const char *from, size_t n) {
    if (n >= size) gen_die("'%.*s' is too long", (int)n, from);
    memcpy(to, from, n);
    to[n] = 0;
}

static int index_of(const line *l, const char *name) {
    for (int i = 0; i < l->nargs; i++)
        if (strcmp(l->args[i].name, name) == 0) return i;
    gen_die("there is no argument %s before it", name);
    return -1;
}

static const char *read_dims(arg *a, const char *at) {
    while (*at != ']') {
        const size_t n = strcspn(at, ",]");
        if (!at[n] || a->ndim == 2) gen_die("%s: expected one or two dimensions and ']'", a->name);
        copy(a->dims[a->ndim++], sizeof a->dims[0], at, n);
        at += n + (at[n] == ',');
    }
    return at + 1;
}

static void read_property(const line *l, arg *a, const char *word) {
    if (strcmp(word, "band") == 0)
        a->storage = "WR_BAND";
    else if (strcmp(word, "packed") == 0)
        a->storage = "WR_PACKED";
    else if (begins(word, "trans"))
        a->trans = index_of(l, word);
    else if (strcmp(word, "uplo") == 0)
        a->uplo = index_of(l, word);
    else if (strcmp(word, "diag") == 0)
        a->diag = index_of(l, word);
    else
        gen_die("%s: there is no property %s", a->name, word);
}

static void read_array(const line *l, arg *a, const char *token) {
    const char *access = strchr("<>=+", *token), *open = strchr(token, '[');
    static const char *const names[] = {"WR_IN", "WR_OUT", "WR_INOUT", "WR_BETA"};
    if (!access || !open)
        gen_die("'%s': an array begins with one of < > = + and has dimensions in []", token);
    a->kind = ARRAY;
    a->access = names[access - strchr("<>=+", '<')];
    copy(a->name, sizeof a->name, token + 1, (size_t)(open - token - 1));
    const char *at = read_dims(a, open + 1);
    while (*at == ':') {
        char word[16];
        const size_t n = strcspn(++at, ":~");
        copy(word, sizeof word, at, n);
        read_property(l, a, word);
        at += n;
    }
    a->real = *at == '~';
}

static void read_plain(arg *a, const char *token) {
    const size_t n = strcspn(token, "!~");
    copy(a->name, sizeof a->name, token, n);
    a->shown = token[n] == '!';
    a->real = token[n] == '~';
    if (is_one_of(a->name, " uplo side diag ") || begins(a->name, "trans"))
        a->kind = LETTER;
    else if (is_one_of(a->name, " m n k kl ku "))
        a->kind = LENGTH;
    else if (begins(a->name, "ld") || begins(a->name, "inc"))
        a->kind = STEP;
    else
        a->kind = NUMBER;
}

static void read_arg(line *l, const char *token) {
    if (l->nargs == MAX_ARGS) gen_die("more than %d arguments", MAX_ARGS);
    arg *a = &l->args[l->nargs];
    *a = (arg){.trans = -1, .uplo = -1, .diag = -1, .step = -1, .storage = "WR_PLAIN", .access = "WR_IN"};
    if (strchr(token, '['))
        read_array(l, a, token);
    else
        read_plain(a, token);
    if (a->kind == STEP) {
        if (!l->nargs || a[-1].kind != ARRAY) gen_die("%s stands behind no array", a->name);
        a[-1].step = l->nargs;
    }
    l->nargs++;
}

/* ---- one line ---- */

static void read_types(line *l, char *text) {
    char *save = NULL;
    for (char *t = strtok_r(text, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
        if (l->ntypes == MAX_TYPES) gen_die("more than %d types", MAX_TYPES);
        copy(l->types[l->ntypes++], sizeof l->types[0], t, strlen(t));
    }
}

static bool read_line(line *l, char *text) {
    char *save = NULL, *word = strtok_r(text, " \t\n", &save);
    if (!word || *word == '#') return false;
    *l = (line){.number = line_number};
    copy(l->op, sizeof l->op, word, strlen(word));
    char *symbol = strtok_r(NULL, " \t\n", &save), *types = strtok_r(NULL, " \t\n", &save),
         *returns = strtok_r(NULL, " \t\n", &save);
    if (!returns || returns[1] || !strchr("-TRDI", *returns))
        gen_die("expected op, symbol, types, one of - T R D I");
    copy(l->symbol, sizeof l->symbol, symbol, strlen(symbol));
    read_types(l, types);
    l->returns = *returns;
    while ((word = strtok_r(NULL, " \t\n", &save))) read_arg(l, word);
    return true;
}

static void convert(const char *def, const char *directory) {
    char path[4096], text[1024];
    const char *base = strrchr(def, '/') ? strrchr(def, '/') + 1 : def;
    const int length = (int)strcspn(base, ".");
    snprintf(path, sizeof path, "%s/%.*s.c", directory, length, base);
    FILE *in = fopen(def, "r"), *out = fopen(path, "w");
    file_name = def;
    line_number = 0;
    if (!in || !out) gen_die("can't read it, or can't write %s", path);
    static line lines[MAX_LINES];
    int n = 0;
    while (fgets(text, sizeof text, in)) {
        line_number++;
        if (n == MAX_LINES) gen_die("more than %d routines", MAX_LINES);
        n += read_line(&lines[n], text);
    }
    char family[64];
    copy(family, sizeof family, base, (size_t)length);
    gen_write(out, family, lines, n);
    if (fclose(in) || fclose(out)) gen_die("can't write %s", path);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: generate-wrappers DIR FILE.def...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++) convert(argv[i], argv[1]);
    return 0;
}
