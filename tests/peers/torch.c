/* torch.c - nets run by torch, which a shared object made of torch.cpp brings, so that no other process carries it. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "tests/peers/peers.h"

static struct {
    void *(*open)(sh_module *traced, sh_tensor *input, int threads);
    void (*run)(void *state);
    numbers (*results)(void *state);
    void (*close)(void *state);
} torch;

static bool load(void) {
    const char *path = getenv("PEERS_TORCH");
    if (torch.open) return true;
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (path && *path && !library) fprintf(stderr, "%s\n", dlerror());
    if (!library) return false;
    *(void **)&torch.open = dlsym(library, "peer_open");
    *(void **)&torch.run = dlsym(library, "peer_run");
    *(void **)&torch.results = dlsym(library, "peer_results");
    *(void **)&torch.close = dlsym(library, "peer_close");
    return torch.open && torch.run && torch.results && torch.close;
}

bool torch_open(const peer_net *net, int threads, peer_runner *runner) {
    if (!load()) return false;
    SH_SCOPE_HERE;
    sh_module *module = net->make();
    sh_tensor *input = net->input();
    sh_module *traced =
        module ? sh_symbolic_trace(module, SH_INPUTS(input), &(sh_trace_options){.no_leaves = true}) : NULL;
    void *state = traced ? torch.open(traced, input, threads) : NULL;
    if (sh_error()) fprintf(stderr, "%s: %s\n", net->name, sh_error()->message);
    sh_clear_error();
    sh_module_release(traced);
    sh_module_release(module);
    *runner = (peer_runner){state, NAN, torch.run, torch.results, torch.close};
    return state != NULL;
}
