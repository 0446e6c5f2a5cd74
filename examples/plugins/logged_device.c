/* A plug-in that brings a device: memory of its own, two kernels, and the host for all other ops. It tells of every transfer.
 *
 *     cc -shared -fPIC $(pkg-config --cflags shunt) logged_device.c -o logged_device.so
 */
#include <shunt.h>
#include <stdlib.h>
#include <string.h>

/* As with a real device, the program can't follow its addresses: a high bit is set. */
#define FAR ((uintptr_t)1 << 62)

static void *near_of(const void *address) { return (void *)((uintptr_t)address & ~FAR); }

static void *allocate(void *user, size_t bytes) {
    (void)user;
    void *memory = malloc(bytes);
    return memory ? (void *)((uintptr_t)memory | FAR) : NULL;
}

static void end(void *user, void *memory, size_t bytes) {
    (void)user, (void)bytes;
    free(near_of(memory));
}

static sh_status copy(void *user, void *to, const void *from, size_t bytes, sh_copy_kind kind) {
    static const char *const kinds[] = {"to the device", "to the host", "on the device"};
    (void)user;
    printf("logged: %zu bytes %s\n", bytes, kinds[kind]);
    memcpy(near_of(to), near_of(from), bytes);
    return SH_OK;
}

static const sh_device_vtable vtable = {SH_DEVICE_VTABLE_INIT, .allocate = allocate, .free = end,
                                        .copy = copy};

/* The elements of a tensor that a kernel here takes, or NULL. */
static float *floats(sh_tensor *t, int ndim) {
    const bool takes = t && sh_tensor_device(t) == sh_device_find("logged") && sh_tensor_dtype(t) == SH_F32 &&
                       sh_tensor_is_contiguous(t) && (ndim < 0 || sh_tensor_ndim(t) == ndim);
    return takes ? near_of(sh_tensor_data(t)) : NULL;
}

/* The result is allocated already. Anything but floats of one shape goes to the host. */
static sh_status add(sh_call *call, void *user) {
    sh_tensor *self = sh_call_tensor(call, 0), *other = sh_call_tensor(call, 1);
    sh_tensor *result = sh_call_result(call, 0).as.tensor;
    const float *a = floats(self, -1), *b = floats(other, sh_tensor_ndim(self));
    float *r = floats(result, sh_tensor_ndim(self));
    const double alpha = sh_value_as_double(sh_call_arg(call, 2));
    bool same = a && b && r;
    for (int i = 0; same && i < sh_tensor_ndim(self); i++)
        same = sh_tensor_size(self, i) == sh_tensor_size(other, i);
    if (!same) return sh_device_host_fallback(call, user);
    for (int64_t i = 0; i < sh_tensor_numel(self); i++) r[i] = a[i] + (float)alpha * b[i];
    printf("logged: add runs on the device\n");
    return SH_OK;
}

static sh_status matmul(sh_call *call, void *user) {
    sh_tensor *self = sh_call_tensor(call, 0), *other = sh_call_tensor(call, 1);
    const float *a = floats(self, 2), *b = floats(other, 2);
    float *r = floats(sh_call_result(call, 0).as.tensor, 2);
    if (!a || !b || !r) return sh_device_host_fallback(call, user);
    const int64_t m = sh_tensor_size(self, 0), k = sh_tensor_size(self, 1), n = sh_tensor_size(other, 1);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++) sum += (double)a[i * k + p] * (double)b[p * n + j];
            r[i * n + j] = (float)sum;
        }
    printf("logged: matmul runs on the device\n");
    return SH_OK;
}

static const sh_plugin_device devices[] = {{"logged", &vtable, sh_device_host_fallback, NULL},
                                           {NULL, NULL, NULL, NULL}};
static const sh_plugin_kernel kernels[] = {
    {"add", "logged", add, NULL}, {"matmul", "logged", matmul, NULL}, {NULL, NULL, NULL, NULL}};
static const sh_plugin plugin = {SH_PLUGIN_INIT,     .name = "logged device",
                                 .version = "1.0",   .description = "a device that tells of its transfers",
                                 .devices = devices, .kernels = kernels};

const sh_plugin *sh_plugin_entry(uint32_t host_abi) {
    (void)host_abi;
    return &plugin;
}
