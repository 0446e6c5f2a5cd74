#include "ops/dlpack.h"

#include "dispatch/device.h"
#include "dispatch/no_data.h"
#include "dispatch/tensor_impl.h"

enum {
    CPU = 1,
    CODE_INT = 0,
    CODE_UINT = 1,
    CODE_FLOAT = 2,
    CODE_BFLOAT = 4,
    CODE_COMPLEX = 5,
    CODE_BOOL = 6,
    READ_ONLY = 1
};

static const struct {
    sh_dtype dtype;
    uint8_t code, bits;
} dtypes[] = {{SH_F32, CODE_FLOAT, 32},   {SH_F64, CODE_FLOAT, 64},   {SH_F16, CODE_FLOAT, 16},
              {SH_BF16, CODE_BFLOAT, 16}, {SH_I64, CODE_INT, 64},     {SH_I32, CODE_INT, 32},
              {SH_I16, CODE_INT, 16},     {SH_I8, CODE_INT, 8},       {SH_U8, CODE_UINT, 8},
              {SH_B8, CODE_BOOL, 8},      {SH_C64, CODE_COMPLEX, 64}, {SH_C128, CODE_COMPLEX, 128}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* ---- out ---- both managed forms share one block: the struct, then sizes and strides */

typedef struct handed_out {
    union {
        DLManagedTensor plain;
        DLManagedTensorVersioned versioned;
    } managed;
    sh_tensor *t;
    int64_t shape[SH_MAX_DIMS], strides[SH_MAX_DIMS];
} handed_out;

static void take_back(handed_out *h) {
    sh_release(h->t);
    sh__free(h);
}
static void delete_plain(DLManagedTensor *self) { take_back(self->manager_ctx); }
static void delete_versioned(DLManagedTensorVersioned *self) { take_back(self->manager_ctx); }

static handed_out *hand_out(sh_tensor *t, DLTensor *dl) {
    if (sh__error_pending()) return NULL;
    if (t && sh__is_traced(t)) {
        sh__no_data(t, "sh_to_dlpack");
        return NULL;
    }
    if (!t || t->device != SH_HOST) {
        if (t)
            sh_fail(SH_ERROR_DEVICE, "sh_to_dlpack: the tensor is on %s, expected host",
                    sh_device_name((sh_device)t->device));
        else
            sh_fail(SH_ERROR_NULL, "sh_to_dlpack: the tensor is NULL");
        return NULL;
    }
    handed_out *h = sh__calloc(1, sizeof *h);
    if (!h) return NULL;
    h->t = sh_keep(t);
    sh__expose(t);
    *dl = (DLTensor){
        .data = t->data, .device = {CPU, 0}, .ndim = t->ndim, .shape = h->shape, .strides = h->strides};
    for (int i = 0; i < t->ndim; i++) {
        h->shape[i] = t->sizes[i];
        h->strides[i] = t->strides[i];
    }
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == (sh_dtype)t->dtype)
            dl->dtype = (DLDataType){dtypes[i].code, dtypes[i].bits, 1};
    return h;
}

DLManagedTensor *sh_to_dlpack_unversioned(sh_tensor *t) {
    DLTensor dl;
    handed_out *h = hand_out(t, &dl);
    if (!h) return NULL;
    h->managed.plain = (DLManagedTensor){dl, h, delete_plain};
    return &h->managed.plain;
}

DLManagedTensorVersioned *sh_to_dlpack(sh_tensor *t) {
    DLTensor dl;
    handed_out *h = hand_out(t, &dl);
    if (!h) return NULL;
    h->managed.versioned = (DLManagedTensorVersioned){{1, 0}, h, delete_versioned, 0, dl};
    return &h->managed.versioned;
}

/* ---- in ---- */

static sh_dtype dtype_of(DLDataType type) {
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].code == type.code && dtypes[i].bits == type.bits && type.lanes == 1)
            return dtypes[i].dtype;
    return SH_NO_DTYPE;
}

static sh_status check(const DLTensor *dl) {
    if (dl->device.device_type != CPU)
        return sh_fail(SH_ERROR_DEVICE, "sh_from_dlpack: device type %d is not the CPU (1)",
                       dl->device.device_type);
    if (!dtype_of(dl->dtype))
        return sh_fail(SH_ERROR_DTYPE, "sh_from_dlpack: type code %d with %d bits and %d lanes is not known",
                       dl->dtype.code, dl->dtype.bits, dl->dtype.lanes);
    if (dl->ndim < 0 || dl->ndim > SH_MAX_DIMS)
        return sh_fail(SH_ERROR_SHAPE, "sh_from_dlpack: %d dimensions, the most is %d", dl->ndim,
                       SH_MAX_DIMS);
    if (dl->ndim && !dl->shape) return sh_fail(SH_ERROR_NULL, "sh_from_dlpack: shape is NULL");
    return SH_OK;
}

static sh_tensor *take_in(const DLTensor *dl, void (*deleter)(void *context), void *context) {
    if (check(dl) < 0) return NULL;
    const sh_ints sizes = {dl->ndim ? dl->shape : (const int64_t[]){0}, (size_t)dl->ndim};
    const sh_ints strides = {dl->strides, dl->strides ? (size_t)dl->ndim : 0};
    char *data = dl->data ? (char *)dl->data + dl->byte_offset : NULL;
    return sh_from_data(data, dtype_of(dl->dtype), sizes, strides, deleter, context);
}

static void end_plain(void *context) {
    DLManagedTensor *managed = context;
    if (managed->deleter) managed->deleter(managed);
}
static void end_versioned(void *context) {
    DLManagedTensorVersioned *managed = context;
    if (managed->deleter) managed->deleter(managed);
}

sh_tensor *sh_from_dlpack_unversioned(DLManagedTensor *managed) {
    if (sh__error_pending()) return NULL;
    if (managed) return take_in(&managed->dl_tensor, end_plain, managed);
    sh_fail(SH_ERROR_NULL, "sh_from_dlpack: the managed tensor is NULL");
    return NULL;
}

sh_tensor *sh_from_dlpack(DLManagedTensorVersioned *managed) {
    if (sh__error_pending()) return NULL;
    if (!managed)
        sh_fail(SH_ERROR_NULL, "sh_from_dlpack: the managed tensor is NULL");
    else if (managed->version.major != 1)
        sh_fail(SH_ERROR_UNSUPPORTED, "sh_from_dlpack: DLPack version %u, expected 1",
                managed->version.major);
    else if (managed->flags & READ_ONLY)
        sh_fail(SH_ERROR_UNSUPPORTED, "sh_from_dlpack: the tensor is read-only; copy it first");
    else
        return take_in(&managed->dl_tensor, end_versioned, managed);
    return NULL;
}
