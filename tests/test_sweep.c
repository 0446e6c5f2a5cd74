/* Nothing is forgotten: every op of the table, each of its overloads, its in-place and its out form has a golden
 * line or stands in a list below with the reason why not. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "tests/golden.h"

/* Forms that the golden files can't hold. */
static const struct exception {
    const char *form, *reason;
} EXCEPTIONS[] = {
    {"dropout_", "random: test_random.c has its properties"},
    {"to.device", "devices: test_device.c moves tensors"},
};

static const char *read_file(const char *path) {
    FILE *input = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    if (!input) return NULL;
    if (getdelim(&text, &size, '\0', input) < 0) {
        free(text);
        text = NULL;
    }
    fclose(input);
    return text;
}

/* All golden files, each a text. */
typedef struct golden_texts {
    const char *at[32];
    size_t n;
} golden_texts;

static golden_texts read_golden_texts(void) {
    glob_t found;
    golden_texts texts = {{NULL}, 0};
    cr_assert(glob("tests/golden/*.txt", 0, NULL, &found) == 0,
              "no golden files; run from the root of the tree");
    for (size_t i = 0; i < found.gl_pathc && texts.n < 32; i++) {
        texts.at[texts.n] = read_file(found.gl_pathv[i]);
        if (texts.at[texts.n]) texts.n++;
    }
    globfree(&found);
    return texts;
}

static void free_golden_texts(golden_texts *texts) {
    for (size_t i = 0; i < texts->n; i++) free((void *)texts->at[i]);
}

/* Does a line begin with `opening` and hold `part` too? */
static bool has_line(const golden_texts *texts, const char *opening, const char *part) {
    const size_t length = strlen(opening);
    for (size_t i = 0; i < texts->n; i++) {
        for (const char *line = texts->at[i]; *line; line += strcspn(line, "\n") + 1) {
            const char *found = strncmp(line, opening, length) == 0 ? strstr(line, part) : NULL;
            if (found && found < line + strcspn(line, "\n")) return true;
            if (!line[strcspn(line, "\n")]) break;
        }
    }
    return false;
}

static bool is_excepted(const char *form) {
    for (size_t i = 0; i < sizeof EXCEPTIONS / sizeof *EXCEPTIONS; i++)
        if (strcmp(EXCEPTIONS[i].form, form) == 0) return true;
    return false;
}

/* "add_" of "add", "name_.overload" of "name.overload". */
static void in_place_name(const char *name, char *text, size_t size) {
    const int family = (int)strcspn(name, ".");
    snprintf(text, size, "%.*s_%s", family, name, name + family);
}

static int expect_line(const golden_texts *texts, const char *form, const char *part) {
    char opening[100];
    snprintf(opening, sizeof opening, "%s(", form);
    if (is_excepted(form) || has_line(texts, opening, part)) return 0;
    cr_log_error("%s%s has no golden line", form, *part ? " with out" : "");
    return 1;
}

Test(sweep, every_form_of_every_op_has_a_golden_line) {
    golden_texts texts = read_golden_texts();
    int missing = 0;
    for (uint32_t id = 0; id < sh_op_count(); id++) {
        const sh_op *op = sh_op_by_id(id);
        char in_place[100];
        if (!op || !sh_op_schema(op) || (sh_op_tags(op) & SH_OP_CUSTOM)) continue;
        in_place_name(sh_op_name(op), in_place, sizeof in_place);
        missing += expect_line(&texts, sh_op_name(op), "");
        if (sh_op_tags(op) & SH_OP_INPLACE) missing += expect_line(&texts, in_place, "");
        if (sh_op_tags(op) & SH_OP_OUT) missing += expect_line(&texts, sh_op_name(op), "out=");
    }
    free_golden_texts(&texts);
    cr_expect(missing == 0, "%d forms without a golden line", missing);
}
