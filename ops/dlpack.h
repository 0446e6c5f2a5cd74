/* dlpack.h - tensors in and out of other libraries, without a copy, by the DLPack protocol.
 *
 * The structs are those of DLPack 1.0 (dmlc/dlpack, include/dlpack/dlpack.h): the versioned managed tensor and the older
 * unversioned one. */
#ifndef SH_OPS_DLPACK_H
#define SH_OPS_DLPACK_H

#include "dispatch/tensor.h"

SH_BEGIN_DECLS

#ifndef DLPACK_DLPACK_H_
typedef struct {
    uint32_t major, minor;
} DLPackVersion;
typedef struct {
    int32_t device_type, device_id;
} DLDevice;
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif

/* Hands t out; it lives until the receiver calls the deleter. NULL and an error for a meta tensor. */
SH_API DLManagedTensorVersioned *sh_to_dlpack(sh_tensor *t);
SH_API DLManagedTensor *sh_to_dlpack_unversioned(sh_tensor *t);

/* Takes a tensor in and, on success, its ownership: the deleter runs once, when the last view dies. On an error the caller
 * still owns it. Scope-owned. Refused: other devices than the CPU, lanes other than 1, dtypes shunt lacks, read-only
 * tensors, more than 8 dimensions, another major version. */
SH_API sh_tensor *sh_from_dlpack(DLManagedTensorVersioned *managed);
SH_API sh_tensor *sh_from_dlpack_unversioned(DLManagedTensor *managed);

SH_END_DECLS

#endif
