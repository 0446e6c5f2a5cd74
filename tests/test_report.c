/* Where reports go, what a line says of its caller, and what a process that isn't ours asks of the library. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatch/finding.h"
#include "dispatch/memory_impl.h"
#include "dispatch/quote.h"
#include "dispatch/site.h"
#include "modes/environment.h"
#include "modes/report.h"
#include "tests/fail_each.h"
#include "tests/folder.h"
#include "tests/modes.h"

TestSuite(report, .init = make_folder, .fini = drop_folder);

static char *contents(const char *path) {
    static char text[8192];
    FILE *file = fopen(path, "r");
    const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[n] = 0;
    return text;
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void put_line(const char *path, const char *text) {
    FILE *file;
    cr_assert(eq(int, sh_report_open(path, &file), SH_OK));
    fputs(text, file);
    sh_report_close(file);
}

/* `spec` with out=PATH; with a separator for it. */
static char *with_out(const char *spec, const char *path) {
    static char text[512];
    snprintf(text, sizeof text, "%sout=[%s]", spec, path);
    return text;
}

Test(report, a_file_is_begun_anew) {
    put(in_folder("a"), "old\n");
    put_line(in_folder("a"), "new\n");
    cr_expect(eq(str, contents(in_folder("a")), TEXT("new\n")));
}

Test(report, under_append_it_is_gone_on_with) {
    setenv("SHUNT_APPEND", "1", 1);
    put(in_folder("a"), "old\n");
    put_line(in_folder("a"), "new\n");
    cr_expect(eq(str, contents(in_folder("a")), TEXT("old\nnew\n")));
}

Test(report, two_streams_of_a_file_do_not_write_over_each_other) {
    FILE *a, *b;
    setenv("SHUNT_APPEND", "1", 1);
    cr_assert(eq(int, sh_report_open(in_folder("a"), &a), SH_OK));
    cr_assert(eq(int, sh_report_open(in_folder("a"), &b), SH_OK));
    for (int i = 0; i < 2; i++) {
        fputs("a\n", a);
        fputs("b\n", b);
    }
    sh_report_close(a);
    sh_report_close(b);
    cr_expect(eq(str, contents(in_folder("a")), TEXT("a\nb\na\nb\n")));
}

Test(report, a_line_is_in_the_file_as_it_ends) {
    FILE *file;
    cr_assert(eq(int, sh_report_open(in_folder("a"), &file), SH_OK));
    fputs("whole\npart", file);
    cr_expect(eq(str, contents(in_folder("a")), TEXT("whole\n")));
    sh_report_close(file);
}

Test(report, the_name_may_hold_the_pid) {
    char expected[64];
    snprintf(expected, sizeof expected, "r%ld%%", (long)getpid());
    char *path = sh__report_path("r%p%%");
    cr_expect(eq(str, path, expected));
    sh__free(path);
}

/* ---- checking a specification ---- */

Test(report, a_checked_specification_is_not_pushed_and_reports_nothing) {
    put(in_folder("a"), "old\n");
    cr_assert(eq(int, sh_mode_check_spec(with_out("profile;trace:", in_folder("a"))), SH_OK));
    cr_expect(eq(sz, sh_mode_depth(), 0));
    cr_expect(eq(str, contents(in_folder("a")), TEXT("")), "the file is begun");
}

Test(report, a_check_finds_what_a_push_would) {
    cr_expect(sh_mode_check_spec("lgo") < 0 && failed_with(SH_ERROR_SPEC, "did you mean log"));
    cr_expect(sh_mode_check_spec("swap:from=relus,to=sin") < 0 &&
              failed_with(SH_ERROR_SPEC, "no op 'relus'"));
    cr_expect(sh_mode_check_spec("log:out=/no/such/x") < 0 && failed_with(SH_ERROR_FILE, "/no/such/x"));
    cr_expect(sh_mode_check_spec(NULL) < 0 && failed_with(SH_ERROR_NULL, "NULL"));
}

static bool check_log(void) { return sh_mode_check_spec(with_out("log:", in_folder("a"))) == SH_OK; }
Test(report, no_allocation_of_a_check_may_fail_unnoticed) { fail_each("sh_mode_check_spec", check_log); }

/* ---- the caller ---- */

static bool names_three(const sh_call *call, char *text, size_t size) {
    if (sh_call_family(call) != SH_OP_mul) return false;
    snprintf(text, size, "script:3");
    return true;
}

/* Its report is written. */
static void pop_last(void) {
    sh_mode_info info;
    cr_assert(eq(sz, sh_modes(&info, 1), 1));
    cr_assert(eq(int, sh_pop_mode(info.mode), SH_OK));
}

