/* place.c - may this match be replaced, and where does the replacement go?
 *
 * No node inside it may be used from outside. The replacement goes in front of the last output, or of the first
 * node outside that uses one; there all inputs must be there already, and from the first node that goes to there nothing
 * may be written to that the match could read. */
#include "graph/effects.h"
#include "graph/rewrite/match.h"

static bool is_part(const sh_match *m, const sh_node *node) {
    for (uint32_t i = 0; i < m->norder; i++)
        if (m->values[m->order[i]->id].as.node == node) return true;
    return false;
}

static bool is_anchor(const sh_match *m, const sh_node *p) {
    for (uint32_t i = 0; i < m->nanchors; i++)
        if (m->anchors[i] == p) return true;
    return false;
}

/* Attributes are read where they are needed, as often as they are. */
static bool is_contained(const sh_match *m) {
    for (uint32_t i = 0; i < m->norder; i++) {
        const sh_node *p = m->order[i];
        if (p->opcode == SH_GET_ATTR || is_anchor(m, p)) continue;
        for (const sh_use *use = m->values[p->id].as.node->first_user; use; use = use->next)
            if (!is_part(m, use->user)) return false;
    }
    return true;
}

static bool uses_an_anchor(const sh_match *m, const sh_node *node) {
    for (uint32_t i = 0; i < m->nanchors; i++)
        for (uint32_t k = 0; m->anchors[i]->opcode != SH_PLACEHOLDER && k < node->ninputs; k++)
            if (node->uses[k].input == m->values[m->anchors[i]->id].as.node) return true;
    return false;
}

/* How many nodes other than parts the placeholders stand for, those in lists and met twice too. */
static size_t count_inputs(const sh_match *m, const sh_node *node) {
    size_t n = 0;
    for (const sh_node *p = sh_graph_first(m->pattern); p; p = sh_node_next(p)) {
        const sh_arg *value = &m->values[p->id];
        if (p->opcode == SH_PLACEHOLDER && sh__is_bound(value) && value->tag == SH_ARG_NODE)
            n += !node || value->as.node == node;
    }
    return n;
}

static bool writes(const sh_node *node) {
    return (sh__node_effects(node).what & (SH__EFFECT_WRITES | SH__EFFECT_OTHER)) != 0;
}

typedef struct stretch {
    size_t parts;  /* of the match, still to come */
    size_t inputs; /* the same */
    bool begun, written;
} stretch;

/* One step of the walk to the point; true at the point. What stands there is not in front of it. */
static bool reaches(const sh_match *m, const sh_node *node, stretch *s) {
    if (is_part(m, node)) {
        s->begun = true;
        return --s->parts == 0;
    }
    if (s->begun && uses_an_anchor(m, node)) return true;
    s->written |= s->begun && writes(node);
    s->inputs -= s->inputs ? count_inputs(m, node) : 0;
    return false;
}

/* The first part of a match with one output is no more than a few nodes in front of it. */
static sh_node *first_part(const sh_match *m) {
    if (m->nanchors > 1) return sh_graph_first(m->graph);
    sh_node *node = m->values[m->order[0]->id].as.node;
    for (size_t left = m->norder; node->prev != &m->graph->root; node = node->prev)
        if (is_part(m, node) && --left == 0) break;
    return node;
}

bool sh__match_placed(sh_match *m) {
    if (!is_contained(m)) return false;
    const bool one = m->nanchors == 1; /* its inputs stand in front of it, as those of any node */
    stretch s = {.parts = m->norder, .inputs = one ? 0 : count_inputs(m, NULL)};
    for (sh_node *node = first_part(m); node != &m->graph->root; node = node->next) {
        if (!reaches(m, node, &s)) continue;
        m->point = node;
        return !s.written && (one || s.inputs == 0);
    }
    return false;
}
