/* lower_impl.h - a lowering in progress. */
#ifndef SH_GRAPH_COMPILE_LOWER_IMPL_H
#define SH_GRAPH_COMPILE_LOWER_IMPL_H

#include "graph/compile/models.h"
#include "graph/compile/plan.h"

/* What a node is: `n` values from `first` on; no value: n is 0. */
typedef struct sh_lowered {
    uint32_t first, n;
} sh_lowered;

typedef struct sh_lowering {
    sh_plan *plan;
    sh_graph *graph;
    sh_tensors inputs;
    uint32_t ninputs;  /* lowered so far */
    sh_lowered *nodes; /* by id */
    sh_models models;
    bool calls_all;   /* a tensor is on another device than the host */
    bool keeps_graph; /* a step needs its node */
} sh_lowering;

/* ---- lower.c ---- UINT32_MAX and an error where memory is out */
uint32_t sh__lower_arena_value(sh_lowering *l, const sh_node *node, const sh_spec *spec);
/* Made by its step; spec NULL: nothing is known of it. */
uint32_t sh__lower_made_value(sh_lowering *l, const sh_node *node, const sh_spec *spec);
uint32_t sh__lower_constant(sh_lowering *l, const char *name, sh_tensor *tensor);
/* On the buffer of `base`, as the model lies to the base's. */
uint32_t sh__lower_view(sh_lowering *l, const sh_node *node, uint32_t base, sh_tensor *model);
sh_status sh__lowered_as(sh_lowering *l, const sh_node *node, uint32_t first, uint32_t n);

/* ---- lower_args.c ---- */
/* Name, scope and site. */
sh_status sh__lower_place(sh_lowering *l, const sh_node *node, sh_plan_step *step);
/* A load for each value of each input of the node, in order; argument: which input it is, entry: which of its values. */
sh_status sh__lower_inputs(sh_lowering *l, const sh_node *node, sh_plan_step *step);
/* Op, argument template and loads; `*placed` is false where an argument is what only the dispatcher can convert. */
sh_status sh__lower_arguments(sh_lowering *l, const sh_step *from, sh_plan_step *step, bool *placed);
/* The step's arguments with models in them; false: one has none, or memory is out, which is an error then. */
bool sh__lower_model_args(const sh_lowering *l, const sh_plan_step *step, sh_value *args);

/* ---- lower_view.c ---- */
/* The node as values on its base's buffer, or as a copy where the view would need one. `*done`: it is. */
sh_status sh__lower_as_view(sh_lowering *l, const sh_node *node, const sh_plan_step *step, bool *done);

#endif
