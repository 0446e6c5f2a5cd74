/* test_op_check.c - the op check: each lie of an op is caught and named, honest ops and every built-in one pass. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/golden.h"
#include "tests/modes.h"

/* The checks that found something, "mutation aliasing"; ends the error. */
static const char *faults_of(const char *name, const sh_op_check_options *options) {
    static char text[600];
    sh_op_report *report;
    const sh_status status = sh_op_check(name, options, &report);
    text[0] = 0;
    for (size_t i = 0; i < sh_op_report_count(report); i++) {
        const char *check = sh_op_report_fault(report, i).check;
        const size_t n = strlen(text);
        if (!strstr(text, check)) snprintf(text + n, sizeof text - n, n ? " %s" : "%s", check);
    }
    char *whole = report ? sh_op_report_text(report) : NULL;
    if (sh_op_report_count(report)) fprintf(stderr, "%s", whole);
    if (!report) snprintf(text, sizeof text, "%s", sh_error() ? sh_error()->message : "no report");
    cr_expect(eq(int, status < 0, text[0] != 0));
    free(whole);
    sh_op_report_free(report);
    sh_clear_error();
    return text;
}

#define EXPECT_FAULTS(name, list) cr_expect(eq(str, TEXT(faults_of(name, NULL)), list))

/* ---- kernels ---- */

static sh_status infer_same(const sh_value *args, sh_spec *results, void *user) {
    const sh_tensor *x = args[0].as.tensor;
    (void)user;
    results[0].dtype = sh_tensor_dtype(x);
    results[0].ndim = sh_tensor_ndim(x);
    memcpy(results[0].sizes, sh_tensor_sizes(x), (size_t)results[0].ndim * sizeof(int64_t));
    return SH_OK;
}

/* By ops, so any layout and dtype: 2x. */
static sh_status doubles(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_add(sh_call_tensor(call, 0), sh_call_tensor(call, 0)));
}

static sh_status triples(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_mul(sh_call_tensor(call, 0), 3.0));
}

static sh_status define(const char *schema, sh_op_options options) {
    options.registrant = "test";
    return sh_op_define(schema, &options, NULL);
}

Test(op_check, an_honest_op_passes) {
    cr_assert(eq(int,
                 define("t::twice(Tensor x) -> Tensor",
                        (sh_op_options){.cpu = doubles,
                                        .ref = doubles,
                                        .composite = doubles,
                                        .infer = infer_same,
                                        .tags = SH_OP_PURE | SH_OP_INPLACE | SH_OP_OUT}),
                 SH_OK));
    EXPECT_FAULTS("t::twice", "");
    sh_op_report *report;
    cr_assert(eq(int, sh_op_check("t::twice", NULL, &report), SH_OK));
    const char *check;
    for (size_t i = 0; sh_op_check_at(i, &check, NULL); i++)
        if (strcmp(check, "writes") != 0)
            cr_expect(gt(sz, sh_op_report_ran(report, check), 0), "%s was not made", check);
    cr_expect(eq(sz, sh_op_report_ran(report, "nonsense"), 0));
    sh_op_report_free(report);
}

/* ---- every kind of schema ---- */

static sh_status low_and_high(sh_call *call, void *user) {
    (void)user;
    SH_TRY(sh_call_set_result(call, 0, sh_value_tensor(sh_sub(sh_call_tensor(call, 0), 1.0))));
    return sh_call_set_result(call, 1, sh_value_tensor(sh_add(sh_call_tensor(call, 0), 1.0)));
}
static sh_status copies_of(sh_call *call, void *user) {
    (void)user;
    sh_tensor *x = sh_call_tensor(call, 0);
    return sh_call_set_result(call, 0, sh_list_value(SH_LIST(sh_neg(x), sh_mul(x, 2.0))));
}
static sh_status add_one(sh_call *call, void *user) {
    (void)user;
    const sh_value v = sh_call_arg(call, 0);
    const sh_tensors list = sh_value_as_tensors(v);
    if (v.tag == SH_TAG_TENSOR) sh_add_(v.as.tensor, 1);
    for (size_t i = 0; i < list.n; i++) sh_add_(list.at[i], 1);
    return sh_error() ? sh_error()->code : SH_OK;
}
static sh_status first_row(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_select(sh_call_tensor(call, 0), 0, 0));
}
static sh_status accumulate(sh_call *call, void *user) {
    (void)user;
    sh_tensor *x = sh_call_tensor(call, 0), *state = sh_call_tensor(call, 1);
    sh_add_(sh_mul_(state, sh_call_arg_named(call, "decay").as.f), x);
    return sh_call_set_tensor(call, sh_mul(sh_sigmoid(state), x));
}
static sh_status set_rows(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_full(sh_value_as_ints(sh_call_arg(call, 0)), 2.0));
}

