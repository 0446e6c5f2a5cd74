/* struct_type.c - struct types that were given a name. They are never forgotten: signatures point into their texts. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/ffi/c_kernel.h"
#include "dispatch/ffi/signature.h"
#include "dispatch/memory_impl.h"

typedef struct named {
    struct named *next;
    char *name, *text;
} named;

static named *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const named *find(const char *at, size_t n) {
    const named *s = all;
    while (s && !sh__word_is(at, n, s->name)) s = s->next;
    return s;
}

const char *sh__struct_text(const char *at, size_t n) {
    pthread_mutex_lock(&lock);
    const named *s = find(at, n);
    pthread_mutex_unlock(&lock);
    return s ? s->text : NULL;
}

/* As a signature would read it. */
static sh_status check(const char *name, const char *text) {
    char *signature = NULL;
    sh_ctype type;
    sh_reader word = {.text = name, .at = name, .is_c = true};
    if (!*name || name[sh__word_length(name)] || sh__ctype_read(&word, &type))
        return sh_fail(SH_ERROR_SIGNATURE, "'%s' can't be the name of a struct type", name);
    if (asprintf(&signature, "void(struct %s)", text) < 0) return sh_fail(SH_ERROR_MEMORY, "out of memory");
    sh_signature *parsed = *text == '{' ? sh__signature_parse(signature) : NULL;
    if (!parsed && !sh_error())
        sh_fail(SH_ERROR_SIGNATURE, "struct %s: expected \"{float x, y;}\", got \"%.40s\"", name, text);
    const bool one = parsed && parsed->nparams == 1 && !parsed->items[0].name.n;
    if (parsed && !one) sh_fail(SH_ERROR_SIGNATURE, "struct %s: expected '}' at the end", name);
    sh__signature_free(parsed);
    free(signature);
    return one ? SH_OK : sh_error()->code;
}

static named *make(const char *name, const char *text) {
    named *s = sh__calloc(1, sizeof *s);
    if (!s) return NULL;
    s->name = sh__strdup(name);
    s->text = s->name ? sh__strdup(text) : NULL;
    if (s->text) return s;
    sh__free(s->name);
    sh__free(s);
    return NULL;
}

sh_status sh_c_struct(const char *name, const char *fields) {
    if (sh_error()) return sh_error()->code;
    if (!name || !fields) return sh_fail(SH_ERROR_NULL, "sh_c_struct: %s is NULL", name ? "fields" : "name");
    SH_TRY(check(name, fields));
    named *s = make(name, fields);
    if (!s) return SH_ERROR_MEMORY;
    pthread_mutex_lock(&lock);
    const named *before = find(name, strlen(name));
    if (!before) {
        s->next = all;
        all = s;
    }
    pthread_mutex_unlock(&lock);
    if (!before) return SH_OK;
    const bool same = strcmp(before->text, fields) == 0;
    sh__free(s->name);
    sh__free(s->text);
    sh__free(s);
    return same ? SH_OK : sh_fail(SH_ERROR_SIGNATURE, "struct %s is \"%s\" already", name, before->text);
}
