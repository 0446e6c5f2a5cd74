/* main.c - from one line an op in ops.def, everything that must agree with it.
 *
 * A host tool: `gen OUTDIR` writes OUTDIR/ops/ops.h (public: ids, options, functions, macros),
 * OUTDIR/ops/kernels.h (the C signature of every kernel), OUTDIR/ops/table.c (functions, thunks, the
 * rows of the dispatch table) and OUTDIR/ops/reference.md. It fails on the first line that does not parse. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory_impl.h"
#include "ops/gen/gen.h"

#define OP(form, schema, infer, tags, doc) {FORM_##form, schema, #infer, #tags, doc},
static struct line {
    form form;
    const char *schema, *infer, *tags, *doc;
} lines[] = {
#include "ops/ops.def"
};
#undef OP

/* What schema.c and its kin need of the library, in a tool. */
sh_status sh_fail(sh_status code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return code;
}
void *sh__alloc(size_t size) { return malloc(size); }
void *sh__calloc(size_t n, size_t size) { return calloc(n, size); }
void *sh__realloc(void *block, size_t size) { return realloc(block, size); }
char *sh__strdup(const char *text) { return strdup(text); }
void sh__free(void *block) { free(block); }

static void identifier(char *to, const char *name) {
    for (; *name; name++) *to++ = *name == '.' || *name == ':' ? '_' : *name;
    *to = 0;
}

static bool has_tag(const struct line *line, const char *tag) {
    const size_t n = strlen(tag);
    for (const char *at = line->tags; (at = strstr(at, tag)); at += n)
        if ((at == line->tags || !isupper((unsigned char)at[-1])) && !isupper((unsigned char)at[n]))
            return true;
    return false;
}

static void tags_expression(char *to, size_t size, const struct line *line) {
    size_t n = (size_t)snprintf(
        to, size, "%s", line->form == FORM_COMPOSITE || line->form == FORM_FUSED ? "SH_OP_COMPOSITE" : "0");
    for (const char *at = line->tags; *at && n < size;) {
        char word[32] = "";
        int length = 0;
        sscanf(at, " %31[A-Z_]%n", word, &length);
        if (word[0] && strcmp(word, "NONE") != 0)
            n += (size_t)snprintf(to + n, size - n, " | SH_OP_%s", word);
        at += length ? length : 1;
    }
}

static bool read_line(op *o, struct line *line, uint32_t id) {
    if (sh_schema_parse(line->schema, &o->schema) < 0) {
        fprintf(stderr, "ops.def: %s\n", line->schema);
        return false;
    }
    o->id = id;
    o->form = line->form;
    o->infer = line->infer;
    o->doc = line->doc;
    o->inplace = has_tag(line, "INPLACE");
    o->out = has_tag(line, "OUT");
    identifier(o->c, o->schema->name);
    identifier(o->family, o->schema->family);
    tags_expression(o->tags, sizeof o->tags, line);
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        const sh_param *p = &o->schema->params[i];
        o->options |= p->has_default || p->keyword_only;
    }
    o->options |= o->out;
    return true;
}

static FILE *open_output(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/ops/%s", folder, name);
    FILE *out = fopen(path, "w");
    if (!out) {
        perror(path);
        exit(1);
    }
    return out;
}

static void close_output(FILE *out) {
    if (fclose(out) == 0) return;
    perror("gen");
    exit(1);
}

int main(int argc, char **argv) {
    enum { N = sizeof lines / sizeof *lines };
    static op ops[N];
    if (argc < 2) return 2;
    for (uint32_t i = 0; i < N; i++)
        if (!read_line(&ops[i], &lines[i], i)) return 1;
    static const struct {
        const char *name;
        void (*write)(FILE *out, const op *ops, uint32_t n);
    } files[] = {{"ops.h", gen_header},
                 {"kernels.h", gen_kernels},
                 {"table.c", gen_table},
                 {"reference.md", gen_reference}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *out = open_output(argv[1], files[i].name);
        files[i].write(out, ops, N);
        close_output(out);
    }
    return 0;
}
