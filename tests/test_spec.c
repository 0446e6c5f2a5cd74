/* test_spec.c - modes by name, and what the shipped modes promise. Reports go to files in a folder of the test's own. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/folder.h"
#include "tests/modes.h"

TestSuite(spec, .init = make_folder, .fini = drop_folder);

/* The spec with OUT replaced by a file in the folder, as a mode. */
static sh_mode *from(const char *spec) {
    char text[512];
    const char *out = strstr(spec, "OUT");
    sh_mode *mode = NULL;
    snprintf(text, sizeof text, "%.*s%s%s", (int)(out ? out - spec : (long)strlen(spec)), spec,
             out ? folder : "", out ? "/out" : "");
    if (out) strncat(text, out + 3, sizeof text - strlen(text) - 1);
    cr_assert(eq(int, sh_mode_from_spec(text, &mode), SH_OK), "%s: %s", text,
              sh_error() ? sh_error()->message : "");
    return mode;
}

/* What was written to OUT. */
static char *report(void) {
    static char text[65536];
    char path[128];
    snprintf(path, sizeof path, "%s/out", folder);
    FILE *in = fopen(path, "r");
    const size_t n = in ? fread(text, 1, sizeof text - 1, in) : 0;
    text[n] = 0;
    if (in) fclose(in);
    return text;
}

static bool says(const char *words) {
    const char *text = report();
    if (strstr(text, words)) return true;
    fprintf(stderr, "not found: %s\nin: %s\n", words, text);
    return false;
}

/* ---- reading ---- */

Test(spec, an_error_points_at_its_place_and_suggests_a_word) {
    static const struct {
        const char *spec, *words;
        int column;
    } cases[] = {{"nanchek", "did you mean nancheck", 0},
                 {"log;nancheck:stopp=warn", "did you mean stop", 13},
                 {"nancheck:stop=maybe", "error|trap|warn", 14},
                 {"nancheck:inf=2", "1 or 0", 13},
                 {"profile:numel=7..3", "a range", 14},
                 {"log:out=[a", "no ] closes", 8},
                 {"log:out='a", "no quote closes", 8},
                 {"log:out=[a]b", ", or ;", 11},
                 {"log:out", "= and a value", 7},
                 {"log:", "an option is missing", 4},
                 {"log:out=a,out=b", "given twice", 10},
                 {"", "name is missing", 0},
                 {"log;;log", "name is missing", 4},
                 {"log=3", ": or ;", 3},
                 {"nancheck:stop=error|warn", "error|trap|warn", 14},
                 {"nancheck:inf=1|0", "1 or 0", 13},
                 {"log:ops=[\u00e9],\u00e9=1", "no option", 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert(eq(int, sh_mode_push_spec(cases[i].spec), SH_ERROR_SPEC), "%s", cases[i].spec);
        const char *caret = strrchr(sh_error()->message, '\n');
        cr_assert(eq(int, (int)strlen(caret) - 4, cases[i].column), "%s: %s", cases[i].spec,
                  sh_error()->message);
        cr_assert(failed_with(SH_ERROR_SPEC, cases[i].words), "%s", cases[i].spec);
        cr_assert(eq(sz, sh_mode_depth(), 0), "%s", cases[i].spec);
    }
}

/* However long the words that it quotes are. */
Test(spec, every_error_has_its_caret) {
    static const char *const prefixes[] = {"", "log:", "log:ops=[",
                                           "swap:from=", "swap:from=add,to=mul,set=["};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char text[3000];
        memset(text, 'x', sizeof text);
        memcpy(text, prefixes[i], strlen(prefixes[i]));
        text[sizeof text - 1] = 0;
        cr_assert(lt(int, sh_mode_push_spec(text), 0), "%s", prefixes[i]);
        const char *caret = strrchr(sh_error()->message, '^');
        cr_expect(caret && !caret[1], "%s", sh_error()->message);
        sh_clear_error();
    }
    cr_assert(eq(int, sh_mode_push_spec("log;\tlo\ng"), SH_ERROR_SPEC));
    cr_assert(eq(str, TEXT(strchr(strchr(sh_error()->message, '\'') + 7, '\n')), "\n  log; lo g\n      ^"));
}

Test(spec, as_many_modes_are_explained_as_can_be_pushed) {
    char text[65 * 4 + 1], *explained = NULL;
    for (size_t i = 0; i < 65; i++) memcpy(text + 4 * i, "log;", 5);
    cr_assert(eq(int, sh_mode_explain(text, &explained), SH_ERROR_SPEC));
    cr_assert(failed_with(SH_ERROR_SPEC, "too many modes"));
    cr_assert(eq(ptr, explained, NULL));
    text[64 * 4] = 0;
    cr_assert(eq(int, sh_mode_explain(text, &explained), SH_OK));
    free(explained);
}

