/* print.h - how arguments and nodes are written, for all that prints a graph. */
#ifndef SH_GRAPH_PRINT_H
#define SH_GRAPH_PRINT_H

#include "graph/graph.h"
#include "graph/text.h"

/* FX: as in the text form, %x and strings bare. REPR: as Python's repr, x and 'strings'. IR and IR_RETURN: %x and x, 'strings',
 * and each NaN as what it is, so that it can be read again. */
typedef enum sh_arg_style { SH_STYLE_FX, SH_STYLE_REPR, SH_STYLE_IR, SH_STYLE_IR_RETURN } sh_arg_style;

/* With the quotes and escapes of Python's repr. */
void sh__print_string(sh_text *out, const char *string);
/* The bytes of a word that needs no quotes, from `at` on: letters, digits, _ . - + / and ::, one after the other; 0 at its end. */
size_t sh__word_bytes(const char *at, const char *end);
/* Such a word, or in quotes. */
void sh__print_word(sh_text *out, const char *word);
void sh__print_arg(sh_text *out, sh_arg arg, sh_arg_style style);
void sh__print_args(sh_text *out, sh_args args, sh_arg_style style);
void sh__print_kwargs(sh_text *out, sh_kwargs kwargs, sh_arg_style style);
/* A name from anywhere: it must not break the line it stands on, nor reach a terminal as a command. */
void sh__print_plain(sh_text *out, const char *string);
/* "f32[4, 8]", `?` for a size that isn't known; nothing for NULL. */
void sh__print_spec(sh_text *out, const sh_spec *spec);
void sh__print_node(sh_text *out, const sh_node *node);

#endif
