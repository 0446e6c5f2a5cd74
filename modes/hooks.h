/* hooks.h - plug-ins that the environment names. */
#ifndef SH_MODES_HOOKS_H
#define SH_MODES_HOOKS_H

#include "dispatch/status.h"

/* "a.so:b.so", in order. After each that fails, `failed` runs with the error pending and must clear it; the others are loaded
 * all the same. Returns the first failure. */
sh_status sh__hooks_load(const char *paths, void (*failed)(void));
/* Is this copy of the library the one that the process's symbols lead to? Another must not obey the environment too. */
bool sh__is_first_copy(void);

#endif
