/* test_mode.c - the rules of the mode stack, M1 to M14, by the cases they come from. */
#include <setjmp.h>
#include <stdlib.h>

#include "dispatch/table.h"
#include "tests/modes.h"

TestSuite(mode);

/* ---- order and position ---- */

Test(mode, last_pushed_runs_first_once_each) {
    sh_mode *a = noting_mode("A"), *b = noting_mode("B");
    sh_tensor *x = number(3);
    sh_push_mode(a);
    sh_push_mode(b);
    cr_assert(eq(dbl, first(sh_add(x, x)), 6));
    cr_assert(eq(str, seen, "B:add A:add "));
    sh_pop_mode(b);
    sh_pop_mode(a);
    sh_mode_release(a);
    sh_mode_release(b);
    cr_assert(eq(sz, sh_mode_depth(), 0));
}

static sh_status prints_with_ops(sh_mode *mode, sh_call *call) {
    (void)mode;
    note("P", call);
    sh_tensor *sum = sh_mul(sh_call_tensor(call, 0), 2.0);
    return sum ? SH_PASS : sh_error()->code;
}

Test(mode, ops_of_a_callback_go_to_the_modes_below_only) {
    sh_mode *low = noting_mode("low");
    sh_tensor *x = number(1);
    SH_WITH_MODE(low)
        SH_WITH_MODE(prints_with_ops) { sh_add(x, x); }
    cr_assert(eq(str, seen, "P:add low:mul low:add "));
    sh_mode_release(low);
}

Test(mode, the_same_mode_twice_runs_twice) {
    sh_mode *a = noting_mode("A");
    sh_tensor *x = number(1);
    sh_push_mode(a);
    sh_push_mode(a);
    sh_add(x, x);
    cr_assert(eq(str, seen, "A:add A:add "));
    cr_assert(eq(sz, sh_mode_depth(), 2));
    cr_assert(eq(int, sh_pop_mode(a), SH_OK));
    cr_assert(eq(int, sh_pop_mode(a), SH_OK));
    cr_assert(eq(sz, sh_mode_depth(), 0));
    sh_mode_release(a);
}

/* Pushes itself for sub and answers it with an add that it sees again. */
static sh_status sub_by_add(sh_mode *mode, sh_call *call) {
    note("R", call);
    if (sh_call_family(call) != SH_OP_sub) return SH_PASS;
    SH_TRY(sh_push_mode(mode));
    sh_tensor *sum = sh_add(sh_call_tensor(call, 0), sh_call_tensor(call, 1));
    SH_TRY(sh_pop_mode(mode));
    return sum ? sh_call_set_tensor(call, sum) : sh_error()->code;
}

Test(mode, a_callback_that_pushes_itself_is_called_again) {
    sh_tensor *x = number(2), *y = NULL;
    SH_WITH_MODE(sub_by_add) { y = sh_sub(x, x); }
    cr_assert(eq(str, seen, "R:sub R:add "));
    cr_assert(eq(dbl, first(y), 4));
    cr_assert(eq(sz, sh_mode_depth(), 0));
}

static sh_status forever(sh_mode *mode, sh_call *call) {
    SH_MODE_HERE(mode);
    sh_tensor *y = sh_add(sh_call_tensor(call, 0), sh_call_tensor(call, 0));
    return y ? sh_call_set_tensor(call, y) : sh_error()->code;
}

Test(mode, endless_self_pushing_is_an_error_that_names_the_mode) {
    sh_mode *endless = sh_mode_new(forever, &(sh_mode_options){.name = "endless"});
    sh_tensor *x = number(1);
    SH_WITH_MODE(endless) {
        cr_assert(eq(ptr, sh_add(x, x), NULL));
        cr_assert(failed_with(SH_ERROR_NESTING, "endless"));
        cr_assert(eq(sz, sh_mode_depth(), 1));
    }
    cr_assert(eq(sz, sh_mode_depth(), 0));
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    sh_mode_release(endless);
}

/* ---- errors leave everything as it was ---- */

static sh_status fails_on_mul(sh_mode *mode, sh_call *call) {
    (void)mode;
    note("F", call);
    if (sh_call_family(call) != SH_OP_mul) return SH_PASS;
    SH_SCOPE_HERE;
    sh_push_mode(mode);
    return sh_fail(SH_ERROR_CALLBACK, "no mul today");
}

