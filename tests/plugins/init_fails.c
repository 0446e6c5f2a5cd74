/* Registers one of each kind by its tables and by init, then fails. */
#include <shunt.h>

static sh_status kernel(sh_call *call, void *user) {
    (void)user;
    return sh_fail(SH_ERROR_KERNEL, "%s of init_fails ran", sh_call_name(call));
}
static void *allocate(void *user, size_t bytes) {
    (void)user, (void)bytes;
    return NULL;
}
static void end(void *user, void *memory, size_t bytes) { (void)user, (void)memory, (void)bytes; }
static sh_status copy(void *user, void *to, const void *from, size_t bytes, sh_copy_kind kind) {
    (void)user, (void)to, (void)from, (void)bytes, (void)kind;
    return SH_OK;
}
static sh_status make(const sh_options *options, sh_mode **mode) {
    (void)options;
    *mode = sh_mode_new(NULL, NULL);
    return SH_OK;
}

static const sh_device_vtable vtable = {SH_DEVICE_VTABLE_INIT, .allocate = allocate, .free = end,
                                        .copy = copy};
static const sh_plugin_device devices[] = {{"halfway", &vtable, kernel, NULL}, {NULL, NULL, NULL, NULL}};
static const sh_plugin_backend backends[] = {{"halfway2", NULL, NULL, NULL}, {NULL, NULL, NULL, NULL}};
static const sh_op_options op_options = {.composite = kernel};
static const sh_plugin_op ops[] = {{"halfway::op(Tensor self) -> Tensor", &op_options}, {NULL, NULL}};
static const sh_plugin_kernel kernels[] = {{"add", "cpu", kernel, NULL}, {NULL, NULL, NULL, NULL}};
static const sh_plugin_mode modes[] = {{"halfway", "never", NULL, make}, {NULL, NULL, NULL, NULL}};

static sh_status init(const sh_plugin_host *host) {
    (void)host;
    SH_TRY(sh_kernel_register("mul", "cpu", kernel, NULL, "init_fails", NULL));
    SH_TRY(sh_rule_add(&(sh_rule){.ops = "sub", .backend = "ref"}, NULL));
    return sh_fail(SH_ERROR_VALUE, "the moon is not full");
}

static const sh_plugin plugin = {SH_PLUGIN_INIT,       .name = "init fails", .devices = devices,
                                 .backends = backends, .ops = ops,           .kernels = kernels,
                                 .modes = modes,       .init = init};
const sh_plugin *sh_plugin_entry(uint32_t host_abi) {
    (void)host_abi;
    return &plugin;
}
