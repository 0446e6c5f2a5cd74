/* qconfig.h - which observers watch what: torch.ao.quantization's QConfig and QConfigMapping.
 *
 *     sh_qconfig_mapping *m = sh_get_default_qconfig_mapping("fbgemm");
 *     sh_qconfig_mapping_set_module_name(m, "fc", NULL);            // stays float
 *     sh_qconfig_mapping_set_object_type(m, "conv*|Conv*", &mine);
 *
 * What is said of a name goes before what is said of a regular expression of names, that before what is said of a type,
 * and that before what is said of everything. Of two that say it of the same in one way, the one set first stands; but
 * what is said of everything, the one set last. A qconfig that no observer fits is an error, and nothing changes. */
#ifndef SH_GRAPH_QUANT_QCONFIG_H
#define SH_GRAPH_QUANT_QCONFIG_H

#include "graph/node.h"
#include "graph/quant/observer.h"

SH_BEGIN_DECLS

typedef struct sh_qconfig {
    sh_observer_options activation, weight;
} sh_qconfig;

/* torch's default of a backend: "fbgemm" or "x86": histograms of a reduced range, weights by their least and largest
 * element per channel; "onednn": without reduce_range; "qnnpack": that, and weights per tensor. NULL: fbgemm. Of another
 * name fbgemm, and an error. */
SH_API sh_qconfig sh_get_default_qconfig(const char *backend);

typedef struct sh_qconfig_mapping sh_qconfig_mapping;
/* Nothing is quantised until something is set. The caller's. */
SH_API sh_qconfig_mapping *sh_qconfig_mapping_new(void);
/* The default for everything, and fixed ranges for what has one: sigmoid, hardsigmoid and softmax 0 to 1, tanh -1 to 1. */
SH_API sh_qconfig_mapping *sh_get_default_qconfig_mapping(const char *backend);
SH_API void sh_qconfig_mapping_free(sh_qconfig_mapping *mapping);

/* A NULL qconfig: this stays float. Strings and qconfigs are copied. */
SH_API sh_status sh_qconfig_mapping_set_global(sh_qconfig_mapping *mapping, const sh_qconfig *qconfig);
/* Ops by name and modules by type, as a filter of globs: "add|conv2d|Conv2d". */
SH_API sh_status sh_qconfig_mapping_set_object_type(sh_qconfig_mapping *mapping, const char *types,
                                                    const sh_qconfig *qconfig);
/* A filter of regular expressions, on paths of modules, names of nodes, and scopes they were recorded in. */
SH_API sh_status sh_qconfig_mapping_set_module_name_regex(sh_qconfig_mapping *mapping, const char *names,
                                                          const sh_qconfig *qconfig);
/* One path, name or scope as it is, and all in it: "layer1" is "layer1.0.conv1" too. */
SH_API sh_status sh_qconfig_mapping_set_module_name(sh_qconfig_mapping *mapping, const char *name,
                                                    const sh_qconfig *qconfig);
/* What goes for this node; NULL: it stays float. Borrowed until the mapping changes. */
SH_API const sh_qconfig *sh_qconfig_mapping_find(const sh_qconfig_mapping *mapping, const sh_node *node);

SH_END_DECLS

#endif
