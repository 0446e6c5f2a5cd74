/* options.h - the options of a mode as its maker reads them, and what makers have in common. */
#ifndef SH_MODES_OPTIONS_H
#define SH_MODES_OPTIONS_H

#include <stdio.h>

#include "modes/spec.h"

enum { SH_MAX_OPTIONS = 24 };

/* Values by place in the mode's option table; a value that was not given is the default, or NULL. */
typedef struct sh_options {
    const sh_mode_type *type;
    char *text[SH_MAX_OPTIONS];
} sh_options;

const char *sh_option_text(const sh_options *o, const char *name); /* NULL: not given and no default */
bool sh_option_flag(const sh_options *o, const char *name);
int64_t sh_option_int(const sh_options *o, const char *name);
double sh_option_number(const sh_options *o, const char *name);
/* From 0 to INT64_MAX where no bound is given. */
void sh_option_range(const sh_options *o, const char *name, int64_t *low, int64_t *high);

/* Reads "A..B"; false if the text is no range of non-negative integers or an inverted one. */
bool sh__range_parse(const char *text, int64_t *low, int64_t *high);

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
