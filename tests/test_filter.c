/* What dispatch/filter.h and suggest.h promise: which names a filter takes, where a bad one is bad, that none is
 * costly, and which word was meant. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>
#include <time.h>

#include "dispatch/filter.h"
#include "dispatch/memory.h"
#include "dispatch/suggest.h"

static bool matches(const char *text, sh_filter_syntax syntax, const char *name) {
    sh_filter *filter = sh_filter_new(text, syntax);
    cr_assert(filter != NULL, "%s: %s", text, sh_error()->message);
    const bool found = sh_filter_match(filter, name);
    sh_filter_free(filter);
    return found;
}

#define GLOB(text, name) matches(text, SH_FILTER_GLOB, name)
#define ERE(text, name) matches(text, SH_FILTER_ERE, name)

/* The filter is refused with a message that has both parts. */
static void refused(const char *text, sh_filter_syntax syntax, const char *column, const char *reason) {
    cr_assert(sh_filter_new(text, syntax) == NULL, "%s is accepted", text);
    cr_assert(sh_error() != NULL);
    cr_expect(eq(int, (int)sh_error()->code, SH_ERROR_VALUE));
    cr_expect(strstr(sh_error()->message, column) != NULL, "%s: %s", text, sh_error()->message);
    cr_expect(strstr(sh_error()->message, reason) != NULL, "%s: %s", text, sh_error()->message);
    sh_clear_error();
}

Test(filter, no_text_matches_everything) {
    cr_expect(sh_filter_match(NULL, "add"));
    cr_expect(GLOB(NULL, "add"));
    cr_expect(GLOB("", ""));
    cr_expect(ERE("", "net.conv"));
    cr_expect(ERE(NULL, ""));
}

Test(filter, a_glob_is_about_the_whole_name) {
    cr_expect(GLOB("add", "add"));
    cr_expect(not(GLOB("add", "add_")));
    cr_expect(not(GLOB("add", "addmm")));
    cr_expect(GLOB("add*", "add"));
    cr_expect(GLOB("*conv?d", "conv2d"));
    cr_expect(not(GLOB("conv?d", "convd")));
    cr_expect(GLOB("max.*", "max.dim"));
    cr_expect(not(GLOB("?", "")));
    cr_expect(GLOB("*", ""));
}

Test(filter, a_star_takes_as_much_as_it_must) {
    cr_expect(GLOB("a*b*c", "aXbYbZc"));
    cr_expect(not(GLOB("a*b*c", "aXbYbZ")));
    cr_expect(GLOB("*ab", "aaab"));
    cr_expect(GLOB("**a**", "bab"));
    cr_expect(GLOB("*aab*", "aaaab"));
}

Test(filter, classes) {
    cr_expect(GLOB("log[12]*", "log10"));
    cr_expect(GLOB("conv[1-3]d", "conv2d"));
    cr_expect(not(GLOB("conv[1-3]d", "conv4d")));
    cr_expect(GLOB("[!a-m]*", "relu"));
    cr_expect(not(GLOB("[^a-m]*", "add")));
    cr_expect(GLOB("[]]", "]"));
    cr_expect(GLOB("[a-]", "-"));
    cr_expect(GLOB("a[|]b|c", "a|b"));
    cr_expect(GLOB("a[*]", "a*"));
    cr_expect(not(GLOB("a[*]", "ab")));
}

Test(filter, bar_is_or_and_a_leading_mark_is_not) {
    cr_expect(GLOB("add|mul", "mul"));
    cr_expect(GLOB("add|mul*", "mul_"));
    cr_expect(not(GLOB("add|mul", "sub")));
    cr_expect(not(GLOB("!add|mul", "add")));
    cr_expect(not(GLOB("!add|mul", "mul")));
    cr_expect(GLOB("!add|mul", "sub"));
    cr_expect(not(ERE("!conv|pool", "net.pool1")));
    cr_expect(ERE("!conv|pool", "net.fc"));
}

Test(filter, an_expression_is_found_anywhere) {
    cr_expect(ERE("layer[0-9]+\\.conv", "net.layer12.conv1"));
    cr_expect(not(ERE("^layer", "net.layer1")));
    cr_expect(ERE("conv(1|2)$", "net.conv2"));
    cr_expect(ERE("[[:digit:]]{2}", "block10"));
    cr_expect(ERE("a+b?c*", "a"));
}

Test(filter, a_bad_glob_says_where) {
    refused("!", SH_FILTER_GLOB, "column 2", "nothing stands behind '!'");
    refused("add||mul", SH_FILTER_GLOB, "column 5", "a name is missing");
    refused("|add", SH_FILTER_GLOB, "column 1", "a name is missing");
    refused("add|", SH_FILTER_GLOB, "column 5", "a name is missing");
    refused("add|mu[l", SH_FILTER_GLOB, "column 7", "'[' has no ']'");
    refused("add|[]", SH_FILTER_GLOB, "column 5", "'[' has no ']'");
    refused("[!", SH_FILTER_GLOB, "column 1", "'[' has no ']'");
    refused("add, mul", SH_FILTER_GLOB, "column 5", "spaces");
    refused("add|!mul", SH_FILTER_GLOB, "column 5", "'!'");
}