Test(spec, several_modes_are_pushed_in_order_and_explained) {
    cr_assert(eq(int, sh_mode_push_spec("swap:from=add,to=mul; swap:from=mul,to=sub ;"), SH_OK));
    cr_assert(eq(sz, sh_mode_depth(), 2));
    cr_assert(eq(dbl, first(sh_add(number(3), number(3))), 9));
    cr_assert(eq(dbl, first(sh_mul(number(3), number(3))), 0));
    char *text;
    cr_assert(eq(int, sh_mode_explain("nancheck:inf,scope='a;b'", &text), SH_OK));
    cr_assert(ne(ptr, strstr(text, "a;b"), NULL));
    free(text);
}

Test(spec, a_bad_swap_says_what_it_lacks) {
    sh_mode *m;
    static const char *const cases[][2] = {{"swap:to=mul", "from=OP"},
                                           {"swap:from=add", "to="},
                                           {"swap:from=ad,to=mul", "add"},
                                           {"swap:from=add,to=mull", "mul"},
                                           {"swap:from=add,cast=f31", "f31"},
                                           {"swap:from=add,set=[alpha]", "name=value"},
                                           {"swap:from=add,to=mul,shape=[1,x]", "x"},
                                           {"log:scope=[(]", "("}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert(lt(int, sh_mode_from_spec(cases[i][0], &m), 0), "%s", cases[i][0]);
        cr_assert(ne(ptr, TEXT(strstr(sh_error()->message, cases[i][1])), NULL), "%s: %s", cases[i][0],
                  sh_error()->message);
        sh_clear_error();
    }
}

/* ---- swap ---- */

Test(spec, swap_takes_its_rules_by_dtype_size_shape_scope_and_call) {
    sh_tensor *x = number(3), *d = sh_full(SH_SIZES(2), 3.0, .dtype = SH_F64),
              *big = sh_full(SH_SIZES(4, 8), 3.0);
    static const struct {
        const char *where;
        double small, f64, large;
    } cases[] = {{"", 9, 9, 9},
                 {",dtype=f64", 6, 9, 6},
                 {",numel=10..", 6, 6, 9},
                 {",numel=..10", 9, 9, 6},
                 {",shape=[4,*]", 6, 6, 9},
                 {",shape=[2]", 9, 9, 6},
                 {",shape=[1..4,8]", 6, 6, 9},
                 {",ops=mul|add", 9, 9, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "swap:from=add,to=mul%s", cases[i].where);
        sh_mode *m = from(spec);
        SH_WITH_MODE(m) {
            cr_assert(eq(dbl, first(sh_add(x, x)), cases[i].small), "%s", spec);
            cr_assert(eq(dbl, first(sh_add(d, d)), cases[i].f64), "%s", spec);
            cr_assert(eq(dbl, first(sh_add(big, big)), cases[i].large), "%s", spec);
        }
        sh_mode_release(m);
    }
    sh_mode *second = from("swap:from=add,to=mul,call=2"),
            *scoped = from("swap:from=add,to=mul,scope=[layer[12]$]");
    SH_WITH_MODE(second) {
        cr_assert(eq(dbl, first(sh_add(x, x)), 6));
        cr_assert(eq(dbl, first(sh_add(x, x)), 9));
        cr_assert(eq(dbl, first(sh_add(x, x)), 6));
    }
    SH_WITH_MODE(scoped) {
        sh_name_push("net");
        sh_name_push("layer2");
        cr_assert(eq(dbl, first(sh_add(x, x)), 9));
        sh_name_pop();
        cr_assert(eq(dbl, first(sh_add(x, x)), 6));
        sh_name_pop();
    }
    sh_mode_release(second);
    sh_mode_release(scoped);
}

Test(spec, swap_sets_arguments_and_casts) {
    sh_mode *set = from("swap:from=add,set=[alpha=10]"), *cast = from("swap:from=sum,cast=f64");
    sh_tensor *x = number(3), *many = sh_full(SH_SIZES(3), 1e8);
    SH_WITH_MODE(set) { cr_assert(eq(dbl, first(sh_add(x, x)), 33)); }
    many = sh_cat(SH_LIST(many, sh_full(SH_SIZES(8), 1.0)));
    SH_WITH_MODE(cast) {
        sh_tensor *s = sh_sum(many);
        cr_assert(eq(int, sh_tensor_dtype(s), SH_F32));
        cr_assert(eq(dbl, sh_item(s), 300000000.0));
    }
    sh_mode_release(set);
    sh_mode_release(cast);
}

/* ---- nancheck ---- */

