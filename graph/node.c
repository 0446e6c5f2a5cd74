/* node.c - one node: what it is, what it uses and what uses it.
 *
 * Invariant: `uses` has one entry for each distinct node in args and kwargs, in the order they stand
 * there, and each entry is in that node's list of users. New arguments are built aside and take the place
 * of the old ones only when nothing can fail any more. */
#include <string.h>

#include "graph/given.h"
#include "graph/graph_impl.h"

/* ---- looking ---- */

const char *sh_node_name(const sh_node *node) {
    SH_GIVEN(node, NULL);
    return node->name->text;
}
sh_opcode sh_node_opcode(const sh_node *node) {
    SH_GIVEN(node, SH_OUTPUT);
    return node->opcode;
}
const char *sh_node_target(const sh_node *node) {
    SH_GIVEN(node, NULL);
    return node->target;
}
sh_graph *sh_node_graph(const sh_node *node) {
    SH_GIVEN(node, NULL);
    return node->graph;
}
sh_args sh_node_args(const sh_node *node) {
    SH_GIVEN(node, SH_NO_ARGS);
    return node->args;
}
sh_kwargs sh_node_kwargs(const sh_node *node) {
    SH_GIVEN(node, SH_NO_KWARGS);
    return node->kwargs;
}
sh_node *sh_node_next(const sh_node *node) {
    SH_GIVEN(node, NULL);
    return node->next == &node->graph->root ? NULL : node->next;
}
sh_node *sh_node_prev(const sh_node *node) {
    SH_GIVEN(node, NULL);
    return node->prev == &node->graph->root ? NULL : node->prev;
}

const char *sh_opcode_text(sh_opcode opcode) {
    static const char *const texts[] = {
#define SH_OPCODE(name, text) text,
        SH__OPCODES(SH_OPCODE)
#undef SH_OPCODE
    };
    return opcode <= SH_OUTPUT ? texts[opcode] : "?";
}

sh_arg sh_node_arg(const sh_node *node, size_t i) {
    SH_GIVEN(node, sh_arg_none());
    return i < node->args.n ? node->args.at[i] : sh_arg_none();
}

sh_arg sh_node_kwarg(const sh_node *node, const char *name) {
    SH_GIVEN(node, sh_arg_none());
    SH_GIVEN(name, sh_arg_none());
    for (size_t i = 0; i < node->kwargs.n; i++)
        if (strcmp(node->kwargs.at[i].name, name) == 0) return node->kwargs.at[i].value;
    return sh_arg_none();
}

size_t sh_node_users(const sh_node *node, sh_node **users, size_t capacity) {
    SH_GIVEN(node, 0);
    size_t n = 0;
    for (const sh_use *use = node->first_user; use && n < capacity; use = use->next) users[n++] = use->user;
    return node->nusers;
}

size_t sh_node_inputs(const sh_node *node, sh_node **inputs, size_t capacity) {
    SH_GIVEN(node, 0);
    for (size_t i = 0; i < node->ninputs && i < capacity; i++) inputs[i] = node->uses[i].input;
    return node->ninputs;
}

const sh_spec *sh_node_spec(const sh_node *node) {
    SH_GIVEN(node, NULL);
    return node->has_spec ? &node->spec : NULL;
}

bool sh__node_has_spec_of(const sh_node *node, const sh_node *other) {
    const sh_spec *x = sh_node_spec(node), *y = sh_node_spec(other);
    return x && y && x->dtype == y->dtype && x->ndim == y->ndim &&
           memcmp(x->sizes, y->sizes, (size_t)x->ndim * sizeof *x->sizes) == 0;
}

void sh_node_set_spec(sh_node *node, const sh_spec *spec) {
    SH_GIVEN_OR_LEAVE(node);
    node->has_spec = spec != NULL;
    if (spec) node->spec = *spec;
}

const char *sh_node_scope(const sh_node *node) {
    SH_GIVEN(node, NULL);
    return node->scope;
}

sh_status sh_node_set_scope(sh_node *node, const char *scope) {
    SH_GIVEN(node, SH_ERROR_NULL);
    SH_GIVEN(scope, SH_ERROR_NULL);
    const char *before = node->prev ? node->prev->scope : NULL; /* mostly the same */
    const char *copy = before && strcmp(before, scope) == 0 ? before : sh__graph_string(node->graph, scope);
    if (!copy) return SH_ERROR_MEMORY;
    node->scope = copy;
    return SH_OK;
}

