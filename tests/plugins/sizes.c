/* Another size than the host's: older and shorter, with rubbish behind it, or newer and longer, by SIZES_OF=newer. */
#include <shunt.h>
#include <stdlib.h>
#include <string.h>

static struct longer {
    sh_plugin plugin;
    const char *what_comes_later[4];
} longer;

const sh_plugin *sh_plugin_entry(uint32_t host_abi) {
    const char *which = getenv("SIZES_OF");
    const bool newer = which && strcmp(which, "newer") == 0;
    memset(&longer, 0x5a, sizeof longer);
    longer.plugin.abi = host_abi;
    longer.plugin.size = newer ? sizeof longer : offsetof(sh_plugin, devices);
    longer.plugin.name = "sizes";
    longer.plugin.version = longer.plugin.description = NULL;
    if (newer) {
        longer.plugin.devices = NULL;
        longer.plugin.backends = NULL;
        longer.plugin.ops = NULL;
        longer.plugin.kernels = NULL;
        longer.plugin.modes = NULL;
        longer.plugin.init = NULL;
        longer.plugin.fini = NULL;
    }
    return &longer.plugin;
}
