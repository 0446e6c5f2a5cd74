/* r.c - the R line behind a call. R calls BLAS on its one thread, at times with objects that only it knows to be alive, so
 * nothing here may allocate in R: a source reference is read where it lies. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interpose/callers.h"

typedef struct object object; /* SEXP */
enum { INTEGERS = 13, ENVIRONMENT = 4, STRINGS = 16 };

static struct {
    object *(*reference)(int skip);
    object *(*symbol)(const char *);
    object *(*attribute)(object *, object *);
    object *(*variable)(object *, object *);
    int (*type)(object *);
    int *(*integers)(object *);
    object *(*string)(object *, ptrdiff_t);
    const char *(*text)(object *);
} r;

static bool load(void *slot, const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(slot, &found, sizeof found);
    return found != NULL;
}

static bool is_there(void) {
    return load(&r.reference, "R_GetCurrentSrcref") && load(&r.symbol, "Rf_install") &&
           load(&r.attribute, "Rf_getAttrib") && load(&r.variable, "Rf_findVarInFrame") &&
           load(&r.type, "TYPEOF") && load(&r.integers, "INTEGER") && load(&r.string, "STRING_ELT") &&
           load(&r.text, "R_CHAR");
}

/* The symbols that are asked for exist in every R: none is made. */
static const char *file_of(object *reference) {
    object *source = r.attribute(reference, r.symbol("srcfile"));
    object *name = r.type(source) == ENVIRONMENT ? r.variable(source, r.symbol("filename")) : NULL;
    return name && r.type(name) == STRINGS ? r.text(r.string(name, 0)) : "";
}

/* The innermost there is: in compiled code R keeps none, so that the line is that of a caller further out. */
static object *find_reference(void) {
    enum { MOST = 50 };
    for (int skip = 0; skip < MOST; skip++) {
        object *reference = r.reference(skip);
        if (reference && r.type(reference) == INTEGERS) return reference;
    }
    return NULL;
}

/* What R reads from its console or by -f has no file, and lines that are counted from each expression. */
bool sh__r_line(char *text, size_t size) {
    if (getpid() != gettid() || !is_there()) return false;
    object *reference = find_reference();
    const char *file = reference ? file_of(reference) : "", *base = strrchr(file, '/');
    if (*file) snprintf(text, size, "%s:%d", base ? base + 1 : file, r.integers(reference)[0]);
    return *file != 0;
}
