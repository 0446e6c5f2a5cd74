/* The draft of a plan: entries, steps and what is asked of them. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "dispatch/tensor_impl.h"
#include "graph/compile/plan.h"
#include "tests/fail_each.h"

static const sh_spec matrix = {.dtype = SH_F32, .ndim = 2, .sizes = {4, 6}};

static uint32_t add_plain(sh_plan *plan, const char *name) {
    return sh__plan_add_value(plan, name, &matrix, sh__plan_add_buffer(plan, SH_HOME_ARENA, 96));
}

static int units_freed;
static void free_unit(void *unit) { units_freed += *(int *)unit; }
static sh_status run_unit(const void *unit, const sh_unit_frame *frame) {
    return unit && frame ? SH_OK : SH_PASS;
}
static const sh_unit_type counted = {.name = "counted", .run = run_unit, .free = free_unit};
static int one = 1;

Test(plan, many_values_keep_their_names_and_contiguous_strides) {
    sh_plan *plan = sh__plan_new();
    char name[700];
    for (uint32_t i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%0*u", i % 2 ? 600 : 3, i);
        cr_assert(eq(u32, add_plain(plan, name), i));
    }
    for (uint32_t i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%0*u", i % 2 ? 600 : 3, i);
        cr_assert(eq(str, (char *)(uintptr_t)plan->values[i].name, name));
        cr_assert(eq(i64, plan->values[i].strides[0], 6));
        cr_assert(eq(i64, plan->values[i].strides[1], 1));
        cr_assert(sh__value_is_contiguous(&plan->values[i]));
    }
    plan->values[3].strides[0] = 7;
    cr_assert(not(sh__value_is_contiguous(&plan->values[3])));
    sh__plan_free(plan);
}

Test(plan, reads_are_counted_outputs_once_and_views_twice) {
    sh_plan *plan = sh__plan_new();
    const uint32_t a = add_plain(plan, "a"), b = add_plain(plan, "b"), c = add_plain(plan, "c");
    const uint32_t view = sh__plan_add_value(plan, "view", &matrix, plan->values[b].buffer);
    uint32_t counts[4];
    sh__plan_add_unit(plan, &plan->steps, "", &counted, &one, (uint32_t[]){a, b}, 2, &c, 1);
    plan->values[c].output = true;
    cr_assert(eq(int, sh__plan_count_reads(plan, counts), SH_OK));
    cr_assert(eq(u32, counts[a], 1));
    cr_assert(eq(u32, counts[b], 2));
    cr_assert(eq(u32, counts[view], 2));
    cr_assert(eq(u32, counts[c], 1));
    sh__plan_free(plan);
    cr_assert(eq(int, units_freed, 1));
}

Test(plan, a_constant_is_found_whole_and_lives_as_long_as_the_plan) {
    sh_tensor *t = sh_keep(sh_ones(SH_SIZES(4, 6)));
    sh_plan *plan = sh__plan_new();
    const uint32_t whole = sh__plan_add_constant(plan, "w", t);
    const uint32_t row = sh__plan_add_value(plan, "row", &(sh_spec){.dtype = SH_F32, .ndim = 1, .sizes = {6}},
                                            plan->values[whole].buffer);
    sh_release(t);
    cr_assert(eq(ptr, (void *)(uintptr_t)sh__value_constant(plan, whole), t));
    cr_assert(eq(ptr, (void *)(uintptr_t)sh__value_constant(plan, row), NULL));
    cr_assert(eq(ptr, (void *)(uintptr_t)sh__value_constant(plan, add_plain(plan, "")), NULL));
    cr_assert(eq(sz, plan->buffers[plan->values[whole].buffer].size, 96));
    sh__plan_free(plan);
}

Test(plan, an_argument_is_found_by_its_name) {
    const sh_op *add = sh_op_find("add");
    sh_load loads[] = {{7, 1, -1}, {8, 0, 0}};
    const sh_plan_step step = {.schema = sh_op_schema(add), .loads = loads, .nloads = 2};
    cr_assert(eq(u32, sh__step_value(&step, "other"), 7));
    cr_assert(eq(u32, sh__step_value(&step, "self"), UINT32_MAX));
    cr_assert(eq(u32, sh__step_value(&step, "nothing"), UINT32_MAX));
}

Test(plan, steps_exchanged_leave_nothing_behind) {
    sh_plan *plan = sh__plan_new();
    sh_plan_steps steps = {NULL, 0, 0};
    uint32_t reads[100];
    for (uint32_t i = 0; i < 100; i++) reads[i] = add_plain(plan, "");
    sh__plan_add_unit(plan, &steps, "wide", &counted, &one, reads, 100, reads, 1);
    sh__plan_set_steps(plan, &steps);
    cr_assert(eq(u32, plan->steps.n, 1));
    cr_assert(eq(u32, plan->steps.at[0].loads[99].id, 99));
    cr_assert(eq(u32, steps.n, 0));
    sh__plan_free(plan);
    cr_assert(eq(int, units_freed, 1));
}

static bool make_plan(void) {
    sh_tensor *t = sh_ones(SH_SIZES(4, 6));
    sh_plan *plan = t ? sh__plan_new() : NULL;
    bool worked = plan != NULL;
    for (uint32_t i = 0; worked && i < 20; i++) {
        const uint32_t buffer = sh__plan_add_buffer(plan, SH_HOME_ARENA, 96);
        worked = buffer != UINT32_MAX && sh__plan_add_value(plan, "value", &matrix, buffer) == i;
    }
    worked = worked && sh__plan_add_constant(plan, "constant", t) == 20;
    units_freed = 0;
    uint32_t reads[100] = {0};
    const bool added =
        worked && sh__plan_add_unit(plan, &plan->steps, "unit", &counted, &one, reads, 100, reads, 1);
    cr_assert(eq(int, units_freed, worked && !added));
    sh__plan_free(plan);
    return added;
}

Test(plan, memory_out_anywhere_is_an_error_and_leaks_nothing) { fail_each("a plan", make_plan); }
