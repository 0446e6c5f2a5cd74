/* device_impl.h - storages on devices with memory of their own, and the only ways to read and write them.
 *
 * A tensor there has data NULL, so that what reads tensors meets no address that it could follow; the address is
 * in `address`, and sh_tensor_data gives it to kernels of the device. */
#ifndef SH_DISPATCH_DEVICE_IMPL_H
#define SH_DISPATCH_DEVICE_IMPL_H

#include "dispatch/device.h"
#include "dispatch/tensor_impl.h"

/* Has it memory that only copies reach? */
static inline bool sh__is_remote(const sh_tensor *t) { return t->device > SH_META; }

/* NULL and an error that names the device. */
sh_storage *sh__device_storage(int device, size_t bytes);
void sh__device_storage_free(sh_storage *storage);
/* A device that tensors can be made on; if not, an error that begins with `what`. */
sh_status sh__device_check(int device, const char *what);

/* t as a tensor that can be read: t itself if it is on the host, else a copy of the
 * same shape that the scope owns. NULL and an error that begins with `what` where there is no data. */
const sh_tensor *sh__on_host(const sh_tensor *t, const char *what);
/* Elements and dtypes as copy_ takes them, between any two devices that hold data. */
sh_status sh__device_copy(sh_tensor *to, const sh_tensor *from);

/* On the host alone, as copy_ does. */
sh_status sh__host_copy(sh_tensor *to, const sh_tensor *from);

/* Under the table lock: a device's backends begin and end with it. */
sh_status sh__backend_add(const char *name, int device, int *backend);
void sh__backends_end(int device);

#endif
