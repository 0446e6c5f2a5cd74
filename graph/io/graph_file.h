/* graph_file.h - graphs and graph modules in files. In libshunt-io.
 *
 *     sh_graph_module_save(traced, "net.shunt");           // one file: a zip archive, stored
 *     sh_graph_module_to_folder(traced, "net");            // net/graph.txt, net/weights.safetensors
 *     sh_module *again = sh_graph_module_load("net");      // either
 *
 * Both hold the text of ir.h and the tensors, under their paths. What is loaded gives the same bits and saves to the same
 * bytes. Loading draws no random numbers. Nothing takes an old file's place before all is written: a full disk leaves it as it was.
 * Every tensor of the text must be there, of its shape and dtype, and no other. */
#ifndef SH_GRAPH_IO_GRAPH_FILE_H
#define SH_GRAPH_IO_GRAPH_FILE_H

#include "graph/ir/ir.h"

SH_BEGIN_DECLS

/* The module and all that hangs in it, hooks apart. Its graphs must pass sh_graph_lint. */
SH_API sh_status sh_graph_module_save(sh_module *module, const char *path);
/* Into a folder, which is made if need be. */
SH_API sh_status sh_graph_module_to_folder(sh_module *module, const char *folder);
/* Either; the caller's. */
SH_API sh_module *sh_graph_module_load(const char *path);

/* A graph alone, with the tensors that it owns. A node that needs a module is an error: save the graph module. */
SH_API sh_status sh_graph_save(const sh_graph *graph, const char *path);
SH_API sh_status sh_graph_to_folder(const sh_graph *graph, const char *folder);
/* The caller's. Of a saved graph module its graph, which keeps the modules that it calls. */
SH_API sh_graph *sh_graph_load(const char *path);
/* Does this begin as what the functions above write, or is it a folder of theirs? No error. */
SH_API bool sh_graph_file_is(const char *path);

SH_END_DECLS

#endif
