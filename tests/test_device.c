/* Devices with memory of their own. The one here gives addresses that fault when they are followed. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "modes/scan.h"
#include "tests/fail_each.h"
#include "tests/folder.h"

#define FAR ((uintptr_t)1 << 62)

static struct {
    int allocations, frees, to_device, to_host, on_device, waits;
    bool out_of_memory, copies_fail;
} seen;

static void *near_of(const void *address) {
    cr_assert(ne(u64, (uintptr_t)address & FAR, 0), "an address of the host reached the device");
    return (void *)((uintptr_t)address & ~FAR);
}
static void *allocate(void *user, size_t bytes) {
    (void)user;
    seen.allocations++;
    return seen.out_of_memory ? NULL : (void *)((uintptr_t)malloc(bytes) | FAR);
}
static void end(void *user, void *memory, size_t bytes) {
    (void)user, (void)bytes;
    seen.frees++;
    free(near_of(memory));
}
static sh_status copy(void *user, void *to, const void *from, size_t bytes, sh_copy_kind kind) {
    (void)user;
    seen.to_device += kind == SH_COPY_TO_DEVICE;
    seen.to_host += kind == SH_COPY_TO_HOST;
    seen.on_device += kind == SH_COPY_ON_DEVICE;
    if (seen.copies_fail) return SH_ERROR_DEVICE;
    memcpy(kind == SH_COPY_TO_HOST ? to : near_of(to), kind == SH_COPY_TO_DEVICE ? from : near_of(from),
           bytes);
    return SH_OK;
}
static sh_status synchronise(void *user) {
    (void)user;
    seen.waits++;
    return SH_OK;
}
static const sh_device_vtable vtable = {SH_DEVICE_VTABLE_INIT, .allocate = allocate, .free = end,
                                        .copy = copy, .synchronise = synchronise};

static sh_device far;

static void make(void) {
    sh_set_warning_sink(sh_warnings_off, NULL);
    cr_assert(eq(int, sh_device_register("far", &vtable, &far), SH_OK));
}
static void make_whole(void) {
    make();
    cr_assert(eq(int, sh_backend_fallback("far", sh_device_host_fallback, NULL, "test", NULL), SH_OK));
}

static sh_tensor *ramp(int64_t rows, int64_t columns) {
    return sh_reshape(sh_arange(rows * columns, .dtype = SH_F32), SH_SIZES(rows, columns));
}
static bool says(const char *part) {
    const bool said = sh_error() && strstr(sh_error()->message, part);
    if (!said) cr_log_error("%s", sh_error() ? sh_error()->message : "no error");
    sh_clear_error();
    return said;
}
static bool same(sh_tensor *a, sh_tensor *expected) { return a && expected && sh_allclose(a, expected); }

TestSuite(device, .init = make_whole);
TestSuite(bare_device, .init = make);

/* ---- moving ---- */

Test(device, what_moves_there_and_back_is_the_same) {
    static const sh_dtype dtypes[] = {SH_F32, SH_F64, SH_F16, SH_BF16, SH_I64,
                                      SH_I32, SH_I16, SH_I8,  SH_U8,   SH_B8};
    SH_SCOPE for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        sh_tensor *x = sh_to(ramp(3, 4), dtypes[i]), *there = sh_to_device(x, "far"),
                  *back = sh_to_device(there, "host");
        cr_assert(there && back, "%s", sh_error() ? sh_error()->message : "");
        cr_expect(eq(int, sh_tensor_device(there), far));
        cr_expect(eq(int, sh_tensor_dtype(there), dtypes[i]));
        cr_expect(sh_equal(back, x));
        cr_expect(eq(ptr, sh_to_device(there, "far"), there));
        cr_expect(eq(ptr, sh_tensor_to(there, far), there));
    }
    cr_expect(eq(int, seen.allocations, seen.frees));
}