Test(mode, a_failing_callback_leaves_the_stack_and_scopes_as_they_were) {
    sh_mode *f = sh_mode_new(fails_on_mul, &(sh_mode_options){.name = "nomul"});
    sh_tensor *x = number(2);
    const size_t held = sh_scope_held();
    SH_WITH_MODE(f) {
        cr_assert(eq(ptr, sh_mul(x, x), NULL));
        cr_assert(eq(str, TEXT(sh_error()->where), "mode nomul"));
        cr_assert(eq(str, TEXT(sh_error()->op), "mul"));
        cr_assert(failed_with(SH_ERROR_CALLBACK, "no mul today"));
        cr_assert(eq(sz, sh_mode_depth(), 1));
        cr_assert(eq(sz, sh_scope_held(), held));
        cr_assert(eq(dbl, first(sh_add(x, x)), 4));
    }
    cr_assert(eq(str, seen, "F:mul F:add "));
    sh_mode_release(f);
}

Test(mode, while_an_error_is_pending_every_op_returns_null_and_keeps_it) {
    sh_tensor *x = number(1), *wide = sh_rand(SH_SIZES(3));
    cr_assert(eq(ptr, sh_relu(sh_mul(sh_add(x, wide), x)), NULL));
    cr_assert(eq(str, TEXT(sh_error()->op), "add"));
    char message[256];
    snprintf(message, sizeof message, "%s", sh_error()->message);
    cr_assert(eq(ptr, sh_matmul(x, NULL), NULL));
    cr_assert(eq(str, TEXT(sh_error()->message), message));
    sh_clear_error();
    cr_assert(ne(ptr, sh_relu(x), NULL));
}

static sh_status deals_with_an_error(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    sh_tensor *x = number(1);
    if (!sh_add(x, sh_rand(SH_SIZES(7)))) sh_clear_error();
    return SH_PASS;
}

