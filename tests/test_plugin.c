/* Plug-ins: what they bring, what is wrong with broken ones, and that nothing of those stays. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "modes/hooks.h"
#include "tests/fail_each.h"
#include "tests/folder.h"

static const char *built(const char *name) {
    static char path[512];
    const char *build = getenv("BUILD");
    snprintf(path, sizeof path, "./%s/%s.so", build ? build : "build", name);
    return path;
}
static const char *test_plugin(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "tests/plugins/%s", name);
    return built(path);
}

static char warned[1024];
static void remember(const char *line, void *user) {
    (void)user;
    snprintf(warned, sizeof warned, "%s", line);
}
static void listen(void) { sh_set_warning_sink(remember, NULL); }

static bool says(const char *part) {
    const bool said = sh_error() && strstr(sh_error()->message, part);
    if (!said) cr_log_error("expected '%s', got '%s'", part, sh_error() ? sh_error()->message : "no error");
    sh_clear_error();
    return said;
}

static bool refuses(const char *name, const char *part) {
    sh_plugin_info info;
    const sh_status status = sh_plugin_load(test_plugin(name), NULL);
    return status < 0 && says(part) && !sh_plugin_at(0, &info) && sh_table_check() == SH_OK;
}

static double first_of(sh_tensor *t) { return t ? sh_tensor_at(t, (const int64_t[]){0}) : -1; }

TestSuite(plugin, .init = listen);

/* ---- broken ones ---- */

Test(plugin, another_abi_is_refused_with_both_numbers) {
    cr_expect(refuses("bad_abi", "has ABI 77, this library has ABI 1"));
}
Test(plugin, a_struct_that_is_too_small_is_refused_with_both_sizes) {
    cr_expect(refuses("small", "its struct is 8 bytes, expected"));
}
Test(plugin, a_missing_entry_is_named) { cr_expect(refuses("no_entry", "has no symbol sh_plugin_entry")); }
Test(plugin, an_entry_that_declines_is_told) {
    cr_expect(refuses("null_entry", "returned NULL, so it can't serve ABI 1"));
}
Test(plugin, a_missing_file_is_named) { cr_expect(refuses("nowhere", "nowhere.so: No such file")); }
Test(plugin, a_second_copy_of_the_library_is_used_by_none) {
    /* The process's own names go first: its calls reach us, and the other copy is idle. */
    cr_expect(eq(int, sh_plugin_load(test_plugin("second_copy"), NULL), SH_OK), "%s",
              sh_error() ? sh_error()->message : "");
}

Test(plugin, a_file_that_is_no_object_is_named) {
    make_folder();
    FILE *file = fopen(in_folder("text.so"), "w");
    fputs("no ELF object, but long enough to have held the header of one, which is 64 bytes\n", file);
    fclose(file);
    cr_expect(lt(int, sh_plugin_load(in_folder("text.so"), NULL), 0));
    cr_expect(says("invalid ELF header"));
    cr_expect(lt(int, sh_plugin_load(folder, NULL), 0));
    cr_expect(says(folder));
    cr_expect(lt(int, sh_plugin_load("", NULL), 0));
    cr_expect(says("the path is empty"));
    cr_expect(lt(int, sh_plugin_load(NULL, NULL), 0));
    cr_expect(says("the path is NULL"));
    drop_folder();
}

Test(plugin, nothing_stays_of_one_whose_init_fails) {
    const uint32_t backends = sh_backend_count();
    for (int i = 0; i < 3; i++) cr_expect(refuses("init_fails", "init_fails.so: the moon is not full"));
    cr_expect(eq(int, sh_device_find("halfway"), SH_NO_DEVICE));
    cr_expect(eq(int, sh_backend_find("halfway"), -1));
    cr_expect(eq(int, sh_backend_find("halfway2"), -1));
    cr_expect(eq(u32, sh_backend_count(), backends + 2)); /* places are used again */
    cr_expect(sh_op_find("halfway::op") == NULL || sh_op_schema(sh_op_find("halfway::op")) == NULL);
    sh_mode *mode;
    cr_expect(lt(int, sh_mode_from_spec("halfway", &mode), 0));
    cr_expect(says("there is no mode 'halfway'"));
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(1, 2);
        cr_expect(eq(dbl, first_of(sh_add(x, x)), 2));
        cr_expect(eq(dbl, first_of(sh_mul(x, 5.0)), 5));
        cr_expect(eq(dbl, first_of(sh_sub(x, 5.0)), -4));
        char *kernels = sh_op_describe(sh_op_find("add"));
        cr_expect(eq(ptr, strstr(kernels, "init fails"), NULL), "%s", kernels);
        free(kernels);
        cr_expect(eq(ptr, sh_call_op("halfway::op", x), NULL));
        sh_clear_error();
    }
}

