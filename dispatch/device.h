/* device.h - devices with memory of their own.
 *
 *     static const sh_device_vtable vtable = {
 *         SH_DEVICE_VTABLE_INIT, .allocate = my_alloc, .free = my_free, .copy = my_copy};
 *     sh_device npu;
 *     SH_TRY(sh_device_register("npu", &vtable, &npu));                            // and a backend "npu" on it
 *     SH_TRY(sh_kernel_register("add", "npu", my_add, NULL, "my npu", NULL));
 *     SH_TRY(sh_backend_fallback("npu", sh_device_host_fallback, NULL, "my npu", NULL));
 *     sh_tensor *x = sh_to_device(sh_rand(SH_SIZES(2, 3)), "npu"), *y = sh_add(x, x); // y is there too
 *
 * Results are allocated on the device of the arguments. Views need no kernel and composites are made of what there is;
 * any other op runs the device's kernel, its fallback, or is an error that lists what is registered. A kernel of the device
 * is given tensors of the device, whose sh_tensor_data is an address there, and numbers or 0-d tensors of the host, which
 * sh_item reads. Nothing else meets such an address: the library reads and prints by copying to the host, and kernels of
 * the host never get a tensor of another device.
 *
 * The functions of a vtable may be called from any thread, several at a time. They must live, and be ready, as long as
 * there is a tensor on the device, removed or not. */
#ifndef SH_DISPATCH_DEVICE_H
#define SH_DISPATCH_DEVICE_H

#include "dispatch/call.h"

SH_BEGIN_DECLS

typedef enum sh_copy_kind { SH_COPY_TO_DEVICE, SH_COPY_TO_HOST, SH_COPY_ON_DEVICE } sh_copy_kind;

typedef struct sh_device_vtable {
    size_t size; /* sizeof(sh_device_vtable) as the caller knows it */
    /* Memory for `bytes` (never 0), aligned for every dtype; NULL if there is none, with or without an error set. The library
     * adds offsets to the address and does nothing else with it. */
    void *(*allocate)(void *user, size_t bytes);
    void (*free)(void *user, void *memory, size_t bytes);
    /* Is done when it returns; comes after the kernels that were called before it. */
    sh_status (*copy)(void *user, void *to, const void *from, size_t bytes, sh_copy_kind kind);
    sh_status (*synchronise)(void *user); /* returns when all kernels have ended; optional */
    void *user;
} sh_device_vtable;
#define SH_DEVICE_VTABLE_INIT .size = sizeof(sh_device_vtable)

/* Adds a device and a backend of the same name, the device's default. The vtable is copied. An error if the name is
 * taken by a device or backend, or a function is missing. */
SH_API sh_status sh_device_register(const char *name, const sh_device_vtable *vtable, sh_device *device);
/* Ends a device and its backends: nothing new is allocated there and its kernels are not found any more. Tensors on it
 * stay, can be looked at and copied to the host. The name may then be used again. */
SH_API sh_status sh_device_remove(sh_device device);

/* By name; "cpu" is the host. SH_NO_DEVICE without an error if there is none. */
SH_API sh_device sh_device_find(const char *name);
/* "host", "meta", or as it was registered; that of a removed device still. */
SH_API const char *sh_device_name(sh_device device);
/* Devices so far, removed ones included: 0 is the host. */
SH_API uint32_t sh_device_count(void);
/* Can tensors be made there? */
SH_API bool sh_device_is_alive(sh_device device);
/* Waits for the device's kernels. Nothing to do on host and meta. */
SH_API sh_status sh_device_synchronise(sh_device device);

typedef struct sh_device_stats {
    int64_t live_bytes, peak_bytes; /* in storages of the device */
    int64_t live_storages;
    int64_t allocations;                    /* so far */
    int64_t bytes_to_host, bytes_to_device; /* copied so far */
} sh_device_stats;
/* Of a device with memory of its own; all zero for host (see sh_memory_stats_get) and meta. */
SH_API sh_device_stats sh_device_stats_get(sh_device device);

/* The tensor on another device: the op to.device, which modes see. t itself where it is there already. */
SH_API sh_tensor *sh_tensor_to(sh_tensor *t, sh_device device);

/* A boxed kernel for sh_backend_fallback or one op: copies the arguments to the host, runs the op there, and brings back the
 * results and what was written. */
SH_API sh_status sh_device_host_fallback(sh_call *call, void *user);

SH_END_DECLS

#endif
