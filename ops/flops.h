/* flops.h - floating-point operations of a call: two for each multiply-add of a matrix product or convolution, none
 * for other ops, as PyTorch's FlopCounterMode counts. So a composite counts the same whole and split. */
#ifndef SH_OPS_FLOPS_H
#define SH_OPS_FLOPS_H

#include "dispatch/call.h"

double sh_call_flops(const sh_call *call);

#endif