Test(op_check, ops_of_every_kind_of_schema_pass_through_graphs_layouts_and_threads) {
    const sh_op_options plain = {.cpu = NULL};
    sh_op_options o = plain;
#define DEFINE(kernel, schema) \
    o.composite = kernel;      \
    cr_assert(eq(int, define(schema, o), SH_OK))
    DEFINE(low_and_high, "k::pair(Tensor x) -> (Tensor low, Tensor high)");
    DEFINE(copies_of, "k::copies(Tensor x) -> Tensor[]");
    DEFINE(add_one, "k::poke(Tensor(a!) x) -> ()");
    DEFINE(add_one, "k::bump(Tensor(a!) x) -> Tensor(a!)");
    DEFINE(add_one, "k::bump_all(Tensor(a!)[] xs) -> Tensor(a!)[]");
    DEFINE(first_row, "k::row(Tensor(a) x) -> Tensor(a)");
    DEFINE(accumulate, "k::gate(Tensor x, Tensor(a!) state, *, float decay=0.5) -> Tensor");
    DEFINE(set_rows, "k::rows(int[2] size) -> Tensor");
    static const char *const names[] = {"k::pair",     "k::copies", "k::poke", "k::bump",
                                        "k::bump_all", "k::row",    "k::gate", "k::rows"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) EXPECT_FAULTS(names[i], "");
}

/* ---- case 29: each lie ---- */

static sh_status writes_secretly(sh_call *call, void *user) {
    sh_tensor *x = sh_call_tensor(call, 0);
    SH_TRY(doubles(call, user));
    return sh_add_(x, 1.0) ? SH_OK : sh_error()->code;
}

Test(op_check, an_undeclared_write_is_named) {
    define("t::sly(Tensor x) -> Tensor", (sh_op_options){.cpu = writes_secretly});
    const char *faults = faults_of("t::sly", NULL);
    cr_expect(ne(ptr, TEXT(strstr(faults, "mutation")), NULL), "%s", faults);
}

static sh_status gives_its_input(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_call_tensor(call, 0));
}
static sh_status gives_a_view(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_flatten(sh_call_tensor(call, 0)));
}
static sh_status gives_one_twice(sh_call *call, void *user) {
    (void)user;
    sh_tensor *r = sh_clone(sh_call_tensor(call, 0));
    SH_TRY(sh_call_set_tensor(call, r));
    return sh_call_set_result(call, 1, sh_value_tensor(r));
}

Test(op_check, a_returned_input_a_view_and_one_memory_for_two_results_are_named) {
    define("t::same(Tensor x) -> Tensor", (sh_op_options){.cpu = gives_its_input});
    EXPECT_FAULTS("t::same", "aliasing");
    define("t::flat(Tensor x) -> Tensor", (sh_op_options){.cpu = gives_a_view});
    EXPECT_FAULTS("t::flat", "aliasing");
    define("t::pair(Tensor x) -> (Tensor, Tensor)", (sh_op_options){.cpu = gives_one_twice});
    EXPECT_FAULTS("t::pair", "aliasing");
}

static sh_status infer_one_more(const sh_value *args, sh_spec *results, void *user) {
    SH_TRY(infer_same(args, results, user));
    if (results[0].ndim) results[0].sizes[0]++;
    return SH_OK;
}
static sh_status infer_f64(const sh_value *args, sh_spec *results, void *user) {
    SH_TRY(infer_same(args, results, user));
    results[0].dtype = SH_F64;
    return SH_OK;
}
static sh_status infer_nothing(const sh_value *args, sh_spec *results, void *user) {
    (void)args;
    (void)results;
    (void)user;
    return sh_fail(SH_ERROR_SHAPE, "no idea");
}

