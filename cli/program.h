/* program.h - what `shunt exec` must know before it becomes a program: where its own library is, and whether the
 * program's loader will take it. */
#ifndef SH_CLI_PROGRAM_H
#define SH_CLI_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* The library to preload: SHUNT_INTERPOSE, or the one that was built or installed with the tool. Says what is wrong and
 * gives false if there is none. */
bool cli_find_interposer(char *path, size_t size);
/* Does LD_PRELOAD work on this program? Scripts are followed to their interpreter. When not, `why` says why: it is linked
 * statically, made for another machine, or runs with another user's rights. What can't be read counts as yes. */
bool cli_program_can_be_seen(const char *program, char *why, size_t size);

#endif
