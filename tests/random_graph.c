/* random_graph.c - see random_graph.h. What is put is run at once, on copies of the inputs and constants: so shapes,
 * dtypes and overlaps need no rules here, what the ops refuse is simply not there. */
#include "tests/random_graph.h"

#include <stdlib.h>
#include <string.h>

#include "dispatch/copy.h"
#include "graph/bind.h"
#include "graph/recorder.h"
#include "tests/random_maker.h"
#include "tests/sample.h"

int64_t random_int(int64_t low, int64_t high) { return sample_int(low, high); }

/* ---- values ---- */

static bool always(const sh_tensor *t) {
    (void)t;
    return true;
}

/* The newest ones more often, so that chains grow. */
random_value random_any(random_maker *m, random_wanted wanted) {
    if (!wanted) wanted = always;
    for (int tries = 0; tries < 12 && m->n; tries++) {
        const int64_t recent = m->n > 4 && random_one_in(2) ? m->n - 4 : 0;
        const random_value v = m->values[sample_int(recent, m->n - 1)];
        if (wanted(v.t)) return v;
    }
    return (random_value){NULL, NULL};
}

sh_tensor *random_tensor_of(const random_maker *m, const sh_node *node) {
    return node ? sh_value_as_tensor(m->results[node->id]) : NULL;
}

sh_dtype random_dtype(const random_maker *m) {
    static const sh_dtype dtypes[] = {SH_F32, SH_F32, SH_F32, SH_F32, SH_F64,  SH_F64, SH_I64,
                                      SH_I64, SH_I32, SH_B8,  SH_F16, SH_BF16, SH_U8};
    return m->how->smooth ? SH_F32 : RANDOM_PICK(dtypes);
}

bool random_is_guarded(const random_maker *m, const sh_tensor *t) {
    for (int i = 0; i < m->nguarded; i++)
        if (m->guarded[i] == t->storage) return true;
    return false;
}

static void add_value(random_maker *m, sh_node *node, sh_value result) {
    sh_tensor *t = sh_value_as_tensor(result);
    m->results[node->id] = result;
    if (!t || m->n == RANDOM_VALUES) return;
    sh__recorder_set_spec(node, t);
    m->values[m->n++] = (random_value){node, t};
}

/* ---- running a node ---- */

static sh_status resolve(void *user, const sh_node *node, sh_value *value) {
    const random_maker *m = user;
    *value = m->results[node->id];
    return SH_OK;
}

/* Finite, and of a size that neither overflows f16 nor takes long; where it is to be smooth, sin of it is, too. */
static bool is_tame(const random_maker *m, sh_tensor *t) {
    enum { LARGEST = 30000 };
    if (!t || !sh_tensor_numel(t)) return t != NULL;
    return sh_tensor_numel(t) <= LARGEST &&
           sh_item(sh_amax(sh_abs(sh_to(t, SH_F64)))) <= (m->how->smooth ? 20 : 1000);
}

/* Several results are a list, as in an interpreter. */
static sh_status run(random_maker *m, const sh_node *node, sh_value *result) {
    sh_value results[SH_MAX_RESULTS];
    if (strcmp(node->target, SH_GETITEM) == 0) {
        const sh_value list = m->results[node->args.at[0].as.node->id];
        *result = sh_value_tensor(list.as.tensors[node->args.at[1].as.i]);
        return SH_OK;
    }
    SH_TRY(sh__node_call(node, resolve, m, &m->scratch, results));
    *result = results[0];
    if (results[1].tag != SH_TAG_TENSOR) return SH_OK;
    size_t n = 0;
    sh_tensor **list = m->pairs[m->npairs++];
    for (; n < SH_MAX_RESULTS && results[n].tag == SH_TAG_TENSOR; n++) list[n] = results[n].as.tensor;
    *result = sh_value_tensors((sh_tensors){list, n});
    return SH_OK;
}

static bool is_acceptable(const random_maker *m, const sh_node *node, sh_value result) {
    sh_binding b;
    const bool writes = sh__binds(node, &b) && b.variant != SH_FUNCTIONAL; /* it can't be undone */
    if (result.tag == SH_TAG_TENSOR) return writes || is_tame(m, result.as.tensor);
    return result.tag == SH_TAG_TENSORS;
}

sh_node *random_put(random_maker *m, const char *target, sh_args args, sh_kwargs kwargs) {
    sh_value result = sh_none();
    if (m->graph->next_id + 1 >= 4 * RANDOM_VALUES || m->npairs == RANDOM_VALUES) return NULL;
    sh_node *node = sh_graph_create_node(m->graph, SH_CALL_FUNCTION, target, args, kwargs, NULL);
    if (!node) return NULL;
    if (run(m, node, &result) >= 0 && is_acceptable(m, node, result)) {
        add_value(m, node, result);
        return node;
    }
    sh_clear_error();
    sh__node_discard(node);
    return NULL;
}

sh_node *random_put_module(random_maker *m, const char *path, random_value x) {
    sh_tensor *y = sh_forward(sh_module_child(m->how->net, path), x.t);
    if (!y || !is_tame(m, y)) return NULL;
    sh_node *node = sh_graph_create_node(m->graph, SH_CALL_MODULE, path, SH_ARGS(x.node), SH_NO_KWARGS, NULL);
    if (node) add_value(m, node, sh_value_tensor(y));
    return node;
}

/* ---- where values come from ---- */

/* Odd fractions, so that sums round. */
static sh_tensor *odd(sh_tensor *t) {
    const bool real = t && sh_dtype_kind_of(sh_tensor_dtype(t)) == SH_KIND_FLOAT;
    return real ? sh_mul_(t, 0.3141592653589793) : t;
}

