/* report.h - where modes write: a file that an option or SHUNT_OUT names, or stderr.
 *
 * Files are opened for appending, so that processes that share one do not write over each other. A process begins its
 * files anew; the child of a fork goes on in its parent's, and so does a program under SHUNT_APPEND=1 (`shunt exec` has
 * begun them). A line is written as it ends: after a crash it is there, and a fork copies none that is half-written. */
#ifndef SH_MODES_REPORT_H
#define SH_MODES_REPORT_H

#include <stdio.h>

#include "dispatch/status.h"

SH_BEGIN_DECLS

/* Opens the file that `out` names (%p is the pid), "-" or NULL: stderr. SHUNT_OUT is the default's default. */
SH_API sh_status sh_report_open(const char *out, FILE **file);
/* Where not all of it could be written: a warning, and one more of sh_reports_lost. */
SH_API void sh_report_close(FILE *file);
/* "%p" becomes the pid, "%%" a percent sign; the caller frees it with sh__free. NULL and an error. */
char *sh__report_path(const char *out);
/* While it is on, sh_report_open on this thread begins the file but gives a stream that drops what is written. */
void sh__report_mute(bool on);
/* From now on, as the child of a fork: files are gone on with. */
void sh__report_append(void);

SH_END_DECLS

#endif
