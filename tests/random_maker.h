/* random_maker.h - a random graph in the making, for random_graph.c and the files with its kinds of nodes. */
#ifndef SH_TESTS_RANDOM_MAKER_H
#define SH_TESTS_RANDOM_MAKER_H

#include "dispatch/tensor_impl.h"
#include "graph/graph_impl.h"
#include "graph/invoke.h"
#include "tests/random_graph.h"

enum { RANDOM_VALUES = 256 };

/* A node that gives one tensor, and that tensor. */
typedef struct random_value {
    sh_node *node; /* NULL: there is none that is wanted */
    sh_tensor *t;
} random_value;

typedef struct random_maker {
    const random_graph_how *how;
    sh_graph *graph;
    random_value values[RANDOM_VALUES];
    int n;
    sh_value results[4 * RANDOM_VALUES]; /* by the id of a node */
    sh_tensor *pairs[RANDOM_VALUES][SH_MAX_RESULTS];
    int npairs, nconstants;
    const sh_storage *guarded[RANDOM_VALUES];
    int nguarded;
    int64_t sizes[4]; /* the shape that most values have, or a part of it */
    int ndim;
    sh_scratch scratch;
} random_maker;

typedef bool (*random_wanted)(const sh_tensor *t);

int64_t random_int(int64_t low, int64_t high); /* both included */
static inline bool random_one_in(int64_t n) { return random_int(1, n) == 1; }
#define RANDOM_PICK(array) ((array)[random_int(0, (int64_t)(sizeof(array) / sizeof *(array)) - 1)])

random_value random_any(random_maker *m, random_wanted wanted);
/* A call_function node, run on the values that there are. NULL, and no such node, where that fails or the result is too
 * large to go on with. */
sh_node *random_put(random_maker *m, const char *target, sh_args args, sh_kwargs kwargs);
/* The value that a node gave, a tensor. */
sh_tensor *random_tensor_of(const random_maker *m, const sh_node *node);
/* A get_attr node for a new tensor of the graph; of floats small ones. */
sh_node *random_constant(random_maker *m, sh_dtype dtype, sh_ints sizes);
/* A call of a module that takes and gives a tensor. */
sh_node *random_put_module(random_maker *m, const char *path, random_value x);
/* May a write to it be seen after the run? */
bool random_is_guarded(const random_maker *m, const sh_tensor *t);
sh_dtype random_dtype(const random_maker *m);

/* ---- what kinds have in common ---- */

#define PUT(m, op, ...) random_put(m, op, SH_ARGS(__VA_ARGS__), SH_NO_KWARGS)
#define PUT_WITH(m, op, args, ...) random_put(m, op, args, SH_KWARGS(__VA_ARGS__))

static inline bool is_float(const sh_tensor *t) {
    return sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT;
}
static inline bool is_bool(const sh_tensor *t) { return t->dtype == SH_B8; }
static inline bool is_wide(const sh_tensor *t) { return t->dtype == SH_F32 || t->dtype == SH_F64; }
static inline bool has_axes(const sh_tensor *t) { return t->ndim > 0; }
static inline bool has_real_axes(const sh_tensor *t) { return t->ndim > 0 && is_float(t); }
static inline int64_t axis_of(const sh_tensor *t) { return random_int(-t->ndim, t->ndim - 1); }
static inline int64_t size_at(const sh_tensor *t, int64_t axis) {
    return t->sizes[axis < 0 ? axis + t->ndim : axis];
}
static inline bool coin(void) { return random_one_in(2); }
/* A list of ints in `at`. */
static inline sh_arg ints(sh_arg *at, const int64_t *sizes, int n) {
    for (int i = 0; i < n; i++) at[i] = sh_arg_int(sizes[i]);
    return sh_arg_list((sh_args){at, (size_t)n});
}
/* Another value, or a number. */
sh_arg random_operand(random_maker *m, random_wanted wanted);

/* Each puts a node of a random kind, or a few, or none: any, a layer of a net, a write, what comes from elsewhere. */
void random_put_any(random_maker *m);
void random_put_layer(random_maker *m);
void random_put_write(random_maker *m);
void random_put_source(random_maker *m);

#endif
