/* ir.h - graphs and graph modules as text that holds all of them but the data of their tensors.
 *
 *     shunt-ir 1
 *
 *     module : GraphModule()
 *     module linear : Linear(in_features=3, out_features=4, bias=True)
 *     parameter linear.weight : f32[4, 3]
 *     parameter linear.bias : f32[4]
 *
 *     graph():
 *         %x : [num_users=1] = placeholder[target=x], tensor = f32[2, 3]
 *         %linear : [num_users=1] = call_module[target=linear](args = (%x,), kwargs = {}), tensor = f32[2, 4]
 *         return linear
 *
 * A node is a line as torch 2.x prints it, but strings are quoted, and what else is known of it stands behind: the dtype
 * and shape of its value, its scope, the user's keys (`meta`; pointers are left out, the place where it was recorded
 * becomes the key stack_trace). Nodes of a graph that owns tensors follow its lines `attr NAME : f32[3]`. What hangs at
 * several paths is written once, then as `module b = a`, `parameter b.weight = a.weight`. `#` starts a comment; num_users
 * follows from the arguments, and what the text says of it is not looked at.
 *
 * Writing and reading again gives the same text. Hooks are not written. Types of modules are found by name
 * (sh_module_type_find), functions too (sh_function_register). A bad text is an error with line and column; nesting is
 * bounded, and what would take more memory than 64 MiB and 8 times the text is refused. In files: graph/io/graph_file.h. */
#ifndef SH_GRAPH_IR_IR_H
#define SH_GRAPH_IR_IR_H

#include "graph/graph.h"
#include "graph/module/module.h"

SH_BEGIN_DECLS

/* The caller's to free(); NULL and an error when memory is out. Modules that its nodes call are not in it. */
SH_API char *sh_graph_ir(const sh_graph *graph);
/* The same of a graph module and all that hangs in it. An error names a module whose type isn't registered or doesn't say
 * what its state is. */
SH_API char *sh_graph_module_ir(sh_module *module);

/* The graph of such a text, the caller's. The tensors that it owns are on the meta device: they have shape and dtype but no
 * data. `what` names the text in errors; NULL is fine. call_module and get_attr nodes may name what the text has not. */
SH_API sh_graph *sh_graph_parse(const char *text, size_t size, const char *what);
/* The graph module of such a text, the caller's; parameters and buffers on the meta device. */
SH_API sh_module *sh_graph_module_parse(const char *text, size_t size, const char *what);

SH_END_DECLS

#endif
