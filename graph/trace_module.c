/* trace_module.c - modules in a trace: leaves become call_module nodes, others are run through. */
#include <string.h>

#include "dispatch/chain.h"
#include "graph/trace_impl.h"

/* ---- is it a leaf? ---- */

/* Composites are made of other ops, which a mode of the dispatch level may want. */
static bool wants_op(const sh_entry *entry, const char *name) {
    const sh_op *op = sh_op_find(name);
    if (!op) return true;
    if ((op->tags & SH_OP_COMPOSITE) && entry->mode->level == SH_LEVEL_DISPATCH) return true;
    return sh__entry_wants(entry, op);
}

static bool wants_any(const sh_entry *entry, const sh_module_type *type) {
    if (entry->mode->kind == SH_MODE_WATCHING || sh__mode_is_off(&sh__thread, entry->mode)) return false;
    if (!type->ops) return true;
    for (const char *const *op = type->ops; *op; op++)
        if (wants_op(entry, *op)) return true;
    return false;
}

/* Would a mode that may rewrite see the ops of such a module? */
static bool is_wanted(const sh_module_type *type) {
    sh_thread *thread = &sh__thread;
    const bool pinned = !thread->depth && sh__globals_any();
    bool wanted = false;
    if (pinned) sh__globals_pin(thread);
    for (uint32_t p = 0; p < SH_POS_COUNT && !wanted; p++)
        for (const sh_entry *e = sh__seen_from_here(thread, p); e && !wanted; e = e->below)
            wanted = wants_any(e, type);
    if (pinned) sh__globals_release(thread);
    return wanted;
}

/* Is nobody there to see calls but the trace itself? */
static bool is_alone(const sh_tracer *t) {
    const sh_thread *thread = &sh__thread;
    if (thread->depth || sh__globals_any()) return false;
    for (uint32_t p = 0; p < SH_POS_COUNT; p++)
        for (const sh_entry *e = thread->top[p]; e; e = e->below)
            if (e->mode != t->capture->mode && e->mode != t->capture->lower) return false;
    return true;
}

static bool is_leaf(const sh_tracer *t, const sh_module *module, const char *path) {
    const sh_trace_options *o = t->options;
    const bool leaf = o->is_leaf ? o->is_leaf(path, module, o->user) : module->type->leaf;
    return leaf && (is_alone(t) || !is_wanted(module->type));
}

/* ---- what it gives ---- */

/* A forward may write to buffers in training: that must reach the trace, which sees to it that nothing is. */
static bool may_skip_modes(const sh_tracer *t, const sh_module *module) {
    const sh_module_type *type = module->type;
    return type->ops && (type->infer || !(module->training && module->buffers.n)) && is_alone(t);
}

/* The shapes of the result, while nothing is recorded. */
static sh_value infer(sh_tracer *t, sh_module *module, const char *path, sh_values inputs) {
    const bool skip = may_skip_modes(t, module);
    const char *outer = t->leaf;
    sh_switch off;
    t->leaf = path;
    t->capture->paused++;
    if (skip) sh_switch_off(&off, SH_OFF_ALL);
    const sh_value output = sh__module_infer(module, inputs);
    if (skip) sh_switch_end(&off);
    t->capture->paused--;
    t->leaf = outer;
    return output;
}

/* Tensors of their own, which will stand for the node. */
static sh_tensor *part(const sh_tensor *t) {
    sh_tensor *fresh = t->device == SH_META ? sh__tensor_view(t) : NULL;
    return fresh ? sh__own(fresh) : sh__error_pending() ? NULL : sh__trace_stand_in(t);
}

static sh_status part_value(sh_value *value) {
    if (value->tag == SH_TAG_TENSOR) {
        value->as.tensor = part(value->as.tensor);
        return value->as.tensor ? SH_OK : sh_error()->code;
    }
    *value = sh_list_value(sh_value_as_tensors(*value));
    for (uint32_t i = 0; value->tag == SH_TAG_TENSORS && i < value->count; i++) {
        sh_tensor **entry = &sh__list_of(*value)->at[i], *fresh = part(*entry);
        if (!fresh) return sh_error()->code;
        sh_release(*entry);
        *entry = sh_keep(fresh);
    }
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

/* ---- its node ---- */

static sh_status collect(sh_tracer *t, sh_values inputs, sh_arg *args, sh_arg *entries) {
    for (size_t i = 0; i < inputs.n; i++)
        SH_TRY(sh__recorder_value(t->recorder, inputs.at[i], &entries, &args[i]));
    return SH_OK;
}

static sh_node *add_node(sh_tracer *t, const char *path, sh_values inputs) {
    size_t n = inputs.n;
    for (size_t i = 0; i < inputs.n; i++) n += inputs.at[i].count;
    sh_arg near[16], *args = near;
    if (n > sizeof near / sizeof *near && !(args = sh__alloc(n * sizeof *args))) return NULL;
    sh_node *node = NULL;
    if (collect(t, inputs, args, args + inputs.n) >= 0)
        node = sh_graph_create_node(t->recorder->graph, SH_CALL_MODULE, path, (sh_args){args, inputs.n},
                                    SH_NO_KWARGS, NULL);
    if (args != near) sh__free(args);
    return node;
}

static sh_value trace_leaf(sh_tracer *t, sh_module *module, const char *path, sh_values inputs,
                           const void *site) {
    sh_value output = infer(t, module, path, inputs);
    if (sh__error_pending()) return sh_none();
    if (output.tag != SH_TAG_TENSOR && output.tag != SH_TAG_TENSORS) {
        sh_fail(SH_ERROR_TYPE, "leaf %s gives neither a tensor nor a list, so it can't be a node of a trace",
                path);
        return sh_none();
    }
    if (part_value(&output) < 0) return sh_none();
    sh_node *node = add_node(t, path, inputs);
    return sh__recorder_finish(t->recorder, node, site, &output, 1) < 0 ? sh_none() : output;
}

bool sh__trace_module(sh_tracing *tracing, sh_module *module, sh_values inputs, const void *site,
                      sh_value *output) {
    sh_tracer *t = (sh_tracer *)tracing;
    if (t->capture->paused || t->options->no_leaves) return false;
    const char *path = sh__path_of(&t->modules, module);
    if (!path) {
        sh_fail(SH_ERROR_VALUE, "a %s is called that is not in the module that is traced: add it there",
                module->type->name);
        return true;
    }
    if (!is_leaf(t, module, path)) return false;
    *output = trace_leaf(t, module, path, inputs, site);
    return true;
}
