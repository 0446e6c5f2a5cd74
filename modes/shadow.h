/* shadow.h - what the interposer gives the shadow mode: another BLAS library as a backend. */
#ifndef SH_MODES_SHADOW_H
#define SH_MODES_SHADOW_H

#include <stddef.h>

#include "dispatch/status.h"

/* Loads the BLAS library at `path`, registers its routines as kernels of a backend, and puts that one's name into
 * `backend` (`size` bytes). An error that names path and cause. None is set where no interposer is loaded. */
typedef sh_status (*sh_library_opener)(const char *path, char *backend, size_t size);
SH_API void sh__set_shadow_library(sh_library_opener opener);

#endif
