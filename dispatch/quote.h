/* quote.h - text as a JSON string. */
#ifndef SH_DISPATCH_QUOTE_H
#define SH_DISPATCH_QUOTE_H

#include <stdio.h>

void sh__quote(FILE *out, const char *text);

#endif
