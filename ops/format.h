/* format.h - tensors as text, as PyTorch prints them.
 *
 *     tensor([[0.0000, 0.5000],
 *             [1.0000, 1.5000]])
 */
#ifndef SH_OPS_FORMAT_H
#define SH_OPS_FORMAT_H

#include <stdio.h>

#include "dispatch/tensor.h"

SH_BEGIN_DECLS

typedef struct sh_print_options {
    int precision;      /* digits behind the point; 4 */
    int64_t threshold;  /* more elements than this are summarised; 1000 */
    int64_t edge_items; /* at each end of a summarised dimension; 3 */
    int line_width;     /* 80 */
    int sci_mode;       /* 1 always, 0 never, -1 where the range asks for it */
} sh_print_options;
/* For the process; NULL restores the defaults. */
SH_API void sh_set_print_options(const sh_print_options *options);

/* The text without a newline at its end, the caller's to free(); NULL and an error if t is NULL or memory is out. Not an
 * op: modes do not see it. */
SH_API char *sh_tensor_text(const sh_tensor *t);
/* The text and a newline. */
SH_API sh_status sh_print(FILE *out, const sh_tensor *t);

SH_END_DECLS

#endif
