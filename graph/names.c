/* names.c - names of nodes, by torch.fx's rules.
 *
 * What is no identifier becomes one (each run of other characters a `_`, a `_` before a leading digit); a
 * trailing _N is a counter; keywords, builtins and the names that generated Python code needs are never
 * taken: sum -> sum_1. A name stays taken when its node is erased. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph_impl.h"

/* Sorted: Python's keywords, its builtins, and torch.fx's own. */
static const char *const reserved[] = {
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "BaseException",
    "BaseExceptionGroup",
    "BlockingIOError",
    "BrokenPipeError",
    "BufferError",
    "BytesWarning",
    "ChildProcessError",
    "ConnectionAbortedError",
    "ConnectionError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "DeprecationWarning",
    "EOFError",
    "Ellipsis",
    "EncodingWarning",
    "EnvironmentError",
    "Exception",
    "ExceptionGroup",
    "False",
    "FileExistsError",
    "FileNotFoundError",
    "FloatingPointError",
    "FutureWarning",
    "GeneratorExit",
    "IOError",
    "ImportError",
    "ImportWarning",
    "IndentationError",
    "IndexError",
    "InterruptedError",
    "IsADirectoryError",
    "KeyError",
    "KeyboardInterrupt",
    "LookupError",
    "MemoryError",
    "ModuleNotFoundError",
    "NameError",
    "None",
    "NoneType",
    "NotADirectoryError",
    "NotImplemented",
    "NotImplementedError",
    "OSError",
    "OverflowError",
    "PendingDeprecationWarning",
    "PermissionError",
    "ProcessLookupError",
    "RecursionError",
    "ReferenceError",
    "ResourceWarning",
    "RuntimeError",
    "RuntimeWarning",
    "StopAsyncIteration",
    "StopIteration",
    "SyntaxError",
    "SyntaxWarning",
    "SystemError",
    "SystemExit",
    "TabError",
    "TimeoutError",
    "True",
    "TypeError",
    "UnboundLocalError",
    "UnicodeDecodeError",
    "UnicodeEncodeError",
    "UnicodeError",
    "UnicodeTranslateError",
    "UnicodeWarning",
    "UserWarning",
    "ValueError",
    "Warning",
    "ZeroDivisionError",
    "__build_class__",
    "__debug__",
    "__doc__",
    "__import__",
    "__loader__",
    "__name__",
    "__package__",
    "__spec__",
    "abs",
    "aiter",
    "all",
    "and",
    "anext",
    "any",
    "as",
    "ascii",
    "assert",
    "async",
    "await",
    "bin",
    "bool",
    "break",
    "breakpoint",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "class",
    "classmethod",
    "compile",
    "complex",
    "continue",
    "copyright",
    "credits",
    "def",
    "del",
    "delattr",
    "device",
    "dict",
    "dir",
    "divmod",
    "elif",
    "else",
    "enumerate",
    "eval",
    "except",
    "exec",
    "exit",
    "filter",
    "finally",
    "float",
    "for",
    "format",
    "from",
    "frozenset",
    "fx_pytree",
    "getattr",
    "global",
    "globals",
    "hasattr",
    "hash",
    "help",
    "hex",
    "id",
    "if",
    "import",
    "in",
    "inf",
    "input",
    "int",
    "is",
    "isinstance",
    "issubclass",
    "iter",
    "lambda",
    "len",
    "license",
    "list",
    "locals",
    "map",
    "max",
    "memoryview",
    "min",
    "nan",
    "next",
    "nonlocal",
    "not",
    "object",
    "oct",
    "open",
    "or",
    "ord",
    "pass",
    "pow",
    "print",
    "property",
    "pytree",
    "quit",
    "raise",
    "range",
    "repr",
    "return",
    "reversed",
    "round",
    "set",
    "setattr",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "super",
    "torch",
    "try",
    "tuple",
    "type",
    "vars",
    "while",
    "with",
    "yield",
    "zip",
};

static int compare_names(const void *a, const void *b) { return strcmp(a, *(const char *const *)b); }

/* None of them has a digit, as most paths of modules have. */
static bool is_reserved(const char *name) {
    return !name[strcspn(name, "0123456789")] && bsearch(name, reserved, sizeof reserved / sizeof *reserved,
                                                         sizeof *reserved, compare_names) != NULL;
}

/* Writes `wish` as an identifier; `name` has room for strlen(wish) + 2. */
static size_t identifier(const char *wish, char *name) {
    size_t n = 0;
    if (isdigit((unsigned char)*wish)) name[n++] = '_';
    for (bool other = false; *wish; wish++) {
        const bool fits = isascii((unsigned char)*wish) && (isalnum((unsigned char)*wish) || *wish == '_');
        if (fits)
            name[n++] = *wish;
        else if (!other)
            name[n++] = '_';
        other = !fits;
    }
    name[n] = 0;
    return n;
}

/* Parts "base_12" at the underscore; `*number` is -1 where there is no such tail. Returns the base's length. */
static size_t part(const char *name, size_t length, int64_t *number) {
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)name[length - digits - 1])) digits++;
    *number = -1;
    if (!digits || digits > 15 || digits == length || name[length - digits - 1] != '_') return length;
    *number = strtoll(name + length - digits, NULL, 10);
    return length - digits - 1;
}

/* Puts _N behind the base; returns the length of both. `number` is not negative, and what follows the base gives room. */
static size_t add_number(char *name, size_t base_length, int64_t number) {
    size_t digits = 1;
    for (int64_t rest = number; rest > 9; rest /= 10) digits++;
    const size_t length = base_length + 1 + digits;
    name[base_length] = '_';
    name[length] = 0;
    for (size_t i = 1; i <= digits; i++, number /= 10) name[length - i] = (char)('0' + number % 10);
    return length;
}

static sh_symbol *take_numbered(sh_graph *graph, sh_symbol *base, char *name, size_t length, int64_t number) {
    const size_t base_length = base->length;
    if (number >= 0) length = add_number(name, base_length, number);
    if (number <= 0) number = base->count;
    for (;;) {
        sh_symbol *symbol = sh__symbol(&graph->names, name, length);
        if (!symbol) return NULL;
        if (!symbol->taken && !is_reserved(name)) {
            base->count = number;
            return symbol;
        }
        length = add_number(name, base_length, ++number);
    }
}

/* `name` is a buffer with room for 24 more bytes. */
static sh_symbol *take(sh_graph *graph, char *name, size_t length) {
    int64_t number;
    const size_t base_length = part(name, length, &number);
    sh_symbol *symbol = sh__symbol(&graph->names, name, base_length);
    if (symbol && (number >= 0 || symbol->taken || is_reserved(name)))
        symbol = take_numbered(graph, symbol, name, length, number);
    if (symbol) symbol->taken = true;
    return symbol;
}

sh_symbol *sh__name_create(sh_graph *graph, const char *wish) {
    char near[128], *name = near;
    if (!*wish) wish = "_unnamed";
    const size_t room = strlen(wish) + 32;
    if (room > sizeof near && !(name = sh__alloc(room))) return NULL;
    sh_symbol *symbol = take(graph, name, identifier(wish, name));
    if (name != near) sh__free(name);
    return symbol;
}

void sh__node_swap_names(sh_node *a, sh_node *b) {
    sh_symbol *const name = a->name;
    a->name = b->name;
    b->name = name;
    a->name->object = a;
    b->name->object = b;
    a->graph->version++;
}

const char *sh__graph_string(sh_graph *graph, const char *text) {
    const sh_symbol *symbol = sh__symbol(&graph->strings, text, strlen(text));
    return symbol ? symbol->text : NULL;
}
