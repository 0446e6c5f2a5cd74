/* Declines. */
#include <shunt.h>
const sh_plugin *sh_plugin_entry(uint32_t host_abi) {
    (void)host_abi;
    return NULL;
}
