/* equalize.h - float graph modules made fit for 8 bits before they are quantised, and biases put right after.
 *
 *     sh_module *equal = sh_quantize_equalize(traced, batches, n, NULL);        // computes the same
 *     sh_module *prepared = sh_quantize_prepare(equal, NULL, NULL);             // ... calibrate
 *     sh_module *reference = sh_quantize_convert_to_reference(prepared);
 *     sh_module *corrected = sh_quantize_correct_bias(equal, reference, batches, n);
 *     sh_module *quantized = sh_quantize_lower(corrected);                      // int8
 *
 * `batches` are n runs' inputs: samples of what the module will see, none of them labelled. Both functions leave the modules that
 * they are given as they are, and what they give is the caller's. NULL and an error: no graph module, one in training mode, no
 * batches, a run that fails, a NaN or an infinity on the way. */
#ifndef SH_GRAPH_QUANT_EQUALIZE_H
#define SH_GRAPH_QUANT_EQUALIZE_H

#include "graph/module/graph_module.h"

SH_BEGIN_DECLS

typedef struct sh_equalize_options {
    /* How much of the difference between channels goes into the weights, above 0 to 1; 0: 0.5, half of it. 1, all of it, is for
     * weights that have a scale for each output channel. */
    double alpha;
} sh_equalize_options;

/* The module with its channels brought nearer to each other in range. Where a linear or convolution gives its value to one other of
 * its kind alone, directly or through what commutes with a positive factor for each channel (relu, pooling, identity), channel
 * c of it, weight and bias, is divided by s[c], and the other's weights of that input channel are multiplied by s[c]: in
 * reals the same. s[c] = range of the channel ^ alpha / largest |weight| on it ^ (1 - alpha). The half makes the two equal: Nagel,
 * van Baalen, Blankevoort and Welling, "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, eq. 11,
 * with ranges observed on the batches, 0 among them, as torch/ao/quantization/fx/_equalize.py has them; other alphas are those of
 * Xiao et al., "SmoothQuant", 2022, eq. 4. Batch norms are folded first, as sh_quantize_prepare does. Weights that
 * several calls use, or somebody writes to, stay as they are. options may be NULL. */
SH_API sh_module *sh_quantize_equalize(sh_module *module, const sh_arguments *batches, size_t n,
                                       const sh_equalize_options *options);

/* The reference form (sh_quantize_convert_to_reference) of what was prepared from `module`, with what each product that is quantised
 * gives too much, on average over the batches, in each channel, taken from its bias (the same, section 4.2;
 * torch/ao/quantization/_correct_bias.py), in the order they run, so that each is measured behind those that are put right. A
 * product without a bias gets one. */
SH_API sh_module *sh_quantize_correct_bias(sh_module *module, sh_module *reference,
                                           const sh_arguments *batches, size_t n);

SH_END_DECLS

#endif
