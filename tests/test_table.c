/* test_table.c - the dispatch table: kernels, backends, fallthrough, fallbacks, handles, rules, ops made at run time. */
#include <stdlib.h>

#include "tests/modes.h"

static char warned[1024];
static void catch_warning(const char *line, void *user) {
    (void)user;
    snprintf(warned, sizeof warned, "%s", line);
}

static void quiet(void) { sh_set_warning_sink(catch_warning, NULL); }
TestSuite(table, .init = quiet);

/* A kernel that fills its result with the number behind `user`. */
static sh_status fills(sh_call *call, void *user) {
    sh_tensor *r = sh_call_result(call, 0).as.tensor;
    if (!r) return sh_call_set_tensor(call, sh_full(SH_SIZES(2), *(const double *)user));
    float *at = sh_tensor_data(r);
    for (int64_t i = 0; i < sh_tensor_numel(r); i++) at[i] = (float)*(const double *)user;
    return SH_OK;
}

static double seven = 7, eight = 8, nine = 9;

Test(table, the_newest_registration_wins_and_removing_it_brings_the_older_back) {
    sh_kernel v1, v2;
    sh_tensor *x = number(1);
    cr_assert(eq(int, sh_kernel_register("add", "cpu", fills, &seven, "first", &v1), SH_OK));
    cr_assert(eq(dbl, first(sh_add(x, x)), 7));
    cr_assert(eq(int, sh_kernel_register("add", "cpu", fills, &eight, "second", &v2), SH_OK));
    cr_assert(ne(ptr, strstr(warned, "first"), NULL));
    cr_assert(ne(ptr, strstr(warned, "second"), NULL));
    cr_assert(eq(dbl, first(sh_add(x, x)), 8));
    cr_assert(eq(int, sh_kernel_remove(v2), SH_OK));
    cr_assert(eq(dbl, first(sh_add(x, x)), 7));
    cr_assert(eq(int, sh_kernel_remove(v1), SH_OK));
    cr_assert(eq(dbl, first(sh_add(x, x)), 2));
    cr_assert(eq(int, sh_table_check(), SH_OK));
}

Test(table, a_dead_handle_is_an_error) {
    sh_kernel k;
    sh_kernel_register("add", "cpu", fills, &seven, "gone", &k);
    cr_assert(eq(int, sh_kernel_remove(k), SH_OK));
    cr_assert(eq(int, sh_kernel_remove(k), SH_ERROR_HANDLE));
    cr_assert(failed_with(SH_ERROR_HANDLE, "removed"));
    cr_assert(eq(int, sh_kernel_remove((sh_kernel){9999, 1}), SH_ERROR_HANDLE));
    sh_clear_error();
}

static sh_status calls_the_older(sh_call *call, void *user) {
    SH_TRY(sh_kernel_call(*(const sh_kernel *)user, call));
    return SH_OK;
}

Test(table, a_kernel_can_call_another_by_handle_until_that_is_removed) {
    sh_kernel inner, outer;
    sh_tensor *x = number(1);
    sh_kernel_register("add", "cpu", fills, &nine, "inner", &inner);
    sh_kernel_register("add", "cpu", calls_the_older, &inner, "outer", &outer);
    cr_assert(eq(dbl, first(sh_add(x, x)), 9));
    sh_kernel_remove(inner);
    cr_assert(eq(ptr, sh_add(x, x), NULL));
    cr_assert(failed_with(SH_ERROR_HANDLE, "not valid"));
    sh_kernel_remove(outer);
}

static int never_calls;
static sh_status never(sh_call *call, void *user) {
    (void)call;
    (void)user;
    never_calls++;
    return SH_ERROR_CALLBACK;
}

Test(table, fallthrough_runs_the_next_backends_kernel_and_never_the_first) {
    sh_kernel k;
    sh_tensor *x = number(1);
    cr_assert(eq(int, sh_backend_register("mine", SH_HOST, "test"), SH_OK));
    cr_assert(eq(int, sh_kernel_register("add", "mine", never, NULL, "test", NULL), SH_OK));
    cr_assert(eq(int, sh_kernel_fallthrough("add", "mine", "test", &k), SH_OK));
    SH_WITH_BACKEND("mine") {
        cr_assert(eq(dbl, first(sh_add(x, x)), 2));
        cr_assert(eq(int, never_calls, 0));
        cr_assert(eq(ptr, sh_mul(x, x), NULL));
        cr_assert(failed_with(SH_ERROR_KERNEL, "cpu: built-in"));
    }
    cr_assert(eq(int, sh_table_check(), SH_OK));
}

