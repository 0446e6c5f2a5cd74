/* compare.h - how near a quantised module is to the float one, layer by layer.
 *
 *     sh_comparison *c = sh_quantize_compare(traced, quantized, SH_ARGUMENTS(x));
 *     fputs(table = sh_comparison_table(c, true), stdout);
 *
 * SQNR, in dB, is 10 * log10(sum(x^2) / sum((x - y)^2)): 6 more for each bit that is right. */
#ifndef SH_GRAPH_QUANT_COMPARE_H
#define SH_GRAPH_QUANT_COMPARE_H

#include "graph/interpreter.h"
#include "graph/module/module.h"

SH_BEGIN_DECLS

/* Of two tensors of one shape, as torch.ao.ns's compute_sqnr: inf where they are equal. NaN and an error if shapes differ. */
SH_API double sh_compute_sqnr(sh_tensor *x, sh_tensor *y);

typedef struct sh_comparison sh_comparison;
typedef struct sh_comparison_row {
    const char *name; /* of the layer: its path, or its node's name */
    const char *op;   /* "conv2d + relu" */
    double sqnr;
} sh_comparison_row;

/* Runs both on the inputs, the float graph module that was prepared and what prepare and convert made of it (integers, or
 * the reference form), and compares what each quantised layer gives: each with what went before it, so that errors add
 * up. The caller's (sh_comparison_free). */
SH_API sh_comparison *sh_quantize_compare(sh_module *reference, sh_module *quantized, sh_arguments inputs);
SH_API void sh_comparison_free(sh_comparison *comparison);
SH_API size_t sh_comparison_size(const sh_comparison *comparison);
/* In the order they run; NULL without an error past the last. A row lives as long as the comparison. */
SH_API const sh_comparison_row *sh_comparison_at(const sh_comparison *comparison, size_t i);
/* The layer of this name; NULL without an error if there is none. */
SH_API const sh_comparison_row *sh_comparison_find(const sh_comparison *comparison, const char *name);
/* A line a layer: name, op, SQNR; the worst first, or in the order they run. The caller's to free(). */
SH_API char *sh_comparison_table(const sh_comparison *comparison, bool worst_first);

SH_END_DECLS

#endif
