/* test_text.c - what passes for text, and that no message carries what a terminal would obey. */
#include "dispatch/text.h"
#include "tests/modes.h"

Test(text, well_formed_utf8_without_control_characters_is_text) {
    static const char *const texts[] = {
        "", "conv1.weight", "a\tb\r\nc", "\u00e9\u20ac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "\u00a0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) cr_expect(sh__is_text(texts[i]), "%zu", i);
    static const char *const others[] = {"\x1b[2J",
                                         "\x7f",
                                         "a\x01",    /* control characters */
                                         "\xc2\x9b", /* one of two bytes */
                                         "\xe9",
                                         "\xc3",
                                         "\xe2\x82",
                                         "\xf0\x9f\x98x", /* cut off */
                                         "\x80",
                                         "\xff",
                                         "\xf8\x88\x80\x80\x80", /* nothing begins so */
                                         "\xc0\xaf",
                                         "\xe0\x80\xaf",
                                         "\xf0\x80\x80\xaf", /* longer than need be */
                                         "\xed\xa0\x80",
                                         "\xf4\x90\x80\x80"}; /* a surrogate, above the last */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect(not(sh__is_text(others[i])), "%zu", i);
}

static char warned[64];
static void keep_warning(const char *line, void *user) {
    (void)user;
    snprintf(warned, sizeof warned, "%s", line);
}

Test(text, control_characters_are_taken_out_of_errors_and_warnings) {
    sh_fail(SH_ERROR_FORMAT, "tensor \x1b[2J\x07\x7f:\n\tgone");
    cr_assert(eq(str, TEXT(sh_error()->message), "tensor ?[2J??:\n\tgone"));
    sh_clear_error();
    sh_set_warning_sink(keep_warning, NULL);
    sh_warn("no file \x1b]0;x");
    sh_set_warning_sink(NULL, NULL);
    cr_assert(eq(str, warned, "no file ?]0;x"));
}
