/* qconfig.c - a list of rules, from what is said of names to what is said of everything. */
#include "graph/quant/qconfig.h"

#include <string.h>

#include "dispatch/filter.h"
#include "graph/given.h"
#include "graph/module/graph_module.h"
#include "graph/module/module_impl.h"

typedef enum rule_kind { BY_NAME, BY_REGEX, BY_TYPE, BY_NOTHING, RULE_KINDS } rule_kind;

typedef struct rule {
    rule_kind kind;
    sh_filter *filter; /* BY_REGEX, BY_TYPE */
    char *name;        /* BY_NAME */
    bool excludes;
    sh_qconfig qconfig;
} rule;

struct sh_qconfig_mapping {
    rule *rules;
    size_t n;
};

/* ---- defaults ---- */

sh_qconfig sh_get_default_qconfig(const char *backend) {
    const char *name = backend ? backend : "fbgemm";
    const bool qnnpack = strcmp(name, "qnnpack") == 0, onednn = strcmp(name, "onednn") == 0;
    if (!qnnpack && !onednn && strcmp(name, "fbgemm") != 0 && strcmp(name, "x86") != 0)
        sh_fail(SH_ERROR_VALUE,
                "sh_get_default_qconfig: backend is %s, expected fbgemm, x86, onednn or qnnpack", name);
    const sh_observer_options per_tensor = {.dtype = SH_I8, .qscheme = SH_PER_TENSOR_SYMMETRIC};
    const sh_observer_options per_channel = {
        .kind = SH_PER_CHANNEL_MIN_MAX_OBSERVER, .dtype = SH_I8, .qscheme = SH_PER_CHANNEL_SYMMETRIC};
    return (sh_qconfig){
        .activation = {.kind = SH_HISTOGRAM_OBSERVER, .dtype = SH_U8, .reduce_range = !qnnpack && !onednn},
        .weight = qnnpack ? per_tensor : per_channel};
}

static sh_status set_fixed(sh_qconfig_mapping *m, const char *types, const sh_qconfig *plain, double scale,
                           int64_t zero_point) {
    sh_qconfig q = *plain;
    q.activation = (sh_observer_options){
        .kind = SH_FIXED_QPARAMS_OBSERVER, .dtype = SH_U8, .scale = scale, .zero_point = zero_point};
    return sh_qconfig_mapping_set_object_type(m, types, &q);
}

sh_qconfig_mapping *sh_get_default_qconfig_mapping(const char *backend) {
    const sh_qconfig q = sh_get_default_qconfig(backend);
    sh_qconfig_mapping *m = sh_qconfig_mapping_new();
    if (m && set_fixed(m, "sigmoid|Sigmoid|hardsigmoid|softmax|Softmax", &q, 1.0 / 256, 0) >= 0 &&
        set_fixed(m, "tanh|Tanh", &q, 2.0 / 256, 128) >= 0 && sh_qconfig_mapping_set_global(m, &q) >= 0)
        return m;
    sh_qconfig_mapping_free(m);
    return NULL;
}

/* ---- making ---- */

sh_qconfig_mapping *sh_qconfig_mapping_new(void) {
    if (sh__error_pending()) return NULL;
    return sh__calloc(1, sizeof(sh_qconfig_mapping));
}

static void end_rule(rule *r) {
    sh_filter_free(r->filter);
    sh__free(r->name);
}

void sh_qconfig_mapping_free(sh_qconfig_mapping *mapping) {
    if (!mapping) return;
    for (size_t i = 0; i < mapping->n; i++) end_rule(&mapping->rules[i]);
    sh__free(mapping->rules);
    sh__free(mapping);
}

