/* hooks.h - plug-ins that a flag or the environment names: "a.so,dtype=f32,policy=[verify:first=3]:b.so". */
#ifndef SH_MODES_HOOKS_H
#define SH_MODES_HOOKS_H

#include "dispatch/status.h"

/* What sh_kernel_options has of these names; NULL: not given. */
typedef struct sh_hook_options {
    char *where, *policy;
} sh_hook_options;
/* Reads "dtype=f32,policy=[verify]"; NULL or "" is none. An error points at its place. The values themselves are checked
 * where kernels are registered. */
sh_status sh__hook_options_read(const char *text, sh_hook_options *options);
void sh__hook_options_free(sh_hook_options *options);

/* How long the first hook of a list is: up to a colon that no option's brackets or quotes hold. Exported for the tool
 * alone, as the next. */
SH_API size_t sh__hook_length(const char *list);
/* Loads one, of `n` characters. */
SH_API sh_status sh__hook_load(const char *hook, size_t n);
/* All, in order. After each that fails, `failed` runs with the error pending and must clear it; the others are loaded
 * all the same. Returns the first failure. */
sh_status sh__hooks_load(const char *list, void (*failed)(void));
/* Is this copy of the library the one that the process's symbols lead to? Another must not obey the environment too. */
bool sh__is_first_copy(void);

#endif
