/* write.c - the C text of a family of routines. Words are passed as the ABI passes them: a pointer or an integer of any
 * width is one, so that one wrapper serves 32-bit and 64-bit integers; floats by value (CBLAS) keep their types. */
#include <string.h>

#include "interpose/gen/gen.h"

/* ---- types ---- */

static bool is_complex(const char *type) { return strpbrk(type, "cz") != NULL; }

/* The letter of the data: the c or z in it, else its only one. */
static char data_letter(const char *type) { return is_complex(type) ? *strpbrk(type, "cz") : *type; }

static char real_letter(const char *type) { return strchr("sc", data_letter(type)) ? 's' : 'd'; }

static const char *dtype_of(char letter) {
    return letter == 's' ? "SH_F32" : letter == 'd' ? "SH_F64" : letter == 'c' ? "SH_C64" : "SH_C128";
}

static char result_letter(const line *l, const char *type) {
    switch (l->returns) {
    case 'T': return data_letter(type);
    case 'R': return real_letter(type);
    case 'D': return 'd';
    default: return l->returns == 'I' ? 'i' : '-';
    }
}

/* VALUE or VOID, the C type, the member of wr_result. */
static const char *c_type(char letter) {
    switch (letter) {
    case 's': return "float";
    case 'd': return "double";
    case 'c': return "float _Complex";
    case 'z': return "double _Complex";
    default: return letter == 'i' ? "int64_t" : "void";
    }
}

static void symbol_of(const line *l, const char *type, char *text) {
    const char *mark = strchr(l->symbol, '?');
    if (mark)
        sprintf(text, "%.*s%s%s", (int)(mark - l->symbol), l->symbol, type, mark + 1);
    else
        strcpy(text, l->symbol);
}

/* ---- descriptions ---- */

static const char *const kinds[] = {"WR_LETTER", "WR_LENGTH", "WR_STEP", "WR_NUMBER", "WR_ARRAY"};

static void write_dims(FILE *out, const arg *a) {
    fprintf(out, ".ndim = %d, .dims = {", a->ndim);
    for (int i = 0; i < a->ndim; i++) fprintf(out, "WR_DIM_%s, ", a->dims[i]);
    fprintf(out, "0}, .access = %s, .storage = %s", a->access, a->storage);
}

static void write_description(FILE *out, const line *l) {
    fprintf(out, "static const wr_arg args_%d[] = {\n", l->number);
    for (int i = 0; i < l->nargs; i++) {
        const arg *a = &l->args[i];
        fprintf(
            out,
            "    {.name = \"%s\", .kind = %s, .real = %d, .step = %d, .trans = %d, .uplo = %d, .diag = %d, ",
            a->name, kinds[a->kind], a->real, a->step, a->trans, a->uplo, a->diag);
        if (a->kind == ARRAY) write_dims(out, a);
        if (a->kind == LENGTH) fprintf(out, ".dims = {WR_DIM_%s}", a->name);
        fprintf(out, "},\n");
    }
    fprintf(out, "};\n");
}

/* ---- schema ---- */

static int count_written(const line *l) {
    int n = 0;
    for (int i = 0; i < l->nargs; i++)
        n += l->args[i].kind == ARRAY && strcmp(l->args[i].access, "WR_IN") != 0;
    return n;
}

static bool any_complex(const line *lines, int n, const char *op) {
    for (int i = 0; i < n; i++)
        for (int t = 0; t < lines[i].ntypes && strcmp(lines[i].op, op) == 0; t++)
            if (is_complex(lines[i].types[t])) return true;
    return false;
}

static void write_tensors(FILE *out, const line *l, bool marks) {
    const char *comma = "";
    char letter = 'a';
    for (int i = 0; i < l->nargs; i++) {
        const arg *a = &l->args[i];
        if (a->kind != ARRAY || strcmp(a->access, "WR_OUT") == 0) continue;
        const bool written = marks && strcmp(a->access, "WR_IN") != 0;
        fprintf(out, "%sTensor", comma);
        if (written) fprintf(out, "(%c!)", letter++);
        fprintf(out, strcmp(a->access, "WR_BETA") == 0 ? "? %s=None" : " %s", a->name);
        comma = ", ";
    }
}

static void write_default(FILE *out, const arg *a) {
    const char *of = strcmp(a->name, "uplo") == 0 ? "U" : strcmp(a->name, "side") == 0 ? "L" : "N";
    if (a->kind == LETTER) fprintf(out, "str %s=\\\"%s\\\"", a->name, of);
    if (a->kind == LENGTH) fprintf(out, "int %s", a->name);
    if (a->kind == NUMBER)
        fprintf(out, "Scalar %s%s", a->name,
                strcmp(a->name, "alpha") == 0  ? "=1"
                : strcmp(a->name, "beta") == 0 ? "=0"
                                               : "");
}