Test(spec, nancheck_names_the_first_birth_not_what_passes_it_on) {
    sh_mode *m = from("nancheck:stop=warn,out=OUT");
    sh_tensor *x = sh_full(SH_SIZES(2, 2), 1.0);
    SH_WITH_MODE(m) { sh_sqrt(sh_sqrt(sh_sub(x, 2.0))); }
    sh_mode_release(m);
    cr_assert(says("NaN born in sqrt at [0, 0]"));
    cr_assert(says("self = -1"));
    cr_assert(says("square root of a negative number"));
    cr_assert(says("4 of 4 elements"));
    cr_assert(says("test_spec.c:"));
    cr_assert(eq(u64, sh_finding_count(), 1));
}

Test(spec, nancheck_tells_an_arrival_from_a_birth_and_skips_integers_and_empties) {
    sh_mode *m = from("nancheck:stop=warn,out=OUT");
    sh_tensor *x = SH_FLOATS(1, NAN, 3);
    SH_WITH_MODE(m) {
        sh_add(SH_INT64S(1, 2), 1);
        sh_exp(sh_full(SH_SIZES(0), 1.0));
        sh_isnan(x);
        sh_mul(sh_add(SH_FLOATS(1, 1, 1), x), 2.0);
    }
    sh_mode_release(m);
    cr_assert(says("NaN arrived in input other of add at [1]"));
    cr_assert(eq(u64, sh_finding_count(), 1));
}

Test(spec, nancheck_finds_an_infinity_when_asked) {
    sh_tensor *x = SH_FLOATS(1, 0, 2);
    sh_mode *silent = from("nancheck:stop=warn"), *m = from("nancheck:inf=1,stop=error,out=OUT");
    SH_WITH_MODE(silent) { sh_log(x); }
    cr_assert(eq(u64, sh_finding_count(), 0));
    SH_WITH_MODE(m) {
        cr_assert(eq(ptr, sh_log(x), NULL));
        cr_assert(eq(str, TEXT(sh_error()->where), "mode nancheck"));
        cr_assert(failed_with(SH_ERROR_FINDING, "-Inf born in log at [1]: self = 0; logarithm of zero"));
    }
    const sh_finding *f = sh_finding_at(0);
    cr_assert(eq(str, TEXT(f->index), "[1]"));
    cr_assert(eq(i64, f->bad, 1));
    sh_mode_release(silent);
    sh_mode_release(m);
}

Test(spec, nancheck_leaves_a_view_to_its_reader_but_not_a_conversion) {
    sh_tensor *x = SH_FLOATS(1, NAN), *big = sh_full(SH_SIZES(2), 1e300, .dtype = SH_F64);
    sh_mode *m = from("nancheck:inf=1,stop=warn,out=OUT");
    SH_WITH_MODE(m) {
        sh_tensor *y = sh_transpose(sh_reshape(x, SH_SIZES(1, 2)), 0, 1);
        cr_assert(eq(u64, sh_finding_count(), 0));
        sh_to(big, SH_F16);
        cr_assert(eq(u64, sh_finding_count(), 1));
        sh_abs(y);
    }
    sh_mode_release(m);
    cr_assert(says("Inf born in to at [0]"));
    cr_assert(eq(u64, sh_finding_count(), 1));
}

Test(spec, nancheck_gives_reasons) {
    sh_tensor *zero = number(0), *one = number(1), *inf = number(INFINITY), *neg = number(-2),
              *big = number(3e38);
    static const char *const names[] = {"0 / 0",     "division by zero",        "0 * Inf",
                                        "Inf - Inf", "logarithm of a negative", "overflow"};
    for (int i = 0; i < 6; i++) {
        sh_mode *m = from(i == 2 || i == 3 ? "nancheck:out=OUT" : "nancheck:inf=1,out=OUT");
        SH_WITH_MODE(m) {
            if (i == 0) sh_div(zero, zero);
            if (i == 1) sh_div(one, zero);
            if (i == 2) sh_mul(zero, inf);
            if (i == 3) sh_sub(inf, inf);
            if (i == 4) sh_log(neg);
            if (i == 5) sh_mul(big, big);
            sh_clear_error();
        }
        sh_mode_release(m);
        cr_assert(says(names[i]));
    }
}

/* ---- log, profile, trace, capture ---- */

Test(spec, log_writes_one_line_a_call_with_scopes) {
    sh_mode *m = from("log:out=OUT,ops=add|relu");
    sh_tensor *x = number(1);
    SH_WITH_MODE(m) {
        sh_name_push("block");
        sh_relu(sh_add(x, 2, .alpha = 1));
        sh_name_pop();
        sh_mul(x, x);
        sh_add(x, sh_full(SH_SIZES(3), 1.0));
        sh_clear_error();
    }
    sh_mode_release(m);
    cr_assert(eq(
        str, report(),
        "[block] add(f32[2], 2) -> f32[2]\n[block] relu(f32[2]) -> f32[2]\nadd(f32[2], f32[3]) -> error\n"));
}

