/* candidate.c - nodes looked up in quantizable.def, as ops or as modules, and who writes where.
 *
 * A relu right behind a product or a sum, which nobody else uses, belongs to it: no observer comes between. Modules with
 * hooks stay as they are, since a converted module is no module any more. */
#include "graph/quant/candidate.h"

#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/effects.h"
#include "graph/module/graph_module.h"
#include "graph/module/module_impl.h"

static const struct entry {
    const char *op, *module;
    sh_quantize_how how;
} entries[] = {
#define SH_QUANTIZABLE(op, module, how) {op, module, SH__##how},
#include "graph/quant/quantizable.def"
#undef SH_QUANTIZABLE
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static bool same(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

static const struct entry *entry_of_module(const sh_node *node) {
    const sh_module *module = sh_node_module(node);
    if (!module || module->nhooks || node->args.n != 1 || node->kwargs.n || !sh__arg_node(node->args.at))
        return NULL;
    for (size_t i = 0; i < ENTRIES; i++)
        if (same(entries[i].module, module->type->name)) return &entries[i];
    return NULL;
}

/* ---- ops ---- */

static const sh_arg *argument(const sh_binding *b, const char *name) {
    const int i = sh_schema_find(b->schema, name);
    return i < 0 ? NULL : b->args[i];
}

/* Zeros are in every range. */
static bool pads_zeros(const sh_binding *b) {
    const sh_arg *mode = argument(b, "mode"), *value = argument(b, "value");
    if (mode && strcmp(mode->as.string, "constant") != 0) return false;
    return !value || value->tag == SH_ARG_NONE || (value->tag == SH_ARG_INT && !value->as.i) ||
           (value->tag == SH_ARG_FLOAT && value->as.f == 0);
}

static bool op_fits(const sh_node *node, const sh_binding *b, const struct entry *e) {
    if (same(e->op, "pad")) return pads_zeros(b);
    if (same(e->op, "dropout") || same(e->op, "batch_norm")) return !sh__node_effects(node).what;
    return sh__arg_node(b->args[0]) || e->how != SH__WEIGHTS;
}

static const struct entry *entry_of_op(const sh_node *node) {
    sh_binding b;
    if (!sh__binds(node, &b) || b.variant == SH_OUT) return NULL;
    for (size_t i = 0; i < ENTRIES; i++)
        if (same(entries[i].op, b.op->name)) return op_fits(node, &b, &entries[i]) ? &entries[i] : NULL;
    return NULL;
}

static const struct entry *entry_of(const sh_node *node) {
    if (node->opcode == SH_CALL_MODULE) return entry_of_module(node);
    return node->opcode == SH_CALL_FUNCTION ? entry_of_op(node) : NULL;
}

sh_node *sh__weight_of_call(const sh_node *node) {
    sh_binding b;
    if (node->opcode != SH_CALL_FUNCTION || !sh__binds(node, &b)) return NULL;
    return sh__arg_node(argument(&b, "weight"));
}

/* ---- patterns ---- */

static sh_node *relu_behind(const sh_node *node) {
    sh_node *user = node->nusers == 1 ? node->first_user->user : NULL;
    const struct entry *e = user ? entry_of(user) : NULL;
    return e && same(e->op, "relu") ? user : NULL;
}

bool sh__candidate_at(sh_node *node, sh_candidate *candidate) {
    const struct entry *e = entry_of(node);
    if (!e) return false;
    const bool takes_relu =
        e->how == SH__WEIGHTS || same(e->op, "add") || same(e->op, "mul") || same(e->op, "batch_norm");
    sh_node *tail = takes_relu ? relu_behind(node) : NULL;
    *candidate = (sh_candidate){e->how, e->op ? e->op : "identity", node, tail ? tail : node};
    return true;
}

/* ---- inputs ---- */

typedef struct found {
    sh_node **nodes;
    size_t n, capacity;
} found;

static void add(found *f, const sh_arg *arg) {
    sh_node *node = sh__arg_node(arg);
    if (node && f->n < f->capacity) f->nodes[f->n] = node;
    f->n += node != NULL;
}

size_t sh__candidate_inputs(const sh_candidate *candidate, sh_node **inputs, size_t capacity) {
    found f = {inputs, 0, capacity};
    sh_binding b;
    const bool is_op = candidate->root->opcode == SH_CALL_FUNCTION && sh__binds(candidate->root, &b);
    if (!is_op) {
        add(&f, candidate->root->args.at);
        return f.n;
    }
    const uint32_t last = candidate->how == SH__SUMS || candidate->how == SH__OWN ? b.schema->nparams : 1;
    for (uint32_t i = 0; i < last; i++)
        if (b.schema->params[i].type == SH_TYPE_TENSOR && !b.schema->params[i].optional) add(&f, b.args[i]);
    for (uint32_t i = 0; candidate->how == SH__CONCATENATES && b.args[0] && i < b.args[0]->count; i++)
        add(&f, &b.args[0]->as.list[i]);
    return f.n;
}

/* ---- memory ---- */

/* What a built-in module gives is memory of its own, but for those that may hand their input on. */
static const sh_node *alias_of(const sh_node *node) {
    const sh_module *module = node->opcode == SH_CALL_MODULE ? sh_node_module(node) : NULL;
    const bool own = module && module->type->leaf && module->type->ops &&
                     !(module->type->is_impure && module->type->is_impure(module)) &&
                     strcmp(module->type->name, "Flatten") != 0 && strcmp(module->type->name, "Dropout") != 0;
    return own ? NULL : sh__node_effects(node).alias;
}

/* Is nobody left who could see what is written there? */
static bool is_private(const sh_node *target) {
    for (const sh_node *at = target; at; at = alias_of(at))
        if (at->nusers != 1 || at->opcode == SH_PLACEHOLDER || at->opcode == SH_GET_ATTR) return false;
    return true;
}

static void note_writes(const sh_node *node, const uint32_t *origin, bool *written) {
    const sh_effects effects = sh__node_effects(node);
    if (!(effects.what & (SH__EFFECT_WRITES | SH__EFFECT_OTHER))) return;
    const bool all = effects.what & SH__EFFECT_OTHER;
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const sh_node *target = node->uses[i].input;
        if ((all || target == effects.target) && !is_private(target)) written[origin[target->id]] = true;
    }
}

bool *sh__written_values(const sh_graph *graph) {
    bool *written = sh__calloc(graph->next_id + 1, sizeof *written);
    uint32_t *origin = written ? sh__calloc(graph->next_id + 1, sizeof *origin) : NULL;
    if (!origin) {
        sh__free(written);
        return NULL;
    }
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        const sh_node *alias = alias_of(node);
        origin[node->id] = alias ? origin[alias->id] : node->id;
        note_writes(node, origin, written);
    }
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node))
        if (written[origin[node->id]]) written[node->id] = true;
    sh__free(origin);
    return written;
}
