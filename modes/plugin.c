/* plugin.c - loading plug-ins.
 *
 * A record stands for a file and is never freed. What a plug-in registers is noted in the record's journal, from which a
 * failed load and an unload take it back. One lock is held while a plug-in loads or unloads; its init may load others. */
#include "modes/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dispatch/chain.h"
#include "dispatch/journal.h"
#include "modes/hooks.h"
#include "modes/options.h"

enum { MOST_PLUGINS = 256, LEAST_SIZE = offsetof(sh_plugin, version) };

typedef struct record {
    void *object; /* of dlopen: one for one file */
    char *path;
    sh_plugin plugin; /* as far as it was given */
    sh_journal journal;
    uint32_t generation;
    bool live, loading;
} record;

static record records[MOST_PLUGINS];
static size_t record_count;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static const char here;
const void *sh__instance(void) { return &here; }

/* ---- the file ---- */

static sh_status no_object(const char *path) {
    const char *reason = dlerror();
    if (strchr(path, '/') && access(path, F_OK) != 0)
        return sh_fail(SH_ERROR_PLUGIN, "plug-in %s: %s", path, strerror(errno));
    const bool ours = reason && strstr(reason, "undefined symbol: sh_");
    return sh_fail(
        SH_ERROR_PLUGIN, "plug-in %s: %s%s", path, reason ? reason : "can't be loaded",
        ours
            ? "; is it built for this version? A program linked with libshunt.a must be linked with -rdynamic"
            : "");
}

