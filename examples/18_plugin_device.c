/* A device from a plug-in: tensors move there, ops run there, and what it has no kernel for runs on the host. */
#include <libgen.h>
#include <shunt.h>
#include <string.h>

static sh_status on_the_device(void) {
    SH_SCOPE_HERE;
    sh_tensor *x = sh_to_device(sh_reshape(SH_FLOATS(1, 2, 3, 4), SH_SIZES(2, 2)), "logged");
    sh_tensor *y = sh_to_device(sh_reshape(SH_FLOATS(1, 0, 0, -1), SH_SIZES(2, 2)), "logged");
    sh_tensor *product = sh_matmul(sh_add(x, y), y);
    printf("relu has no kernel there:\n");
    sh_tensor *result = sh_relu(product);
    printf("and is printed by a copy:\n");
    if (sh_print(stdout, result) < 0) return sh_error()->code;
    const sh_device_stats stats = sh_device_stats_get(sh_tensor_device(result));
    printf("%lld storages, %lld bytes there\n", (long long)stats.live_storages, (long long)stats.live_bytes);
    sh_add(result, SH_FLOATS(1, 2)); /* devices don't mix */
    printf("%s\n", sh_error()->message);
    sh_clear_error();
    return SH_OK;
}

int main(int argc, char **argv) {
    char folder[4000], path[4096];
    sh_plugin_handle plugin;
    (void)argc;
    snprintf(folder, sizeof folder, "%s", argv[0]);
    snprintf(path, sizeof path, "%s/plugins/logged_device.so", dirname(folder));
    if (sh_plugin_load(path, &plugin) < 0 || on_the_device() < 0) {
        fprintf(stderr, "%s\n", sh_error()->message);
        return 1;
    }
    sh_plugin_unload(plugin);
    printf("unloaded: %s\n", sh_to_device(SH_FLOATS(1), "logged") ? "still there" : sh_error()->message);
    return 0;
}
