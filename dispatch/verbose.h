/* verbose.h - SHUNT_VERBOSE: what dispatch says while it works.
 *
 *     dispatch   one line a call: the candidates in order, why each was refused, and which ran
 *     crash      a fatal signal first prints the calls in flight, innermost first, with the kernel that ran
 *
 *     SHUNT_VERBOSE=dispatch,crash ./program        sh_set_verbose("dispatch");
 *
 * Nothing is paid while it is off: switching it on publishes all slots anew, so that calls go by the slow path. */
#ifndef SH_DISPATCH_VERBOSE_H
#define SH_DISPATCH_VERBOSE_H

#include "dispatch/status.h"

SH_BEGIN_DECLS

/* Process-wide. `what` is a list of the words above, separated by commas; NULL or "" switches all off. An unknown word is
 * an error that suggests the nearest. "crash" installs handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT, which call
 * those that were there before; switching it off puts those back. */
SH_API sh_status sh_set_verbose(const char *what);

SH_END_DECLS

#endif