Test(plugin, no_field_past_the_size_is_read) {
    sh_plugin_info info;
    cr_expect(eq(int, sh_plugin_load(test_plugin("sizes"), NULL), SH_OK));
    cr_expect(sh_plugin_at(0, &info));
    cr_expect(eq(str, (char *)(uintptr_t)info.name, (char *)"sizes"));
    cr_expect(eq(int, sh_plugin_unload(info.handle), SH_OK));
    setenv("SIZES_OF", "newer", 1);
    cr_expect(eq(int, sh_plugin_load(test_plugin("sizes"), NULL), SH_OK));
}

/* ---- good ones ---- */

static sh_plugin_handle load_good(void) {
    sh_plugin_handle handle = {0, 0};
    cr_assert(eq(int, sh_plugin_load(test_plugin("good"), &handle), SH_OK), "%s",
              sh_error() ? sh_error()->message : "");
    return handle;
}

static void expect_good(bool there) {
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(1, 2);
        cr_expect(eq(dbl, first_of(sh_add(x, x)), there ? 11 : 2));
        cr_expect(eq(dbl, first_of(sh_mul(x, 5.0)), there ? 11 : 5));
        cr_expect(eq(dbl, first_of(sh_call_op("good::op", x)), there ? 12 : -1));
        sh_clear_error();
        SH_WITH_BACKEND("goodback") cr_expect(eq(dbl, first_of(sh_exp(x)), there ? 13 : -1));
        sh_clear_error();
        cr_expect(eq(int, sh_mode_push_spec("good:level=4") >= 0, there));
        sh_clear_error();
        sh_mode_info info;
        if (sh_modes(&info, 1)) sh_pop_mode(info.mode);
    }
    cr_expect(eq(int, sh_table_check(), SH_OK));
}

Test(plugin, brings_kernels_ops_backends_and_modes) {
    sh_plugin_info info;
    load_good();
    expect_good(true);
    cr_assert(sh_plugin_at(0, &info));
    cr_expect(eq(str, (char *)(uintptr_t)info.version, (char *)"2.1"));
    cr_expect(eq(str, (char *)(uintptr_t)info.description, (char *)""));
    cr_expect(not(sh_plugin_at(1, &info)));
}

Test(plugin, options_of_its_modes_are_checked_explained_and_listed) {
    char *text;
    sh_mode *mode;
    load_good();
    cr_assert(sh_mode_explain("good", &text) >= 0);
    cr_expect(ne(ptr, strstr(text, "level      = 3"), NULL), "%s", text);
    free(text);
    cr_expect(lt(int, sh_mode_from_spec("good:levl=3", &mode), 0));
    cr_expect(says("did you mean level"));
    cr_expect(lt(int, sh_mode_from_spec("good:level=x", &mode), 0));
    cr_expect(says("an integer"));
    cr_expect(lt(int, sh_mode_from_spec("good:level=10", &mode), 0));
    cr_expect(says("good: level 10 is above 9\n  good:level=10\n  ^"));
    cr_expect(lt(int, sh_mode_from_spec("goood", &mode), 0));
    cr_expect(says("did you mean good"));
    bool listed = false;
    for (size_t i = 0; sh_mode_type_at(i); i++) listed |= strcmp(sh_mode_type_at(i)->name, "good") == 0;
    cr_expect(listed);
}

