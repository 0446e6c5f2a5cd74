/* A plug-in that replaces a kernel, and brings an op and a mode:
 *
 *     cc -shared -fPIC $(pkg-config --cflags shunt) relu6_hook.c -o relu6_hook.so
 *     shunt run --hook ./relu6_hook.so --mode tally:ops=relu6 model.onnx
 */
#include <shunt.h>
#include <stdlib.h>

/* min(max(x, 0), limit) of a contiguous float tensor; a strided one is made contiguous first. */
static sh_status clip(sh_call *call, double limit) {
    sh_tensor *x = sh_to(sh_contiguous(sh_call_tensor(call, 0)), SH_F32);
    sh_tensor *y = sh_empty_like(x);
    if (!y) return sh_error()->code;
    const float *from = sh_tensor_data(x);
    float *to = sh_tensor_data(y), most = (float)limit;
    for (int64_t i = 0; i < sh_tensor_numel(x); i++)
        to[i] = from[i] < 0 ? 0 : from[i] > most ? most : from[i]; /* NaN stays */
    return sh_copy_(sh_call_result(call, 0).as.tensor, y) ? SH_OK : sh_error()->code;
}

static sh_status relu6(sh_call *call, void *user) {
    (void)user;
    return clip(call, 6);
}

static sh_status clipped(sh_call *call, void *user) {
    (void)user;
    return clip(call, sh_value_as_double(sh_call_arg(call, 1)));
}

static sh_status same_as_self(const sh_value *args, sh_spec *results, void *user) {
    const sh_tensor *self = args[0].as.tensor;
    (void)user;
    results[0].dtype = sh_tensor_dtype(self);
    results[0].ndim = sh_tensor_ndim(self);
    for (int i = 0; i < sh_tensor_ndim(self); i++) results[0].sizes[i] = sh_tensor_sizes(self)[i];
    return SH_OK;
}

/* ---- the mode ---- */

typedef struct tally {
    const char *op; /* NULL: all */
    long calls;
} tally;

static sh_status count(sh_mode *mode, sh_call *call) {
    (void)call;
    ((tally *)sh_mode_user(mode))->calls++;
    return SH_PASS;
}

static void tell(void *user) {
    tally *t = user;
    fprintf(stderr, "tally: %ld calls of %s\n", t->calls, t->op ? t->op : "all ops");
    free((void *)t->op);
    free(t);
}

static sh_status make_tally(const sh_options *options, sh_mode **mode) {
    tally *t = calloc(1, sizeof *t);
    const char *op = sh_option_text(options, "ops");
    if (!t) return sh_fail(SH_ERROR_MEMORY, "out of memory");
    if (op && asprintf((char **)&t->op, "%s", op) < 0) t->op = NULL;
    const char *const wanted[] = {t->op, NULL};
    *mode = sh_mode_new(count, &(sh_mode_options){.name = "tally",
                                                  .kind = SH_MODE_WATCHING,
                                                  .ops = t->op ? wanted : NULL,
                                                  .user = t,
                                                  .destroy = tell});
    return *mode ? SH_OK : sh_error()->code;
}

static const sh_option options[] = {{"ops", SH_OPTION_STRING, NULL, NULL, "the op to count; default all"},
                                    {NULL, SH_OPTION_STRING, NULL, NULL, NULL}};
static const sh_op_options clipped_options = {.infer = same_as_self, .tags = SH_OP_PURE | SH_OP_POINTWISE};
static const sh_plugin_op ops[] = {{"mine::clipped(Tensor self, float limit=6) -> Tensor", &clipped_options},
                                   {NULL, NULL}};
static const sh_plugin_kernel kernels[] = {
    {"relu6", "cpu", relu6, NULL}, {"mine::clipped", "cpu", clipped, NULL}, {NULL, NULL, NULL, NULL}};
static const sh_plugin_mode modes[] = {{"tally", "counts calls", options, make_tally},
                                       {NULL, NULL, NULL, NULL}};
static const sh_plugin plugin = {SH_PLUGIN_INIT, .name = "relu6 hook", .ops = ops, .kernels = kernels,
                                 .modes = modes};

const sh_plugin *sh_plugin_entry(uint32_t host_abi) {
    (void)host_abi;
    return &plugin;
}