static sh_status make_rule(rule *r, rule_kind kind, const char *text, const sh_qconfig *qconfig) {
    *r = (rule){.kind = kind, .excludes = !qconfig};
    if (qconfig) r->qconfig = *qconfig;
    if (kind == BY_NAME) r->name = sh__strdup(text);
    if (kind == BY_TYPE) r->filter = sh_filter_new(text, SH_FILTER_GLOB);
    if (kind == BY_REGEX) r->filter = sh_filter_new(text, SH_FILTER_ERE);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

/* Observers that can't be made are found here, not when they are needed. */
static sh_status check(const sh_qconfig *qconfig) {
    const sh_observer_options *const options[] = {&qconfig->activation, &qconfig->weight};
    for (int i = 0; i < 2; i++) {
        sh_module *observer = sh_observer_new(options[i]);
        if (!observer) return sh_error()->code;
        sh_module_release(observer);
    }
    if (qconfig->activation.qscheme >= SH_PER_CHANNEL_AFFINE)
        return sh_fail(SH_ERROR_VALUE, "a qconfig's activation is observed per tensor, not per channel");
    return SH_OK;
}

/* What is said of everything takes the place of what was: it is one rule, and the order of the others stays. */
static rule *global_rule(sh_qconfig_mapping *m) {
    for (size_t i = 0; i < m->n; i++)
        if (m->rules[i].kind == BY_NOTHING) return &m->rules[i];
    return NULL;
}

static sh_status add(sh_qconfig_mapping *m, rule_kind kind, const char *text, const sh_qconfig *qconfig) {
    rule made;
    if (sh__error_pending()) return sh_error()->code;
    if (!m || !text)
        return sh_fail(SH_ERROR_NULL, "sh_qconfig_mapping: %s is NULL", m ? "the name" : "the mapping");
    if (qconfig) SH_TRY(check(qconfig));
    rule *known = kind == BY_NOTHING ? global_rule(m) : NULL;
    if (known) return make_rule(known, kind, text, qconfig);
    rule *rules = sh__realloc(m->rules, (m->n + 1) * sizeof *rules);
    if (!rules) return SH_ERROR_MEMORY;
    m->rules = rules;
    if (make_rule(&made, kind, text, qconfig) < 0) {
        end_rule(&made);
        return sh_error()->code;
    }
    rules[m->n++] = made;
    return SH_OK;
}

sh_status sh_qconfig_mapping_set_global(sh_qconfig_mapping *mapping, const sh_qconfig *qconfig) {
    return add(mapping, BY_NOTHING, "", qconfig);
}

sh_status sh_qconfig_mapping_set_object_type(sh_qconfig_mapping *mapping, const char *types,
                                             const sh_qconfig *qconfig) {
    return add(mapping, BY_TYPE, types, qconfig);
}

sh_status sh_qconfig_mapping_set_module_name_regex(sh_qconfig_mapping *mapping, const char *names,
                                                   const sh_qconfig *qconfig) {
    return add(mapping, BY_REGEX, names, qconfig);
}

sh_status sh_qconfig_mapping_set_module_name(sh_qconfig_mapping *mapping, const char *name,
                                             const sh_qconfig *qconfig) {
    return add(mapping, BY_NAME, name, qconfig);
}

/* ---- finding ---- */

static bool is_in(const char *path, const char *name) {
    const size_t n = strlen(name);
    return strncmp(path, name, n) == 0 && (!path[n] || path[n] == '.');
}

static bool matches_type(const rule *r, const sh_node *node) {
    if (sh_node_opcode(node) == SH_CALL_MODULE) {
        const sh_module *module = sh_node_module(node);
        return module && sh_filter_match(r->filter, sh_module_type_of(module)->name);
    }
    const sh_op *op = sh_op_find(sh_node_target(node));
    return sh_filter_match(r->filter, op ? sh_op_name(op) : sh_node_target(node));
}

static bool matches(const rule *r, const sh_node *node) {
    const char *const names[] = {sh_node_opcode(node) == SH_CALL_MODULE ? sh_node_target(node) : NULL,
                                 sh_node_name(node), sh_node_scope(node)};
    if (r->kind == BY_NOTHING) return true;
    if (r->kind == BY_TYPE) return matches_type(r, node);
    for (int i = 0; i < 3; i++) {
        if (!names[i] || !*names[i]) continue;
        if (r->kind == BY_NAME ? is_in(names[i], r->name) : sh_filter_match(r->filter, names[i])) return true;
    }
    return false;
}

const sh_qconfig *sh_qconfig_mapping_find(const sh_qconfig_mapping *mapping, const sh_node *node) {
    SH_GIVEN(mapping, NULL);
    SH_GIVEN(node, NULL);
    for (int kind = 0; kind < RULE_KINDS; kind++)
        for (size_t i = 0; i < mapping->n; i++) {
            const rule *r = &mapping->rules[i];
            if ((int)r->kind == kind && matches(r, node)) return r->excludes ? NULL : &r->qconfig;
        }
    return NULL;
}