static sh_tensor *copy_of(const sh_tensor *t) {
    sh_tensor *copy = sh__tensor_double(t);
    return copy ? sh__own(copy) : NULL;
}

static void guard(random_maker *m, const sh_tensor *t) {
    if (m->nguarded < RANDOM_VALUES) m->guarded[m->nguarded++] = t->storage;
}

sh_node *random_constant(random_maker *m, sh_dtype dtype, sh_ints sizes) {
    char name[24];
    snprintf(name, sizeof name, "c%d", m->nconstants++);
    sh_tensor *t = sh_tensor_new(dtype, sizes);
    if (!t || !m->graph) return NULL;
    sample_fill(t);
    if (sh_graph_set_attr(m->graph, name, odd(t)) < 0) return NULL;
    sh_node *node = sh_graph_get_attr(m->graph, name);
    if (!node) return NULL;
    sh_tensor *copy = sh_clone(t);
    if (!m->how->constants) guard(m, copy);
    add_value(m, node, sh_value_tensor(copy));
    return node;
}

/* ---- the graph ---- */

static void choose_shape(random_maker *m) {
    static const int64_t sizes[] = {1, 2, 2, 3, 4, 4, 4, 5, 6, 8};
    m->ndim = (int)sample_int(1, 4);
    for (int i = 0; i < m->ndim; i++) m->sizes[i] = RANDOM_PICK(sizes);
    if (m->ndim < 3 && random_one_in(4)) m->sizes[m->ndim - 1] = sample_int(15, 40); /* a vector and a rest */
    if (random_one_in(12)) { /* many blocks of what a loop takes at a time, and a rest */
        m->ndim = 2;
        m->sizes[0] = sample_int(1, 9);
        m->sizes[1] = sample_int(300, 2500);
    }
    if (random_one_in(40)) m->sizes[0] = 0;
}

/* Of the shape, or what broadcasts to it. */
static void add_input(random_maker *m, random_graph *r) {
    int64_t sizes[4];
    const int skipped = random_one_in(5) ? (int)sample_int(0, m->ndim) : 0;
    for (int i = skipped; i < m->ndim; i++) sizes[i - skipped] = random_one_in(7) ? 1 : m->sizes[i];
    const sh_dtype dtype = r->ninputs || m->how->smooth ? random_dtype(m) : SH_F32;
    sh_tensor *t = sh_keep(odd(sample_tensor(dtype, m->ndim - skipped, sizes)));
    char name[] = {"xyz"[r->ninputs], 0};
    r->inputs[r->ninputs++] = t;
    sh_tensor *copy = copy_of(t);
    if (m->how->guards) guard(m, copy);
    add_value(m, sh_graph_placeholder(m->graph, name), sh_value_tensor(copy));
}

/* What nobody uses is returned rather than other nodes. */
static sh_arg any_output(random_maker *m) {
    for (int tries = 0; tries < 4; tries++) {
        const random_value v = random_any(m, NULL);
        if (!v.node->nusers) return sh_arg_node(v.node);
    }
    return sh_arg_node(random_any(m, NULL).node);
}

static void add_output(random_maker *m) {
    const sh_arg last = sh_arg_node(m->values[m->n - 1].node), nested = any_output(m);
    sh_arg at[4] = {last, any_output(m), any_output(m), sh_arg_list((sh_args){&nested, 1})};
    if (random_one_in(10)) at[1] = sh_arg_node(m->values[0].node);
    const size_t n = (size_t)sample_int(1, 4);
    sh_graph_output(m->graph, n == 1 && random_one_in(2) ? last : sh_arg_tuple((sh_args){at, n}));
}

static void fill(random_maker *m, random_graph *r) {
    choose_shape(m);
    for (int64_t i = sample_int(1, RANDOM_INPUTS); i > 0; i--) add_input(m, r);
    const int nodes = m->how->nodes ? m->how->nodes : 16;
    for (int tries = 0; m->n < nodes && tries < 8 * nodes; tries++) {
        random_put_any(m);
        sh_clear_error();
    }
    add_output(m);
}

random_graph random_graph_new(uint64_t seed, const random_graph_how *how) {
    random_graph r = {.seed = seed, .graph = sh_graph_new()};
    random_maker *m = calloc(1, sizeof *m);
    sh_switch off;
    if (!r.graph || !m) abort();
    *m = (random_maker){.how = how, .graph = r.graph};
    sample_state = seed;
    if (how->net) sh_graph_set_module(r.graph, how->net);
    const sh_rng_state random = sh_get_rng_state();
    sh_manual_seed(seed);
    sh_switch_off(&off, SH_OFF_ALL);
    SH_SCOPE fill(m, &r);
    sh_switch_end(&off);
    sh_set_rng_state(random);
    if (sh_error() || sh_graph_lint(r.graph) < 0) {
        fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, sh_error()->message);
        abort();
    }
    sh__free(m->scratch.at);
    free(m);
    return r;
}

void random_graph_free(random_graph *r) {
    for (size_t i = 0; i < r->ninputs; i++) sh_release(r->inputs[i]);
    sh_graph_free(r->graph);
    *r = (random_graph){0};
}

sh_tensors random_copies(sh_tensors tensors, sh_tensor **room) {
    for (size_t i = 0; i < tensors.n; i++) room[i] = copy_of(tensors.at[i]);
    return (sh_tensors){room, tensors.n};
}

bool random_same(const sh_tensor *a, const sh_tensor *b) {
    if (sample_same(a, b)) return true;
    return a && b && sh_tensor_dtype(a) == sh_tensor_dtype(b) && sample_same_shape(a, b) &&
           sh_allclose((sh_tensor *)(uintptr_t)a, (sh_tensor *)(uintptr_t)b, .rtol = 0, .atol = 0,
                       .equal_nan = true);
}
