/* filter.c - the text, taken apart once: an optional `!`, then a glob or a compiled regular expression. */
#include "dispatch/filter.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/ere.h"
#include "dispatch/glob.h"
#include "dispatch/memory_impl.h"

struct sh_filter {
    sh_filter_syntax syntax;
    bool negated;
    const char *pattern; /* in text, behind the `!`; "" matches everything */
    regex_t regex;       /* compiled if the syntax is ERE and there is a pattern */
    char text[];
};

static bool compile(sh_filter *filter, char *wrong, size_t size, const char **where) {
    *where = filter->pattern;
    if (!*filter->pattern) {
        snprintf(wrong, size, "nothing stands behind '!'");
        return !filter->negated;
    }
    if (filter->syntax == SH_FILTER_ERE)
        return sh__ere_compile(filter->pattern, &filter->regex, wrong, size, where);
    const char *const fault = sh__glob_check(filter->pattern, where);
    if (fault) snprintf(wrong, size, "%s", fault);
    return !fault;
}

sh_filter *sh_filter_new(const char *text, sh_filter_syntax syntax) {
    char wrong[96];
    const char *where;
    const size_t length = text ? strlen(text) : 0;
    sh_filter *const filter = sh__calloc(1, sizeof *filter + length + 1);
    if (!filter) return NULL;
    if (length) memcpy(filter->text, text, length);
    filter->syntax = syntax;
    filter->negated = filter->text[0] == '!';
    filter->pattern = filter->text + filter->negated;
    if (compile(filter, wrong, sizeof wrong, &where)) return filter;
    const int shown = (int)strcspn(filter->text, "\t\n\r\v\f\b\a\033"); /* terminals act on these */
    sh_fail(SH_ERROR_VALUE, "filter \"%.*s\", column %zu: %s", shown < 200 ? shown : 200, filter->text,
            (size_t)(where - filter->text) + 1, wrong);
    sh__free(filter);
    return NULL;
}

bool sh_filter_match(const sh_filter *filter, const char *name) {
    if (!filter || !*filter->pattern) return true;
    const bool found = filter->syntax == SH_FILTER_ERE ? !regexec(&filter->regex, name, 0, NULL, 0)
                                                       : sh__glob_match(filter->pattern, name);
    return found != filter->negated;
}

const char *sh_filter_text(const sh_filter *filter) { return filter ? filter->text : ""; }

void sh_filter_free(sh_filter *filter) {
    if (!filter) return;
    if (filter->syntax == SH_FILTER_ERE && *filter->pattern) regfree(&filter->regex);
    sh__free(filter);
}
