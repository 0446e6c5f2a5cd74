/* options.h - what makers of modes have in common. */
#ifndef SH_MODES_OPTIONS_H
#define SH_MODES_OPTIONS_H

#include <stdio.h>

#include "dispatch/options.h"
#include "modes/spec.h"

/* Opens the file that `out` names (%p is the pid), "-" or NULL: stderr. SHUNT_OUT is the default's default. */
sh_status sh_report_open(const char *out, FILE **file);
/* Where not all of it could be written: a warning, and one more of sh_reports_lost. */
void sh_report_close(FILE *file);

/* A maker takes the parsed options and gives a mode. */
typedef sh_status (*sh_mode_maker)(const sh_options *options, sh_mode **mode);
#define SH_MODE_TYPE(name, help)                   \
    extern const sh_option sh__##name##_options[]; \
    sh_status sh__##name##_make(const sh_options *options, sh_mode **mode);
#include "modes/modes.def"
#undef SH_MODE_TYPE

#endif
