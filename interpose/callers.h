/* callers.h - the line of a script behind a call, for the interpreters that we know.
 *
 * Each asks the interpreter of this process through symbols that it exports; none is linked with. Each gives false when
 * the interpreter isn't there or can't be asked now: then the caller is shown by its address. */
#ifndef SH_INTERPOSE_CALLERS_H
#define SH_INTERPOSE_CALLERS_H

#include <stdbool.h>
#include <stddef.h>

/* "solve.py:12 in fit": the innermost frame outside of NumPy and SciPy. Takes the GIL if this thread had released it;
 * false on a thread that Python doesn't know, and while it shuts down. */
bool sh__python_line(char *text, size_t size);
/* "model.R:7", where R keeps source references of files; on R's own thread only, and nothing is allocated in R. */
bool sh__r_line(char *text, size_t size);

#endif
