/* plan_draft.h - drafts of plans made by hand, one op at a time, and run one step after the other.
 *
 * Each op is run eagerly as it is added: what it gives is both the model of the new value and what the plan must give. */
#ifndef SH_TESTS_PLAN_DRAFT_H
#define SH_TESTS_PLAN_DRAFT_H

#include "graph/compile/plan.h"
#include "shunt.h"

enum { DRAFT_VALUES = 512 };

typedef struct draft {
    sh_plan *plan;
    sh_tensor *eager[DRAFT_VALUES]; /* by value; the scope's */
} draft;

sh_status draft_begin(draft *d);
/* An argument of the plan, with the data it will be run on. All return `t`, or NULL and an error. */
sh_tensor *draft_input(draft *d, sh_tensor *t);
sh_tensor *draft_constant(draft *d, sh_tensor *t);
/* A step with these arguments in schema order; those left out have their defaults. */
sh_tensor *draft_step(draft *d, const char *op, const sh_value *args, size_t n);
/* A value on the buffer of `base`, which the eager tensor `view` is a view of. */
sh_tensor *draft_view(draft *d, sh_tensor *base, sh_tensor *view);
sh_status draft_output(draft *d, sh_tensor *t);
#define DRAFT(d, op, ...)                              \
    draft_step(d, op, (const sh_value[]){__VA_ARGS__}, \
               sizeof((const sh_value[]){__VA_ARGS__}) / sizeof(sh_value))

/* How many units of a kind the plan has. */
uint32_t draft_units(const draft *d, const char *name);
/* Runs the plan; the largest difference of its outputs from what the ops gave, relative to the largest element of each.
 * Infinite: an error. */
double draft_run(const draft *d);

#endif
