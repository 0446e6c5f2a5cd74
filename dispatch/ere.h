/* ere.h - POSIX extended regular expressions from people who may be careless or hostile. For filter.c.
 *
 * regcomp copies what `+` and `{n}` repeat, so that 20 characters can ask for gigabytes, and recurses on
 * parentheses. What is let through to it is bounded here: length, depth, and size with all copies made. */
#ifndef SH_DISPATCH_ERE_H
#define SH_DISPATCH_ERE_H

#include <regex.h>

#include "dispatch/base.h"

/* Compiles `text`, for regexec and regfree. On failure returns false, with the message in `wrong` and the place in
 * *where, and there is nothing to free. */
bool sh__ere_compile(const char *text, regex_t *regex, char *wrong, size_t size, const char **where);

#endif