Test(mode, an_error_that_a_callback_dealt_with_leaves_no_trace) {
    sh_tensor *x = number(1), *y = NULL;
    SH_WITH_MODE(deals_with_an_error) { y = sh_add(x, x); }
    cr_assert(eq(dbl, first(y), 2));
    cr_assert(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
}

Test(mode, pop_names_the_mode_it_expects) {
    sh_mode *a = noting_mode("alpha"), *b = noting_mode("beta");
    cr_assert(lt(int, sh_pop_mode(a), 0));
    cr_assert(failed_with(SH_ERROR_MODE, "empty"));
    sh_push_mode(a);
    sh_push_mode(b);
    cr_assert(lt(int, sh_pop_mode(a), 0));
    const char *message = sh_error()->message;
    cr_assert(ne(ptr, (void *)(uintptr_t)strstr(message, "alpha"), NULL));
    cr_assert(failed_with(SH_ERROR_MODE, "beta"));
    cr_assert(eq(sz, sh_mode_depth(), 2));
    cr_assert(eq(int, sh_pop_mode(b), SH_OK));
    cr_assert(eq(int, sh_pop_mode(a), SH_OK));
    sh_mode_release(a);
    sh_mode_release(b);
}

static sh_status pops_below(sh_mode *mode, sh_call *call) {
    (void)call;
    return sh_pop_mode(sh_mode_user(mode));
}

Test(mode, a_callback_cannot_pop_below_its_own_level) {
    sh_mode *low = noting_mode("low");
    sh_mode *bad = sh_mode_new(pops_below, &(sh_mode_options){.name = "bad", .user = low});
    sh_tensor *x = number(1);
    sh_push_mode(low);
    sh_push_mode(bad);
    cr_assert(eq(ptr, sh_add(x, x), NULL));
    cr_assert(failed_with(SH_ERROR_MODE, "low"));
    cr_assert(eq(sz, sh_mode_depth(), 2));
    sh_pop_mode(bad);
    sh_pop_mode(low);
    sh_mode_release(bad);
    sh_mode_release(low);
}

static sh_status leaves_open(sh_mode *mode, sh_call *call) {
    (void)call;
    const char *what = sh_mode_user(mode);
    static sh_switch s;
    if (*what == 'p') SH_TRY(sh_push_mode(mode));
    if (*what == 'c') sh_scope_begin(__FILE__, __LINE__);
    if (*what == 's') sh_switch_off(&s, SH_OFF_ALL);
    if (*what == 'n') SH_TRY(sh_name_push("left"));
    if (*what == 'b') sh_backend_enter("ref");
    return SH_PASS;
}

Test(mode, what_a_callback_leaves_open_is_an_error_that_names_it_and_is_put_back) {
    sh_tensor *x = number(1);
    static const char *const what[] = {"p", "c", "s", "n", "b"};
    for (size_t i = 0; i < 5; i++) {
        sh_mode *m = sh_mode_new(leaves_open,
                                 &(sh_mode_options){.name = "untidy", .user = (void *)(uintptr_t)what[i]});
        const size_t held = sh_scope_held();
        SH_WITH_MODE(m) {
            cr_assert(eq(ptr, sh_add(x, x), NULL), "%s", what[i]);
            cr_assert(failed_with(SH_ERROR_MODE, "untidy"), "%s", what[i]);
            cr_assert(eq(sz, sh_mode_depth(), 1), "%s", what[i]);
        }
        cr_assert(eq(str, TEXT(sh_scope_path()), ""));
        cr_assert(eq(sz, sh_scope_held(), held));
        sh_mode_release(m);
    }
}

static sh_status ends_what_is_not_its_own(sh_mode *mode, sh_call *call) {
    (void)call;
    sh_scope_end(sh_mode_user(mode));
    return SH_PASS;
}

Test(mode, ending_what_was_opened_outside_is_an_error) {
    sh_tensor *x = number(1);
    sh_scope outer = sh_scope_begin(__FILE__, __LINE__);
    sh_mode *m = sh_mode_new(ends_what_is_not_its_own, &(sh_mode_options){.name = "greedy", .user = &outer});
    SH_WITH_MODE(m) {
        cr_assert(eq(ptr, sh_add(x, x), NULL));
        cr_assert(failed_with(SH_ERROR_MODE, "greedy"));
    }
    sh_mode_release(m);
}

/* ---- swapping and editing ---- */

Test(mode, a_swap_above_a_logger_shows_it_the_new_op) {
    sh_mode *log = noting_mode("log");
    sh_tensor *x = number(3);
    SH_WITH_MODE(log)
        SH_WITH_MODE(add_to_mul) { cr_assert(eq(dbl, first(sh_add(x, x)), 9)); }
    cr_assert(eq(str, seen, "log:mul "));
    seen[0] = 0;
    SH_WITH_MODE(add_to_mul)
        SH_WITH_MODE(log) { cr_assert(eq(dbl, first(sh_add(x, x)), 9)); }
    cr_assert(eq(str, seen, "log:add "));
    sh_mode_release(log);
}

Test(mode, swaps_chain_downwards_only) {
    sh_tensor *x = number(3);
    SH_WITH_MODE(mul_to_sub)
        SH_WITH_MODE(add_to_mul) { cr_assert(eq(dbl, first(sh_add(x, x)), 0)); }
    SH_WITH_MODE(add_to_mul)
        SH_WITH_MODE(mul_to_sub) { cr_assert(eq(dbl, first(sh_add(x, x)), 9)); }
}

Test(mode, a_swap_gets_every_form_of_the_op) {
    sh_tensor *x = number(3), *y = number(3), *out = number(0);
    SH_WITH_MODE(add_to_mul) {
        cr_assert(eq(dbl, first(sh_add(x, x)), 9));
        cr_assert(eq(dbl, first(sh_add(x, 5.0)), 15));
        cr_assert(eq(dbl, first(sh_call_op("add", x, x)), 9));
        cr_assert(eq(dbl, first((sh_add)(x, x, NULL)), 9));
        cr_assert(eq(ptr, sh_add_(y, x), y));
        cr_assert(eq(dbl, first(y), 9));
        cr_assert(eq(ptr, sh_call_op("add_", y, x), y));
        cr_assert(eq(dbl, first(y), 27));
        cr_assert(eq(ptr, sh_add(x, x, .out = out), out));
        cr_assert(eq(dbl, first(out), 9));
    }
    cr_assert(eq(dbl, first(sh_add(x, x)), 6));
}

Test(mode, a_dispatch_level_swap_gets_the_ops_inside_composites) {
    sh_mode *m = sh_mode_new(add_to_mul, &(sh_mode_options){.name = "swap", .level = SH_LEVEL_DISPATCH});
    sh_tensor *x = sh_full(SH_SIZES(1, 2), 3.0), *w = sh_full(SH_SIZES(1, 2), 1.0),
              *b = sh_full(SH_SIZES(1), 10.0);
    cr_assert(eq(dbl, first(sh_linear(x, w, .bias = b)), 16));
    SH_WITH_MODE(m) { cr_assert(eq(dbl, first(sh_linear(x, w, .bias = b)), 60)); }
    SH_WITH_MODE(add_to_mul) { cr_assert(eq(dbl, first(sh_linear(x, w, .bias = b)), 16)); }
    sh_mode_release(m);
}

static sh_status answers(sh_mode *mode, sh_call *call) {
    (void)mode;
    note("low", call);
    return sh_call_set_tensor(call, number(42));
}

Test(mode, a_lower_mode_answers_when_the_top_passes) {
    sh_mode *top = noting_mode("top");
    sh_tensor *x = number(1), *y = NULL;
    SH_WITH_MODE(answers)
        SH_WITH_MODE(top) { y = sh_add(x, x); }
    cr_assert(eq(dbl, first(y), 42));
    cr_assert(eq(str, seen, "top:add low:add "));
    sh_mode_release(top);
}

Test(mode, makers_without_tensor_arguments_are_intercepted) {
    sh_mode *a = noting_mode("A");
    SH_WITH_MODE(a) {
        sh_rand(SH_SIZES(2));
        sh_full(SH_SIZES(2), 1);
    }
    cr_assert(eq(str, seen, "A:rand A:full "));
    sh_mode_release(a);
}

static sh_status sets_wrongly(sh_mode *mode, sh_call *call) {
    const char *what = sh_mode_user(mode);
    if (*what == 'd') return sh_call_set_tensor(call, sh_full(SH_SIZES(2), 1, .dtype = SH_I64));
    if (*what == 'n') return sh_call_set_result(call, 1, sh_value_tensor(number(1)));
    if (*what == 'k') return sh_call_set_result(call, 0, sh_value_string("a result"));
    if (*what == '0') return sh_call_set_tensor(call, NULL);
    return SH_OK;
}

Test(mode, a_wrong_result_is_an_error_at_once_that_names_mode_and_op) {
    sh_tensor *x = number(1);
    static const char *const what[] = {"dtype", "number", "kind", "0", "missing"};
    for (size_t i = 0; i < 5; i++) {
        sh_mode *m = sh_mode_new(sets_wrongly,
                                 &(sh_mode_options){.name = "wrongly", .user = (void *)(uintptr_t)what[i]});
        SH_WITH_MODE(m) {
            cr_assert(eq(ptr, sh_add(x, x), NULL), "%s", what[i]);
            cr_assert(ne(ptr, (void *)(uintptr_t)strstr(sh_error()->message, "wrongly"), NULL), "%s",
                      sh_error()->message);
            cr_assert(ne(ptr, (void *)(uintptr_t)strstr(sh_error()->message, "add"), NULL), "%s",
                      sh_error()->message);
            sh_clear_error();
        }
        sh_mode_release(m);
    }
}

Test(mode, swapping_away_an_argument_that_matters_is_an_error_that_names_it) {
    sh_tensor *x = number(3);
    SH_WITH_MODE(add_to_mul) {
        cr_assert(eq(ptr, sh_add(x, x, .alpha = 2), NULL));
        cr_assert(failed_with(SH_ERROR_ARGUMENT, "alpha"));
        cr_assert(eq(dbl, first(sh_add(x, x, .alpha = 1)), 9));
        cr_assert(eq(ptr, sh_add(x, x, .alpha = 0), NULL));
        cr_assert(failed_with(SH_ERROR_ARGUMENT, "alpha"));
    }
}

/* ---- sh_next ---- */

static sh_status next_twice(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_next(call));
    sh_tensor *one = sh_call_result(call, 0).as.tensor;
    SH_TRY(sh_call_set_arg(call, 1, sh_value_float(100.0)));
    SH_TRY(sh_next(call));
    sh_tensor *two = sh_call_result(call, 0).as.tensor;
    cr_assert(ne(ptr, one, two));
    cr_assert(eq(dbl, first(one), 9));
    cr_assert(eq(dbl, first(two), 300));
    cr_assert(eq(uint, sh_call_family(call), SH_OP_add));
    return SH_PASS;
}

