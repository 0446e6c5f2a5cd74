/* options.h - options as text: "first=10,then=1/100,scope=[layer1\.]", for modes, conditions and policies of kernels.
 *
 *     option = key [ "=" value ]     value = text | "[" text "]" | quoted
 *
 * What can be given is a table of sh_option. One reader keeps its place in the text; every error is made by one
 * function that shows the text with a caret and suggests the nearest known word. */
#ifndef SH_DISPATCH_OPTIONS_H
#define SH_DISPATCH_OPTIONS_H

#include "dispatch/option.h"
#include "dispatch/status.h"

enum { SH_MAX_OPTIONS = 24 };

/* Values by place in the table; a value that was not given is the default, or NULL. */
struct sh_options {
    const sh_option_group *type;
    char *text[SH_MAX_OPTIONS];
};

/* Reads "A..B"; false if the text is no range of non-negative integers or an inverted one. */
bool sh__range_parse(const char *text, int64_t *low, int64_t *high);

/* ---- the reader ---- */
typedef struct sh_spec_reader {
    const char *text, *at;
} sh_spec_reader;

/* SH_ERROR_SPEC: the message, the text, and a caret under the place. `word` and `near` (a suggestion) may be NULL. */
sh_status sh__reader_bad(const sh_spec_reader *r, const char *place, const char *what, const char *word,
                         const char *near);
/* The pending error, which a value caused, with the text and the caret under it. */
sh_status sh__reader_point(const sh_spec_reader *r, const char *place, sh_status status);
void sh__reader_blanks(sh_spec_reader *r);
/* A copy of what stands before one of the stops; blanks around it dropped. NULL when memory is out. */
char *sh__reader_word(sh_spec_reader *r, const char *stops);
/* One of `n` groups by its name, which ends at one of ":;" or the end; `kind` names what it is: "mode". */
sh_status sh__reader_group(sh_spec_reader *r, const char *kind, const sh_option_group *groups, size_t n,
                           const sh_option_group **group);
/* "key=value,key=value" up to ';' or the end. The values go to `o`, whose type is set; sh_options_free frees them, after
 * an error too. */
sh_status sh__reader_options(sh_spec_reader *r, sh_options *o);
void sh_options_free(sh_options *o);
/* Where options that begin at `at` meet one of the stops outside of a value in brackets or quotes, or end. Exported for
 * the tool alone. */
SH_API const char *sh__options_end(const char *at, const char *stops);

#endif
