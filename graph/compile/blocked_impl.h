/* blocked_impl.h - a draft on its way into oneDNN's layouts: which step makes and reads what, and where values are by now. */
#ifndef SH_GRAPH_COMPILE_BLOCKED_IMPL_H
#define SH_GRAPH_COMPILE_BLOCKED_IMPL_H

#include "graph/compile/blocked.h"
#include "graph/compile/conv_way.h"
#include "graph/compile/unit_product.h"

#define SH_NO_STEP UINT32_MAX

typedef struct sh_blocker {
    sh_plan *plan;
    sh_plan_steps draft;        /* the steps as they came; the plan's are what they become */
    uint32_t done;              /* steps of the draft that the plan has taken over */
    uint32_t nvalues, nbuffers; /* as they came */
    uint32_t *reads, *reader,
        *maker;     /* by value: how often it is read, and the last step that does; the one that makes it */
    uint32_t *last; /* by buffer: the last step that reads it; SH_NO_STEP: it outlives them all */
    uint32_t *pending;          /* by buffer: the value whose plain form is not written; SH_NO_VALUE: none */
    uint32_t *choice_of;        /* by step: the choice that it is part of, + 1; 0: none */
    uint32_t (*at)[SH_LAYOUTS]; /* by value: the value that has it in this layout; SH_NO_VALUE: none */
    uint32_t *product_of;       /* the same of products */
    sh_conv_choice *choices;
    sh_product_unit *products;
    uint32_t nchoices, nproducts;
} sh_blocker;

/* ---- regions.c ---- finds the convolutions and products and what each takes over, and how each is done */
sh_status sh__block_find(sh_blocker *b, const sh_block_options *options);

/* ---- blocked.c ---- */
/* May step `i` write over this value when it is the last to read it? */
bool sh__block_may_overwrite(const sh_blocker *b, uint32_t value, uint32_t i);

#endif
