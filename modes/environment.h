/* environment.h - what became of the environment variables that steer the library. */
#ifndef SH_MODES_ENVIRONMENT_H
#define SH_MODES_ENVIRONMENT_H

#include "dispatch/status.h"

SH_BEGIN_DECLS

/* SH_OK, or the code of the first variable that could not be obeyed. */
SH_API sh_status sh_environment_status(void);

/* For who lives in a process that isn't ours (interpose/exits.c). The child of a fork has its parent's modes with what they
 * have counted: it calls the first of these at once, the second before its first op, which pushes SHUNT_MODES anew. A
 * child without ops reports nothing. */
SH_API void sh__environment_forked(void);
SH_API void sh__environment_renew(void);
/* Writes the reports now, before an end that runs no destructors. If it doesn't come to that, sh__environment_renew goes
 * on, in the same files. */
SH_API void sh__environment_report(void);

SH_END_DECLS

#endif
