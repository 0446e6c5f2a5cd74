/* environment.h - the environment twins that dispatch itself obeys, read once by secure_getenv. */
#ifndef SH_DISPATCH_ENVIRONMENT_H
#define SH_DISPATCH_ENVIRONMENT_H

#include "dispatch/base.h"

/* SHUNT_CACHE=0 turns block caching off, SHUNT_CACHE=BYTES limits it; default 256 MiB, 0 under ASan. */
size_t sh__environment_cache_limit(void);

#endif