static bool takes_order(const line *l) {
    for (int i = 0; i < l->nargs; i++)
        if (strcmp(l->args[i].storage, "WR_PLAIN") != 0) return true;
    return false;
}

static void write_keywords(FILE *out, const line *l, bool complex) {
    const char *comma = ", *, ";
    for (int i = 0; i < l->nargs; i++) {
        const arg *a = &l->args[i];
        if (a->kind == NUMBER || a->shown) {
            fprintf(out, "%s", comma);
            write_default(out, a);
            comma = ", ";
            if (complex && a->kind == NUMBER && !a->real) fprintf(out, ", Scalar %s_imag=0", a->name);
        } else if (complex && a->kind == ARRAY && a->trans >= 0) {
            fprintf(out, "%sbool conj_%s=False", comma, a->name);
            comma = ", ";
        }
    }
    if (takes_order(l)) fprintf(out, "%sstr order=\\\"C\\\"", comma);
}

static void write_returns(FILE *out, const line *l) {
    const int written = count_written(l);
    const char *comma = "";
    char letter = 'a';
    if (written < 2) {
        fprintf(out, "Tensor");
        return;
    }
    fprintf(out, "(");
    for (int i = 0; i < l->nargs; i++) {
        const arg *a = &l->args[i];
        if (a->kind != ARRAY || strcmp(a->access, "WR_IN") == 0) continue;
        fprintf(out, "%sTensor", comma);
        if (strcmp(a->access, "WR_OUT") != 0) fprintf(out, "(%c!)", letter++);
        fprintf(out, " %s", a->name);
        comma = ", ";
    }
    fprintf(out, ")");
}

static void write_routine(FILE *out, const char *family, const line *lines, int n, const line *l) {
    fprintf(
        out,
        "static wr_routine routine_%d = {.op = \"%s::%s\", .args = args_%d, .nargs = %d, .returns = '%c',\n",
        l->number, family, l->op, l->number, l->nargs, l->returns);
    fprintf(out, "    .schema = \"%s::%s(", family, l->op);
    write_tensors(out, l, count_written(l) > 1);
    write_keywords(out, l, any_complex(lines, n, l->op));
    fprintf(out, ") -> ");
    write_returns(out, l);
    fprintf(out, "\"};\n");
}

/* ---- Fortran ---- */

static int count_letters(const line *l) {
    int n = 0;
    for (int i = 0; i < l->nargs; i++) n += l->args[i].kind == LETTER;
    return n;
}

static void write_each(FILE *out, int n, const char *first, const char *next) {
    for (int i = 0; i < n; i++) fprintf(out, i ? next : first, i);
}

/* Behind the arguments stand the lengths of the letters, which callers in C often leave out. */
static void write_fortran_call(FILE *out, const line *l, const char *type, const char *symbol) {
    const int n = l->nargs + count_letters(l);
    const char result = result_letter(l, type);
    const char *const shape = result == '-' ? "VOID" : "VALUE";
    fprintf(out, "WR_CALL_%s(call_%s_, %s, %c, (", shape, symbol, c_type(result),
            result == '-' ? 'i' : result);
    write_each(out, n, "void *", ", void *");
    fprintf(out, "), (");
    write_each(out, n, "a[%d]", ", a[%d]");
    fprintf(out, "))\n");
}

static void write_fortran(FILE *out, const line *l, const char *type, const char *symbol) {
    const int n = l->nargs + count_letters(l);
    const char result = result_letter(l, type);
    fprintf(out, "WR_FORTRAN_%s(%s, %s, %c, (", result == '-' ? "VOID" : "VALUE", symbol, c_type(result),
            result == '-' ? 'i' : result);
    write_each(out, n, "void *a%d", ", void *a%d");
    fprintf(out, "), (");
    write_each(out, n, "void *", ", void *");
    fprintf(out, "), (");
    write_each(out, n, "a%d", ", a%d");
    fprintf(out, "))\n");
}

/* ---- CBLAS ---- */

typedef struct c_shape {
    bool order, sub; /* row or column order; complex results by a pointer */
    char result;
} c_shape;

static c_shape c_shape_of(const line *l, const char *type) {
    c_shape s = {.result = result_letter(l, type)};
    for (int i = 0; i < l->nargs; i++) {
        const arg *a = &l->args[i];
        s.order |=
            a->kind == LETTER || (a->kind == ARRAY && a->ndim == 2) || strcmp(a->storage, "WR_PACKED") == 0;
    }
    s.sub = s.result == 'c' || s.result == 'z';
    if (s.sub) s.result = '-';
    return s;
}

