#include "cli/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LONGEST_PATH = 4096, MOST_SCRIPTS = 5, MOST_HEADERS = 256 };

/* ---- the library ---- */

static const char library[] = "libshunt-interpose.so";

static bool tell(const char *what, const char *path) {
    fprintf(stderr, "shunt exec: %s %s\n", what, path);
    return false;
}

static bool find_beside_tool(char *path, size_t size) {
    static const char *const places[] = {"", "../lib/shunt/", "../lib/", "../lib/x86_64-linux-gnu/shunt/"};
    char tool[LONGEST_PATH];
    const ssize_t n = readlink("/proc/self/exe", tool, sizeof tool - 1);
    if (n <= 0) return tell("can't read", "/proc/self/exe");
    tool[n] = 0;
    char *slash = strrchr(tool, '/');
    if (slash) slash[1] = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (snprintf(path, size, "%s%s%s", tool, places[i], library) < (int)size && access(path, R_OK) == 0)
            return true;
    }
    fprintf(stderr,
            "shunt exec: can't find %s beside %s nor in ../lib/shunt; SHUNT_INTERPOSE may say where it is\n",
            library, tool);
    return false;
}

bool cli_find_interposer(char *path, size_t size) {
    const char *given = secure_getenv("SHUNT_INTERPOSE");
    char found[LONGEST_PATH], full[LONGEST_PATH];
    if (given && *given && access(given, R_OK) != 0) return tell("can't read SHUNT_INTERPOSE:", given);
    if (given && *given)
        snprintf(found, sizeof found, "%s", given);
    else if (!find_beside_tool(found, sizeof found))
        return false;
    if (!realpath(found, full)) return tell("can't find", found);
    if (strpbrk(full, " :")) return tell("a path with a space or a colon can't be preloaded:", full);
    snprintf(path, size, "%s", full);
    return true;
}

/* ---- the program ---- */

/* As execvp looks. */
static bool find_program(const char *name, char *path, size_t size) {
    const char *folders = getenv("PATH");
    if (strchr(name, '/')) return snprintf(path, size, "%s", name) < (int)size && access(path, R_OK) == 0;
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at; at = *at ? at + 1 : NULL) {
        const size_t n = strcspn(at, ":");
        const int length = snprintf(path, size, "%.*s%s%s", (int)n, at, n ? "/" : "", name);
        if (length > 0 && length < (int)size && access(path, X_OK) == 0) return true;
        at += n;
    }
    return false;
}

/* "#!/usr/bin/env python3": the interpreter is what LD_PRELOAD must work on. */
static bool is_script(int fd, char *path, size_t size) {
    char line[512] = "";
    const ssize_t n = pread(fd, line, sizeof line - 1, 0);
    if (n < 3 || line[0] != '#' || line[1] != '!') return false;
    const char *start = line + 2 + strspn(line + 2, " \t");
    snprintf(path, size, "%.*s", (int)strcspn(start, " \t\r\n"), start);
    return true;
}

static const char *what_elf_lacks(int fd) {
    Elf64_Ehdr header;
    Elf64_Phdr part;
    if (pread(fd, &header, sizeof header, 0) < (ssize_t)EI_NIDENT ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
        return "was made for another kind of machine";
    for (size_t i = 0; i < header.e_phnum && i < MOST_HEADERS; i++) {
        const off_t at = (off_t)(header.e_phoff + i * header.e_phentsize);
        if (pread(fd, &part, sizeof part, at) != sizeof part || part.p_type == PT_INTERP) return NULL;
    }
    return "is linked statically, so nothing can be preloaded";
}

static const char *whose_rights(const char *path, int fd) {
    struct stat s;
    if (fstat(fd, &s) != 0) return NULL;
    if ((s.st_mode & S_ISUID) && s.st_uid != getuid())
        return "runs as another user (setuid), where nothing is preloaded";
    if ((s.st_mode & S_ISGID) && s.st_gid != getgid())
        return "runs with another group's rights (setgid), where nothing is preloaded";
    if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        return "has capabilities of its own, where nothing is preloaded";
    return NULL;
}

bool cli_program_can_be_seen(const char *program, char *why, size_t size) {
    char path[LONGEST_PATH], name[LONGEST_PATH];
    snprintf(name, sizeof name, "%s", program);
    const char *reason = NULL;
    bool script = true;
    for (int i = 0; i < MOST_SCRIPTS && script && !reason; i++) {
        const int fd = find_program(name, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd < 0) return true;
        script = is_script(fd, name, sizeof name);
        if (!script && !(reason = whose_rights(path, fd))) reason = what_elf_lacks(fd);
        close(fd);
    }
    if (reason) snprintf(why, size, "%s %s", path, reason);
    return !reason;
}
