/* effects.h - what a node does beside giving a value, and whose memory its value is. */
#ifndef SH_GRAPH_EFFECTS_H
#define SH_GRAPH_EFFECTS_H

#include "graph/graph.h"

enum {
    SH__EFFECT_WRITES = 1, /* to `target`: in place, or into an `out` */
    SH__EFFECT_RANDOM = 2, /* moves the generator on */
    SH__EFFECT_OTHER =
        4 /* anything: a function not declared pure, an op that writes elsewhere or is unknown */
};

typedef struct sh_effects {
    uint32_t what;
    const sh_node *target; /* what it writes to; NULL: nothing, or unknown */
    const sh_node *alias;  /* whose memory its value may share; NULL: memory of its own */
    bool any_input;        /* or that of any other input */
} sh_effects;

/* The key under which a node of a trace says which mode it was recorded in front of, in the place of going on below it: the
 * position in the chain << 32 | the mode's place there, from the bottom. That mode may do anything. */
#define SH_META_KEPT "shunt.kept"

sh_effects sh__node_effects(const sh_node *node);

#endif
