/* carry.c - each element of what these ops return is an element of a tensor argument of the same dtype, its negative or its
 * magnitude, a number among the arguments, or a constant between 0 and 6. A float argument of another dtype would be cast,
 * and a cast may overflow: then nothing is promised. */
#include "modes/carry.h"

#include <math.h>
#include <string.h>

#include "ops/element.h"
#include "ops/ops.h"

enum { LARGEST_F16 = 65504 }; /* numbers up to here are finite in all dtypes */

static bool carries(uint32_t op) {
    switch (op) {
    case SH_OP_relu:
    case SH_OP_relu6:
    case SH_OP_hardtanh:
    case SH_OP_clamp:
    case SH_OP_clamp_Tensor:
    case SH_OP_maximum:
    case SH_OP_minimum:
    case SH_OP_neg:
    case SH_OP_abs:
    case SH_OP_where:
    case SH_OP_masked_fill:
    case SH_OP_max_pool2d:
    case SH_OP_pad:
    case SH_OP_cat:
    case SH_OP_stack:
    case SH_OP_clone:
    case SH_OP_index_select: return true;
    default: return false;
    }
}

/* A window of which every tap falls into the padding has -Inf for its maximum. Without gaps between taps there is none. */
static bool has_gaps(const sh_call *call) {
    const int at = sh_schema_find(sh_call_schema(call), "dilation");
    const sh_ints dilation = at < 0 ? (sh_ints){NULL, 0} : sh_value_as_ints(sh_call_arg(call, (uint32_t)at));
    for (size_t i = 0; i < dilation.n; i++)
        if (dilation.at[i] != 1) return true;
    return false;
}

static bool is_small(double v) { return fabs(v) <= LARGEST_F16; }

/* Single elements are looked at; they may be numbers, which are f64 whatever the others are. Masks and indices are no values. */
static void join_tensor(sh_carried *c, const sh_tensor *t) {
    if (t->data && t->numel == 1 && is_small(sh_load_shown((sh_dtype)t->dtype, t->data))) return;
    if (t->dtype == SH_B8 || !t->numel) return;
    const sh_known what = c->dtype && c->dtype != (sh_dtype)t->dtype ? SH_KNOWN_NOTHING : sh__known(t);
    c->dtype = (sh_dtype)t->dtype;
    if (what < c->what) c->what = what;
}

static void join(sh_carried *c, sh_value v) {
    if (v.tag == SH_TAG_TENSOR) join_tensor(c, v.as.tensor);
    for (uint32_t i = 0; v.tag == SH_TAG_TENSORS && i < v.count; i++)
        if (v.as.tensors[i]) join_tensor(c, v.as.tensors[i]);
    if (v.tag == SH_TAG_FLOAT && !is_small(v.as.f)) c->what = SH_KNOWN_NOTHING;
    if (v.tag == SH_TAG_INT && !is_small((double)v.as.i)) c->what = SH_KNOWN_NOTHING;
}

/* The index of index_select alone is an integer tensor that is no value. */
static bool is_value(const sh_call *call, uint32_t i) {
    return sh_op_id(sh_call_op_of(call)) != SH_OP_index_select ||
           strcmp(sh_call_schema(call)->params[i].name, "index") != 0;
}

sh_carried sh_carry(sh_call *call) {
    sh_carried c = {SH_KNOWN_FINITE, SH_NO_DTYPE};
    const sh_carried nothing = {SH_KNOWN_NOTHING, SH_NO_DTYPE};
    if (!carries(sh_op_id(sh_call_op_of(call))) || has_gaps(call)) return nothing;
    for (uint32_t i = 0; c.what && i < sh_call_nargs(call); i++)
        if (is_value(call, i)) join(&c, sh_call_arg(call, i));
    return c.what && sh__runs_builtin_next(call) ? c : nothing;
}
