/* print.h - how arguments and nodes are written, for all that prints a graph. */
#ifndef SH_GRAPH_PRINT_H
#define SH_GRAPH_PRINT_H

#include "graph/graph.h"
#include "graph/text.h"

/* FX: as in the text form, %x and strings bare. REPR: as Python's repr, x and 'strings'. */
typedef enum sh_arg_style { SH_STYLE_FX, SH_STYLE_REPR } sh_arg_style;

void sh__print_arg(sh_text *out, sh_arg arg, sh_arg_style style);
void sh__print_args(sh_text *out, sh_args args, sh_arg_style style);
void sh__print_kwargs(sh_text *out, sh_kwargs kwargs, sh_arg_style style);
/* A name from anywhere: it must not break the line it stands on, nor reach a terminal as a command. */
void sh__print_plain(sh_text *out, const char *string);
/* "f32[4, 8]", `?` for a size that isn't known; nothing for NULL. */
void sh__print_spec(sh_text *out, const sh_spec *spec);
void sh__print_node(sh_text *out, const sh_node *node);

#endif
