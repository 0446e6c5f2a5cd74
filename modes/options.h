/* options.h - what makers of modes have in common. */
#ifndef SH_MODES_OPTIONS_H
#define SH_MODES_OPTIONS_H

#include "dispatch/options.h"
#include "modes/report.h"
#include "modes/spec.h"

enum { SH_MODE_TYPES = 128 };
/* A copy of each type that can be named now, at most SH_MODE_TYPES; returns how many. */
size_t sh__mode_types(sh_mode_type *types);
/* The type of this name, which stays in place for ever, and its maker; NULL if there is none. */
const sh_mode_type *sh__mode_type_find(const char *name, sh_mode_maker *make);

#define SH_MODE_TYPE(name, help)                   \
    extern const sh_option sh__##name##_options[]; \
    sh_status sh__##name##_make(const sh_options *options, sh_mode **mode);
#include "modes/modes.def"
#undef SH_MODE_TYPE

#endif