static char *logged(const char *spec, bool named) {
    cr_assert(eq(int, sh_mode_push_spec(with_out(spec, in_folder("log"))), SH_OK));
    sh__set_site_namer(named ? names_three : NULL);
    sh_add(number(1), number(2));
    sh_mul(number(1), number(2));
    sh__set_site_namer(NULL);
    pop_last();
    return contents(in_folder("log"));
}

Test(report, lines_say_where_a_call_was_made_if_asked) {
    const char *text = logged("log:ops=add|mul,site=1,", false);
    cr_expect(strstr(text, "mul(f32[2], f32[2]) -> f32[2] at test_report.c:") != NULL, "got %s", text);
}

Test(report, or_if_somebody_knows_better_than_the_address) {
    const char *text = logged("log:ops=add|mul,", true);
    cr_expect(strstr(text, "mul(f32[2], f32[2]) -> f32[2] at script:3\n") != NULL, "got %s", text);
    cr_expect(strstr(text, "add(f32[2], f32[2]) -> f32[2] at test_report.c:") != NULL, "he passes add: %s",
              text);
}

Test(report, else_they_do_not) {
    cr_expect(strstr(logged("log:ops=add|mul,", false), " at ") == NULL);
    cr_expect(strstr(logged("log:ops=add|mul,site=0,", true), " at ") == NULL);
}

Test(report, a_profile_by_site_has_a_row_for_each_caller) {
    const char *text = logged("profile:ops=add|mul,by=site,", true);
    cr_expect(strstr(text, "mul at script:3 ") && strstr(text, "add at test_report.c:"), "got %s", text);
}

Test(report, a_trace_names_the_caller) {
    cr_expect(strstr(logged("trace:ops=mul,", true), "\"site\":\"script:3\"") != NULL);
}

/* ---- findings ---- */

Test(report, findings_are_counted_by_kind) {
    cr_assert(eq(int, sh_mode_push_spec(with_out("nancheck:inf=1,stop=warn,", in_folder("f"))), SH_OK));
    sh_sqrt(number(-1));
    sh_log(number(0));
    cr_expect(eq(u64, sh_finding_count_of(SH_FINDING_NAN), 1));
    cr_expect(eq(u64, sh_finding_count_of(SH_FINDING_INF), 1));
    cr_expect(eq(u64, sh_finding_count_of(SH_FINDING_MISMATCH), 0));
    sh__findings_forked();
    cr_expect(eq(u64, sh_finding_count() + sh_finding_count_of(SH_FINDING_NAN), 0));
}

Test(report, and_printed_as_a_line_of_json) {
    char expected[128];
    cr_assert(eq(int, sh_mode_push_spec(with_out("nancheck:stop=warn,", in_folder("f"))), SH_OK));
    sh_sqrt(number(-1));
    FILE *file = fopen(in_folder("json"), "w");
    sh_findings_print_json(file);
    fclose(file);
    snprintf(
        expected, sizeof expected,
        "{\"pid\": %ld, \"count\": 1, \"findings\": [{\"mode\": \"nancheck\", \"what\": \"NaN born in sqrt\"",
        (long)getpid());
    cr_expect(strncmp(contents(in_folder("json")), expected, strlen(expected)) == 0);
}

Test(report, text_is_quoted_for_json) {
    FILE *file = fopen(in_folder("q"), "w");
    sh__quote(file, "a\"b\\c\n\x01");
    fclose(file);
    cr_expect(eq(str, contents(in_folder("q")), TEXT("\"a\\\"b\\\\c\\u000a\\u0001\"")));
}

/* ---- forks and early ends ---- */

static void op(void) { sh_neg(number(1)); }

Test(report, a_child_leaves_its_parents_reports_alone) {
    cr_assert(eq(int, sh_mode_push_spec_global(with_out("profile:ops=neg,", in_folder("p"))), SH_OK));
    op();
    const pid_t child = fork();
    if (child == 0) {
        sh__environment_forked();
        sh__environment_report();
        sh__environment_renew();
        op();
        _exit(contents(in_folder("p"))[0] ? 1 : 0);
    }
    int status;
    waitpid(child, &status, 0);
    cr_expect(eq(int, status, 0));
    sh_mode_pop_all_global();
    cr_expect(strstr(contents(in_folder("p")), "neg          1") != NULL);
}

Test(report, its_first_call_pushes_the_environments_modes_anew) {
    setenv("SHUNT_MODES", with_out("profile:ops=neg,", in_folder("p")), 1);
    sh__environment_forked();
    sh__environment_renew();
    op();
    op();
    sh__environment_report();
    cr_expect(strstr(contents(in_folder("p")), "neg          2") != NULL);
    sh__environment_renew();
    op();
    sh_mode_pop_all_global();
    cr_expect(strstr(contents(in_folder("p")), "neg          1") != NULL, "what comes after is told after");
    cr_expect(strstr(contents(in_folder("p")), "neg          2") != NULL);
}