/* The file in the current folder goes first, as a person expects who has just built it. */
static void *open_object(const char *path) {
    char *local = NULL;
    if (!strchr(path, '/') && access(path, F_OK) == 0 && asprintf(&local, "./%s", path) < 0) local = NULL;
    void *object = dlopen(local ? local : path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    free(local);
    return object;
}

typedef const void *(*instance_function)(void);

static instance_function instance_of(void *object) {
    instance_function found;
    *(void **)&found = dlsym(object, "sh__instance");
    return found;
}

static const char *file_of(instance_function function) {
    Dl_info info;
    return dladdr(*(void **)&function, &info) && info.dli_fname ? info.dli_fname : "?";
}

bool sh__is_first_copy(void) {
    const instance_function first = instance_of(RTLD_DEFAULT);
    return !first || first() == sh__instance();
}

/* Would its calls reach another copy of this library? The process's own symbols go before those it brings. */
static sh_status check_copy(void *object, const char *path) {
    const instance_function seen = instance_of(RTLD_DEFAULT), brought = instance_of(object);
    const instance_function used = seen ? seen : brought;
    if (!used || used() == sh__instance()) return SH_OK;
    return sh_fail(
        SH_ERROR_PLUGIN,
        "plug-in %s is linked with a second copy of the library, %s, and what it registers would go there: "
        "link it without -lshunt, and a program that has libshunt.a in it with -rdynamic",
        path, file_of(used));
}

/* ---- the entry ---- */

typedef const sh_plugin *(*entry_function)(uint32_t host_abi);

static sh_status check_plugin(const sh_plugin *p, const char *path) {
    if (!p)
        return sh_fail(SH_ERROR_PLUGIN, "plug-in %s: sh_plugin_entry returned NULL, so it can't serve ABI %u",
                       path, SH_PLUGIN_ABI);
    if (p->abi != SH_PLUGIN_ABI)
        return sh_fail(SH_ERROR_PLUGIN,
                       "plug-in %s has ABI %u, this library has ABI %u: build it with the headers of %s",
                       path, p->abi, SH_PLUGIN_ABI, sh_version());
    if (p->size < LEAST_SIZE)
        return sh_fail(
            SH_ERROR_PLUGIN,
            "plug-in %s: its struct is %u bytes, expected %zu, at least %d (begin it with SH_PLUGIN_INIT)",
            path, p->size, sizeof *p, LEAST_SIZE);
    if (!p->name || !*p->name) return sh_fail(SH_ERROR_PLUGIN, "plug-in %s has no name", path);
    return SH_OK;
}

static sh_status read_entry(void *object, const char *path, sh_plugin *plugin) {
    entry_function entry;
    *(void **)&entry = dlsym(object, "sh_plugin_entry");
    if (!entry)
        return sh_fail(SH_ERROR_PLUGIN,
                       "plug-in %s has no symbol sh_plugin_entry: it is no plug-in for shunt, or hides it",
                       path);
    const sh_plugin *given = entry(SH_PLUGIN_ABI);
    SH_TRY(check_plugin(given, path));
    memset(plugin, 0, sizeof *plugin);
    memcpy(plugin, given, given->size < sizeof *plugin ? given->size : sizeof *plugin);
    return SH_OK;
}

/* ---- what it brings ---- */

static sh_status add_devices(const sh_plugin *p) {
    for (const sh_plugin_device *d = p->devices; d && d->name; d++) {
        SH_TRY(sh_device_register(d->name, d->vtable, NULL));
        if (d->fallback) SH_TRY(sh_backend_fallback(d->name, d->fallback, d->user, p->name, NULL));
    }
    return SH_OK;
}

static sh_status add_backends(const sh_plugin *p) {
    for (const sh_plugin_backend *b = p->backends; b && b->name; b++) {
        const sh_device device = b->device ? sh_device_find(b->device) : SH_HOST;
        if (device == SH_NO_DEVICE)
            return sh_fail(SH_ERROR_DEVICE, "backend %s: there is no device %s", b->name, b->device);
        SH_TRY(sh_backend_register(b->name, device, p->name));
        if (b->fallback) SH_TRY(sh_backend_fallback(b->name, b->fallback, b->user, p->name, NULL));
    }
    return SH_OK;
}

/* A plug-in may be older than the struct. */
static sh_op_options options_of(const sh_plugin_op *o, const char *who) {
    sh_op_options options = {0};
    const size_t size = o->options && o->options->size ? o->options->size : sizeof options;
    if (o->options) memcpy(&options, o->options, size < sizeof options ? size : sizeof options);
    options.size = sizeof options;
    if (!options.registrant) options.registrant = who;
    return options;
}

static sh_status add_ops(const sh_plugin *p) {
    for (const sh_plugin_op *o = p->ops; o && o->schema; o++) {
        const sh_op_options options = options_of(o, p->name);
        SH_TRY(sh_op_define(o->schema, &options, NULL));
    }
    return SH_OK;
}

/* Options that no kernel would obey are a mistake. */
static sh_status add_kernels(const sh_plugin *p, const sh_hook_options *given) {
    const sh_plugin_kernel *k = p->kernels;
    if ((given->where || given->policy) && !(k && k->op))
        return sh_fail(SH_ERROR_PLUGIN, "there is no kernel in its table that the options could be for");
    for (; k && k->op; k++) {
        const sh_kernel_options options = {.backend = k->backend,
                                           .where = given->where,
                                           .policy = given->policy,
                                           .registrant = p->name,
                                           .user = k->user};
        SH_TRY(sh_kernel_register_with(k->op, k->boxed, &options, NULL));
    }
    return SH_OK;
}

static sh_status add_modes(const sh_plugin *p) {
    for (const sh_plugin_mode *m = p->modes; m && m->name; m++) {
        const sh_mode_type type = {m->name, m->help, m->options};
        SH_TRY(sh_mode_type_register(&type, m->make));
    }
    return SH_OK;
}

static sh_status run_init(const sh_plugin *p, const char *path) {
    const sh_plugin_host host = {SH_PLUGIN_ABI, sizeof host, sh_version(), path};
    const sh_status status = p->init ? p->init(&host) : SH_OK;
    if (sh__error_pending()) return sh_error()->code;
    if (status < 0) return sh_fail(status, "init failed: %s", sh_status_text(status));
    return SH_OK;
}

static sh_status add_all(const sh_plugin *p, const char *path, const sh_hook_options *options) {
    SH_TRY(add_devices(p));
    SH_TRY(add_backends(p));
    SH_TRY(add_ops(p));
    SH_TRY(add_kernels(p, options));
    SH_TRY(add_modes(p));
    return run_init(p, path);
}

/* ---- loading ---- */

static sh_status name_the_file(const char *path, sh_status status) {
    char message[512];
    snprintf(message, sizeof message, "%s", sh_error() ? sh_error()->message : sh_status_text(status));
    sh_clear_error();
    return sh_fail(status, "plug-in %s: %s", path, message);
}

static sh_status bring_in(record *r, const sh_hook_options *options) {
    SH_TRY(sh__journal_open(&r->journal));
    r->loading = true;
    const sh_status status = add_all(&r->plugin, r->path, options);
    r->loading = false;
    sh__journal_close(&r->journal);
    if (status >= 0) return SH_OK;
    sh__journal_undo(&r->journal);
    return name_the_file(r->path, status);
}

/* The record of a file, made if there is none. */
static record *record_of(void *object, const char *path) {
    for (size_t i = 0; i < record_count; i++)
        if (records[i].object == object) return &records[i];
    if (record_count == MOST_PLUGINS) {
        sh_fail(SH_ERROR_PLUGIN, "plug-in %s is one too many: the most is %d", path, MOST_PLUGINS);
        return NULL;
    }
    char *copy = sh__strdup(path);
    if (!copy) return NULL;
    records[record_count] = (record){.object = object, .path = copy};
    return &records[record_count++];
}

static sh_status load_locked(const char *path, const sh_hook_options *options, record **loaded) {
    void *object = open_object(path);
    if (!object) return no_object(path);
    SH_TRY(check_copy(object, path));
    record *r = *loaded = record_of(object, path);
    if (!r) return sh__error_ensure(SH_ERROR_MEMORY);
    if (r->loading) return sh_fail(SH_ERROR_PLUGIN, "plug-in %s: its init loads itself", path);
    if (r->live) {
        sh_warn("plug-in %s is loaded already, %s", path,
                options->where || options->policy ? "and keeps the options that it was loaded with"
                                                  : "and once is enough");
        return SH_OK;
    }
    SH_TRY(read_entry(object, path, &r->plugin));
    SH_TRY(bring_in(r, options));
    r->live = true;
    r->generation++;
    return SH_OK;
}

sh_status sh_plugin_load_with(const char *path, const char *options, sh_plugin_handle *handle) {
    record *r = NULL;
    sh_hook_options read;
    if (sh__error_pending()) return sh_error()->code;
    if (!path || !*path)
        return sh_fail(SH_ERROR_NULL, "sh_plugin_load: the path is %s", path ? "empty" : "NULL");
    const sh_status bad = sh__hook_options_read(options, &read);
    if (bad < 0) return name_the_file(path, bad);
    pthread_mutex_lock(&lock);
    const sh_status status = load_locked(path, &read, &r);
    if (status >= 0 && handle) *handle = (sh_plugin_handle){(uint32_t)(r - records), r->generation};
    pthread_mutex_unlock(&lock);
    sh__hook_options_free(&read);
    return status;
}

sh_status sh_plugin_load(const char *path, sh_plugin_handle *handle) {
    return sh_plugin_load_with(path, NULL, handle);
}

static void unload_locked(record *r) {
    r->live = false;
    if (r->plugin.fini) r->plugin.fini();
    sh__journal_undo(&r->journal);
}

sh_status sh_plugin_unload(sh_plugin_handle handle) {
    pthread_mutex_lock(&lock);
    record *r = handle.index < record_count ? &records[handle.index] : NULL;
    const bool good = r && r->live && r->generation == handle.generation;
    if (good) unload_locked(r);
    pthread_mutex_unlock(&lock);
    return good ? SH_OK
                : sh_fail(SH_ERROR_HANDLE, "plug-in handle %u is not valid: it was unloaded or never loaded",
                          handle.index);
}

static const char *or_empty(const char *text) { return text ? text : ""; }

bool sh_plugin_at(size_t i, sh_plugin_info *info) {
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t k = 0; k < record_count && !found; k++) {
        const record *r = &records[k];
        if (!r->live || i-- > 0) continue;
        *info = (sh_plugin_info){.handle = {(uint32_t)k, r->generation},
                                 .name = r->plugin.name,
                                 .version = or_empty(r->plugin.version),
                                 .description = or_empty(r->plugin.description),
                                 .path = r->path};
        found = true;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