Test(filter, a_bad_expression_says_where) {
    refused("net(a(b", SH_FILTER_ERE, "column 4", "(");
    refused("!net[", SH_FILTER_ERE, "column 5", "");
    refused("x[z-a]", SH_FILTER_ERE, "column 5", "range");
    refused("*a", SH_FILTER_ERE, "column 1", "");
    refused("a\\", SH_FILTER_ERE, "column 2", "backslash");
    refused("(a)\\1", SH_FILTER_ERE, "column 4", "back-references");
    refused("!", SH_FILTER_ERE, "column 2", "nothing");
}

Test(filter, a_message_carries_no_control_characters) {
    refused("a\033[31m", SH_FILTER_GLOB, "\"a\", column 3", "'[' has no ']'");
}

static char *repeated(const char *text, size_t times, const char *tail) {
    static char made[4096];
    made[0] = '\0';
    while (times--) strcat(made, text);
    return strcat(made, tail);
}

Test(filter, an_expression_that_would_explode_is_refused) {
    refused("a{100}{100}", SH_FILTER_ERE, "column 7", "repeats");
    refused("((((x{9}){9}){9}){9})", SH_FILTER_ERE, "column", "repeats");
    refused("a{99999}", SH_FILTER_ERE, "column 2", "repeats");
    refused("^(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*", SH_FILTER_ERE, "column",
            "around repeats");
    refused("\\<a*************", SH_FILTER_ERE, "column", "around repeats");
    refused("^((a?)+(a?)+(a?)+(a?)+(a?)+(a?)+)+", SH_FILTER_ERE, "column", "around repeats");
    refused("a++++++++++++++++++++++++++++++", SH_FILTER_ERE, "column", "repeats");
    refused(repeated("(", 33, ""), SH_FILTER_ERE, "column 33", "deep");
    refused(repeated("a", 513, ""), SH_FILTER_ERE, "column 513", "too long");
    cr_expect(ERE("(conv|pool){1,3}[]x]{4}\\+[[:alpha:][.-.]]{2}", "convxx]x+a-"));
}

Test(filter, no_pattern_takes_long) {
    const clock_t start = clock();
    cr_expect(not(GLOB("*a*a*a*a*a*a*a*a*a*a*a*a*b", repeated("a", 2000, ""))));
    cr_expect(ERE("(a?){300}", repeated("a", 300, "")));
    cr_expect(ERE("(a|aa)*b", repeated("a", 2000, "b")));
    cr_expect(lt(dbl, (double)(clock() - start) / CLOCKS_PER_SEC, 2.0));
}

Test(filter, keeps_its_text) {
    sh_filter *filter = sh_filter_new("!add|mul", SH_FILTER_GLOB);
    cr_expect(eq(str, (char *)sh_filter_text(filter), "!add|mul"));
    cr_expect(eq(str, (char *)sh_filter_text(NULL), ""));
    sh_filter_free(filter);
    sh_filter_free(NULL);
}

Test(filter, failed_memory_is_an_error) {
    sh_memory_fail_after(1);
    cr_expect(sh_filter_new("add", SH_FILTER_GLOB) == NULL);
    sh_memory_fail_after(0);
    cr_assert(sh_error() != NULL);
    cr_expect(eq(int, (int)sh_error()->code, SH_ERROR_MEMORY));
    sh_clear_error();
}

static const char *const ops[] = {"add",  "addmm",   "sub",        "mul",    "mm",
                                  "relu", "sigmoid", "max_pool2d", "softmax"};

static const char *meant(const char *word) {
    const char *const found = sh_suggest(word, ops, sizeof ops / sizeof *ops);
    return found ? found : "";
}

Test(suggest, the_nearest_word) {
    cr_expect(eq(str, (char *)meant("sigmod"), "sigmoid"));
    cr_expect(eq(str, (char *)meant("rleu"), "relu"));
    cr_expect(eq(str, (char *)meant("maxpool2d"), "max_pool2d"));
    cr_expect(eq(str, (char *)meant("Softmax"), "softmax"));
    cr_expect(eq(str, (char *)meant("adm"), "add"));
    cr_expect(eq(str, (char *)meant("add"), "add"));
}

Test(suggest, nothing_where_nothing_is_near) {
    cr_expect(eq(str, (char *)meant("zzz"), ""));
    cr_expect(eq(str, (char *)meant("x"), ""));
    cr_expect(eq(str, (char *)meant(""), ""));
    cr_expect(eq(str, (char *)meant(repeated("a", 100, "")), ""));
    cr_expect(sh_suggest("add", NULL, 0) == NULL);
}
