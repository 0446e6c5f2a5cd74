/* One of each: kernel, op with a composite, backend with a fallback, mode. Its kernels answer numbers that tell them. */
#include <shunt.h>

/* Calls no op: the backend that it falls back for may be the one that is chosen. */
static sh_status fill(sh_call *call, void *user) {
    sh_tensor *self = sh_call_tensor(call, 0), *made = sh_call_result(call, 0).as.tensor, *result = made;
    if (!made)
        result = sh_tensor_new(SH_F32, sh_ints_of(sh_tensor_sizes(self), (size_t)sh_tensor_ndim(self)));
    if (!result) return sh_error()->code;
    if (sh_tensor_dtype(result) != SH_F32) return sh_fail(SH_ERROR_DTYPE, "good: expected f32");
    for (int64_t i = 0; i < sh_tensor_numel(result); i++)
        ((float *)sh_tensor_data(result))[i] = *(const float *)user;
    return made ? SH_OK : sh_call_set_tensor(call, result);
}

static sh_status watch(sh_mode *mode, sh_call *call) {
    (void)mode, (void)call;
    return SH_PASS;
}

static sh_status make(const sh_options *options, sh_mode **mode) {
    if (sh_option_int(options, "level") > 9)
        return sh_fail(SH_ERROR_VALUE, "good: level %lld is above 9",
                       (long long)sh_option_int(options, "level"));
    *mode = sh_mode_new(watch, &(sh_mode_options){.name = "good", .kind = SH_MODE_WATCHING});
    return *mode ? SH_OK : sh_error()->code;
}

static float hooked = 11, by_composite = 12, by_fallback = 13;
static const sh_plugin_backend backends[] = {{"goodback", NULL, fill, &by_fallback},
                                             {NULL, NULL, NULL, NULL}};
static const sh_op_options op_options = {.composite = fill, .kernel_user = &by_composite};
static const sh_plugin_op ops[] = {{"good::op(Tensor self) -> Tensor", &op_options}, {NULL, NULL}};
static const sh_plugin_kernel kernels[] = {{"add", "cpu", fill, &hooked}, {NULL, NULL, NULL, NULL}};
static const sh_option options[] = {{"level", SH_OPTION_INT, "3", NULL, "how good"},
                                    {NULL, SH_OPTION_STRING, NULL, NULL, NULL}};
static const sh_plugin_mode modes[] = {{"good", "watches", options, make}, {NULL, NULL, NULL, NULL}};

static sh_status init(const sh_plugin_host *host) {
    if (host->abi != SH_PLUGIN_ABI || !host->path || !host->version) return SH_ERROR_VALUE;
    return sh_kernel_register("mul", "cpu", fill, &hooked, "good's init", NULL);
}

static const sh_plugin plugin = {SH_PLUGIN_INIT, .name = "good",     .version = "2.1", .backends = backends,
                                 .ops = ops,     .kernels = kernels, .modes = modes,   .init = init};
const sh_plugin *sh_plugin_entry(uint32_t host_abi) {
    (void)host_abi;
    return &plugin;
}
