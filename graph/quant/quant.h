/* quant.h - quantisation after training, as torch.ao.quantization's FX mode does it: prepare, calibrate, convert, compare.
 *
 *     sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);                  // in eval mode
 *     sh_module *prepared = sh_quantize_prepare(traced, NULL, NULL);                   // observers are in
 *     for (i = 0; i < n; i++) SH_SCOPE sh_quantize_calibrate(prepared, SH_INPUTS(batch(i)));
 *     sh_module *quantized = sh_quantize_convert(prepared);                            // int8
 *     sh_comparison *c = sh_quantize_compare(traced, quantized, SH_ARGUMENTS(x));
 *     fputs(table = sh_comparison_table(c, true), stdout);                             // SQNR of each layer
 *
 * All are graph modules: printed, copied, saved and run like any other. None changes the module that it is given. */
#ifndef SH_GRAPH_QUANT_QUANT_H
#define SH_GRAPH_QUANT_QUANT_H

#include "graph/module/graph_module.h"
#include "graph/quant/qconfig.h"

SH_BEGIN_DECLS

typedef struct sh_quantize_options {
    /* Each input of an add has an observer of its own, as torch has it. Else they share one: both then are stored with one
     * scale. */
    bool separate_add_inputs;
} sh_quantize_options;

/* The module with observers in it, `activation_post_process_0` and so on, one for each value that will be stored in 8 bits. What
 * belongs together is kept whole, with no observer inside: a linear or convolution with its batch norm, which is folded,
 * and with its relu; an add or mul with its relu. A value is observed once, however many use it. Observers are
 * shared by the inputs and the output of cat, by the inputs of add, and by input and output of what moves values
 * (reshape, max_pool2d, relu, ...: graph/quant/quantizable.def).
 *
 * `module` is a graph module in eval mode; its submodules are shared, not copied. mapping NULL: torch's default for fbgemm.
 * options may be NULL. What stays float: what the mapping leaves out, ops that aren't in the list, products whose weight is
 * computed, integers and floats other than f32, modules with hooks, values that somebody else writes to. The caller's. */
SH_API sh_module *sh_quantize_prepare(sh_module *module, const sh_qconfig_mapping *mapping,
                                      const sh_quantize_options *options);
/* Runs it for the sake of its observers; the result is dropped. sh_module_call does as well. */
SH_API sh_status sh_quantize_calibrate(sh_module *prepared, sh_values inputs);
/* All its observers forget what they have seen. */
SH_API sh_status sh_quantize_reset(sh_module *prepared);

/* The module on integers: as convert_to_reference and lower, one after the other. The caller's. */
SH_API sh_module *sh_quantize_convert(sh_module *prepared);
/* Observers become quantize_per_tensor and dequantize_per_tensor nodes, products calls with a weight from i8 constants,
 * which the graph keeps, each once; all ops run on reals. An error names an observer that has seen nothing. */
SH_API sh_module *sh_quantize_convert_to_reference(sh_module *prepared);
/* What stands between dequantize and quantize nodes becomes an op on integers, where there is one: products with weights
 * around 0 (quantized_conv2d, quantized_linear, with their relu), sums, and what moves values on one grid. */
SH_API sh_module *sh_quantize_lower(sh_module *reference);

SH_END_DECLS

#endif
