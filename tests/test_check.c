/* test_check.c - sh_check: plain memory shown to the modes. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fail_each.h"
#include "tests/modes.h"

TestSuite(check, .timeout = 60);

static char line[512];
static const void *data;
static sh_status prints(sh_mode *mode, sh_call *call) {
    (void)mode;
    sh_call_print(call, line, sizeof line);
    data = sh_tensor_data(sh_call_tensor(call, 0));
    return SH_PASS;
}

Test(check, an_array_is_seen_where_it_lies) {
    const double x[] = {1, 2, 3};
    SH_WITH_MODE(prints) { cr_assert(eq(int, sh_check(x, 3, "x"), SH_OK)); }
    cr_assert(eq(str, line, (char *)"check_array(f64[3], 'x')"));
    cr_assert(eq(ptr, (void *)(uintptr_t)data, (void *)(uintptr_t)x));
    SH_WITH_MODE(prints) { sh_check_shape((float[6]){0}, SH_SIZES(2, 3), "image"); }
    cr_assert(eq(str, line, (char *)"check_array(f32[2, 3], 'image')"));
    SH_WITH_MODE(prints) { sh_check_data(x, SH_F64, SH_SIZES(2), SH_SIZES(2), "every other"); }
    cr_assert(eq(str, line, (char *)"check_array(f64[2], 'every other')"));
    cr_assert(eq(sz, sh_scope_held(), 0));
}

#define KIND(T, dtype)                                    \
    SH_WITH_MODE(prints) { sh_check((T[2]){0}, 2, "x"); } \
    cr_assert(ne(ptr, strstr(line, "(" dtype "[2]"), NULL), "%s: %s", #T, line);

Test(check, every_type_of_c_has_its_dtype){
    KIND(float, "f32") KIND(double, "f64") KIND(int8_t, "i8") KIND(uint8_t, "u8") KIND(short, "i16")
        KIND(int, "i32") KIND(long, "i64") KIND(long long, "i64") KIND(bool, "b8") KIND(float complex, "c64")
            KIND(double complex, "c128")}

Test(check, numbers_and_tensors_are_seen_too) {
    SH_WITH_MODE(prints) { sh_check(0.5F, "loss"); }
    cr_assert(eq(str, line, (char *)"check_array(f64[], 'loss')"));
    SH_WITH_MODE(prints) { sh_check(3, "count"); }
    cr_assert(eq(str, line, (char *)"check_array(i64[], 'count')"));
    sh_tensor *t = number(1);
    SH_WITH_MODE(prints) { sh_check(t, "t"); }
    cr_assert(eq(str, line, (char *)"check_array(f32[2], 't')"));
}

Test(check, nothing_is_looked_at_while_no_mode_wants_it) {
    cr_assert(eq(int, sh_check((const float *)NULL, 3, "nothing"), SH_OK));
    SH_WITH_MODE(prints) { cr_assert(eq(int, sh_check((const float *)NULL, 3, "nothing"), SH_ERROR_NULL)); }
    cr_assert(failed_with(SH_ERROR_NULL, "data is NULL"));
    SH_WITH_MODE(prints) { cr_assert(eq(int, sh_check((const float *)NULL, -3, "less"), SH_ERROR_SHAPE)); }
    cr_assert(failed_with(SH_ERROR_SHAPE, "negative"));
}

static char *report(const char *spec, sh_status expected, sh_status (*act)(void)) {
    static char text[4096];
    char path[] = "/tmp/sh-check-XXXXXX", full[128];
    close(mkstemp(path));
    snprintf(full, sizeof full, "nancheck:%sout=%s", spec, path);
    sh_mode *mode = NULL;
    cr_assert(eq(int, sh_mode_from_spec(full, &mode), SH_OK), "%s", sh_error() ? sh_error()->message : "");
    SH_WITH_MODE(mode) { cr_assert(eq(int, act(), expected)); }
    sh_mode_release(mode);
    FILE *f = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    unlink(path);
    return text;
}

static sh_status shows_nan(void) {
    const float x[] = {1, NAN, 3, NAN};
    return sh_check(x, 4, "weights");
}
static sh_status shows_inf(void) { return sh_check(-INFINITY, "loss"); }
static sh_status shows_good(void) {
    return sh_check((const int[]){1}, 1, "n") < 0 ? SH_ERROR_VALUE : sh_check(1.0, "x");
}

Test(check, nancheck_tells_the_name_the_place_and_the_line) {
    const char *text = report("", SH_ERROR_FINDING, shows_nan);
    cr_assert(ne(ptr, strstr(text, "NaN arrived in weights"), NULL), "%s", text);
    cr_assert(ne(ptr, strstr(text, "weights[1] = NaN"), NULL), "%s", text);
    cr_assert(ne(ptr, strstr(text, "test_check.c"), NULL), "%s", text);
    cr_assert(failed_with(SH_ERROR_FINDING, "NaN arrived in weights"));
    cr_assert(eq(str, TEXT(report("", SH_OK, shows_inf)), TEXT("")));
    text = report("inf=1,stop=warn,", SH_OK, shows_inf);
    cr_assert(ne(ptr, strstr(text, "-Inf arrived in loss"), NULL), "%s", text);
    cr_assert(eq(str, TEXT(report("inf=1,", SH_OK, shows_good)), TEXT("")));
}

static sh_status zeroes(sh_mode *mode, sh_call *call) {
    (void)mode;
    ((float *)sh_tensor_data(sh_call_tensor(call, 0)))[0] = 0;
    return SH_PASS;
}

Test(check, a_mode_may_change_the_numbers_in_place) {
    float x[] = {7};
    SH_WITH_MODE(zeroes) { sh_check(x, 1, "x"); }
    cr_assert(eq(dbl, (double)x[0], 0));
}

static bool shows(void) {
    bool worked = false;
    SH_WITH_MODE(prints) { worked = sh_check((const float[]){1}, 1, "x") == SH_OK; }
    return worked;
}

Test(check, every_allocation_may_fail) { fail_each("sh_check", shows); }
