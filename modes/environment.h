/* environment.h - what became of the environment variables that steer the library. */
#ifndef SH_MODES_ENVIRONMENT_H
#define SH_MODES_ENVIRONMENT_H

#include "dispatch/status.h"

SH_BEGIN_DECLS

/* SH_OK, or the code of the first variable that could not be obeyed. */
SH_API sh_status sh_environment_status(void);

SH_END_DECLS

#endif
