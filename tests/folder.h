/* folder.h - a folder of a test's own: TestSuite(x, .init = make_folder, .fini = drop_folder). */
#ifndef SH_TESTS_FOLDER_H
#define SH_TESTS_FOLDER_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>

static char folder[] = "/tmp/shunt-test-XXXXXX";

static inline void make_folder(void) { cr_assert(ne(ptr, mkdtemp(folder), NULL)); }

static inline void drop_folder(void) {
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(eq(int, system(command), 0));
}

/* Good for the next three calls. */
static inline const char *in_folder(const char *name) {
    static char paths[4][256];
    static int i;
    char *path = paths[i++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

#endif
