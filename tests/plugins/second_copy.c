/* Linked with libshunt, as the Makefile builds it. */
#include <shunt.h>
static const sh_plugin plugin = {SH_PLUGIN_INIT, .name = "second copy"};
const sh_plugin *sh_plugin_entry(uint32_t host_abi) {
    (void)host_abi;
    return sh_error() ? NULL : &plugin;
}
