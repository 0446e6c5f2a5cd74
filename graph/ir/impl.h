/* impl.h - what the parts of writer and reader share. */
#ifndef SH_GRAPH_IR_IMPL_H
#define SH_GRAPH_IR_IMPL_H

#include <locale.h>

#include "dispatch/symbols.h"
#include "graph/ir/text.h"
#include "graph/module/module_impl.h"
#include "graph/paths.h"
#include "graph/print.h"

enum { SH_IR_VERSION = 1, SH_IR_DEEPEST = 64, SH_IR_MOST_PATHS = 1 << 18 };

/* Numbers are written and read in the C locale, whatever the program's is. */
typedef struct sh_ir_locale {
    locale_t own, before;
} sh_ir_locale;
sh_status sh__ir_locale_begin(sh_ir_locale *locale);
void sh__ir_locale_end(const sh_ir_locale *locale);

/* ---- keys ---- */
/* The name beside the text of what the graph of the module at `path` owns; NULL: there are no modules. */
void sh__ir_put_key(sh_text *out, const char *path, const char *name);

/* ---- state ---- as arguments */
/* `room` takes the entries of a list. */
sh_arg sh__ir_field_arg(const sh_module_field *field, const void *state, sh_arg *room);
/* False: it doesn't fit. */
bool sh__ir_field_set(const sh_module_field *field, void *state, sh_arg value);
/* "an int", "one of 'none', 'tanh'": what a field takes. */
void sh__ir_field_kind(const sh_module_field *field, char *text, size_t size);

/* ---- strides ---- Do they lay out each element once, without gaps? */
bool sh__ir_is_dense(const int64_t *sizes, const int64_t *strides, int ndim);

/* ---- reading: scan.c ---- */
typedef enum sh_ir_kind { SH_IR_END, SH_IR_LINE, SH_IR_WORD, SH_IR_STRING, SH_IR_MARK } sh_ir_kind;
typedef struct sh_ir_token {
    sh_ir_kind kind;
    const char *at; /* in the text, quotes included */
    size_t length;
    size_t line, column; /* from 1, in bytes */
} sh_ir_token;

typedef struct sh_ir_reader {
    const char *what, *at, *end, *line_start;
    size_t line;
    sh_ir_token token;       /* at hand */
    size_t room;             /* bytes that may still be taken */
    size_t limit;            /* what there was at first */
    struct sh_ir_kept *kept; /* blocks that live as long as the statement */
    sh_arg *entries;         /* of the lists that are open, one behind the other */
    size_t nentries, capacity;
    sh_ir_get get;
    void *user;
    sh_symbols tensors; /* by key; object: borrowed */
    sh_seen graphs;     /* those that were read */
    sh_seen shared;     /* modules that hang at several paths, and what is in them: complete */
    size_t paths;       /* of modules */
    sh_module *root;    /* owned; NULL: none yet */
    sh_graph *bare;     /* owned: a graph without modules */
    sh_graph *graph;    /* whose nodes are read; NULL: none yet */
    const char *path;   /* of the module of that graph, in `path_text` */
    sh_text path_text;
} sh_ir_reader;

/* An error at the token, "net:12:8: ...". */
sh_status sh__ir_bad(const sh_ir_reader *r, const sh_ir_token *token, const char *format, ...)
    SH_PRINTF(3, 4);
/* "expected ..., got ..." at the token at hand. */
sh_status sh__ir_expected(const sh_ir_reader *r, const char *what);
/* Puts the place in front of the pending error. */
sh_status sh__ir_at(const sh_ir_reader *r, const sh_ir_token *token);

sh_status sh__ir_next(sh_ir_reader *r);
bool sh__ir_is(const sh_ir_reader *r, char mark);
bool sh__ir_is_word(const sh_ir_reader *r, const char *word);
bool sh__ir_token_is(const sh_ir_token *token, const char *word);
/* Goes behind it, or says what was expected. */
sh_status sh__ir_take(sh_ir_reader *r, char mark, const char *expected);
sh_status sh__ir_take_word(sh_ir_reader *r, const char *word);
/* Word or string, kept and without quotes and escapes. */
sh_status sh__ir_take_text(sh_ir_reader *r, const char *expected, const char **text);
/* Memory until the statement ends. */
void *sh__ir_keep(sh_ir_reader *r, size_t size);
void sh__ir_drop_kept(sh_ir_reader *r);
/* Counts what the graph will take. */
sh_status sh__ir_charge(sh_ir_reader *r, size_t bytes);

/* ---- reading: read_arg.c ---- borrowed, until the statement ends */
typedef enum sh_ir_names { SH_IR_MARKED, SH_IR_BARE } sh_ir_names; /* how nodes are written: %x or x */
sh_status sh__ir_read_arg(sh_ir_reader *r, sh_ir_names names, sh_arg *arg);
sh_status sh__ir_read_args(sh_ir_reader *r, sh_args *args);
sh_status sh__ir_read_kwargs(sh_ir_reader *r, sh_kwargs *kwargs);
/* f32[4, 8]; with `open` a ? for a size that isn't known. */
sh_status sh__ir_read_spec(sh_ir_reader *r, bool open, sh_spec *spec);

/* ---- reading: read_node.c, read_module.c ---- one statement, up to the end of its line */
sh_status sh__ir_read_node(sh_ir_reader *r);
sh_status sh__ir_read_return(sh_ir_reader *r);
sh_status sh__ir_read_module(sh_ir_reader *r);
sh_status sh__ir_read_tensor(sh_ir_reader *r);

/* ---- writing: write.c ---- */
typedef struct sh_ir_writer {
    sh_text out, key;
    sh_paths tensors; /* to their keys */
    sh_ir_put put;
    void *user;
} sh_ir_writer;
sh_status sh__ir_write_graph(sh_ir_writer *w, const sh_graph *graph, const char *path);
/* A line "KIND NAME : f32[3]", or "KIND NAME = KEY" from the second time on. */
sh_status sh__ir_write_tensor(sh_ir_writer *w, const char *kind, const char *name, const char *key,
                              sh_tensor *tensor);
sh_status sh__ir_write_module(sh_ir_writer *w, sh_module *root);

#endif
