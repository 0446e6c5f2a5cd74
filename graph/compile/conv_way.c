/* conv_way.c - see conv_way.h.
 *
 * A sum of measured times decides between the two layouts, as a change of layout in mid-network costs what the better way
 * wins there. Ways differ by tens of percent, the least of a few runs by few. */
#include "graph/compile/conv_way.h"

#include <float.h>
#include <string.h>

static bool same_ops(const sh_postops *a, const sh_postops *b) {
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].kind != b->at[i].kind || a->at[i].function != b->at[i].function) return false;
    return true;
}

static bool same(const sh_conv_unit *a, const sh_conv_unit *b) {
    return memcmp(&a->shape, &b->shape, sizeof a->shape) == 0 && same_ops(&a->after, &b->after);
}

static bool may_be_winograd(const sh_conv_shape *s) {
    return s->groups == 1 && s->kernel[0] == 3 && s->kernel[1] == 3 && s->stride[0] == 1 &&
           s->stride[1] == 1 && s->dilation[0] == 1 && s->dilation[1] == 1;
}

static sh_status measure_one(sh_conv_choice *c) {
    double best = DBL_MAX;
    for (sh_conv_way way = 0; way < SH_CONV_WAYS; way++) {
        c->ns[way] = DBL_MAX;
        if (way >= SH_CONV_WINOGRAD_2 && !may_be_winograd(&c->conv.shape)) continue;
        sh_primitive *p = sh__conv_new(&c->conv, way);
        if (!p && sh_error()) return sh_error()->code;
        if (!p) continue;
        const double ns = sh__primitive_time(p, best);
        sh__primitive_free(p);
        if (ns < 0) return sh_error()->code;
        c->ns[way] = ns;
        if (ns < best) best = ns;
    }
    return SH_OK;
}

static sh_status measure_all(sh_conv_choice *choices, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < i && !same(&choices[k].conv, &choices[i].conv)) k++;
        if (k < i)
            memcpy(choices[i].ns, choices[k].ns, sizeof choices[i].ns);
        else
            SH_TRY(measure_one(&choices[i]));
    }
    return SH_OK;
}

/* The fastest way that writes this layout. */
static sh_conv_way fastest(const sh_conv_choice *c, sh_layout layout) {
    sh_conv_way best = layout == SH_LAYOUT_LAST ? SH_CONV_LAST : SH_CONV_BLOCKED;
    for (sh_conv_way way = best; way < SH_CONV_WAYS; way++)
        if (sh__conv_writes(way) == layout && c->ns[way] < c->ns[best]) best = way;
    return best;
}

static sh_layout better_layout(const sh_conv_choice *choices, uint32_t n) {
    double last = 0, blocked = 0;
    for (uint32_t i = 0; i < n; i++) {
        last += choices[i].ns[fastest(&choices[i], SH_LAYOUT_LAST)];
        blocked += choices[i].ns[fastest(&choices[i], SH_LAYOUT_BLOCKED)];
    }
    return blocked < last ? SH_LAYOUT_BLOCKED : SH_LAYOUT_LAST;
}

sh_status sh__conv_choose(sh_conv_choice *choices, uint32_t n, bool measure) {
    sh_layout layout = SH_LAYOUT_LAST;
    if (measure) {
        SH_TRY(measure_all(choices, n));
        layout = better_layout(choices, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        choices[i].way = measure ? fastest(&choices[i], layout) : SH_CONV_LAST;
        choices[i].made = sh__conv_new(&choices[i].conv, choices[i].way);
        if (!choices[i].made && sh_error()) return sh_error()->code;
    }
    return SH_OK;
}
