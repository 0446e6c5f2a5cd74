/* site.c - libdw is opened when the first address is asked for, so that nobody who doesn't ask needs it. */
#include "dispatch/site.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    Dwfl *(*begin)(const Dwfl_Callbacks *);
    int (*report)(Dwfl *, pid_t);
    void (*report_again)(Dwfl *);
    int (*report_end)(Dwfl *, int (*)(Dwfl_Module *, void *, const char *, Dwarf_Addr, void *), void *);
    Dwfl_Module *(*module)(Dwfl *, Dwarf_Addr);
    Dwfl_Line *(*source)(Dwfl *, Dwarf_Addr);
    const char *(*line_info)(Dwfl_Line *, Dwarf_Addr *, int *, int *, Dwarf_Word *, Dwarf_Word *);
    const char *(*symbol)(Dwfl_Module *, GElf_Addr);
    Dwfl *session;
} dw;

static Dwfl_Callbacks callbacks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define LOAD(field, name) ((*(void **)&dw.field = dlsym(library, name)) != NULL)

static void *open_library(void) {
    void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return NULL;
    *(void **)&callbacks.find_elf = dlsym(library, "dwfl_linux_proc_find_elf");
    *(void **)&callbacks.find_debuginfo = dlsym(library, "dwfl_standard_find_debuginfo");
    const int all = LOAD(begin, "dwfl_begin") && LOAD(report, "dwfl_linux_proc_report") &&
                    LOAD(report_again, "dwfl_report_begin") && LOAD(report_end, "dwfl_report_end") &&
                    LOAD(module, "dwfl_addrmodule") && LOAD(source, "dwfl_getsrc") &&
                    LOAD(line_info, "dwfl_lineinfo") && LOAD(symbol, "dwfl_module_addrname");
    return all ? library : NULL;
}

/* Called once; a session that fails stays NULL. */
static void open_session(void) {
    static int tried;
    if (tried) return;
    tried = 1;
    if (!open_library()) return;
    Dwfl *session = dw.begin(&callbacks);
    if (session && dw.report(session, getpid()) == 0 && dw.report_end(session, NULL, NULL) == 0)
        dw.session = session;
}

/* Objects that were loaded since are looked for once more. */
static Dwfl_Module *find_module(Dwarf_Addr address) {
    open_session();
    Dwfl_Module *module = dw.session ? dw.module(dw.session, address) : NULL;
    if (!dw.session || module) return module;
    dw.report_again(dw.session);
    const int failed = dw.report(dw.session, getpid()) | dw.report_end(dw.session, NULL, NULL);
    return failed ? NULL : dw.module(dw.session, address);
}

/* A C++ name as it is written, where the program has C++'s runtime. */
static void put_symbol(const char *symbol, char *text, size_t size) {
    char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
    if (strncmp(symbol, "_Z", 2) == 0) *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    char *written = demangle ? demangle(symbol, NULL, NULL, NULL) : NULL;
    snprintf(text, size, "%s", written ? written : symbol);
    free(written);
}

static int from_debug_information(Dwarf_Addr address, char *text, size_t size) {
    int line = 0;
    Dwfl_Module *module = find_module(address);
    Dwfl_Line *found = module ? dw.source(dw.session, address) : NULL;
    const char *file = found ? dw.line_info(found, NULL, &line, NULL, NULL, NULL) : NULL;
    if (!file) return 0;
    char name[256] = "";
    const char *symbol = dw.symbol(module, address), *base = strrchr(file, '/');
    if (symbol) put_symbol(symbol, name, sizeof name);
    snprintf(text, size, "%s:%d%s%s", base ? base + 1 : file, line, *name ? " in " : "", name);
    return 1;
}

void sh_site_text(const void *address, char *text, size_t size) {
    *text = 0;
    if (!address) return;
    pthread_mutex_lock(&lock);
    const int known =
        from_debug_information((Dwarf_Addr)(size_t)address - 1, text, size); /* the call, not its return */
    pthread_mutex_unlock(&lock);
    Dl_info info;
    if (known || !dladdr(address, &info)) return;
    const char *base = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    char name[256];
    if (info.dli_sname) put_symbol(info.dli_sname, name, sizeof name);
    if (info.dli_sname)
        snprintf(text, size, "%s in %s", name, base ? base + 1 : "?");
    else if (base)
        snprintf(text, size, "%s", base + 1);
}

void sh__site_forked(void) { pthread_mutex_init(&lock, NULL); }

/* ---- of a call ---- */

static _Atomic(sh_site_namer) namer;

void sh__set_site_namer(sh_site_namer next) { atomic_store(&namer, next); }
bool sh__has_site_namer(void) { return atomic_load(&namer) != NULL; }

void sh__call_site_text(const sh_call *call, char *text, size_t size) {
    const sh_site_namer named = atomic_load(&namer);
    if (!named || !named(call, text, size)) sh_site_text(sh_call_site(call), text, size);
}