Test(table, a_backend_fallback_serves_ops_defined_later) {
    sh_tensor *x = number(1);
    sh_backend_register("all", SH_HOST, "test");
    cr_assert(eq(int, sh_backend_fallback("all", fills, &eight, "test", NULL), SH_OK));
    cr_assert(eq(int, sh_op_define("test::later(Tensor x) -> Tensor", NULL, NULL), SH_OK));
    SH_WITH_BACKEND("all") {
        cr_assert(eq(dbl, first(sh_call_op("test::later", x)), 8));
        cr_assert(eq(dbl, first(sh_mul(x, x)), 8));
    }
}

Test(table, no_kernel_is_an_error_that_lists_what_is_registered) {
    sh_backend_register("bare", SH_HOST, "test");
    sh_tensor *x = number(1);
    SH_WITH_BACKEND("bare") {
        cr_assert(eq(ptr, sh_add(x, x), NULL));
        const char *message = sh_error()->message;
        cr_assert(ne(ptr, TEXT(strstr(message, "bare")), NULL));
        cr_assert(ne(ptr, TEXT(strstr(message, "ref: built-in")), NULL));
        cr_assert(failed_with(SH_ERROR_KERNEL, "cpu: built-in"));
    }
}

Test(table, no_kernel_and_no_tensor_among_the_arguments_says_so) {
    sh_op_define("test::maker(int n) -> Tensor", NULL, NULL);
    cr_assert(eq(ptr, sh_call_op("test::maker", 3), NULL));
    cr_assert(failed_with(SH_ERROR_KERNEL, "no tensor"));
}

static size_t shown;
static sh_status counts_tensors(sh_mode *mode, sh_call *call) {
    sh_tensor *tensors[4] = {NULL};
    (void)mode;
    shown = sh_call_tensors(call, tensors, 4);
    cr_assert(eq(dbl, first(tensors[0]), 1));
    cr_assert(eq(dbl, first(tensors[1]), 2));
    return SH_PASS;
}

/* One meta tensor anywhere in the list makes it a call on meta. */
Test(table, each_tensor_of_a_list_is_shown_and_counts_for_the_choice_of_a_kernel) {
    sh_tensor *meta = sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(2)), *x = number(1), *y = number(2);
    SH_WITH_MODE(counts_tensors) { cr_assert(eq(int, sh_tensor_device(sh_cat(SH_LIST(x, y))), SH_HOST)); }
    cr_assert(eq(sz, shown, 2));
    SH_WITH_MODE(counts_tensors) {
        cr_assert(eq(int, sh_tensor_device(sh_cat(SH_LIST(x, y, meta))), SH_META));
    }
    cr_assert(eq(sz, shown, 3));
}

Test(table, a_kernel_may_come_before_its_ops_schema) {
    sh_tensor *x = number(1);
    cr_assert(eq(int, sh_kernel_register("test::early", "cpu", fills, &nine, "test", NULL), SH_OK));
    cr_assert(eq(ptr, sh_call_op("test::early", x), NULL));
    cr_assert(failed_with(SH_ERROR_OP, "schema"));
    cr_assert(eq(int, sh_op_define("test::early(Tensor x) -> Tensor", NULL, NULL), SH_OK));
    cr_assert(eq(dbl, first(sh_call_op("test::early", x)), 9));
}

Test(table, a_call_through_an_undefined_op_is_a_clean_error) {
    const sh_op *op;
    sh_tensor *x = number(1);
    sh_op_define("test::gone(Tensor x) -> Tensor", &(sh_op_options){.registrant = "test"}, &op);
    sh_kernel_register("test::gone", "cpu", fills, &nine, "test", NULL);
    cr_assert(eq(dbl, first(sh_call_op("test::gone", x)), 9));
    cr_assert(lt(int, sh_op_define("test::gone(Tensor y) -> Tensor", NULL, NULL), 0));
    cr_assert(failed_with(SH_ERROR_OP, "defined already"));
    cr_assert(eq(int, sh_op_undefine("test::gone"), SH_OK));
    cr_assert(eq(ptr, sh_call_op("test::gone", x), NULL));
    cr_assert(failed_with(SH_ERROR_OP, "test::gone"));
    cr_assert(eq(ptr, TEXT(sh_op_schema(op)), NULL));
    cr_assert(eq(str, TEXT(sh_op_name(op)), "test::gone"));
    cr_assert(eq(int, sh_op_define("test::gone(Tensor a, Tensor b) -> Tensor", NULL, NULL), SH_OK));
    cr_assert(eq(dbl, first(sh_call_op("test::gone", x, x)), 9));
    cr_assert(lt(int, sh_op_undefine("add"), 0));
    sh_clear_error();
}

