/* conv_way.c - see conv_way.h.
 *
 * A sum of measured times decides between the two layouts, as a change of layout in mid-network costs what the better way
 * wins there. Ways differ by tens of percent, the least of a few runs by few. */
#include "graph/compile/conv_way.h"

#include <float.h>
#include <string.h>

#include "dispatch/memory_impl.h"

static bool same_ops(const sh_postops *a, const sh_postops *b) {
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].kind != b->at[i].kind || a->at[i].function != b->at[i].function) return false;
    return true;
}

static bool same(const sh_conv_unit *a, const sh_conv_unit *b) {
    return memcmp(&a->shape, &b->shape, sizeof a->shape) == 0 && same_ops(&a->after, &b->after);
}

/* Transformed weights are four times as large as the filters: with few tiles, reading them takes longer than all else. */
static bool may_be(const sh_conv_shape *s, sh_conv_way way) {
    enum { LEAST_TILES = 8 };
    if (way < SH_CONV_WINOGRAD_2) return true;
    const int64_t tiles = s->batch * ((s->out[0] + 3) / 4) * ((s->out[1] + 3) / 4);
    return s->groups == 1 && s->kernel[0] == 3 && s->kernel[1] == 3 && s->stride[0] == 1 &&
           s->stride[1] == 1 && s->dilation[0] == 1 && s->dilation[1] == 1 &&
           (way == SH_CONV_WINOGRAD_2 || tiles >= LEAST_TILES);
}

static bool any_winograd(const sh_conv_choice *choices, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (may_be(&choices[i].conv.shape, SH_CONV_WINOGRAD_2)) return true;
    return false;
}

static sh_status measure_one(sh_conv_choice *c, uint32_t ways, char *other) {
    double best = DBL_MAX;
    for (sh_conv_way way = 0; way < SH_CONV_WAYS; way++) {
        c->ns[way] = DBL_MAX;
        const bool tried = ways >> way & 1 && may_be(&c->conv.shape, way);
        sh_primitive *p = tried ? sh__conv_new(&c->conv, way) : NULL;
        if (!p && sh_error()) return sh_error()->code;
        if (!p) continue;
        const double ns = sh__primitive_time(p, best, other);
        sh__primitive_free(p);
        if (ns < 0) return sh_error()->code;
        c->ns[way] = ns;
        if (ns < best) best = ns;
    }
    return SH_OK;
}

static sh_status measure_each(sh_conv_choice *choices, uint32_t n, uint32_t ways, char *other) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < i && !same(&choices[k].conv, &choices[i].conv)) k++;
        if (k < i)
            memcpy(choices[i].ns, choices[k].ns, sizeof choices[i].ns);
        else
            SH_TRY(measure_one(&choices[i], ways, other));
    }
    return SH_OK;
}

static sh_status measure_all(sh_conv_choice *choices, uint32_t n, uint32_t ways) {
    size_t capacity;
    char *other = sh__block_alloc(SH_PRIMITIVE_OTHER, &capacity);
    if (!other) return SH_ERROR_MEMORY;
    const sh_status status = measure_each(choices, n, ways, other);
    sh__block_free(other, capacity);
    return status;
}

/* The fastest way that writes this layout. */
static sh_conv_way fastest(const sh_conv_choice *c, sh_layout layout) {
    sh_conv_way best = layout == SH_LAYOUT_LAST ? SH_CONV_LAST : SH_CONV_BLOCKED;
    for (sh_conv_way way = best; way < SH_CONV_WAYS; way++)
        if (sh__conv_writes(way) == layout && c->ns[way] < c->ns[best]) best = way;
    return best;
}

/* Channels last unless blocks are clearly faster: joining channels and few channels go better there. */
static sh_layout better_layout(const sh_conv_choice *choices, uint32_t n) {
    double last = 0, blocked = 0;
    for (uint32_t i = 0; i < n; i++) {
        last += choices[i].ns[fastest(&choices[i], SH_LAYOUT_LAST)];
        blocked += choices[i].ns[fastest(&choices[i], SH_LAYOUT_BLOCKED)];
    }
    return blocked < 0.95 * last ? SH_LAYOUT_BLOCKED : SH_LAYOUT_LAST;
}

sh_status sh__conv_choose(sh_conv_choice *choices, uint32_t n, uint32_t ways) {
    sh_layout layout = SH_LAYOUT_LAST;
    if (ways == SH_CONV_EVERY_WAY && !any_winograd(choices, n)) ways = 0;
    if (ways) {
        SH_TRY(measure_all(choices, n, ways));
        layout = better_layout(choices, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        choices[i].way = ways ? fastest(&choices[i], layout) : SH_CONV_LAST;
        choices[i].made = sh__conv_new(&choices[i].conv, choices[i].way);
        if (!choices[i].made && sh_error()) return sh_error()->code;
    }
    return SH_OK;
}