/* Sets its own result beside the one that was laid out. */
static sh_status turned(sh_call *call, void *user) {
    (void)user;
    sh_tensor *x = sh_call_tensor(call, 0);
    const int n = sh_tensor_ndim(x);
    if (n < 2) return sh_call_set_tensor(call, sh_clone(x));
    sh_tensor *t = sh_clone(sh_transpose(x, 0, 1));
    return sh_call_set_tensor(call, sh_transpose(t, 0, 1));
}

Test(op_check, an_infer_function_that_lies_is_named_by_what_it_lies_about) {
    define("t::shape(Tensor x) -> Tensor", (sh_op_options){.cpu = doubles, .infer = infer_one_more});
    const char *faults = faults_of("t::shape", NULL);
    cr_expect(eq(int, (strstr(faults, "shape") != NULL && !strstr(faults, "dtype ")) ? 1 : 0, 1), "%s",
              faults);
    define("t::dtype(Tensor x) -> Tensor", (sh_op_options){.cpu = doubles, .infer = infer_f64});
    faults = faults_of("t::dtype", &(sh_op_check_options){.only = "shape|dtype|strides"});
    cr_expect(eq(str, TEXT(faults), "dtype"));
    define("t::turned(Tensor x) -> Tensor", (sh_op_options){.cpu = turned, .infer = infer_same});
    EXPECT_FAULTS("t::turned", "strides");
    sh_tensor *x = sh_rand(SH_SIZES(3, 4));
    const sh_arguments samples[] = {SH_ARGUMENTS(x)};
    define("t::gives_up(Tensor x) -> Tensor", (sh_op_options){.cpu = doubles, .infer = infer_nothing});
    faults = faults_of("t::gives_up", &(sh_op_check_options){.samples = samples, .nsamples = 1});
    cr_expect(ne(ptr, TEXT(strstr(faults, "runs")), NULL), "%s", faults);
}

static sh_status leaves_it(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_clone(sh_call_tensor(call, 1)));
}

Test(op_check, what_is_declared_and_not_done_is_named) {
    define("t::idle(Tensor x, Tensor(a!) state) -> Tensor", (sh_op_options){.cpu = leaves_it});
    EXPECT_FAULTS("t::idle", "writes");
    define("t::fresh(Tensor(a) x) -> Tensor(a)", (sh_op_options){.cpu = doubles});
    EXPECT_FAULTS("t::fresh", "alias");
    define("t::other(Tensor(a!) x) -> Tensor(a!)", (sh_op_options){.cpu = doubles});
    const char *faults = faults_of("t::other", NULL);
    cr_expect(eq(int, (strstr(faults, "alias") != NULL && strstr(faults, "writes")) ? 1 : 0, 1), "%s",
              faults);
}

Test(op_check, a_kernel_that_differs_from_ref_or_from_the_composite_form_is_named) {
    define("t::off(Tensor x) -> Tensor",
           (sh_op_options){.cpu = doubles, .ref = triples, .infer = infer_same});
    const char *faults = faults_of("t::off", NULL);
    cr_expect(ne(ptr, TEXT(strstr(faults, "ref")), NULL), "%s", faults);
    define("t::apart(Tensor x) -> Tensor", (sh_op_options){.cpu = doubles, .composite = triples});
    faults = faults_of("t::apart", &(sh_op_check_options){.only = "composite"});
    cr_expect(eq(str, TEXT(faults), "composite"));
}

static sh_status reads_as_rows(sh_call *call, void *user) {
    (void)user;
    sh_tensor *x = sh_call_tensor(call, 0), *r = sh_call_result(call, 0).as.tensor;
    if (sh_tensor_dtype(x) != SH_F32) return sh_fail(SH_ERROR_DTYPE, "f32 only");
    const float *at = sh_tensor_data(x);
    bool repeats = false; /* there is less memory than elements */
    for (int i = 0; i < sh_tensor_ndim(x); i++) repeats |= !sh_tensor_strides(x)[i];
    for (int64_t i = 0; i < sh_tensor_numel(x); i++)
        ((float *)sh_tensor_data(r))[i] = at[repeats ? 0 : i] * 2;
    return SH_OK;
}