/* ---- ops made at run time meet modes as built-in ones do ---- */

static sh_status infer_like_first(const sh_value *args, sh_spec *results, void *user) {
    (void)user;
    const sh_tensor *x = args[0].as.tensor;
    results[0].dtype = sh_tensor_dtype(x);
    results[0].ndim = sh_tensor_ndim(x);
    for (int i = 0; i < results[0].ndim; i++) results[0].sizes[i] = sh_tensor_sizes(x)[i];
    return SH_OK;
}

static sh_status twice_by_ops(sh_call *call, void *user) {
    (void)user;
    sh_tensor *x = sh_call_tensor(call, 0);
    sh_tensor *r = sh_add(x, x);
    return r ? sh_call_set_tensor(call, r) : sh_error()->code;
}

Test(table, a_run_time_op_with_infer_runs_on_meta_and_is_swapped_logged_and_split) {
    sh_tensor *x = number(3), *meta = sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(5, 2));
    cr_assert(eq(int,
                 sh_op_define("test::twice(Tensor x, *, float eps=1e-5) -> Tensor",
                              &(sh_op_options){.infer = infer_like_first, .tags = SH_OP_PURE}, NULL),
                 SH_OK));
    sh_tensor *m = sh_call_op("test::twice", meta);
    cr_assert(eq(i64, sh_tensor_numel(m), 10));
    cr_assert(eq(int, sh_tensor_device(m), SH_META));
    cr_assert(
        eq(int, sh_kernel_register("test::twice", SH_COMPOSITE, twice_by_ops, NULL, "test", NULL), SH_OK));
    cr_assert(eq(dbl, first(sh_call_op("test::twice", x)), 6));
    sh_mode *f = noting_mode("F"), *d = noting_at_dispatch("D");
    SH_WITH_MODE(d)
        SH_WITH_MODE(f) { cr_assert(eq(dbl, first(sh_call_op("test::twice", x, SH_NAMED("eps", 2))), 6)); }
    cr_assert(eq(str, seen, "F:test::twice D:add "));
    sh_mode *swap = sh_mode_new(add_to_mul, &(sh_mode_options){.level = SH_LEVEL_DISPATCH});
    SH_WITH_MODE(swap) { cr_assert(eq(dbl, first(sh_call_op("test::twice", x)), 9)); }
    sh_mode_release(f);
    sh_mode_release(d);
    sh_mode_release(swap);
}

/* ---- by name ---- */

Test(table, a_call_by_name_says_what_is_wrong_with_its_arguments) {
    sh_tensor *x = number(1);
    cr_assert(eq(ptr, sh_call_op("ad", x, x), NULL));
    cr_assert(failed_with(SH_ERROR_OP, "did you mean add"));
    cr_assert(eq(ptr, sh_call_op("add", x), NULL));
    cr_assert(failed_with(SH_ERROR_ARGUMENT, "other"));
    cr_assert(eq(ptr, sh_call_op("add", x, x, SH_NAMED("beta", 1)), NULL));
    cr_assert(failed_with(SH_ERROR_ARGUMENT, "beta"));
    cr_assert(eq(ptr, sh_call_op("add", x, x, SH_NAMED("other", x)), NULL));
    cr_assert(failed_with(SH_ERROR_ARGUMENT, "twice"));
    cr_assert(eq(ptr, sh_call_op("add", x, x, 1), NULL));
    cr_assert(failed_with(SH_ERROR_ARGUMENT, "too many"));
    cr_assert(eq(ptr, sh_call_op("add", x, "text"), NULL));
    cr_assert(failed_with(SH_ERROR_TYPE, "other"));
    cr_assert(eq(ptr, sh_call_op("relu", 1.5, SH_NAMED("out", x)), NULL));
    cr_assert(failed_with(SH_ERROR_ARGUMENT, "out"));
    cr_assert(eq(ptr, sh_call_op("add", SH_NAMED("self", x), x), NULL));
    cr_assert(failed_with(SH_ERROR_ARGUMENT, "positional"));
}

/* ---- devices ---- */

