/* identifier.c - which names are free, and names in place of those that are not.
 *
 * What isn't free by its form: sh_ and SH_ are ours, _X and __x the compiler's, x_t the C library's types, and what
 * has no small letter may be a macro. The rest is a list, of words that mean something to C, to C++, or to the C
 * library's headers in lower case. Functions are not in it: a local variable may hide one. Names that begin with n_ are
 * free but for their ends, so one is found for every wish. */
#include "graph/code/identifier.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 60 }; /* C promises to tell 63 characters apart */

/* Sorted. */
static const char *const reserved[] = {
    "alignas",
    "alignof",
    "alloca",
    "and",
    "and_eq",
    "asm",
    "assert",
    "atomic",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "complex",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "fortran",
    "friend",
    "goto",
    "i386",
    "if",
    "imaginary",
    "import",
    "inline",
    "inputs",
    "int",
    "linux",
    "long",
    "main",
    "module",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "noreturn",
    "not",
    "not_eq",
    "nullptr",
    "offsetof",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "result",
    "return",
    "self",
    "setjmp",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "stderr",
    "stdin",
    "stdout",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unix",
    "unsigned",
    "using",
    "va_arg",
    "va_copy",
    "va_end",
    "va_start",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
    "xor_eq",
};

static int compare(const void *a, const void *b) { return strcmp(a, *(const char *const *)b); }

static bool is_identifier(const char *name) {
    if (!*name || isdigit((unsigned char)*name)) return false;
    for (; *name; name++)
        if (!isascii((unsigned char)*name) || (!isalnum((unsigned char)*name) && *name != '_')) return false;
    return true;
}

static bool has(const char *name, int (*kind)(int)) {
    while (*name && !kind((unsigned char)*name)) name++;
    return *name != 0;
}

static bool is_reserved_by_form(const char *name) {
    const size_t n = strlen(name);
    if (strncmp(name, "sh_", 3) == 0 || strncmp(name, "SH_", 3) == 0) return true;
    if (name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]))) return true;
    if (n > 2 && strcmp(name + n - 2, "_t") == 0) return true;
    return has(name, isupper) && !has(name, islower);
}

bool sh__is_free_identifier(const char *name) {
    return is_identifier(name) && strlen(name) <= LONGEST && !is_reserved_by_form(name) &&
           !bsearch(name, reserved, sizeof reserved / sizeof *reserved, sizeof *reserved, compare);
}

/* n_ and the wish as an identifier, cut so that a number fits behind it. */
static void spell(const char *wish, char *name, size_t size) {
    size_t n = (size_t)sprintf(name, "n_");
    for (; *wish && n + 1 < size; wish++) {
        const unsigned char c = (unsigned char)*wish;
        name[n++] = isascii(c) && isalnum(c) ? (char)c : '_';
    }
    name[n] = 0;
}

const char *sh__take_identifier(sh_symbols *names, const char *wish) {
    char base[LONGEST - 12], name[LONGEST + 12];
    if (sh__is_free_identifier(wish)) {
        sh_symbol *own = sh__symbol(names, wish, strlen(wish));
        if (!own || !own->taken) return own ? own->taken = true, own->text : NULL;
    }
    spell(wish, base, sizeof base);
    sh_symbol *counter = sh__symbol(names, base, strlen(base));
    if (!counter) return NULL;
    for (snprintf(name, sizeof name, "%s", base);;
         snprintf(name, sizeof name, "%s_%lld", base, (long long)counter->count)) {
        sh_symbol *symbol = sh__symbol(names, name, strlen(name));
        if (!symbol) return NULL;
        counter->count++;
        if (symbol->taken || !sh__is_free_identifier(name)) continue;
        symbol->taken = true;
        return symbol->text;
    }
}
