/* Of another ABI. */
#include <shunt.h>
static const sh_plugin plugin = {.abi = 77, .size = sizeof plugin, .name = "bad abi"};
const sh_plugin *sh_plugin_entry(uint32_t host_abi) {
    (void)host_abi;
    return &plugin;
}
