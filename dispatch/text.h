/* text.h - whether bytes that came from outside are text that may go to terminals, JSON and files. */
#ifndef SH_DISPATCH_TEXT_H
#define SH_DISPATCH_TEXT_H

#include "dispatch/base.h"

/* Well-formed UTF-8 without control characters; tab, line feed and carriage return may stand in it. */
SH_API bool sh__is_text(const char *text);

/* Puts '?' for each control character that a terminal would obey. */
void sh__disarm(char *text);

#endif