Test(op_check, a_kernel_that_takes_every_layout_for_rows_is_named) {
    define("t::rows(Tensor x) -> Tensor", (sh_op_options){.cpu = reads_as_rows, .infer = infer_same});
    EXPECT_FAULTS("t::rows", "strided");
}

static _Atomic int counter;
static sh_status counts(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_add(sh_call_tensor(call, 0), (double)counter++));
}
static sh_status draws(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_rand_like(sh_call_tensor(call, 0)));
}

Test(op_check, an_op_that_gives_other_numbers_each_time_is_named) {
    define("t::state(Tensor x) -> Tensor", (sh_op_options){.cpu = counts, .tags = SH_OP_PURE});
    const char *faults = faults_of("t::state", &(sh_op_check_options){.only = "repeat"});
    cr_expect(eq(str, TEXT(faults), "repeat"));
    sh_tensor *x = sh_rand(SH_SIZES(8));
    const sh_arguments samples[] = {SH_ARGUMENTS(x)};
    define("t::dice(Tensor x) -> Tensor", (sh_op_options){.cpu = draws});
    faults =
        faults_of("t::dice", &(sh_op_check_options){.only = "repeat", .samples = samples, .nsamples = 1});
    cr_expect(eq(str, TEXT(faults), "repeat"));
    define("t::fair(Tensor x) -> Tensor", (sh_op_options){.cpu = draws, .tags = SH_OP_RANDOM});
    faults =
        faults_of("t::fair", &(sh_op_check_options){.samples = samples, .nsamples = 1, .only = "!dtypes"});
    cr_expect(eq(str, TEXT(faults), ""));
}

/* Gives something else when another thread is in it at the same time, for which it waits a little. */
static _Atomic int inside;
static sh_status minds_company(sh_call *call, void *user) {
    (void)user;
    bool met = inside++ > 0;
    for (int i = 0; i < 50 && !met; i++) {
        met = inside > 1;
        usleep(100);
    }
    const sh_status status = sh_call_set_tensor(call, sh_add(sh_call_tensor(call, 0), met ? 1.0 : 0.0));
    inside--;
    return status;
}

Test(op_check, a_kernel_that_several_threads_disturb_is_named) {
    sh_tensor *x = sh_rand(SH_SIZES(64));
    const sh_arguments samples[] = {SH_ARGUMENTS(x)};
    define("t::shared(Tensor x) -> Tensor", (sh_op_options){.cpu = minds_company});
    const char *faults =
        faults_of("t::shared",
                  &(sh_op_check_options){.samples = samples, .nsamples = 1, .threads = 8, .only = "threads"});
    cr_expect(eq(str, TEXT(faults), "threads"));
}

/* ---- what is asked ---- */

Test(op_check, unknown_ops_bad_filters_and_ops_without_samples_are_errors) {
    sh_op_report *report = (sh_op_report *)1;
    cr_expect(eq(int, sh_op_check("reluu", NULL, &report), SH_ERROR_OP));
    cr_expect(eq(int, (failed_with(SH_ERROR_OP, "did you mean relu") && !report) ? 1 : 0, 1));
    cr_expect(lt(int, sh_op_check("relu", &(sh_op_check_options){.only = "a||b"}, NULL), 0));
    sh_clear_error();
    define("t::worded(Tensor x, str how) -> Tensor", (sh_op_options){.cpu = doubles});
    cr_expect(eq(int, sh_op_check("t::worded", NULL, &report), SH_ERROR_ARGUMENT));
    cr_expect(eq(int, (failed_with(SH_ERROR_ARGUMENT, "give samples") && !report) ? 1 : 0, 1));
    sh_tensor *x = sh_rand(SH_SIZES(2));
    const sh_arguments samples[] = {SH_ARGUMENTS(x)};
    cr_expect(eq(int,
                 sh_op_check("t::worded", &(sh_op_check_options){.samples = samples, .nsamples = 1}, &report),
                 SH_ERROR_FINDING));
    cr_expect(eq(str, TEXT(sh_op_report_fault(report, 0).check), "runs"));
    sh_op_report_free(report);
    sh_clear_error();
}

