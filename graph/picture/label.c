/* label.c - what stands in a box: its name, what it does, how much of it there is. */
#include <inttypes.h>
#include <string.h>

#include "dispatch/text.h"
#include "graph/module/graph_module.h"
#include "graph/module/module_impl.h"
#include "graph/picture/picture.h"
#include "graph/print.h"

/* ---- text from outside ---- */

void sh__put_html(sh_text *out, const char *text, size_t n) {
    const bool utf8 = sh__is_text(text);
    for (; n-- > 0 && *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\\')
            sh__text_put(out, "&#%d;", c);
        else if (c < 32 || c == 127 || (c > 127 && !utf8))
            sh__text_put(out, "?");
        else
            sh__text_add(out, text, 1);
    }
}

enum { LONGEST_NAME = 28 };

/* Of a long name the end, which tells most; the tooltip has it whole. */
void sh__put_name(sh_text *out, const sh_node *node) {
    const char *name = node->name->text;
    const size_t n = strlen(name);
    sh__text_put(out, n > LONGEST_NAME ? "%%\u2026" : "%%");
    sh__put_html(out, n > LONGEST_NAME ? name + n - LONGEST_NAME : name, SIZE_MAX);
}

/* 11,689,512 */
static void put_count(sh_text *out, int64_t n) {
    if (n >= 1000) put_count(out, n / 1000);
    sh__text_put(out, n >= 1000 ? ",%03" PRId64 : "%" PRId64, n % 1000);
}

/* ---- parameters ---- */

typedef struct census {
    sh_seen seen;
    int64_t elements;
} census;

static sh_status count_tensor(const char *path, sh_tensor *t, void *user) {
    census *c = user;
    (void)path;
    if (sh__seen_first(&c->seen, t)) c->elements += sh_tensor_numel(t);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

/* Buffers are no parameters. */
static sh_tensor *parameter_of(const sh_node *node) {
    const sh_graph_root *root = sh__graph_root(node->graph);
    sh_tensor *t = sh_graph_attr(node->graph, node->target);
    return !t && root->object ? sh_module_parameter(root->object, node->target) : t;
}

/* A module's parameters; the tensors that a function is given. */
static sh_status count_node(census *c, const sh_node *node) {
    sh_module *module = node->opcode == SH_CALL_MODULE ? sh_node_module(node) : NULL;
    if (module) return sh_module_walk_tensors(module, SH_PARAMETERS, count_tensor, c);
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const sh_node *input = node->uses[i].input;
        sh_tensor *t = input->opcode == SH_GET_ATTR ? parameter_of(input) : NULL;
        if (t) SH_TRY(count_tensor("", t, c));
    }
    return SH_OK;
}

static sh_status put_parameters(sh_picture *p, uint32_t begin, uint32_t end, const char *before) {
    census c = {.elements = 0};
    sh_status status = SH_OK;
    for (uint32_t i = begin; i < end && status >= 0; i++)
        if (sh__is_call(p->order[i])) status = count_node(&c, p->order[i]);
    sh__seen_free(&c.seen);
    if (status < 0 || !c.elements) return status;
    sh__text_put(&p->out, "%s", before);
    put_count(&p->out, c.elements);
    sh__text_put(&p->out, " parameters");
    return SH_OK;
}

/* ---- what is in it ---- */

const char *sh__node_kind(const sh_node *node) {
    const sh_module *module = node->opcode == SH_CALL_MODULE ? sh_node_module(node) : NULL;
    return module ? module->type->name : node->target;
}

enum { KINDS = 32, SHOWN = 4 };
typedef struct kinds {
    const char *name[KINDS];
    uint32_t count[KINDS], n;
} kinds;

static void count_kind(kinds *k, const char *name) {
    uint32_t i = 0;
    if (strcmp(name, SH_GETITEM) == 0) return;
    while (i < k->n && strcmp(k->name[i], name) != 0) i++;
    if (i == KINDS) return;
    if (i == k->n) k->n++, k->count[i] = 0;
    k->name[i] = name;
    k->count[i]++;
}

/* The most frequent, each once; those that are shown are counted down. */
static void put_kinds(sh_picture *p, const sh_figure *item) {
    kinds k = {.n = 0};
    for (uint32_t i = item->begin; i < item->end; i++) count_kind(&k, sh__node_kind(p->order[i]));
    for (int shown = 0; shown < SHOWN; shown++) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < k.n; i++)
            if (k.count[i] > k.count[most]) most = i;
        if (!k.n || !k.count[most]) return;
        sh__text_put(&p->out, shown ? ", %u " : "%u ", k.count[most]);
        sh__put_html(&p->out, k.name[most], SIZE_MAX);
        k.count[most] = 0;
    }
    if (k.n > SHOWN) sh__text_put(&p->out, ", \u2026");
}

/* ---- titles ---- */

