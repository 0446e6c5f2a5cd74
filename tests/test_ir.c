#include "tests/ir.h"
TestSuite(ir);
Test(ir, nets) {
    for (int i = 0; i < fx_nets_count; i++) SH_SCOPE {
        sh_value room[3];
        sh_module *net = fx_nets[i].make();
        sh_module *traced = sh_symbolic_trace(net, fx_net_inputs(&fx_nets[i], room), NULL);
        cr_assert(traced != NULL, "%s", message());
        char *t = sh_graph_module_ir(traced);
        puts(t?t:message());
        cr_expect(module_comes_back(t));
        sh_module_release(traced); sh_module_release(net);
    }
}