Test(mode, next_twice_runs_what_is_below_twice_and_keeps_both_results) {
    sh_mode *log = noting_mode("log");
    sh_tensor *x = number(3), *y = NULL;
    SH_WITH_MODE(log)
        SH_WITH_MODE(add_to_mul)
            SH_WITH_MODE(next_twice) { y = sh_add(x, x); }
    cr_assert(eq(str, seen, "log:mul log:mul "));
    cr_assert(eq(dbl, first(y), 300));
    sh_mode_release(log);
}

static sh_status doubles_the_result(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_next(call));
    sh_tensor *r = sh_mul(sh_call_result(call, 0).as.tensor, 2.0);
    return r ? sh_call_set_tensor(call, r) : sh_error()->code;
}

/* 3 + 3 is doubled below, doubled above, and the doubling above is an op that the mode below doubles too. */
Test(mode, a_result_can_be_replaced_after_next) {
    sh_tensor *x = number(3), *y = NULL;
    const size_t held = sh_scope_held();
    SH_WITH_MODE(doubles_the_result)
        SH_WITH_MODE(doubles_the_result) { y = sh_add(x, x); }
    cr_assert(eq(dbl, first(y), 48));
    cr_assert(eq(sz, sh_scope_held(), held + 1));
}

static sh_status edits_below(sh_mode *mode, sh_call *call) {
    (void)mode;
    int64_t sizes[2] = {1, 6};
    SH_TRY(sh_call_set_arg_named(call, "size", sh_value_ints((sh_ints){sizes, 2})));
    sizes[0] = sizes[1] = -9; /* the call has its own copy */
    return SH_PASS;
}