Test(table, meta_wins_and_holds_shapes_only) {
    sh_tensor *x = sh_rand(SH_SIZES(3, 4)), *m = sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(4));
    sh_tensor *y = sh_add(x, m);
    cr_assert(eq(int, sh_tensor_device(y), SH_META));
    cr_assert(eq(i64, sh_tensor_numel(y), 12));
    cr_assert(eq(ptr, sh_tensor_data(y), NULL));
    cr_assert(sh_item(sh_tensor_new_on(SH_META, SH_F32, SH_SCALAR_SHAPE)) != 0);
    cr_assert(failed_with(SH_ERROR_DEVICE, "meta"));
}

Test(table, null_and_wrong_shapes_name_op_and_argument) {
    sh_tensor *x = number(1);
    cr_assert(eq(ptr, sh_add(x, NULL), NULL));
    cr_assert(eq(str, TEXT(sh_error()->op), "add"));
    cr_assert(failed_with(SH_ERROR_NULL, "other"));
    cr_assert(eq(ptr, sh_add(x, sh_rand(SH_SIZES(3))), NULL));
    cr_assert(eq(str, TEXT(sh_error()->op), "add"));
    cr_assert(failed_with(SH_ERROR_SHAPE, "[3]"));
    cr_assert(eq(ptr, sh_add_(x, sh_rand(SH_SIZES(3, 2))), NULL));
    cr_assert(failed_with(SH_ERROR_SHAPE, "self"));
    cr_assert(eq(ptr, sh_add(x, x, .out = sh_rand(SH_SIZES(5))), NULL));
    cr_assert(failed_with(SH_ERROR_SHAPE, "out"));
    cr_assert(eq(ptr, sh_add(x, x, .out = sh_full(SH_SIZES(2), 1, .dtype = SH_I32)), NULL));
    cr_assert(failed_with(SH_ERROR_DTYPE, "i32"));
}

/* ---- rules ---- */

Test(table, rules_choose_a_backend_by_op_size_scope_and_call_number) {
    sh_backend_register("ruled", SH_HOST, "test");
    sh_backend_fallback("ruled", fills, &seven, "test", NULL);
    sh_tensor *small = number(1), *large = sh_full(SH_SIZES(100), 1.0);
    sh_rule_handle h, named;
    cr_assert(eq(int, sh_rule_add(&(sh_rule){.ops = "add", .backend = "ruled", .min_numel = 50}, &h), SH_OK));
    cr_assert(eq(dbl, first(sh_add(small, small)), 2));
    cr_assert(eq(dbl, first(sh_add(large, large)), 7));
    cr_assert(eq(dbl, first(sh_mul(large, large)), 1));
    cr_assert(eq(int, sh_table_check(), SH_OK));
    cr_assert(
        eq(int,
           sh_rule_add(
               &(sh_rule){.ops = "mul", .backend = "ruled", .scopes = "layer[0-9]", .first = 2, .last = 2},
               &named),
           SH_OK));
    sh_name_push("layer3");
    cr_assert(eq(dbl, first(sh_mul(small, small)), 1));
    cr_assert(eq(dbl, first(sh_mul(small, small)), 7));
    cr_assert(eq(dbl, first(sh_mul(small, small)), 1));
    sh_name_pop();
    cr_assert(eq(int, sh_rule_remove(h), SH_OK));
    cr_assert(eq(int, sh_rule_remove(named), SH_OK));
    cr_assert(eq(int, sh_rule_remove(h), SH_ERROR_HANDLE));
    sh_clear_error();
    cr_assert(eq(dbl, first(sh_add(large, large)), 2));
    cr_assert(eq(int, sh_table_check(), SH_OK));
    cr_assert(lt(int, sh_rule_add(&(sh_rule){.ops = "add", .backend = "nowhere"}, NULL), 0));
    cr_assert(failed_with(SH_ERROR_VALUE, "nowhere"));
}