/* The type in which an argument travels. */
static const char *c_parameter(const arg *a, const char *type) {
    if (a->kind == ARRAY) return "void *";
    if (a->kind != NUMBER) return "int64_t ";
    if (is_complex(type) && !a->real) return "void *";
    return real_letter(type) == 's' ? "float " : "double ";
}

static void write_c_list(FILE *out, const line *l, const char *type, c_shape s, bool names) {
    const char *comma = "";
    if (s.order) fprintf(out, "int64_t %s", names ? "order" : ""), comma = ", ";
    for (int i = 0; i < l->nargs; i++, comma = ", ") {
        fprintf(out, "%s%s", comma, c_parameter(&l->args[i], type));
        if (names) fprintf(out, "a%d", i);
    }
    if (s.sub) fprintf(out, ", void *%s", names ? "result" : "");
}

static void write_c_words(FILE *out, const line *l, const char *type, c_shape s) {
    for (int i = 0; i < l->nargs; i++)
        fprintf(out, "%s%sa%d", i ? ", " : "", strchr(c_parameter(&l->args[i], type), '*') ? "" : "&", i);
    fprintf(out, ", %s, %s", s.order ? "&order" : "NULL", s.sub ? "result" : "NULL");
}

static void write_c_arguments(FILE *out, const line *l, const char *type, c_shape s, bool unpack) {
    const char *comma = "";
    if (s.order) fprintf(out, unpack ? "*(int64_t *)a[%d]" : "order", l->nargs), comma = ", ";
    for (int i = 0; i < l->nargs; i++, comma = ", ") {
        const char *parameter = c_parameter(&l->args[i], type);
        if (unpack && !strchr(parameter, '*'))
            fprintf(out, "%s*(%s*)a[%d]", comma, parameter, i);
        else
            fprintf(out, unpack ? "%sa[%d]" : "%sa%d", comma, i);
    }
    if (s.sub) fprintf(out, unpack ? ", a[%d]" : ", result", l->nargs + 1);
}

static void write_cblas_call(FILE *out, const line *l, const char *type, const char *symbol) {
    const c_shape s = c_shape_of(l, type);
    fprintf(out, "WR_CALL_%s(call_cblas_%s, %s, %c, (", s.result == '-' ? "VOID" : "VALUE", symbol,
            c_type(s.result), s.result == '-' ? 'i' : s.result);
    write_c_list(out, l, type, s, false);
    fprintf(out, "), (");
    write_c_arguments(out, l, type, s, true);
    fprintf(out, "))\n");
}

static void write_cblas(FILE *out, const line *l, const char *type, const char *symbol) {
    const c_shape s = c_shape_of(l, type);
    fprintf(out, "WR_CBLAS_%s(cblas_%s%s, %s, %s, %c, (", s.result == '-' ? "VOID" : "VALUE", symbol,
            s.sub ? "_sub" : "", symbol, c_type(s.result), s.result == '-' ? 'i' : s.result);
    write_c_list(out, l, type, s, true);
    fprintf(out, "), (");
    write_c_list(out, l, type, s, false);
    fprintf(out, "), (");
    write_c_arguments(out, l, type, s, false);
    fprintf(out, "), ");
    write_c_words(out, l, type, s);
    fprintf(out, ")\n");
}

/* ---- all ---- */

static void write_table(FILE *out, const char *family, const line *lines, int n) {
    char symbol[64];
    fprintf(out, "wr_entry *const wr_%s_entries[] = {\n", family);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < lines[i].ntypes; t++) {
            symbol_of(&lines[i], lines[i].types[t], symbol);
            fprintf(out, "    &entry_%s,\n", symbol);
        }
    fprintf(out, "    NULL,\n};\n");
}

static void write_functions(FILE *out, const line *l, const char *type, bool c) {
    char symbol[64], of_c[96] = "NULL";
    symbol_of(l, type, symbol);
    write_fortran_call(out, l, type, symbol);
    if (c) write_cblas_call(out, l, type, symbol);
    if (c) sprintf(of_c, "call_cblas_%s", symbol);
    fprintf(out, "WR_ENTRY(%s, routine_%d, %s, %s)\n", symbol, l->number, dtype_of(data_letter(type)), of_c);
    write_fortran(out, l, type, symbol);
    if (c) write_cblas(out, l, type, symbol);
}

void gen_write(FILE *out, const char *family, const line *lines, int n) {
    const bool c = strcmp(family, "blas") == 0;
    fprintf(out, "/* Made from interpose/%s.def. */\n#include \"interpose/wrapper.h\"\n\n", family);
    for (int i = 0; i < n; i++) {
        write_description(out, &lines[i]);
        write_routine(out, family, lines, n, &lines[i]);
        for (int t = 0; t < lines[i].ntypes; t++) write_functions(out, &lines[i], lines[i].types[t], c);
    }
    write_table(out, family, lines, n);
}