const void *sh_node_site(const sh_node *node) {
    SH_GIVEN(node, NULL);
    return node->site;
}
void sh_node_set_site(sh_node *node, const void *site) {
    SH_GIVEN_OR_LEAVE(node);
    node->site = site;
}

const char *sh_node_type(const sh_node *node) {
    SH_GIVEN(node, NULL);
    return node->type;
}

sh_status sh_node_set_type(sh_node *node, const char *type) {
    SH_GIVEN(node, SH_ERROR_NULL);
    const char *copy = type ? sh__graph_string(node->graph, type) : NULL;
    if (type && !copy) return SH_ERROR_MEMORY;
    node->type = copy;
    return SH_OK;
}

sh_status sh_node_set_target(sh_node *node, const char *target) {
    SH_GIVEN(node, SH_ERROR_NULL);
    if (!target) return sh_fail(SH_ERROR_NULL, "sh_node_set_target: target is NULL");
    const char *copy = sh__graph_string(node->graph, target);
    if (!copy) return SH_ERROR_MEMORY;
    node->target = copy;
    node->graph->version++;
    return SH_OK;
}

/* ---- uses ---- */

static void link_use(sh_use *use) {
    sh_node *input = use->input;
    use->next = NULL;
    use->prev = input->last_user;
    *(use->prev ? &use->prev->next : &input->first_user) = use;
    input->last_user = use;
    input->nusers++;
}

static void unlink_use(sh_use *use) {
    sh_node *input = use->input;
    *(use->prev ? &use->prev->next : &input->first_user) = use->next;
    *(use->next ? &use->next->prev : &input->last_user) = use->prev;
    input->nusers--;
}

void sh__uses_drop(sh_node *node) {
    for (uint32_t i = 0; i < node->ninputs; i++) unlink_use(&node->uses[i]);
    node->ninputs = 0;
}

typedef struct collector {
    const sh_node *user;
    sh_use *uses; /* NULL: only count */
    uint32_t n;
} collector;

static sh_status collect(sh_arg *found, void *user) {
    collector *c = user;
    sh_node *node = found->as.node;
    if (!node) return sh_fail(SH_ERROR_NULL, "an argument of a node of %s is NULL", c->user->target);
    if (node->graph != c->user->graph)
        return sh_fail(SH_ERROR_VALUE, "an argument of a node of %s is %%%s of another graph",
                       c->user->target, node->name->text);
    if (node == c->user)
        return sh_fail(SH_ERROR_VALUE, "node %%%s can't be an argument of itself", node->name->text);
    if (node->stamp == node->graph->stamp) return SH_OK;
    node->stamp = node->graph->stamp;
    if (c->uses) c->uses[c->n] = (sh_use){.user = (sh_node *)(uintptr_t)c->user, .input = node};
    c->n++;
    return SH_OK;
}

/* The uses that these arguments make, not linked yet; in memory of their own. */
static sh_status make_uses(const sh_node *node, sh_args args, sh_kwargs kwargs, sh_use **uses, uint32_t *n) {
    collector c = {.user = node};
    node->graph->stamp++;
    SH_TRY(sh__args_visit(args, kwargs, collect, &c));
    *uses = NULL;
    *n = c.n;
    if (!c.n) return SH_OK;
    *uses = sh__pool_alloc(&node->graph->pool, c.n * sizeof **uses);
    if (!*uses) return SH_ERROR_MEMORY;
    c = (collector){.user = node, .uses = *uses};
    node->graph->stamp++;
    return sh__args_visit(args, kwargs, collect, &c);
}

static void install(sh_node *node, const sh_arg_block *fresh, sh_use *uses, uint32_t n) {
    sh__uses_drop(node);
    sh_pool *pool = &node->graph->pool;
    sh__pool_free(pool, node->block, node->block_size);
    sh__pool_free(pool, node->uses, node->uses_room * sizeof *uses);
    node->block = fresh->block;
    node->block_size = fresh->size;
    node->args = fresh->args;
    node->kwargs = fresh->kwargs;
    node->uses = uses;
    node->ninputs = node->uses_room = n;
    for (uint32_t i = 0; i < n; i++) link_use(&uses[i]);
    node->graph->version++;
}