Test(plugin, unloading_takes_all_of_it_back_and_loading_brings_it_again) {
    for (int i = 0; i < 20; i++) {
        const sh_plugin_handle handle = load_good();
        expect_good(true);
        cr_assert(eq(int, sh_plugin_unload(handle), SH_OK));
        expect_good(false);
        cr_expect(lt(int, sh_plugin_unload(handle), 0));
        cr_expect(says("plug-in handle 0 is not valid"));
    }
}

/* CASES 30 */
static sh_kernel kept;
static sh_status call_kept(sh_mode *mode, sh_call *call) {
    (void)mode;
    return sh_kernel_call(kept, call);
}
static sh_status init_like_kernel(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_call_tensor(call, 0));
}

Test(plugin, what_was_taken_from_it_before_it_was_unloaded_is_a_clean_error_or_still_works) {
    const sh_plugin_handle handle = load_good();
    const sh_op *op = sh_op_find("good::op");
    sh_mode *mode;
    cr_assert(sh_mode_from_spec("good", &mode) >= 0);
    cr_assert(sh_kernel_register("good::op", "cpu", init_like_kernel, NULL, "test", &kept) >= 0);
    cr_assert(sh_plugin_unload(handle) >= 0);
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(1, 2);
        cr_expect(eq(ptr, sh_call_op("good::op", x), NULL));
        sh_clear_error();
        cr_expect(eq(ptr, (void *)(uintptr_t)sh_op_schema(op), NULL));
        SH_WITH_MODE(mode) cr_expect(eq(dbl, first_of(sh_add(x, x)), 2)); /* its code is never unmapped */
        cr_assert(sh_kernel_remove(kept) >= 0);
        SH_WITH_MODE(call_kept) cr_expect(eq(ptr, sh_add(x, x), NULL));
        cr_expect(says("kernel handle"));
    }
    sh_mode_release(mode);
}

Test(plugin, the_same_file_is_loaded_once_and_that_is_said) {
    const sh_plugin_handle first = load_good(), second = load_good();
    cr_expect(eq(u32, first.index, second.index));
    cr_expect(eq(u32, first.generation, second.generation));
    cr_expect(ne(ptr, strstr(warned, "loaded already"), NULL), "%s", warned);
    char *link;
    make_folder();
    cr_assert(asprintf(&link, "%s/link.so", folder) > 0);
    char *target = realpath(test_plugin("good"), NULL);
    cr_assert(eq(int, symlink(target, link), 0));
    sh_plugin_handle third;
    cr_expect(eq(int, sh_plugin_load(link, &third), SH_OK));
    cr_expect(eq(u32, third.index, first.index));
    cr_expect(eq(int, sh_plugin_unload(first), SH_OK));
    expect_good(false);
    free(link);
    free(target);
    drop_folder();
}

Test(plugin, its_kernel_wins_over_the_built_in_one_with_a_note_that_names_both) {
    load_good();
    cr_expect(ne(ptr, strstr(warned, "good's init replaces built-in"), NULL), "%s", warned);
}

/* ---- options ---- */

Test(plugin, options_hold_for_each_kernel_of_its_table_and_no_other) {
    cr_assert(eq(int, sh_plugin_load_with(test_plugin("good"), "numel=4..,policy=[fallback]", NULL), SH_OK));
    SH_SCOPE {
        sh_tensor *small = SH_FLOATS(1, 2), *large = SH_FLOATS(1, 2, 3, 4);
        cr_expect(eq(dbl, first_of(sh_add(small, small)), 2));
        cr_expect(eq(dbl, first_of(sh_add(large, large)), 11));
        cr_expect(eq(dbl, first_of(sh_mul(small, 5.0)), 11)); /* init's */
        cr_expect(eq(dbl, first_of(sh_call_op("good::op", small)), 12));
    }
}

static bool refuses_options(const char *options, const char *part) {
    sh_plugin_info info;
    const sh_status status = sh_plugin_load_with(test_plugin("good"), options, NULL);
    return status == SH_ERROR_SPEC && says(part) && !sh_plugin_at(0, &info) && sh_table_check() == SH_OK;
}

