/* Its struct ends before its name. */
#include <shunt.h>
static const sh_plugin plugin = {.abi = SH_PLUGIN_ABI, .size = 8, .name = "small"};
const sh_plugin *sh_plugin_entry(uint32_t host_abi) {
    (void)host_abi;
    return &plugin;
}