Test(op_check, samples_modes_and_the_generator_are_as_they_were) {
    sh_tensor *x = sh_ones(SH_SIZES(2, 3)), *s = sh_zeros(SH_SIZES(2, 3));
    const sh_arguments samples[] = {SH_ARGUMENTS(x, s)};
    const sh_rng_state state = sh_get_rng_state();
    define("t::into(Tensor x, Tensor(a!) state) -> ()", (sh_op_options){.cpu = NULL});
    seen[0] = 0;
    SH_WITH_MODE(noting)
        cr_expect(lt(
            int, sh_op_check("t::into", &(sh_op_check_options){.samples = samples, .nsamples = 1}, NULL), 0));
    sh_clear_error();
    SH_WITH_MODE(noting)
        cr_expect(eq(
            int,
            sh_op_check("add",
                        &(sh_op_check_options){.samples = samples, .nsamples = 1, .only = "mutation|shape"},
                        NULL),
            SH_OK));
    cr_expect(eq(str, seen, ""));
    const sh_rng_state after = sh_get_rng_state();
    cr_expect(eq(int, memcmp(&state, &after, sizeof state), 0));
    cr_expect(eq(int, (first(x) == 1 && first(s) == 0) ? 1 : 0, 1));
}

/* ---- every built-in op ---- */

enum { SAMPLES = 8 };

static size_t ops_checked, faults_found;

static void check_builtin(const char *name, const sh_arguments *samples, size_t n) {
    sh_op_report *report;
    const sh_op *op = sh_op_find(name);
    if (!op || !n) return;
    const sh_status status =
        sh_op_check(name, &(sh_op_check_options){.samples = samples, .nsamples = n, .threads = 2}, &report);
    if (status < 0) {
        char *text = report ? sh_op_report_text(report) : NULL;
        fprintf(stderr, "%s: %s\n%s", name, sh_error()->message, text ? text : "");
        free(text);
        faults_found++;
    }
    sh_clear_error();
    ops_checked++;
    sh_op_report_free(report);
}

/* An op's golden lines that are not refused. */
typedef struct lines {
    char **at;
    size_t n;
} lines;
static lines of_op[512];

static void take_line(const char *line) {
    char name[64];
    const size_t length = strcspn(line, "(");
    snprintf(name, sizeof name, "%.*s", (int)length, line);
    const sh_op *op = length < sizeof name ? sh_op_find(name) : NULL;
    if (!op || sh_op_id(op) >= 512 || strlen(line) > 20000) return;
    if (strstr(line, "-> error") || strstr(line, "out=")) return;
    lines *l = &of_op[sh_op_id(op)];
    l->at = realloc(l->at, (l->n + 1) * sizeof *l->at);
    l->at[l->n++] = strdup(line);
}

static void read_lines(const char *path) {
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    cr_assert(ne(ptr, file, NULL), "%s", path);
    while (getline(&line, &size, file) > 0) take_line(line);
    free(line);
    fclose(file);
}

/* A few of them, from all over. */
static void sweep_op(const lines *l) {
    static golden_case cases[SAMPLES];
    sh_arguments samples[SAMPLES];
    size_t n = 0;
    for (size_t i = 0; i < SAMPLES && i < l->n; i++) {
        const size_t at = l->n <= SAMPLES ? i : i * l->n / SAMPLES;
        if (!golden_parse(&cases[n], l->at[at], SH_HOST)) continue;
        samples[n] = (sh_arguments){cases[n].arguments, cases[n].narguments};
        n++;
    }
    if (n) check_builtin(cases[0].op, samples, n);
}

Test(op_check, every_built_in_op_passes, .timeout = 300) {
    static const char *const files[] = {
        "activation",    "arithmetic", "choosing", "comparison", "convolution", "creation", "movement",
        "normalisation", "pooling",    "product",  "quantized",  "reduction",   "shape",    "unary"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        snprintf(path, sizeof path, "tests/golden/%s.txt", files[i]);
        read_lines(path);
    }
    for (size_t id = 0; id < 512; id++) {
        SH_SCOPE sweep_op(&of_op[id]);
        for (size_t i = 0; i < of_op[id].n; i++) free(of_op[id].at[i]);
        free(of_op[id].at);
    }
    cr_expect(eq(sz, faults_found, 0));
    cr_expect(gt(sz, ops_checked, 100));
}
