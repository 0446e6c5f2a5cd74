/* no_data.h - what those are told who read a tensor that has no data. */
#ifndef SH_DISPATCH_NO_DATA_H
#define SH_DISPATCH_NO_DATA_H

#include "dispatch/tensor.h"

/* An error that begins with `what`, the function or op that reads. Exported for libshunt-io alone. */
SH_API sh_status sh__no_data(const sh_tensor *t, const char *what);
/* Does it stand for a value of a trace? */
bool sh__is_traced(const sh_tensor *t);
/* Who answers where the tensor is of a trace. */
void sh__set_trace_reader(sh_status (*reader)(const sh_tensor *t, const char *what));

#endif
