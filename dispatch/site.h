/* site.h - from an address in the program to "net.c:31 in forward". */
#ifndef SH_DISPATCH_SITE_H
#define SH_DISPATCH_SITE_H

#include "dispatch/call.h"

/* File and line where debug information and libdw are there, else symbol and object, else "". */
void sh_site_text(const void *address, char *text, size_t size);

/* Who knows better than the address: the line of a script whose interpreter made the call. May leave text empty by giving
 * false. It runs on the thread of the call, with no lock of ours held, only when a line is about to be printed. */
typedef bool (*sh_site_namer)(const sh_call *call, char *text, size_t size);
/* One for the process; NULL takes it away. */
SH_API void sh__set_site_namer(sh_site_namer namer);
bool sh__has_site_namer(void);
/* Where a call was made, as the namer has it, else by its address; "" if not known. */
void sh__call_site_text(const sh_call *call, char *text, size_t size);
/* In the child of a fork: another thread may have been asking when it began. */
void sh__site_forked(void);

#endif