Test(plugin, a_bad_option_is_shown_at_its_place_and_nothing_stays) {
    cr_expect(
        refuses_options("numel=4..,dtyp=f32", "did you mean dtype\n  numel=4..,dtyp=f32\n            ^"));
    cr_expect(refuses_options("policy=[verify:frist=3]", "did you mean first\n  verify:frist=3\n         ^"));
    cr_expect(refuses_options("policy=verify,shape=[2,x]", "'x' is no size"));
    cr_expect(refuses_options("policy=verify,policy=fallback", "given twice: 'policy'"));
    cr_expect(refuses_options("numel=4..;dtype=f32", "expected , here"));
    expect_good(false);
}

Test(plugin, options_for_one_that_is_loaded_already_are_told_to_be_void) {
    load_good();
    cr_expect(eq(int, sh_plugin_load_with(test_plugin("good"), "numel=4..", NULL), SH_OK));
    cr_expect(ne(ptr, strstr(warned, "keeps the options that it was loaded with"), NULL), "%s", warned);
}

Test(plugin, a_colon_ends_a_hook_only_outside_of_values) {
    static const char *const first[] = {"a.so",
                                        "a[1].so",
                                        "",
                                        "a.so,policy=[verify:first=3]",
                                        "a.so,scope='x:y',numel=4",
                                        "a.so,scope= [a[:]b]",
                                        "a.so,scope=it's"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        char list[64];
        snprintf(list, sizeof list, "%s:b.so", first[i]);
        cr_expect(eq(sz, sh__hook_length(list), strlen(first[i])), "%s", list);
        cr_expect(eq(sz, sh__hook_length(first[i]), strlen(first[i])), "%s", first[i]);
    }
}

static bool load_and_unload(void) {
    sh_plugin_handle handle;
    if (sh_plugin_load_with(test_plugin("good"), "numel=1..,policy=[fallback]", &handle) < 0) return false;
    return sh_plugin_unload(handle) >= 0;
}

Test(plugin, every_allocation_of_a_load_may_fail) {
    sh_set_warning_sink(sh_warnings_off, NULL);
    fail_each("loading", load_and_unload);
    expect_good(false);
    load_good();
    expect_good(true);
}

/* ---- the examples ---- */

Test(plugin, the_logged_device_works_as_any_device) {
    sh_plugin_handle handle;
    cr_assert(sh_plugin_load(built("examples/plugins/logged_device"), &handle) >= 0, "%s",
              sh_error() ? sh_error()->message : "");
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(1, 2), *u = sh_to_device(x, "logged");
        cr_expect(sh_allclose(sh_mul(sh_add(u, u), 3.0), SH_FLOATS(6, 12)));
        cr_expect(eq(int, sh_plugin_unload(handle), SH_OK));
        cr_expect(eq(ptr, sh_add(u, u), NULL));
        cr_expect(says("no kernel for backend logged"));
        cr_expect(sh_equal(sh_to_device(u, "host"), x));
    }
}

/* CASES 24-27 for what plug-ins register: fallthrough, newest wins, a fallback for later ops, what is registered. */
Test(plugin, a_later_kernel_wins_over_a_plug_ins_and_its_removal_brings_that_back) {
    load_good();
    sh_kernel k;
    cr_assert(sh_kernel_fallthrough("exp", "goodback", "test", &k) >= 0);
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(0, 0);
        SH_WITH_BACKEND("goodback")
            cr_expect(eq(dbl, first_of(sh_exp(x)), 1)); /* the next of the device: cpu's */
        cr_assert(sh_kernel_remove(k) >= 0);
        SH_WITH_BACKEND("goodback") cr_expect(eq(dbl, first_of(sh_exp(x)), 13));
        cr_assert(sh_op_define("later::op(Tensor self) -> Tensor", NULL, NULL) >= 0);
        SH_WITH_BACKEND("goodback") cr_expect(eq(dbl, first_of(sh_call_op("later::op", x)), 13));
        cr_expect(eq(ptr, sh_call_op("later::op", x), NULL));
        cr_expect(says("goodback fallback: good"));
        cr_assert(sh_kernel_register("add", "cpu", init_like_kernel, NULL, "newer", &k) >= 0);
        cr_expect(ne(ptr, strstr(warned, "newer replaces good"), NULL), "%s", warned);
    }
}
