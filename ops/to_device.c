/* to_device.c - tensors that change their device, and ops that run on the host for a device that lacks them. */
#include "dispatch/chain.h"
#include "dispatch/device_impl.h"
#include "dispatch/suggest.h"
#include "ops/kernels.h"
#include "ops/ops.h"
#include "ops/views.h"

/* ---- the op ---- */

static sh_status find(const char *name, sh_device *device) {
    const char *names[SH_MAX_DEVICES];
    size_t n = 0;
    *device = sh_device_find(name);
    if (*device != SH_NO_DEVICE) return SH_OK;
    for (uint32_t i = 0; i < sh_device_count(); i++)
        if (sh_device_is_alive((sh_device)i)) names[n++] = sh_device_name((sh_device)i);
    const char *near = sh_suggest(name, names, n);
    return sh_fail(SH_ERROR_DEVICE, "to.device: there is no device %s%s%s", name,
                   near ? "; did you mean " : "", near ? near : "");
}

/* A row-major copy on any device, with one reference that is the caller's. */
static sh_tensor *copy_on(sh_device device, const sh_tensor *self) {
    sh_spec spec = {.dtype = (sh_dtype)self->dtype, .ndim = self->ndim};
    memcpy(spec.sizes, self->sizes, sizeof spec.sizes);
    sh_tensor *copy = sh__tensor_alloc_any(&spec, (int)device);
    if (!copy || sh__device_copy(copy, self) >= 0) return copy;
    sh__release(copy);
    return NULL;
}

/* What has no data has none anywhere: it stands for the tensor that the same call gives when there is data. */
sh_status sh_any_to_device(sh_value *results, sh_tensor *self, const char *device) {
    sh_device to;
    SH_TRY(find(device, &to));
    if (self->device == SH_META) return sh_give(results, sh__tensor_view(self));
    return sh_give(results, (int)to == self->device ? sh_keep(self) : copy_on(to, self));
}

sh_tensor *sh_tensor_to(sh_tensor *t, sh_device device) {
    if (sh__error_pending()) return NULL;
    if (!t || sh__device_check((int)device, "sh_tensor_to") < 0) {
        if (!t) sh_fail(SH_ERROR_NULL, "sh_tensor_to: t is NULL");
        return NULL;
    }
    return (int)device == t->device ? t : sh_to_device(t, sh_device_name(device));
}

/* ---- the fallback ---- */

enum { MOST_TENSORS = 64 };

typedef struct near_call {
    sh_value args[SH_MAX_ARGS];
    sh_tensor *room[MOST_TENSORS]; /* of lists */
    size_t used;
} near_call;

static sh_tensor *near_tensor(const sh_call *call, sh_tensor *t) {
    return (sh_tensor *)(uintptr_t)sh__on_host(t, call->op->name);
}

static sh_status bring_list(const sh_call *call, near_call *near, uint32_t i) {
    const sh_value list = call->args[i];
    if (list.count > MOST_TENSORS - near->used)
        return sh_fail(SH_ERROR_ARGUMENT, "%s: lists of more than %d tensors can't be brought to the host",
                       call->op->name, MOST_TENSORS);
    sh_tensor **at = near->room + near->used;
    near->used += list.count;
    for (uint32_t k = 0; k < list.count; k++) {
        at[k] = list.as.tensors[k] ? near_tensor(call, list.as.tensors[k]) : NULL;
        if (list.as.tensors[k] && !at[k]) return sh_error()->code;
    }
    near->args[i] = sh_value_tensors((sh_tensors){at, list.count});
    return SH_OK;
}

static sh_status bring(const sh_call *call, near_call *near) {
    for (uint32_t i = 0; i < call->nargs; i++) {
        near->args[i] = call->args[i];
        if (call->args[i].tag == SH_TAG_TENSORS) SH_TRY(bring_list(call, near, i));
        if (call->args[i].tag != SH_TAG_TENSOR) continue;
        sh_tensor *t = near_tensor(call, call->args[i].as.tensor);
        if (!t) return sh_error()->code;
        near->args[i] = sh_value_tensor(t);
    }
    return SH_OK;
}

static sh_status bring_back_written(const sh_call *call, const near_call *near) {
    for (uint32_t i = 0; i < call->nargs; i++)
        if (call->schema->params[i].written && call->args[i].tag == SH_TAG_TENSOR)
            SH_TRY(sh__device_copy(call->args[i].as.tensor, near->args[i].as.tensor));
    return SH_OK;
}

/* What a result on the host is on the device: an argument, a view of one, or new. Scope-owned or borrowed. */
static sh_tensor *far_tensor(const sh_call *call, const near_call *near, sh_tensor *t) {
    for (uint32_t i = 0; i < call->nargs; i++) {
        if (near->args[i].tag != SH_TAG_TENSOR || near->args[i].as.tensor->storage != t->storage) continue;
        const sh_tensor *from = near->args[i].as.tensor;
        sh_tensor *far = call->args[i].as.tensor;
        if (t == from) return far;
        if (t->dtype != from->dtype || !sh__is_remote(far)) break;
        return sh_tensor_as_strided(far, sh_ints_of(t->sizes, t->ndim), sh_ints_of(t->strides, t->ndim),
                                    (t->data - from->data) / (int64_t)from->element);
    }
    sh_tensor *copy = copy_on((sh_device)call->device, t);
    return copy ? sh__own(copy) : NULL;
}

static sh_status set_list(sh_call *call, const near_call *near, uint32_t i, sh_value list) {
    sh_tensor *at[MOST_TENSORS];
    if (list.count > MOST_TENSORS)
        return sh_fail(SH_ERROR_RESULT, "%s: lists of more than %d tensors can't be brought from the host",
                       call->op->name, MOST_TENSORS);
    for (uint32_t k = 0; k < list.count; k++)
        if (!(at[k] = far_tensor(call, near, list.as.tensors[k]))) return sh_error()->code;
    return sh_call_set_result(call, i, sh_value_tensors((sh_tensors){at, list.count}));
}

static sh_status bring_back_result(sh_call *call, const near_call *near, uint32_t i, sh_value result) {
    const sh_value made = sh_call_result(call, i);
    if (result.tag == SH_TAG_TENSORS) return set_list(call, near, i, result);
    if (made.tag == SH_TAG_TENSOR) return sh__device_copy(made.as.tensor, result.as.tensor);
    sh_tensor *far = far_tensor(call, near, result.as.tensor);
    return far ? sh_call_set_result(call, i, sh_value_tensor(far)) : sh_error()->code;
}

sh_status sh_device_host_fallback(sh_call *call, void *user) {
    near_call near = {.used = 0};
    sh_value results[SH_MAX_RESULTS];
    (void)user;
    if (call->device <= SH_META)
        return sh_fail(SH_ERROR_KERNEL, "%s: the host fallback was called for tensors that are on %s",
                       call->op->name, sh__device_name(call->device));
    SH_TRY(bring(call, &near));
    SH_TRY(
        sh__call_results(call->op, SH_FUNCTIONAL, NULL, near.args, results, -1, __builtin_frame_address(0)));
    SH_TRY(bring_back_written(call, &near));
    for (uint32_t i = 0; i < call->nresults; i++) SH_TRY(bring_back_result(call, &near, i, results[i]));
    return SH_OK;
}
