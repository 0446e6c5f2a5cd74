/* Kernels with the first element wrong: of relu, and of what a program calls as gemm. With BROKEN=crash they crash. */
#include <shunt.h>
#include <stdlib.h>
#include <string.h>

static sh_status spoil(sh_call *call, void *user) {
    (void)user;
    const char *how = getenv("BROKEN");
    if (how && strcmp(how, "crash") == 0) *(volatile int *)NULL = 1;
    SH_TRY(sh_next_kernel(call));
    sh_tensor *result = sh_call_result(call, 0).as.tensor;
    if (sh_tensor_dtype(result) == SH_F32) *(float *)sh_tensor_data(result) += 1000;
    if (sh_tensor_dtype(result) == SH_F64) *(double *)sh_tensor_data(result) += 1000;
    return SH_OK;
}

static const sh_plugin_kernel kernels[] = {
    {"relu", "cpu", spoil, NULL}, {"blas::gemm", NULL, spoil, NULL}, {NULL, NULL, NULL, NULL}};
static const sh_plugin plugin = {SH_PLUGIN_INIT, .name = "broken", .kernels = kernels};
const sh_plugin *sh_plugin_entry(uint32_t host_abi) {
    (void)host_abi;
    return &plugin;
}