Test(device, views_share_storage_and_move_what_they_show) {
    SH_SCOPE {
        sh_tensor *x = ramp(4, 6), *there = sh_to_device(x, "far");
        const int before = seen.allocations;
        sh_tensor *a = sh_transpose(sh_narrow(there, 1, 2, 3), 0, 1),
                  *b = sh_slice(there, 0, .start = 1, .step = 2);
        sh_tensor *c = sh_expand(sh_select(there, 0, 3), SH_SIZES(2, 6));
        sh_tensor *d = sh_tensor_as_strided(there, SH_SIZES(2, 2), SH_SIZES(6, 1), 7);
        cr_expect(eq(int, seen.allocations, before));
        cr_expect(sh_tensor_same_storage(a, there));
        cr_expect(sh_equal(sh_tensor_to(a, SH_HOST), sh_transpose(sh_narrow(x, 1, 2, 3), 0, 1)));
        cr_expect(sh_equal(sh_tensor_to(b, SH_HOST), sh_slice(x, 0, .start = 1, .step = 2)));
        cr_expect(sh_equal(sh_tensor_to(c, SH_HOST), sh_expand(sh_select(x, 0, 3), SH_SIZES(2, 6))));
        cr_expect(
            sh_equal(sh_tensor_to(d, SH_HOST), sh_tensor_as_strided(x, SH_SIZES(2, 2), SH_SIZES(6, 1), 7)));
        cr_expect(sh_equal(sh_tensor_to(sh_reshape(a, SH_SIZES(12)), SH_HOST),
                           sh_reshape(sh_transpose(sh_narrow(x, 1, 2, 3), 0, 1), SH_SIZES(12))));
        cr_expect(sh_equal(sh_tensor_to(sh_contiguous(a), SH_HOST),
                           sh_contiguous(sh_transpose(sh_narrow(x, 1, 2, 3), 0, 1))));
        cr_expect(eq(ptr, sh_tensor_as_strided(there, SH_SIZES(25), SH_SIZES(1), 0), NULL));
        cr_expect(says("outside the storage"));
    }
}

Test(device, a_write_through_a_view_leaves_what_lies_between) {
    SH_SCOPE {
        sh_tensor *x = ramp(4, 6), *there = sh_to_device(x, "far");
        sh_copy_(sh_transpose(sh_narrow(there, 1, 2, 3), 0, 1),
                 sh_to_device(sh_full(SH_SIZES(1), -1.0), "far"));
        sh_copy_(sh_narrow(x, 1, 2, 3), sh_full(SH_SIZES(1), -1.0));
        cr_expect(sh_error() == NULL);
        cr_expect(sh_equal(sh_tensor_to(there, SH_HOST), x));
    }
}

Test(device, empty_tensors_and_numbers_ask_for_no_memory) {
    SH_SCOPE {
        sh_tensor *none = sh_tensor_new_on(far, SH_F32, SH_SIZES(0, 3));
        cr_assert(none != NULL);
        cr_expect(eq(int, seen.allocations, 0));
        cr_expect(eq(i64, sh_tensor_numel(sh_add(none, none)), 0));
        cr_expect(eq(i64, sh_tensor_numel(sh_tensor_to(none, SH_HOST)), 0));
        cr_expect(eq(i64, sh_tensor_size(sh_transpose(none, 0, 1), 0), 3));
    }
}

/* ---- ops ---- */

Test(device, any_op_runs_there_by_the_fallback_and_gives_what_the_host_gives) {
    SH_SCOPE {
        sh_tensor *x = ramp(3, 4), *y = sh_sub(x, 5), *u = sh_to_device(x, "far"),
                  *v = sh_to_device(y, "far");
        cr_expect(same(sh_add(u, v, .alpha = 2), sh_add(x, y, .alpha = 2)));
        cr_expect(same(sh_mul(u, 2.5), sh_mul(x, 2.5)));
        cr_expect(same(sh_sub(SH_FLOATS(1), sh_select(u, 0, 0)), NULL) == false);
        cr_expect(says("on far"));
        cr_expect(same(sh_matmul(u, sh_transpose(v, 0, 1)), sh_matmul(x, sh_transpose(y, 0, 1))));
        cr_expect(same(sh_linear(u, v), sh_linear(x, y)));
        cr_expect(same(sh_softmax(u, 1), sh_softmax(x, 1)));
        cr_expect(same(sh_cat(SH_LIST(u, v)), sh_cat(SH_LIST(x, y))));
        cr_expect(same(sh_max_dim(u, 1).values, sh_max_dim(x, 1).values));
        cr_expect(same(sh_max_dim(u, 1).indices, sh_max_dim(x, 1).indices));
        cr_expect(same(sh_list_at(sh_split(u, 2, 1), 1), sh_list_at(sh_split(x, 2, 1), 1)));
        cr_expect(same(sh_nonzero(u), sh_nonzero(x)));
        cr_expect(eq(int, sh_tensor_device(sh_nonzero(u)), far));
        cr_expect(same(sh_to(u, SH_I64), sh_to(x, SH_I64)));
        cr_expect(eq(int, sh_tensor_device(sh_linear(u, v)), far));
        cr_expect(eq(int, sh_tensor_device(sh_zeros_like(u)), far));
        cr_expect(sh_error() == NULL);
    }
    cr_expect(eq(int, seen.allocations, seen.frees));
    cr_expect(eq(i64, sh_device_stats_get(far).live_bytes, 0));
}

