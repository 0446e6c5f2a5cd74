/* tiles.h - a draft run as it is and in tiles: nothing may differ in any bit. */
#ifndef SH_TESTS_TILES_H
#define SH_TESTS_TILES_H

#include "graph/compile/tiles.h"
#include "shunt.h"
#include "tests/draft.h"

#define V draft_value
static const sh_value none = {.tag = SH_TAG_NONE};

/* ---- equal bits ---- */

static inline bool is_nan_at(sh_dtype dtype, const char *at) {
    float f;
    double d;
    uint16_t h;
    if (sh_dtype_kind_of(dtype) != SH_KIND_FLOAT) return false;
    memcpy(&h, at, sizeof h);
    if (dtype == SH_F16) return sh_f16_to_f32(h) != sh_f16_to_f32(h);
    if (dtype == SH_BF16) return sh_bf16_to_f32(h) != sh_bf16_to_f32(h);
    if (dtype == SH_F64) return memcpy(&d, at, sizeof d), d != d;
    return dtype == SH_F32 && (memcpy(&f, at, sizeof f), f != f);
}

/* Which NaN it is apart. */
static inline bool same_values(const sh_tensor *a, const sh_tensor *b) {
    const sh_dtype dtype = (sh_dtype)a->dtype;
    if (memcmp(a->data, b->data, (size_t)a->numel * a->element) == 0) return true;
    for (int64_t i = 0; i < a->numel; i++) {
        const char *x = a->data + i * a->element, *y = b->data + i * b->element;
        if (memcmp(x, y, a->element) != 0 && !(is_nan_at(dtype, x) && is_nan_at(dtype, y))) return false;
    }
    return true;
}

static uint32_t taken_in;   /* plans whose first step became part of a unit */
static uint32_t steps_left; /* of the plan tiled last */

/* Runs the plan as it is and with tiles; its outputs must not differ. Frees it. */
static inline void expect_same(sh_plan *plan, sh_tensor *const *inputs, const char *what) {
    draft_run expected = draft_open(plan, inputs);
    const sh_status status = draft_run_all(&expected);
    sh_clear_error();
    cr_assert(eq(int, sh__plan_tile(plan), SH_OK));
    taken_in += plan->steps.n && plan->steps.at[0].kind == SH_STEP_UNIT;
    steps_left = plan->steps.n;
    draft_run got = draft_open(plan, inputs);
    cr_expect(eq(int, draft_run_all(&got), status), "%s", what);
    sh_clear_error();
    for (uint32_t i = 0; i < plan->nvalues && status == SH_OK; i++)
        if (plan->values[i].output)
            cr_expect(same_values(&got.records[i], &expected.records[i]), "%s: value %u", what, i);
    draft_close(&got);
    draft_close(&expected);
    sh__plan_free(plan);
}

#endif
