/* site.h - from an address in the program to "net.c:31 in forward". */
#ifndef SH_DISPATCH_SITE_H
#define SH_DISPATCH_SITE_H

#include <stddef.h>

/* File and line where debug information and libdw are there, else symbol and object, else "". */
void sh_site_text(const void *address, char *text, size_t size);

#endif
