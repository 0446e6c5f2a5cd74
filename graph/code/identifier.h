/* identifier.h - names that are legal in C wherever a local variable may stand. */
#ifndef SH_GRAPH_CODE_IDENTIFIER_H
#define SH_GRAPH_CODE_IDENTIFIER_H

#include "dispatch/symbols.h"

/* An identifier that no C or C++ compiler, no header that shunt.h includes and no macro in it makes anything of. */
bool sh__is_free_identifier(const char *name);
/* One that no call with these `names` has given: `wish` itself if it is free, else n_ and what of it fits. NULL and an error
 * when memory is out. It lives as long as the table. */
const char *sh__take_identifier(sh_symbols *names, const char *wish);

#endif
