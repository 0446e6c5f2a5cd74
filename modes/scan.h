/* scan.h - looking for NaN and Inf in a tensor, at memory speed. */
#ifndef SH_MODES_SCAN_H
#define SH_MODES_SCAN_H

#include "dispatch/tensor.h"

/* How many elements are NaN (and, if `inf`, infinite). *first gets the row-major number of the first one. Integer, empty
 * and meta tensors have none. */
int64_t sh_scan_bad(const sh_tensor *t, bool inf, int64_t *first);
/* Smallest and largest of the finite elements; false if there is none. */
bool sh_scan_range(const sh_tensor *t, double *low, double *high);
/* The index of the n-th element in row-major order. */
void sh_scan_index(const sh_tensor *t, int64_t n, int64_t *index);

#endif