Test(device, forms_in_place_and_with_out_write_there) {
    SH_SCOPE {
        sh_tensor *x = ramp(3, 4), *u = sh_to_device(x, "far"),
                  *out = sh_tensor_new_on(far, SH_F32, SH_SIZES(3, 4));
        const uint64_t version = sh_tensor_version(u);
        cr_expect(eq(ptr, sh_add_(u, u), u));
        cr_expect(same(u, sh_add(x, x)));
        cr_expect(gt(u64, sh_tensor_version(u), version));
        cr_expect(eq(ptr, sh_mul(u, u, .out = out), out));
        cr_expect(same(out, sh_mul(sh_add(x, x), sh_add(x, x))));
        sh_tensor *wide = sh_tensor_new_on(far, SH_F64, SH_SIZES(3, 4));
        cr_expect(eq(ptr, sh_mul(u, u, .out = wide), wide));
        cr_expect(same(wide, sh_to(out, SH_F64)));
        cr_expect(eq(ptr, sh_copy_(u, sh_transpose(sh_to_device(ramp(4, 3), "far"), 0, 1)), u));
        cr_expect(same(u, sh_transpose(ramp(4, 3), 0, 1)));
        cr_expect(eq(ptr, sh_add_(sh_narrow(u, 0, 0, 2), sh_narrow(u, 0, 1, 2)), NULL));
        cr_expect(says("shares some of its memory"));
    }
}

static int ran;
static sh_status own_add(sh_call *call, void *user) {
    (void)user;
    ran++;
    sh_tensor *a = sh_call_tensor(call, 0), *b = sh_call_tensor(call, 1),
              *r = sh_call_result(call, 0).as.tensor;
    cr_assert(eq(int, sh_tensor_device(a), far));
    const float *from = near_of(sh_tensor_data(a));
    const float number =
        sh_tensor_device(b) == SH_HOST ? (float)sh_item(b) : *(float *)near_of(sh_tensor_data(b));
    for (int64_t i = 0; i < sh_tensor_numel(r); i++)
        ((float *)near_of(sh_tensor_data(r)))[i] = from[i] + number;
    return SH_OK;
}

Test(device, its_own_kernel_goes_before_the_fallback_and_inside_composites) {
    cr_assert(sh_kernel_register("add", "far", own_add, NULL, "mine", NULL) >= 0);
    SH_SCOPE {
        sh_tensor *x = ramp(2, 2), *u = sh_to_device(x, "far"), *b = sh_to_device(SH_FLOATS(7), "far");
        const int before = seen.to_host;
        sh_tensor *r = sh_add(u, 3.0);
        cr_expect(eq(int, seen.to_host, before));
        cr_expect(same(r, sh_add(x, 3.0)));
        cr_expect(eq(int, ran, 1));
        sh_tensor *linear = sh_linear(u, u, b);
        cr_expect(eq(int, ran, 2));
        cr_expect(same(linear, sh_linear(x, x, SH_FLOATS(7))));
    }
}

Test(bare_device, an_op_without_a_kernel_is_an_error_that_lists_what_there_is) {
    SH_SCOPE {
        sh_tensor *u = sh_to_device(ramp(2, 2), "far");
        cr_expect(eq(ptr, sh_add(u, u), NULL));
        cr_expect(says("no kernel for backend far; registered: cpu: built-in"));
        cr_expect(same(sh_transpose(u, 0, 1), sh_transpose(ramp(2, 2), 0, 1)));
    }
}