Test(mode, an_edit_outlives_what_it_was_made_from) {
    sh_tensor *y = NULL;
    SH_WITH_MODE(edits_below) { y = sh_full(SH_SIZES(2), 1); }
    cr_assert(eq(i64, sh_tensor_numel(y), 6));
}

static sh_status next_fails_and_is_answered(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_next(call) >= 0) return SH_PASS;
    sh_clear_error();
    return sh_call_set_tensor(call, number(7));
}

Test(mode, a_callback_may_answer_after_what_is_below_failed) {
    sh_tensor *x = number(1), *wide = sh_rand(SH_SIZES(3)), *y = NULL;
    SH_WITH_MODE(next_fails_and_is_answered) { y = sh_add(x, wide); }
    cr_assert(eq(dbl, first(y), 7));
    cr_assert(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
}

/* ---- interest and counting ---- */

Test(mode, a_mode_sees_only_what_it_wants_later_ops_included) {
    static const char *const ops[] = {"mul", "mylib::later", NULL};
    sh_mode *m = sh_mode_new(noting, &(sh_mode_options){.ops = ops, .user = (void *)(uintptr_t) "W"});
    sh_tensor *x = number(2);
    sh_push_mode(m);
    sh_add(x, x);
    sh_mul(x, x);
    sh_mul_(x, 1.0);
    sh_op_define("mylib::later(Tensor x) -> Tensor", NULL, NULL);
    sh_call_op("mylib::later", x);
    cr_assert(failed_with(SH_ERROR_KERNEL, "mylib::later"));
    cr_assert(eq(str, seen, "W:mul W:mul_ W:mylib::later "));
    cr_assert(eq(u64, sh_mode_calls(m), 3));
    sh_pop_mode(m);
    sh_mode_release(m);
}

/* What an op asks before it calls its kernel: with a mode that doesn't want it, the answer is that of an empty stack. */
Test(mode, an_op_that_no_mode_wants_goes_the_way_of_an_empty_stack) {
    static const char *const ops[] = {"mul", "linear", NULL};
    sh_mode *m = sh_mode_new(noting, &(sh_mode_options){.ops = ops, .user = (void *)(uintptr_t) "W"});
    cr_assert(sh__undisturbed(&sh__thread, SH_OP_add) && sh__undisturbed(&sh__thread, SH_OP_mul));
    sh_push_mode(m);
    cr_assert(sh__undisturbed(&sh__thread, SH_OP_add));
    cr_assert(not(sh__undisturbed(&sh__thread, SH_OP_mul)));
    sh_tensor *x = number(2);
    cr_assert(eq(dbl, first(sh_add(x, x)), 4));
    cr_assert(eq(u64, sh_mode_calls(m), 0));
    sh_pop_mode(m);
    cr_assert(sh__undisturbed(&sh__thread, SH_OP_mul));
    sh_mode_release(m);
}

static sh_status numbers(sh_mode *mode, sh_call *call) {
    (void)mode;
    const size_t n = strlen(seen);
    snprintf(seen + n, sizeof seen - n, "%llu ", (unsigned long long)sh_call_number(call));
    return SH_PASS;
}

Test(mode, call_numbers_count_function_level_ops_since_the_push) {
    static const char *const ops[] = {"mul", NULL};
    sh_mode *m = sh_mode_new(numbers, &(sh_mode_options){.ops = ops, .flags = SH_MODE_COUNTS_CALLS});
    sh_tensor *x = number(2);
    SH_WITH_MODE(m) {
        sh_mul(x, x);
        sh_add(x, x);
        sh_add(x, x);
        sh_mul(x, x);
    }
    cr_assert(eq(str, seen, "1 4 "));
    sh_mode_release(m);
}

/* ---- switches ---- */

Test(mode, switches_nest_and_restore_exactly) {
    sh_mode *a = noting_mode("A");
    sh_tensor *x = number(1);
    sh_switch off, on, one;
    SH_WITH_MODE(a) {
        sh_switch_off(&off, SH_OFF_ALL);
        sh_add(x, x);
        sh_switch_on(&on);
        sh_mul(x, x);
        sh_switch_mode_off(&one, a);
        sh_add(x, x);
        cr_assert(lt(int, sh_switch_end(&off), 0));
        cr_assert(failed_with(SH_ERROR_MODE, "another switch"));
        cr_assert(eq(int, sh_switch_end(&one), SH_OK));
        sh_mul(x, x);
        cr_assert(eq(int, sh_switch_end(&on), SH_OK));
        sh_add(x, x);
        cr_assert(eq(int, sh_switch_end(&off), SH_OK));
        sh_relu(x);
    }
    cr_assert(eq(str, seen, "A:mul A:mul A:relu "));
    sh_mode_release(a);
}

/* ---- levels ---- */

Test(mode, function_level_sees_a_composite_whole_dispatch_level_its_parts) {
    sh_mode *f = noting_mode("F"), *d = noting_at_dispatch("D");
    sh_tensor *x = sh_rand(SH_SIZES(2, 3)), *w = sh_rand(SH_SIZES(4, 3)), *b = sh_rand(SH_SIZES(4));
    SH_WITH_MODE(d)
        SH_WITH_MODE(f) { sh_linear(x, w, .bias = b); }
    cr_assert(eq(str, seen, "F:linear D:transpose D:matmul D:add "));
    sh_mode_release(f);
    sh_mode_release(d);
}

Test(mode, a_dispatch_mode_that_keeps_composites_sees_the_direct_kernel) {
    sh_mode *d = sh_mode_new(noting, &(sh_mode_options){.level = SH_LEVEL_DISPATCH,
                                                        .flags = SH_MODE_KEEPS_COMPOSITES,
                                                        .user = (void *)(uintptr_t) "D"});
    sh_tensor *x = sh_rand(SH_SIZES(2, 3)), *w = sh_rand(SH_SIZES(4, 3));
    SH_WITH_MODE(d) { cr_assert(ne(ptr, sh_linear(x, w), NULL)); }
    cr_assert(eq(str, seen, "D:linear "));
    sh_mode_release(d);
}

Test(mode, first_and_last_stand_at_the_ends_whatever_the_push_order) {
    sh_mode *a = noting_mode("A"), *b = noting_mode("B");
    sh_mode *top =
        sh_mode_new(noting, &(sh_mode_options){.flags = SH_MODE_FIRST, .user = (void *)(uintptr_t) "first"});
    sh_mode *bottom =
        sh_mode_new(noting, &(sh_mode_options){.flags = SH_MODE_LAST, .user = (void *)(uintptr_t) "last"});
    sh_tensor *x = number(1);
    SH_WITH_MODE(top)
        SH_WITH_MODE(a)
            SH_WITH_MODE(bottom)
                SH_WITH_MODE(b) { sh_add(x, x); }
    cr_assert(eq(str, seen, "first:add B:add A:add last:add "));
    sh_mode_release(a);
    sh_mode_release(b);
    sh_mode_release(top);
    sh_mode_release(bottom);
}

/* ---- global modes and other threads are in test_threads.c ---- */

Test(mode, global_modes_run_below_the_threads_own) {
    sh_mode *g = noting_mode("G"), *h = noting_mode("H"), *own = noting_mode("own");
    sh_tensor *x = number(1);
    sh_push_mode_global(g);
    sh_push_mode_global(h);
    SH_WITH_MODE(own) { sh_add(x, x); }
    cr_assert(eq(str, seen, "own:add H:add G:add "));
    cr_assert(lt(int, sh_pop_mode_global(g), 0));
    cr_assert(failed_with(SH_ERROR_MODE, "H"));
    cr_assert(eq(int, sh_pop_mode_global(h), SH_OK));
    cr_assert(eq(int, sh_pop_mode_global(g), SH_OK));
    seen[0] = 0;
    sh_add(x, x);
    cr_assert(eq(str, seen, ""));
    sh_mode_release(g);
    sh_mode_release(h);
    sh_mode_release(own);
}

/* ---- a mode is kept alive by the stack; state is not lost or leaked ---- */

static int destroyed;
static void count_destroy(void *user) {
    (void)user;
    destroyed++;
}

Test(mode, the_stack_keeps_a_mode_alive) {
    sh_mode *m = sh_mode_new(noting, &(sh_mode_options){.destroy = count_destroy});
    sh_push_mode(m);
    sh_mode_release(m);
    cr_assert(eq(int, destroyed, 0));
    sh_pop_mode(m);
    cr_assert(eq(int, destroyed, 1));
}

Test(mode, serials_are_never_used_twice) {
    sh_mode *a = noting_mode("A");
    const uint64_t serial = sh_mode_serial(a);
    sh_mode_release(a);
    sh_mode *b = noting_mode("B");
    cr_assert(ne(u64, sh_mode_serial(b), serial));
    sh_mode_release(b);
}

Test(mode, a_million_logged_ops_keep_memory_flat) {
    sh_mode *m = sh_mode_new(doubles_the_result, NULL);
    sh_tensor *x = number(1);
    sh_memory_stats at_1e5 = {0}, at_1e6 = {0};
    SH_WITH_MODE(m) {
        for (int i = 1; i <= 1000000; i++) {
            SH_SCOPE { sh_add(x, x); }
            if (i == 100000) at_1e5 = sh_memory_stats_get();
        }
        at_1e6 = sh_memory_stats_get();
    }
    cr_assert(eq(i64, at_1e6.live_tensors, at_1e5.live_tensors));
    cr_assert(
        lt(i64, at_1e6.live_bytes - at_1e5.live_bytes + at_1e6.cached_bytes - at_1e5.cached_bytes, 1 << 20));
    sh_mode_release(m);
}

Test(mode, own_time_leaves_out_what_runs_below) {
    sh_mode *m = sh_mode_new(doubles_the_result, NULL);
    sh_tensor *x = sh_rand(SH_SIZES(1000));
    SH_WITH_MODE(m) { sh_add(x, x); }
    cr_assert(eq(u64, sh_mode_own_ns(m), 0));
    sh_mode_time(true);
    SH_WITH_MODE(m) { sh_add(x, x); }
    sh_mode_time(false);
    cr_assert(gt(u64, sh_mode_own_ns(m), 0));
    cr_assert(eq(u64, sh_mode_calls(m), 2));
    sh_mode_release(m);
}

Test(mode, what_is_pushed_can_be_listed_in_the_order_a_call_meets_it) {
    sh_mode *f = noting_mode("F"), *g = noting_mode("G"), *d = noting_at_dispatch("D");
    sh_mode_info infos[4];
    sh_push_mode_global(g);
    SH_WITH_MODE(d)
        SH_WITH_MODE(f) {
            cr_assert(eq(sz, sh_modes(infos, 4), 3));
            cr_assert(eq(ptr, infos[0].mode, f));
            cr_assert(eq(ptr, infos[1].mode, g));
            cr_assert(infos[1].global);
            cr_assert(eq(ptr, infos[2].mode, d));
            cr_assert(eq(sz, sh_modes(NULL, 0), 3));
            char *text = sh_modes_describe();
            cr_assert(eq(str, text, "function: F(all) G(all, global); dispatch: D(all)"));
            free(text);
        }
    sh_pop_mode_global(g);
    sh_mode_release(f);
    sh_mode_release(g);
    sh_mode_release(d);
}

static sh_status prints_itself(sh_mode *mode, sh_call *call) {
    (void)mode;
    char line[200];
    sh_call_print(call, line, sizeof line);
    const size_t n = strlen(seen);
    snprintf(seen + n, sizeof seen - n, "%s|", line);
    return SH_PASS;
}

Test(mode, arguments_equal_to_their_defaults_print_as_if_left_out) {
    sh_tensor *x = number(1);
    SH_WITH_MODE(prints_itself) {
        sh_add(x, x);
        sh_add(x, x, .alpha = 1);
        sh_call_op("add", x, x, SH_NAMED("alpha", 1));
        sh_add(x, x, .alpha = 2);
    }
    cr_assert(
        eq(str, seen,
           "add(f32[2], f32[2])|add(f32[2], f32[2])|add(f32[2], f32[2])|add(f32[2], f32[2], alpha=2)|"));
}

Test(mode, a_scope_of_a_callback_frees_what_it_made) {
    sh_tensor *x = number(1);
    const int64_t live = sh_memory_stats_get().live_tensors;
    SH_WITH_MODE(prints_with_ops) SH_SCOPE {
            sh_add(x, x);
        }
    cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live));
}

