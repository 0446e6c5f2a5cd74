/* unit_channels.c - channels joined, channels last: a pixel of the result is one of each part side by side. */
#include <string.h>

#include "dispatch/tensor_impl.h"
#include "graph/compile/unit_pool.h"
#include "ops/iter.h"
#include "ops/ops.h"

enum { ROWS = 256 }; /* pixels that a thread takes at a time */

static void join(const sh_channels *c, const sh_unit_frame *frame, int64_t begin, int64_t end) {
    float *to = (float *)(void *)frame->records[c->result].data;
    int64_t at = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        const sh_channels_part *part = &c->parts[k];
        const size_t bytes = (size_t)part->width * sizeof *to;
        const float *from =
            part->value == SH_NO_VALUE ? NULL : (const float *)(const void *)frame->records[part->value].data;
        for (int64_t i = begin; i < end; i++)
            if (from)
                memcpy(to + i * c->width + at, from + i * part->width, bytes);
            else
                memset(to + i * c->width + at, 0, bytes);
        at += part->width;
    }
}

static sh_status run_channels(const void *unit, const sh_unit_frame *frame) {
    const sh_channels *c = unit;
    const int64_t pieces = (c->pixels + ROWS - 1) / ROWS;
    SH_PARALLEL(sh__threads(c->pixels * c->width))
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t end = (i + 1) * ROWS;
        join(c, frame, i * ROWS, end < c->pixels ? end : c->pixels);
    }
    return SH_OK;
}

static void print_channels(const void *unit, FILE *out) {
    const sh_channels *c = unit;
    for (uint32_t k = 0; k < c->n; k++)
        fprintf(out, "%s%lld%s", k ? "+" : "", (long long)c->parts[k].width,
                c->parts[k].value == SH_NO_VALUE ? " zeros" : "");
}

const sh_unit_type sh__unit_channels = {
    .name = "channels", .run = run_channels, .print = print_channels, .free = sh__free};

static bool is_zero(const sh_tensor *t) {
    const float *x = t ? (const float *)(const void *)t->data : NULL;
    if (!x || !(t->flags & SH_TENSOR_CONTIGUOUS)) return false;
    for (int64_t i = 0; i < t->numel; i++)
        if (x[i] != 0) return false;
    return true;
}

static bool is_along_channels(const sh_plan *plan, const sh_plan_step *step) {
    const int64_t dim = sh_value_as_int(sh__step_argument(step, "dim"));
    if (!sh__step_is_own(plan, step) || step->op->id != SH_OP_cat || (dim != 1 && dim != -3)) return false;
    if (step->args[0].tag != SH_TAG_TENSORS || step->args[0].count != step->nloads) return false;
    for (uint32_t i = 0; i < step->nloads; i++)
        if (step->loads[i].argument != 0 || plan->values[step->loads[i].id].spec.ndim != 4) return false;
    return plan->values[step->results[0]].spec.ndim == 4;
}

sh_channels *sh__channels_new(const sh_plan *plan, const sh_plan_step *step) {
    if (!is_along_channels(plan, step)) return NULL;
    sh_channels *c = sh__alloc(sizeof *c + step->nloads * sizeof *c->parts);
    if (!c) return NULL;
    const int64_t *sizes = plan->values[step->results[0]].spec.sizes;
    *c = (sh_channels){.result = step->results[0],
                       .n = step->nloads,
                       .pixels = sizes[0] * sizes[2] * sizes[3],
                       .width = sizes[1]};
    for (uint32_t i = 0; i < step->nloads; i++) {
        const uint32_t id = step->loads[i].id;
        c->parts[step->loads[i].entry] = (sh_channels_part){
            is_zero(sh__value_constant(plan, id)) ? SH_NO_VALUE : id, plan->values[id].spec.sizes[1]};
    }
    return c;
}
