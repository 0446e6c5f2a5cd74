/* spec.h - modes by name: "nancheck:inf=1,stop=warn;log:out=run.log".
 *
 * A specification names modes in push order (the last sees a call first), each with its options. Values with
 * , : or ; stand in [...] or quotes. An error points at its place with a caret and suggests the nearest
 * known word. The same text works for SHUNT_MODES, `shunt run --mode` and this header:
 *
 *     SH_TRY(sh_mode_push_spec("profile;nancheck"));
 */
#ifndef SH_MODES_SPEC_H
#define SH_MODES_SPEC_H

#include "dispatch/mode.h"
#include "dispatch/option.h"

SH_BEGIN_DECLS

/* A new mode from one specification (no `;`); the caller owns one reference. */
SH_API sh_status sh_mode_from_spec(const char *spec, sh_mode **mode);
/* Pushes all modes of a specification on this thread (or process-wide), or none: on an error what was pushed is
 * popped again. */
SH_API sh_status sh_mode_push_spec(const char *spec);
SH_API sh_status sh_mode_push_spec_global(const char *spec);
/* Makes all modes of a specification and drops them: the errors are those of a push, and every report file is there and
 * empty, but nothing is pushed and nothing reported. */
SH_API sh_status sh_mode_check_spec(const char *spec);
/* How a specification was read, one line a mode with every option. Owned by the caller, free() it. */
SH_API sh_status sh_mode_explain(const char *spec, char **text);
/* Reports of modes that could not be written whole, so far; each was a warning. A mode writes its report when its last
 * reference ends. */
SH_API uint64_t sh_reports_lost(void);

/* A mode as `shunt modes` lists it. */
typedef sh_option_group sh_mode_type;
/* Entry i, NULL past the last: the shipped ones, then those that were registered. */
SH_API const sh_mode_type *sh_mode_type_at(size_t i);

/* ---- modes of your own in specifications ---- */
/* Gives a new mode for the options that a specification has, of which the caller will own one reference. What
 * it finds wrong with a value it reports as SH_ERROR_VALUE, and the message then points at the mode's place. */
typedef sh_status (*sh_mode_maker)(const sh_options *options, sh_mode **mode);
/* The name, help and options must stay, as static ones do. An error if there is a mode of this name. */
SH_API sh_status sh_mode_type_register(const sh_mode_type *type, sh_mode_maker make);
/* No specification can name it any more; modes that were made stay. The shipped ones can't be removed. */
SH_API sh_status sh_mode_type_remove(const char *name);

SH_END_DECLS

#endif