Test(device, mixed_devices_are_an_error_that_names_both) {
    SH_SCOPE {
        sh_tensor *x = ramp(2, 2), *u = sh_to_device(x, "far");
        cr_expect(eq(ptr, sh_add(u, x), NULL));
        cr_expect(says("argument other is on host, others are on far"));
        cr_expect(eq(ptr, sh_cat(SH_LIST(x, u)), NULL));
        cr_expect(says("on far, others are on host"));
        cr_expect(eq(ptr, sh_mul(x, x, .out = u), NULL));
        cr_expect(says("argument out is on far"));
    }
}

static sh_status on_host_backend(sh_mode *mode, sh_call *call) {
    sh_value results[SH_MAX_RESULTS];
    (void)mode;
    return sh_call_run_on(call, "ref", results);
}

Test(device, kernels_of_the_host_never_get_its_tensors) {
    sh_kernel k;
    cr_assert(sh_kernel_register("add", "cpu", own_add, NULL, "mine", &k) >= 0);
    SH_SCOPE {
        sh_tensor *u = sh_to_device(ramp(2, 2), "far");
        SH_WITH_MODE(on_host_backend) cr_expect(eq(ptr, sh_add(u, u), NULL));
        cr_expect(says("arguments are on far, backend ref works on host"));
        SH_WITH_BACKEND("ref") cr_expect(same(sh_add(u, u), sh_add(ramp(2, 2), ramp(2, 2))));
    }
}

/* ---- reading ---- */

Test(device, numbers_are_read_printed_compared_and_scanned_by_copies) {
    SH_SCOPE {
        sh_tensor *u = sh_to_device(sh_div(ramp(2, 2), 2), "far");
        cr_expect(eq(dbl, sh_item(sh_select(sh_select(u, 0, 1), 0, 1)), 1.5));
        cr_expect(eq(i64, sh_item_int(sh_select(sh_select(u, 0, 1), 0, 0)), 1));
        cr_expect(eq(dbl, sh_tensor_at(sh_transpose(u, 0, 1), (const int64_t[]){1, 0}), 0.5));
        char *text = sh_tensor_text(u);
        cr_expect(
            eq(str, text, (char *)"tensor([[0.0000, 0.5000],\n        [1.0000, 1.5000]], device='far')"));
        free(text);
        char type[64];
        sh_value_print(sh_value_tensor(u), type, sizeof type);
        cr_expect(eq(str, type, (char *)"f32[2, 2]@far"));
        cr_expect(sh_allclose(u, sh_tensor_to(u, SH_HOST)));
        cr_expect(sh_equal(u, u));
        cr_expect(eq(ptr, sh_to_dlpack(u), NULL));
        cr_expect(says("on far, expected host"));
    }
}

Test(device, nancheck_finds_what_was_born_there) {
    SH_SCOPE {
        sh_tensor *u = sh_to_device(SH_FLOATS(4, -1, 9), "far");
        cr_assert(sh_mode_push_spec("nancheck:out=/dev/null") >= 0);
        cr_expect(eq(ptr, sh_sqrt(u), NULL));
        cr_expect(says("NaN born in sqrt at [1]: self = -1"));
        sh_mode_info info;
        sh_modes(&info, 1);
        sh_pop_mode(info.mode);
    }
}

Test(device, files_hold_what_was_there) {
    make_folder();
    SH_SCOPE {
        sh_tensor *u = sh_transpose(sh_to_device(ramp(2, 3), "far"), 0, 1);
        cr_assert(sh_save_npy(in_folder("x.npy"), u) >= 0, "%s", sh_error() ? sh_error()->message : "");
        cr_expect(sh_equal(sh_load_npy(in_folder("x.npy")), sh_transpose(ramp(2, 3), 0, 1)));
    }
    drop_folder();
}

/* ---- modes and graphs ---- */

static int transfers;
static sh_status count_transfers(sh_mode *mode, sh_call *call) {
    (void)mode;
    transfers += strcmp(sh_call_name(call), "to.device") == 0;
    return SH_PASS;
}

Test(device, modes_see_transfers) {
    SH_SCOPE SH_WITH_MODE(count_transfers) {
        sh_tensor *u = sh_to_device(ramp(2, 2), "far");
        sh_tensor_to(sh_add(u, u), SH_HOST);
        sh_call_op("to.device", u, "meta");
    }
    cr_expect(eq(int, transfers, 3));
    cr_expect(sh_error() == NULL);
}

