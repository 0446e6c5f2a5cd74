/* fx_nets.h - the small nets of tests/golden/fx_nets.py, written line by line alike. */
#ifndef SH_TESTS_FX_NETS_H
#define SH_TESTS_FX_NETS_H

#include "shunt.h"

typedef struct fx_net {
    const char *name;
    sh_module *(*make)(void); /* the caller's; NULL and an error */
    int ninputs;
    struct {
        sh_dtype dtype;
        int ndim;
        int64_t sizes[4];
    } inputs[3];
} fx_net;

extern const fx_net fx_nets[];
extern const int fx_nets_count;

/* Inputs of the net's shapes: zeros. */
sh_values fx_net_inputs(const fx_net *net, sh_value *room);

#endif
