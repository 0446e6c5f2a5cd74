/* state_dict.h - the parameters and buffers of a module by name, and files of them. In libshunt-io.
 *
 *     sh_module_save(net, "net.safetensors");
 *     sh_module_load(net, "net.safetensors");
 *
 * The names are PyTorch's: "layer1.0.weight", "bn1.running_mean". What hangs at several paths stands under each. */
#ifndef SH_GRAPH_IO_STATE_DICT_H
#define SH_GRAPH_IO_STATE_DICT_H

#include "graph/module/module.h"
#include "ops/io/io.h"

SH_BEGIN_DECLS

/* The tensors themselves, not copies. The caller's (sh_dict_free). */
SH_API sh_dict *sh_module_state_dict(sh_module *module);
/* Copies the dict's values into the module's tensors, converted to their dtypes. Keys that are missing, unexpected or of
 * another shape are one error that lists them, and then, as on any failure, nothing changes. With `strict` false only
 * shapes must fit. */
SH_API sh_status sh_module_load_state_dict(sh_module *module, const sh_dict *dict, bool strict);

SH_API sh_status sh_module_save(sh_module *module, const char *path);
SH_API sh_status sh_module_load(sh_module *module, const char *path); /* strict */

SH_END_DECLS

#endif