Test(table, random_registrations_keep_the_table_as_they_say) {
    enum { N = 64 };
    sh_kernel live[N];
    int n = 0;
    srand(7);
    static const char *const ops[] = {"add", "mul", "relu", "test::r1", "test::r2"};
    static const char *const backends[] = {"cpu", "ref", "meta", "x1", "x2", SH_COMPOSITE};
    sh_backend_register("x1", SH_HOST, "test");
    sh_backend_register("x2", SH_HOST, "test");
    for (int i = 0; i < 2000; i++) {
        if (n == N || (n && rand() % 2)) {
            const int k = rand() % n;
            cr_assert(eq(int, sh_kernel_remove(live[k]), SH_OK));
            live[k] = live[--n];
        } else {
            const char *op = ops[rand() % 5], *backend = backends[rand() % 6];
            const int what = rand() % 4;
            sh_status status;
            if (what == 0)
                status = sh_kernel_fallthrough(op, backends[rand() % 5], "test", &live[n]);
            else if (what == 1)
                status = sh_backend_fallback(backends[rand() % 5], fills, &nine, "test", &live[n]);
            else
                status = sh_kernel_register(op, backend, fills, &nine, "test", &live[n]);
            cr_assert(eq(int, status, SH_OK));
            n++;
        }
        cr_assert(eq(int, sh_table_check(), SH_OK));
    }
    while (n) sh_kernel_remove(live[--n]);
    cr_assert(eq(dbl, first(sh_add(number(1), number(1))), 2));
}

/* ---- overrides (M12) ---- */

static sh_status answers_or_declines(const sh_override_kind *kind, sh_call *call, void *user) {
    const size_t n = strlen(seen);
    snprintf(seen + n, sizeof seen - n, "%s:%s ", sh_override_kind_name(kind), sh_call_name(call));
    if (!user) return SH_PASS;
    sh_tensor *r = sh_mul(sh_call_tensor(call, 0), 10.0); /* overrides are off: no recursion */
    return r ? sh_call_set_tensor(call, r) : sh_error()->code;
}

Test(table, overrides_run_below_function_modes_a_kind_before_its_base) {
    sh_override_kind *base = sh_override_kind_new("base", answers_or_declines, NULL, &seven);
    sh_override_kind *derived = sh_override_kind_new("derived", answers_or_declines, base, NULL);
    sh_tensor *a = number(2), *b = number(3), *c = number(4);
    sh_tensor_set_override(a, base);
    sh_tensor_set_override(b, derived);
    sh_mode *f = noting_mode("F");
    SH_WITH_MODE(f) { cr_assert(eq(dbl, first(sh_add(a, b)), 20)); }
    cr_assert(eq(str, seen, "F:add derived:add base:add "));
    seen[0] = 0;
    cr_assert(eq(ptr, sh_add(c, b), NULL));
    cr_assert(failed_with(SH_ERROR_DECLINED, "derived"));
    sh_switch off;
    sh_switch_off(&off, SH_OFF_OVERRIDES);
    cr_assert(eq(dbl, first(sh_add(c, b)), 7));
    sh_switch_end(&off);
    sh_tensor_set_override(b, NULL);
    cr_assert(eq(dbl, first(sh_add(c, b)), 7));
    cr_assert(eq(str, seen, "derived:add "));
    sh_tensor_set_override(a, NULL);
    sh_mode_release(f);
    sh_override_kind_free(derived);
    sh_override_kind_free(base);
}
/* ---- meta and memory ---- */

static bool unchanged(sh_tensor *t) { return first(t) == 5 && sh_tensor_at(t, (const int64_t[]){1}) == 5; }

Test(table, what_a_meta_tensor_stands_for_is_not_written_into_memory) {
    sh_tensor *host = sh_full(SH_SIZES(2), 5.0), *meta = sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(2));
    cr_assert(eq(ptr, sh_copy_(host, meta), NULL));
    cr_assert(failed_with(SH_ERROR_DEVICE, "copy_: self is on host, but other arguments are on meta"));
    cr_assert(eq(ptr, sh_add_(host, meta), NULL));
    cr_assert(failed_with(SH_ERROR_DEVICE, "add_: self is on host"));
    cr_assert(eq(ptr, sh_add(meta, meta, .out = host), NULL));
    cr_assert(failed_with(SH_ERROR_DEVICE, "add: out is on host"));
    cr_assert(eq(ptr, sh_sum(meta, .dim = 0, .keepdim = true, .out = host), NULL));
    cr_assert(failed_with(SH_ERROR_DEVICE, "sum: out is on host"));
    cr_assert(eq(ptr, sh_call_op("cat", SH_LIST(meta), SH_NAMED("out", host)), NULL));
    cr_assert(failed_with(SH_ERROR_DEVICE, "cat: out is on host"));
    cr_assert(unchanged(host));
    cr_assert(eq(ptr, sh_copy_(meta, host), meta));
    cr_assert(eq(ptr, sh_add(host, host, .out = meta), meta));
    cr_assert(eq(int, sh_tensor_device(sh_add(host, meta)), SH_META));
}