static void put_sequence(sh_picture *p, const sh_figure *item) {
    const uint32_t n = (item->end - item->begin) / item->repeats;
    if (n > 4) {
        sh__text_put(&p->out, "%u nodes", n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        sh__text_put(&p->out, i ? " \u2192 " : "");
        sh__put_html(&p->out, sh__node_kind(p->order[item->begin + i]), SIZE_MAX);
    }
}

/* The class of the module whose scope this is, where it has one that says something. */
static void put_class(sh_picture *p, const sh_figure *item) {
    const sh_graph_root *root = sh__graph_root(p->graph);
    char *path = root->object ? sh__strdup(item->scope) : NULL;
    if (!path) return;
    path[item->scope_length] = 0;
    const sh_module *module = sh_module_child(root->object, path);
    if (module && (module->type->forward || module->type->forward_values)) {
        sh__text_put(&p->out, " \u00b7 ");
        sh__put_html(&p->out, module->type->name, SIZE_MAX);
    }
    sh__free(path);
}

static void put_run_title(sh_picture *p, const sh_figure *item) {
    const sh_node *first = p->order[item->begin], *last = p->order[item->end - 1];
    sh__text_put(&p->out, "<b>");
    if (item->repeats > 1) {
        sh__text_put(&p->out, "%u \u00d7 ", item->repeats);
        put_sequence(p, item);
    } else {
        sh__put_html(&p->out, item->scope ? item->scope : "", item->scope_length);
    }
    sh__text_put(&p->out, "</b>");
    if (item->repeats == 1) {
        put_class(p, item);
        return;
    }
    sh__text_put(&p->out, "<br/>");
    sh__put_name(&p->out, first);
    sh__text_put(&p->out, "<br/>\u2026 ");
    sh__put_name(&p->out, last);
}

static void put_time(sh_picture *p, const sh_figure *item) {
    if (p->options->color != SH_COLOR_TIME) return;
    const double share = sh__item_share(p, item), us = share * sh_timing_run_ns(p->options->timing) / 1e5;
    sh__text_put(&p->out, "<br/>%.3g %s \u00b7 %.1f %%", us < 1000 ? us : us / 1000,
                 us < 1000 ? "\u00b5s" : "ms", share);
}

/* ---- labels ---- */

static sh_status put_run(sh_picture *p, const sh_figure *item) {
    put_run_title(p, item);
    sh__text_put(&p->out, "<br/>%u nodes: ", item->end - item->begin);
    put_kinds(p, item);
    SH_TRY(put_parameters(p, item->begin, item->end, "<br/>"));
    put_time(p, item);
    return SH_OK;
}

/* What the name doesn't say. */
static void put_target(sh_picture *p, const sh_node *node) {
    const char *const kind = sh__is_call(node) ? sh__node_kind(node) : sh_opcode_text(node->opcode);
    const size_t n = strlen(kind);
    const char *const rest = strncmp(node->name->text, kind, n) == 0 ? node->name->text + n : "x";
    if (!rest[strspn(rest, "_0123456789")]) return;
    sh__text_put(&p->out, "<br/>");
    sh__put_html(&p->out, kind, SIZE_MAX);
}

static sh_status put_node(sh_picture *p, const sh_figure *item) {
    const sh_node *node = p->order[item->begin];
    sh__text_put(&p->out, "<b>");
    sh__put_name(&p->out, node);
    sh__text_put(&p->out, "</b>");
    put_target(p, node);
    if (!p->folded && node->has_spec) {
        sh__text_put(&p->out, "<br/>");
        sh__print_spec(&p->out, &node->spec);
    }
    if (node->opcode == SH_CALL_MODULE || p->folded)
        SH_TRY(put_parameters(p, item->begin, item->end, "<br/>"));
    put_time(p, item);
    return SH_OK;
}

sh_status sh__put_label(sh_picture *p, const sh_figure *item) {
    return sh__is_run(item) ? put_run(p, item) : put_node(p, item);
}

sh_status sh__put_heading(sh_picture *p) {
    const sh_picture_options *o = p->options;
    if (o->title) {
        sh__text_put(&p->out, "<b>");
        sh__put_html(&p->out, o->title, SIZE_MAX);
        sh__text_put(&p->out, "</b><br/>");
    }
    sh__text_put(&p->out, "<font point-size=\"11\">");
    if (o->around) {
        sh__text_put(&p->out, "%u of ", p->n);
        put_count(&p->out, (int64_t)p->graph->size);
        sh__text_put(&p->out, " nodes: up to %" PRId64 " from %%", o->depth);
        sh__put_html(&p->out, o->around->name->text, SIZE_MAX);
    } else {
        put_count(&p->out, (int64_t)p->graph->size);
        sh__text_put(&p->out, " nodes");
        if (p->folded) sh__text_put(&p->out, " in %u boxes", p->nitems);
        SH_TRY(put_parameters(p, 0, p->n, ", "));
    }
    if (o->color == SH_COLOR_TIME)
        sh__text_put(&p->out, ", %.4g ms a run", sh_timing_run_ns(o->timing) / 1e6);
    sh__text_put(&p->out, "</font>");
    return SH_OK;
}