static jmp_buf out;
static sh_status jumps(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    longjmp(out, 1);
}

Test(mode, a_longjmp_out_of_a_callback_is_noticed_at_the_next_call) {
    sh_mode *m =
        sh_mode_new(jumps, &(sh_mode_options){.name = "jumper", .ops = (const char *const[]){"mul", NULL}});
    sh_mode *log = noting_mode("log");
    sh_tensor *x = number(1);
    sh_push_mode(log);
    sh_push_mode(m);
    for (int i = 0; i < 600; i++) {
        if (setjmp(out)) continue;
        sh_mul(x, x);
        cr_assert(false, "the callback came back");
    }
    seen[0] = 0;
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    cr_assert(eq(str, seen, "log:add "));
    cr_assert(eq(sz, sh_mode_depth(), 2));
    cr_assert(eq(int, sh_pop_mode(m), SH_OK));
    cr_assert(eq(int, sh_pop_mode(log), SH_OK));
    sh_mode_release(m);
    sh_mode_release(log);
}

static sh_status clears(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    sh_mul(sh_call_tensor(call, 0), 2.0);
    sh_scope_clear();
    return SH_PASS;
}

Test(mode, a_callback_clears_only_what_it_made) {
    sh_tensor *x = number(3), *y = NULL;
    SH_WITH_MODE(clears) { y = sh_add(x, 2.0); }
    cr_assert(eq(dbl, first(y), 5));
}

