/* test_compile_places.c - where a mode stands on the stack and which names are open around a call are for a compiled call
 * what they are for the eager one. */
#include <stdlib.h>

#include "tests/compile.h"
#include "tests/modes.h"

TestSuite(compile_places);

static int runs;

static sh_status counts(sh_mode *mode, sh_call *call) {
    (void)mode, (void)call;
    runs++;
    return SH_PASS;
}

static sh_value writes_a_composite(sh_values in, void *user) {
    sh_tensor *x = in.at[0].as.tensor;
    (void)user;
    return sh_value_tensor(sh_add_(sh_linear(sh_add(x, 3), x), 5));
}

/* ---- places ---- */

static void expect_as_eager(sh_mode *mode, bool global) {
    sh_tensor *x = sh_reshape(sh_arange(4, .dtype = SH_F32), SH_SIZES(2, 2));
    sh_compiled *c = compile_exactly(writes_a_composite, NULL);
    cr_assert(eq(int, global ? sh_push_mode_global(mode) : sh_push_mode(mode), SH_OK));
    runs = 0;
    sh_tensor *expected = call_eager(writes_a_composite, NULL, x, NULL);
    const int runs_of_eager = runs;
    for (int i = 0; i < 2; i++) {
        runs = 0;
        sh_tensor *y = call_compiled(c, x, NULL);
        cr_expect(eq(int, runs, runs_of_eager));
        cr_expect(same_bits(y, expected));
    }
    no_error();
    cr_assert(eq(int, global ? sh_pop_mode_global(mode) : sh_pop_mode(mode), SH_OK));
    sh_compiled_free(c);
}

Test(compile_places, first_or_last_at_either_level_a_mode_acts_once_a_call) {
    static const uint32_t flags[] = {0, SH_MODE_FIRST, SH_MODE_LAST, SH_MODE_LAST | SH_MODE_KEEPS_COMPOSITES};
    for (int i = 0; i < 4 * 2 * 2 * 3; i++) SH_SCOPE {
            const sh_mode_kind kind = (sh_mode_kind)(i / 16);
            sh_mode *mode = sh_mode_new(
                kind == SH_MODE_REWRITING ? add_to_mul : counts,
                &(sh_mode_options){.flags = flags[i % 4], .level = (sh_level)(i / 4 % 2), .kind = kind});
            expect_as_eager(mode, i / 8 % 2);
            sh_mode_release(mode);
        }
}

Test(compile_places, a_capture_at_dispatch_level_records_each_call_once) {
    SH_SCOPE {
        const sh_capture_options options = {.level = SH_LEVEL_DISPATCH};
        sh_tensor *x = sh_reshape(sh_arange(4, .dtype = SH_F32), SH_SIZES(2, 2)), *y = NULL;
        sh_compiled *c = compile_exactly(writes_a_composite, NULL);
        sh_capture *capture = sh_capture_new(&options);
        SH_WITH_MODE(sh_capture_mode(capture)) y = call_compiled(c, x, NULL);
        sh_graph *graph = sh_capture_graph(capture, SH_LIST(y));
        cr_expect(same_bits(y, call_eager(writes_a_composite, NULL, x, NULL)));
        cr_assert(graph != NULL);
        char *text = sh_graph_text(graph);
        cr_expect(strstr(text, "[target=add_](args = (%matmul, 5)") != NULL, "%s", text);
        free(text);
        sh_graph_free(graph);
        sh_capture_free(capture);
        sh_compiled_free(c);
    }
}

/* ---- names ---- */

static char path[64];

static sh_status notes_path(sh_mode *mode, sh_call *call) {
    (void)mode, (void)call;
    snprintf(path, sizeof path, "%s", sh_scope_path());
    return SH_PASS;
}

static sh_value adds_in_a_scope(sh_values in, void *user) {
    (void)user;
    sh_name_push("inner");
    sh_tensor *z = sh_add(in.at[0].as.tensor, 3);
    sh_name_pop();
    return sh_value_tensor(z);
}

static sh_tensor *call_within(const char *name, sh_compiled *c, sh_tensor *x) {
    sh_name_push(name);
    sh_tensor *y = call_compiled(c, x, NULL);
    sh_name_pop();
    return y;
}

Test(compile_places, a_mode_that_is_kept_finds_the_names_of_this_call_and_of_no_other) {
    SH_SCOPE {
        sh_compiled *c = compile_exactly(adds_in_a_scope, NULL);
        sh_tensor *x = number(2);
        SH_WITH_MODE(notes_path) {
            call_within("here", c, x);
            cr_expect(eq(str, path, "here.inner"));
            call_within("there", c, x);
            cr_expect(eq(str, path, "there.inner"));
            call_compiled(c, x, NULL);
            cr_expect(eq(str, path, "inner"));
        }
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        no_error();
        sh_compiled_free(c);
    }
}

Test(compile_places, what_is_baked_in_by_name_holds_within_that_name_alone) {
    SH_SCOPE {
        sh_mode *mode = NULL;
        cr_assert(eq(int, sh_mode_from_spec("swap:from=add,to=mul,scope=^here", &mode), SH_OK));
        sh_compiled *c = compile_exactly(adds_in_a_scope, NULL);
        sh_tensor *x = number(2);
        SH_WITH_MODE(mode) {
            for (int i = 0; i < 2; i++) {
                cr_expect(eq(dbl, first(call_within("here", c, x)), 6));
                cr_expect(eq(dbl, first(call_within("there", c, x)), 5));
            }
        }
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 2));
        no_error();
        sh_mode_release(mode);
        sh_compiled_free(c);
    }
}

Test(compile_places, names_that_nobody_baked_in_looks_at_compile_nothing_anew) {
    SH_SCOPE {
        sh_mode *mode = sh_mode_new(add_to_mul, &(sh_mode_options){.kind = SH_MODE_REWRITING});
        sh_compiled *c = compile_exactly(adds_in_a_scope, NULL);
        SH_WITH_MODE(mode) {
            cr_expect(eq(dbl, first(call_within("here", c, number(2))), 6));
            cr_expect(eq(dbl, first(call_within("there", c, number(2))), 6));
        }
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        sh_mode_release(mode);
        sh_compiled_free(c);
    }
}