static sh_tensor *on_far(sh_tensor *x) {
    return sh_tensor_to(sh_relu(sh_add(sh_to_device(x, "far"), sh_to_device(SH_FLOATS(1, 1), "far"))),
                        SH_HOST);
}

Test(device, a_captured_graph_moves_and_computes_there_again) {
    SH_SCOPE {
        sh_tensor *x = ramp(2, 2), *y = sh_mul(x, 3.0), *result = NULL;
        sh_capture *capture = sh_capture_new(NULL);
        cr_assert(sh_capture_input(capture, x, "x") >= 0);
        SH_WITH_MODE(sh_capture_mode(capture)) result = on_far(x);
        cr_assert(same(result, sh_add(x, 1.0)));
        sh_graph *g = sh_capture_graph(capture, SH_LIST(result));
        cr_assert(g != NULL, "%s", sh_error() ? sh_error()->message : "");
        char *text = sh_graph_text(g);
        cr_expect(strstr(text, "to.device") || strstr(text, "to_device"), "%s", text);
        free(text);
        cr_expect(sh_graph_lint(g) >= 0);
        cr_expect(same(sh_list_at(sh_graph_run(g, SH_LIST(y)), 0), sh_add(y, 1.0)));
        sh_graph_free(g);
        sh_capture_free(capture);
    }
}

/* ---- failures ---- */

static sh_value scores(sh_values in, void *user) {
    (void)user;
    sh_tensor *x = in.at[0].as.tensor;
    return sh_value_tensor(sh_sum(sh_relu(sh_add(sh_transpose(x, 0, 1), 1.5)), .dim = 0));
}

Test(device, a_compiled_function_computes_there_and_on_the_host) {
    SH_SCOPE {
        sh_compiled *c = sh_compile_function(scores, NULL, NULL);
        sh_tensor *x = ramp(3, 4), *there = sh_to_device(x, "far");
        const sh_value in = sh_value_tensor(x);
        for (int i = 0; i < 2; i++) {
            sh_tensor *y = sh_compiled_run(c, there);
            cr_assert(y != NULL, "%s", sh_error() ? sh_error()->message : "");
            cr_expect(eq(int, sh_tensor_device(y), far));
            cr_expect(same(sh_to_device(y, "cpu"), scores((sh_values){&in, 1}, NULL).as.tensor));
            cr_expect(same(sh_compiled_run(c, x), scores((sh_values){&in, 1}, NULL).as.tensor));
        }
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 2));
        sh_compiled_free(c);
    }
}

Test(device, no_memory_there_is_a_clear_error_and_nothing_is_lost) {
    SH_SCOPE {
        sh_tensor *u = sh_to_device(ramp(2, 2), "far");
        seen.out_of_memory = true;
        cr_expect(eq(ptr, sh_add(u, u), NULL));
        cr_expect(says("device far has no memory for 16 bytes; tensors hold 16 bytes there"));
        seen.out_of_memory = false;
        cr_expect(same(sh_add(u, u), sh_add(ramp(2, 2), ramp(2, 2))));
        seen.copies_fail = true;
        cr_expect(eq(ptr, sh_tensor_to(u, SH_HOST), NULL));
        cr_expect(says("copying 16 bytes to the host failed"));
        cr_expect(eq(ptr, sh_to_device(ramp(2, 2), "far"), NULL));
        cr_expect(says("copying 16 bytes to it failed"));
        seen.copies_fail = false;
    }
    cr_expect(eq(i64, sh_device_stats_get(far).live_storages, 0));
}

static bool use(void) {
    sh_tensor *u = sh_to_device(ramp(5, 6), "far");
    sh_tensor *r = sh_add(sh_transpose(u, 0, 1), 2.0);
    if (r) r = sh_add_(r, r);
    if (r) r = sh_cat(SH_LIST(r, sh_contiguous(r)));
    return r && sh_tensor_to(r, SH_HOST) && !sh_error();
}

Test(device, every_allocation_may_fail) {
    fail_each("a device", use);
    cr_expect(eq(i64, sh_device_stats_get(far).live_storages, 0));
}

/* ---- names and numbers ---- */

