/* glob.h - shell patterns joined by `|`: * ? [abc] [a-z] [!abc]. For filter.c.
 *
 * No escapes: a name of an op needs none, and [*] stands for a star. Linear in the name for each star, whatever
 * the pattern. */
#ifndef SH_DISPATCH_GLOB_H
#define SH_DISPATCH_GLOB_H

#include "dispatch/base.h"

/* What is wrong with a pattern and where, or NULL. */
const char *sh__glob_check(const char *pattern, const char **where);
/* Whether one of the alternatives of a checked pattern is the whole of `name`. */
bool sh__glob_match(const char *pattern, const char *name);

#endif
