/* plugin.h - shared objects that bring kernels, ops, modes, devices.
 *
 *     #include <shunt.h>
 *
 *     static sh_status my_add(sh_call *call, void *user) { ... }
 *     static const sh_plugin_kernel kernels[] = {{"add", "cpu", my_add, NULL}, {NULL, NULL, NULL, NULL}};
 *     static const sh_plugin plugin = {SH_PLUGIN_INIT, .name = "mine", .kernels = kernels};
 *     const sh_plugin *sh_plugin_entry(uint32_t host_abi) { (void)host_abi; return &plugin; }
 *
 *     cc -shared -fPIC $(pkg-config --cflags shunt) mine.c -o mine.so     # not linked with shunt: the program has it
 *     SHUNT_HOOK=./mine.so program        or   shunt run --hook ./mine.so model.onnx   or   sh_plugin_load("./mine.so", NULL)
 *     SHUNT_HOOK='./mine.so,dtype=f32,policy=[verify:first=3]' program     # where its kernels are used, and how far trusted
 *
 * The tables are registered in the order of the struct's fields, then `init` runs and may register more by any function of
 * this library: all that it registers belongs to the plug-in. If anything fails nothing of it stays. A plug-in's code is never
 * unmapped: what is in flight ends well after it was unloaded, and calls through its handles are errors.
 *
 * The program must show its copy of the library to the plug-in. With libshunt.so it does; a program linked with libshunt.a
 * is linked with -rdynamic and the whole archive, as the tool is. */
#ifndef SH_MODES_PLUGIN_H
#define SH_MODES_PLUGIN_H

#include "dispatch/device.h"
#include "modes/spec.h"

SH_BEGIN_DECLS

#define SH_PLUGIN_ABI 1u

/* Each table ends with an entry whose first field is NULL. Strings and tables must stay, as static ones do. */
typedef struct sh_plugin_device { /* a device, and a backend of the same name */
    const char *name;
    const sh_device_vtable *vtable;
    sh_boxed fallback; /* for all ops without a kernel, sh_device_host_fallback for one; optional */
    void *user;        /* for fallback */
} sh_plugin_device;
typedef struct sh_plugin_backend {
    const char *name;
    const char *device; /* NULL: host */
    sh_boxed fallback;
    void *user;
} sh_plugin_backend;
typedef struct sh_plugin_op {
    const char *schema;
    const sh_op_options *options; /* its kernels, infer function, ...; may be NULL */
} sh_plugin_op;
typedef struct sh_plugin_kernel {
    const char *op;
    const char *backend; /* or SH_COMPOSITE; NULL: cpu */
    sh_boxed boxed;
    void *user;
} sh_plugin_kernel;
typedef struct sh_plugin_mode {
    const char *name; /* --mode NAME:option=value */
    const char *help;
    const sh_option *options; /* ends with a NULL name; NULL: none */
    sh_mode_maker make;
} sh_plugin_mode;

/* What `init` is told of the program that loads it. New fields come at the end. */
typedef struct sh_plugin_host {
    uint32_t abi;
    uint32_t size;
    const char *version; /* sh_version() */
    const char *path;    /* the plug-in's file */
} sh_plugin_host;

/* Everything but abi, size and name is optional. Fields past `size` are not read and count as NULL; new ones come at the end. */
typedef struct sh_plugin {
    uint32_t abi;
    uint32_t size;
    const char *name;
    const char *version, *description;
    const sh_plugin_device *devices;
    const sh_plugin_backend *backends;
    const sh_plugin_op *ops;
    const sh_plugin_kernel *kernels;
    const sh_plugin_mode *modes;
    sh_status (*init)(const sh_plugin_host *host);
    void (*fini)(void); /* before it is unloaded; not at exit */
} sh_plugin;
#define SH_PLUGIN_INIT .abi = SH_PLUGIN_ABI, .size = sizeof(sh_plugin)

/* The one symbol that a plug-in defines. NULL: it can't serve this ABI. */
SH_API const sh_plugin *sh_plugin_entry(uint32_t host_abi);

typedef struct sh_plugin_handle {
    uint32_t index, generation;
} sh_plugin_handle;

/* Loads a plug-in; `handle` may be NULL. A path without / is looked for in the current folder, then where the loader looks.
 * A file that is loaded already is not loaded again: a warning says so, and the handle is the same. SH_ERROR_PLUGIN: a
 * file that is missing or no shared object, no entry, another ABI, a size too small. What the plug-in itself fails of is
 * its own error, with the file named. */
SH_API sh_status sh_plugin_load(const char *path, sh_plugin_handle *handle);
/* The same with a condition and a policy for every kernel of its table, "dtype=f32,numel=65536..,policy=[verify:first=3]":
 * the keys are those of sh_kernel_options.where, and policy. Kernels that come with an op of its own (sh_op_options) or
 * from `init` are left alone. SH_ERROR_SPEC, with a caret under the place, where the options can't be read;
 * SH_ERROR_PLUGIN where the table has no kernel. NULL: no options. */
SH_API sh_status sh_plugin_load_with(const char *path, const char *options, sh_plugin_handle *handle);
/* Takes back all that it registered. SH_ERROR_HANDLE if it was unloaded before. */
SH_API sh_status sh_plugin_unload(sh_plugin_handle handle);

typedef struct sh_plugin_info {
    sh_plugin_handle handle;
    const char *name, *version, *description, *path; /* "" where not given */
} sh_plugin_info;
/* The i-th of those loaded, in load order; false past the last. */
SH_API bool sh_plugin_at(size_t i, sh_plugin_info *info);

/* Tells copies of the library in one process apart. */
SH_API const void *sh__instance(void);

SH_END_DECLS

#endif