Test(bare_device, bad_vtables_and_names_are_refused_by_name) {
    sh_device_vtable v = vtable;
    cr_expect(lt(int, sh_device_register("far", &vtable, NULL), 0));
    cr_expect(says("there is a device far already"));
    cr_expect(lt(int, sh_device_register("ref", &vtable, NULL), 0));
    cr_expect(says("there is a backend ref already"));
    cr_expect(lt(int, sh_device_register("a b", &vtable, NULL), 0));
    cr_expect(says("'a b' can't be a device's name"));
    v.copy = NULL;
    cr_expect(lt(int, sh_device_register("x", &v, NULL), 0));
    cr_expect(says("device x has no copy"));
    v = vtable;
    v.size = 8;
    cr_expect(lt(int, sh_device_register("x", &v, NULL), 0));
    cr_expect(says("the vtable of x is 8 bytes, expected"));
    cr_expect(eq(ptr, sh_tensor_new_on((sh_device)6, SH_F32, SH_SIZES(2)), NULL));
    cr_expect(says("device 6 is not known"));
    SH_SCOPE cr_expect(eq(ptr, sh_to_device(ramp(1, 1), "fat"), NULL));
    cr_expect(says("there is no device fat; did you mean far"));
    cr_expect(eq(int, sh_device_find("cpu"), SH_HOST));
    cr_expect(eq(int, sh_device_find("nope"), SH_NO_DEVICE));
    cr_expect(eq(str, (char *)(uintptr_t)sh_device_name(far), (char *)"far"));
    cr_expect(eq(int, sh_device_synchronise(far), SH_OK));
    cr_expect(eq(int, seen.waits, 1));
    cr_expect(eq(int, sh_table_check(), SH_OK));
}

Test(device, a_removed_device_refuses_new_tensors_and_gives_back_old_ones) {
    SH_SCOPE {
        sh_tensor *u = sh_to_device(ramp(2, 2), "far");
        cr_assert(eq(int, sh_device_remove(far), SH_OK));
        cr_expect(eq(ptr, sh_tensor_new_on(far, SH_F32, SH_SIZES(2)), NULL));
        cr_expect(says("device far was removed"));
        cr_expect(eq(ptr, sh_add(u, u), NULL));
        cr_expect(says("device far was removed"));
        cr_expect(sh_equal(sh_to_device(u, "host"), ramp(2, 2)));
        cr_expect(lt(int, sh_device_remove(far), 0));
        cr_expect(says("was removed"));
        sh_device again;
        cr_assert(eq(int, sh_device_register("far", &vtable, &again), SH_OK));
        cr_expect(ne(int, again, far)); /* u is still there */
        cr_expect(same(sh_to_device(ramp(2, 2), "far"), ramp(2, 2)));
        cr_expect(eq(int, sh_device_remove(again), SH_OK));
    }
    for (int i = 0; i < 50; i++) {
        sh_device again;
        cr_assert(eq(int, sh_device_register("far", &vtable, &again), SH_OK));
        SH_SCOPE cr_expect(
            same(sh_transpose(sh_to_device(ramp(2, 2), "far"), 0, 1), sh_transpose(ramp(2, 2), 0, 1)));
        cr_assert(eq(int, sh_device_remove(again), SH_OK));
        cr_assert(eq(int, sh_table_check(), SH_OK));
    }
    cr_expect(eq(int, seen.allocations, seen.frees));
}

Test(device, statistics_count_what_lives_there) {
    const sh_memory_stats host = sh_memory_stats_get();
    SH_SCOPE {
        sh_tensor *u = sh_tensor_new_on(far, SH_F64, SH_SIZES(100));
        sh_device_stats stats = sh_device_stats_get(far);
        cr_expect(eq(i64, stats.live_bytes, 800));
        cr_expect(eq(i64, stats.live_storages, 1));
        cr_expect(eq(i64, sh_memory_stats_get().live_bytes, host.live_bytes));
        sh_copy_(u, sh_zeros_like(u));
        cr_expect(eq(i64, sh_device_stats_get(far).bytes_to_device, 1600));
    }
    cr_expect(eq(i64, sh_device_stats_get(far).live_bytes, 0));
    cr_expect(ge(i64, sh_device_stats_get(far).peak_bytes, 800));
}
