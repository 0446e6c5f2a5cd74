/* copy.h - copies of tensors for who looks at a call from aside: same layout, same elements, other memory; and what a
 * composite's result is copied by. */
#ifndef SH_DISPATCH_COPY_H
#define SH_DISPATCH_COPY_H

#include "dispatch/tensor_impl.h"

/* With the same sizes and strides, the gaps between its elements included; of what lies in them, and outside of a
 * triangle that alone counts, nothing is read. On the host. One reference, the caller's; NULL and an error. */
sh_tensor *sh__tensor_double(const sh_tensor *t);
/* Element by element, those that count, between tensors of one shape and dtype on the host. */
void sh__elements_copy(sh_tensor *to, const sh_tensor *from);
/* The op copy_, for kernel.c. */
void sh__set_copying_op(sh_status (*op)(sh_tensor *to, sh_tensor *from));

#endif