static double flops_of(const char *level) {
    char spec[64], *line;
    snprintf(spec, sizeof spec, "profile:format=csv,out=OUT,level=%s", level);
    sh_mode *m = from(spec);
    sh_tensor *x = sh_full(SH_SIZES(8, 16), 1.0), *w = sh_full(SH_SIZES(32, 16), 1.0),
              *b = sh_full(SH_SIZES(32), 1.0);
    SH_WITH_MODE(m) {
        sh_matmul(sh_linear(x, w, .bias = b), w);
        sh_addmm(b, x, sh_transpose(w, 0, 1));
    }
    sh_mode_release(m);
    double total = 0;
    for (line = strtok(report(), "\n"); line; line = strtok(NULL, "\n"))
        total += atof(strrchr(line, ',') + 1);
    return total;
}

Test(spec, flops_are_the_same_however_composites_are_split) {
    const double whole = flops_of("function"), split = flops_of("dispatch");
    cr_assert(eq(dbl, whole, 3 * 2.0 * 8 * 16 * 32));
    cr_assert(eq(dbl, split, whole));
}

Test(spec, profile_prints_a_table_with_totals) {
    sh_mode *m = from("profile:out=OUT,sort=calls");
    sh_tensor *x = number(1);
    SH_WITH_MODE(m) {
        for (int i = 0; i < 5; i++) sh_add(x, x);
        sh_relu(x);
    }
    sh_mode_release(m);
    cr_assert(says("op       calls"));
    cr_assert(says("add          5"));
    cr_assert(says("total        6"));
}

Test(spec, trace_is_json_with_nested_begin_and_end) {
    sh_mode *m = from("trace:out=OUT");
    sh_tensor *x = number(1);
    sh_name_push("quote\"back\\slash");
    SH_WITH_MODE(m) { sh_relu(sh_add(x, x)); }
    sh_name_pop();
    sh_mode_release(m);
    cr_assert(says("\"name\":\"add\",\"ph\":\"B\""));
    cr_assert(says("quote\\\"back\\\\slash"));
    cr_assert(says("\"ph\":\"E\""));
    const char *text = report();
    cr_assert(eq(chr, text[0], '['));
    cr_assert(eq(str, TEXT(text + strlen(text) - 3), "\n]\n"));
}

static sh_status dies(sh_call *call, void *user) {
    (void)call;
    (void)user;
    _exit(3);
}

/* What a crash leaves: every begin is on disk, the last one is the op that died. */
Test(spec, trace_is_readable_after_a_crash) {
    sh_mode *m = from("trace:out=OUT");
    sh_tensor *x = number(1);
    sh_kernel_register("tanh", "cpu", dies, NULL, "test", NULL);
    sh_set_warning_sink(sh_warnings_off, NULL);
    if (fork() == 0) {
        SH_WITH_MODE(m) { sh_tanh(sh_add(x, x)); }
        _exit(0);
    }
    usleep(300000);
    const char *text = report();
    const char *last = strstr(text, "\"tanh\"");
    cr_assert(ne(ptr, TEXT(last), NULL));
    cr_assert(eq(ptr, TEXT(strstr(last, "\"ph\":\"E\"")), NULL));
    cr_assert(eq(str, TEXT(text + strlen(text) - 3), "},\n"));
    sh_mode_release(m);
}

Test(spec, a_mode_that_ends_writes_its_report_and_leaves_the_pending_error) {
    sh_mode *m = from("capture:out=OUT");
    SH_WITH_MODE(m) { sh_relu(number(1)); }
    cr_assert(eq(ptr, sh_add(number(1), sh_full(SH_SIZES(3), 1.0)), NULL));
    const sh_error_info before = *sh_error();
    char message[256];
    snprintf(message, sizeof message, "%s", before.message);
    sh_mode_release(m);
    cr_assert(says("target=relu"));
    cr_assert(eq(str, TEXT(sh_error()->op), "add"));
    cr_assert(failed_with(before.code, message));
    char spec[128];
    snprintf(spec, sizeof spec, "capture:out=%s/out;log:shape=[x]", folder);
    cr_assert(lt(int, sh_mode_push_spec(spec), 0));
    cr_assert(failed_with(SH_ERROR_SPEC, "'x' is no size"));
}

Test(spec, capture_by_name_writes_a_graph) {
    sh_mode *m = from("capture:out=OUT");
    sh_tensor *x = number(1);
    SH_WITH_MODE(m) { sh_relu(sh_add(x, 2.0)); }
    sh_mode_release(m);
    cr_assert(says("%relu : [num_users=1] = call_function[target=relu](args = (%add,), kwargs = {})"));
}

Test(spec, a_report_that_cannot_be_opened_is_an_error) {
    sh_mode *m;
    cr_assert(lt(int, sh_mode_from_spec("log:out=/no/such/folder/x", &m), 0));
    cr_assert(failed_with(SH_ERROR_FILE, "/no/such/folder/x"));
}
