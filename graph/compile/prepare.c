/* prepare.c - what is done to a graph before it becomes a plan: values in the place of writes, less of everything, and
 * kernels that are made of other ops opened. */
#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/compile/compile_impl.h"
#include "graph/effects.h"
#include "graph/module/module_impl.h"
#include "graph/pass/constant.h"
#include "graph/pass/pass.h"
#include "graph/pass/product.h"

/* Has the op no kernel of its own on the backend that it would run on? What a mode is to see it sees whole. */
static bool is_split(const sh_node *node, void *user) {
    sh_binding b;
    (void)user;
    if (sh_node_meta(node, SH_META_KEPT).kind == SH_META_INT || !sh__binds(node, &b)) return false;
    const sh_slot *slot = sh__slot_here(b.op, SH_HOST);
    return slot && slot->composite && !slot->hooked && !slot->ruled;
}

static sh_status decompose(sh_graph *graph) {
    size_t changes = 0;
    SH_TRY(sh_decompose(graph, is_split, NULL, &changes));
    return changes ? sh_pass_dead_code(graph, NULL) : SH_OK;
}

sh_status sh__graph_take_tensors(sh_graph *graph) {
    bool calls_module = false;
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        sh_tensor *t = sh__constant_of(node);
        if (t && !sh_graph_attr(graph, node->target)) SH_TRY(sh_graph_set_attr(graph, node->target, t));
        calls_module |= node->opcode == SH_CALL_MODULE;
    }
    if (!calls_module) sh__graph_set_root(graph, (sh_graph_root){0});
    return SH_OK;
}

/* Two inputs that lie in one memory are two placeholders to a pass, which then doesn't see that a write to one is read of
 * the other. */
sh_status sh__graph_prepare(sh_graph *graph, const sh_compile_options *options, bool shared) {
    const sh_pass exact[] = {sh_pass_functionalize,  sh_pass_dead_code, sh_pass_cse,
                             sh_pass_fold_constants, sh_pass_dead_code, NULL};
    if (!shared && !options->unfused) SH_TRY(sh_run_passes(graph, exact, NULL, NULL));
    if (!shared && !options->unfused && !options->exact) {
        SH_TRY(sh__fuse_for_plan(graph));
        SH_TRY(sh_pass_dead_code(graph, NULL));
    }
    SH_TRY(decompose(graph));
    return options->frozen ? sh_graph_delete_all_unused_attrs(graph, NULL) : SH_OK;
}