/* The node takes the block, or it is freed. */
static sh_status take_args(sh_node *node, const sh_arg_block *fresh) {
    sh_use *uses;
    uint32_t n;
    const sh_status status = make_uses(node, fresh->args, fresh->kwargs, &uses, &n);
    if (status < 0)
        sh__pool_free(&node->graph->pool, fresh->block, fresh->size);
    else
        install(node, fresh, uses, n);
    return status;
}

sh_status sh_node_set_args(sh_node *node, sh_args args, sh_kwargs kwargs) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(node, SH_ERROR_NULL);
    sh_arg_block fresh;
    SH_TRY(sh__args_copy(node->graph, args, kwargs, &node->graph->pool, &fresh));
    return take_args(node, &fresh);
}

/* ---- one argument ---- */

sh_status sh_node_set_arg(sh_node *node, size_t i, sh_arg arg) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(node, SH_ERROR_NULL);
    if (i >= node->args.n)
        return sh_fail(SH_ERROR_INDEX, "node %%%s has %zu arguments; number %zu is to be set",
                       node->name->text, node->args.n, i);
    sh_arg *args = sh__alloc(node->args.n * sizeof *args);
    if (!args) return SH_ERROR_MEMORY;
    memcpy(args, node->args.at, node->args.n * sizeof *args);
    args[i] = arg;
    const sh_status status = sh_node_set_args(node, (sh_args){args, node->args.n}, node->kwargs);
    sh__free(args);
    return status;
}

sh_status sh_node_set_kwarg(sh_node *node, const char *name, sh_arg arg) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(node, SH_ERROR_NULL);
    if (!name) return sh_fail(SH_ERROR_NULL, "sh_node_set_kwarg: name is NULL");
    const size_t n = node->kwargs.n;
    sh_kwarg *kwargs = sh__alloc((n + 1) * sizeof *kwargs);
    if (!kwargs) return SH_ERROR_MEMORY;
    if (n) memcpy(kwargs, node->kwargs.at, n * sizeof *kwargs);
    size_t i = 0;
    while (i < n && strcmp(kwargs[i].name, name) != 0) i++;
    kwargs[i] = (sh_kwarg){name, arg};
    const sh_status status = sh_node_set_args(node, node->args, (sh_kwargs){kwargs, i < n ? n : n + 1});
    sh__free(kwargs);
    return status;
}

/* ---- replacing ---- */

typedef struct replacement {
    const sh_node *old;
    sh_node *by;
} replacement;

static sh_status replace(sh_arg *found, void *user) {
    const replacement *r = user;
    if (found->as.node == r->old) found->as.node = r->by;
    return SH_OK;
}

sh_status sh_node_replace_input_with(sh_node *node, sh_node *old, sh_node *by) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(node, SH_ERROR_NULL);
    if (!old || !by)
        return sh_fail(SH_ERROR_NULL, "sh_node_replace_input_with: %s is NULL", old ? "by" : "old");
    replacement r = {old, by};
    sh_arg_block fresh;
    SH_TRY(sh__args_copy(node->graph, node->args, node->kwargs, &node->graph->pool, &fresh));
    sh__args_visit(fresh.args, fresh.kwargs, replace, &r);
    return take_args(node, &fresh);
}

sh_status sh_node_replace_uses_where(sh_node *node, sh_node *by, bool (*chosen)(sh_node *user, void *data),
                                     void *data) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(node, SH_ERROR_NULL);
    if (!by) return sh_fail(SH_ERROR_NULL, "sh_node_replace_uses_where: by is NULL");
    if (by == node) return SH_OK;
    for (sh_use *use = node->first_user, *next; use; use = next) {
        next = use->next;
        if (use->user != by && (!chosen || chosen(use->user, data)))
            SH_TRY(sh_node_replace_input_with(use->user, node, by));
    }
    return SH_OK;
}

sh_status sh_node_replace_all_uses_with(sh_node *node, sh_node *by) {
    return sh_node_replace_uses_where(node, by, NULL, NULL);
}