static sh_status pops_a_name(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    sh_name_pop();
    return SH_PASS;
}

Test(mode, a_callback_cannot_end_a_named_scope_of_its_caller) {
    sh_tensor *x = number(3);
    sh_name_push("outer");
    SH_WITH_MODE(pops_a_name) { cr_assert(eq(ptr, sh_add(x, x), NULL)); }
    cr_assert(failed_with(SH_ERROR_MODE, "named scope"));
    cr_assert(eq(str, TEXT(sh_scope_path()), "outer"));
    sh_name_pop();
}

static sh_status sets_a_hole(sh_mode *mode, sh_call *call) {
    (void)mode;
    sh_tensor *list[2] = {sh_call_arg(call, 0).as.tensors[0], NULL};
    return sh_call_set_arg(call, 0, sh_value_tensors((sh_tensors){list, 2}));
}

Test(mode, a_null_in_a_list_is_an_error_that_names_its_place) {
    sh_tensor *x = number(3);
    SH_WITH_MODE(sets_a_hole) { cr_assert(eq(ptr, sh_cat(SH_LIST(x, x)), NULL)); }
    cr_assert(failed_with(SH_ERROR_NULL, "entry 1"));
}

static sh_status edits_often(sh_mode *mode, sh_call *call) {
    (void)mode;
    for (int i = 0; i < 256; i++) SH_TRY(sh_call_set_arg(call, 1, sh_value_float(100)));
    return SH_PASS;
}

static sh_status next_then_look(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_next(call));
    cr_assert(eq(dbl, first(sh_call_tensor(call, 1)), 3));
    return SH_PASS;
}

Test(mode, edits_below_are_never_seen_above_however_many) {
    sh_tensor *x = number(3), *y = NULL;
    SH_WITH_MODE(edits_often)
        SH_WITH_MODE(next_then_look) { y = sh_add(x, x); }
    cr_assert(eq(dbl, first(y), 103));
}

Test(mode, a_list_written_in_place_outlives_a_call_by_name) {
    sh_tensor *t = sh_call_op("rand", SH_SIZES(20, 3));
    cr_assert(eq(i64, sh_tensor_numel(t), 60));
    cr_assert(eq(i64, sh_tensor_numel(sh_call_op("cat", SH_LIST(t, t), SH_NAMED("dim", 1))), 120));
}
