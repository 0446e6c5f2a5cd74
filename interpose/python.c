/* python.c - the Python line behind a call, for CPython 3.8 and later.
 *
 * NumPy releases the GIL around its linear algebra, so it may have to be taken: only by a thread that Python knows and that
 * doesn't hold it, never while Python shuts down. Frames are read by attribute (f_back, f_code, f_lineno), which has meant
 * the same in every version. A pending exception is put aside meanwhile. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "interpose/callers.h"

typedef struct object object; /* PyObject */

static struct {
    int (*initialized)(void);
    int (*finalizing)(void); /* Py_IsFinalizing in 3.13, with an underscore before */
    void *(*current)(void);  /* the thread state that holds the GIL */
    void *(*mine)(void);
    int (*ensure)(void);
    void (*release)(int state);
    object *(*frame)(void); /* borrowed */
    object *(*attribute)(object *, const char *);
    object *(*item)(object *, const char *); /* borrowed */
    const char *(*text)(object *);
    long (*integer)(object *);
    void (*keep)(object *);
    void (*drop)(object *);
    void (*fetch)(object **, object **, object **);
    void (*restore)(object *, object *, object *);
} py;

static bool load(void *slot, const char *name, const char *other) {
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found && other) found = dlsym(RTLD_DEFAULT, other);
    memcpy(slot, &found, sizeof found);
    return found != NULL;
}

static bool load_all(void) {
    return load(&py.initialized, "Py_IsInitialized", NULL) &&
           load(&py.finalizing, "Py_IsFinalizing", "_Py_IsFinalizing") &&
           load(&py.current, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") &&
           load(&py.mine, "PyGILState_GetThisThreadState", NULL) &&
           load(&py.ensure, "PyGILState_Ensure", NULL) && load(&py.release, "PyGILState_Release", NULL) &&
           load(&py.frame, "PyEval_GetFrame", NULL) && load(&py.attribute, "PyObject_GetAttrString", NULL) &&
           load(&py.item, "PyDict_GetItemString", NULL) && load(&py.text, "PyUnicode_AsUTF8", NULL) &&
           load(&py.integer, "PyLong_AsLong", NULL) && load(&py.keep, "Py_IncRef", NULL) &&
           load(&py.drop, "Py_DecRef", NULL) && load(&py.fetch, "PyErr_Fetch", NULL) &&
           load(&py.restore, "PyErr_Restore", NULL);
}

/* Python may be loaded after us, so that a failure is no answer for good. */
static bool is_there(void) {
    static atomic_bool loaded;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (atomic_load(&loaded)) return true;
    if (!dlsym(RTLD_DEFAULT, "Py_IsInitialized")) return false;
    pthread_mutex_lock(&lock);
    atomic_store(&loaded, atomic_load(&loaded) || load_all());
    pthread_mutex_unlock(&lock);
    return atomic_load(&loaded);
}

/* The text of an attribute that is a string, copied. */
static void copy_text(object *from, const char *name, char *text, size_t size) {
    object *value = from ? py.attribute(from, name) : NULL;
    const char *characters = value ? py.text(value) : NULL;
    snprintf(text, size, "%s", characters ? characters : "");
    py.drop(value);
}

static bool in_package(const char *module, const char *package) {
    const size_t n = strlen(package);
    return strncmp(module, package, n) == 0 && (!module[n] || module[n] == '.') && !strstr(module, ".tests.");
}

/* Wrappers that NumPy makes as it is loaded are in no module; what imports it is Python's own. */
static bool is_library(object *frame, const char *file) {
    object *globals = py.attribute(frame, "f_globals"), *name = globals ? py.item(globals, "__name__") : NULL;
    const char *module = name ? py.text(name) : NULL;
    const bool library = (module && (in_package(module, "numpy") || in_package(module, "scipy"))) ||
                         strncmp(file, "<__array_function__", 19) == 0 || strncmp(file, "<frozen ", 8) == 0;
    py.drop(globals);
    return library;
}

/* False for a frame of NumPy's or SciPy's, with the text all the same. */
static bool tell_frame(object *frame, char *text, size_t size) {
    char file[1024], function[128];
    object *code = py.attribute(frame, "f_code"), *line = py.attribute(frame, "f_lineno");
    copy_text(code, "co_filename", file, sizeof file);
    copy_text(code, "co_name", function, sizeof function);
    const char *base = strrchr(file, '/'), *in = strcmp(function, "<module>") == 0 ? "" : function;
    snprintf(text, size, "%s:%ld%s%s", base ? base + 1 : file, line ? py.integer(line) : 0, *in ? " in " : "",
             in);
    py.drop(code);
    py.drop(line);
    return !is_library(frame, file);
}

/* Outwards to the first frame of the user's; the innermost, if there is none. */
static bool tell_frames(char *text, size_t size) {
    enum { MOST = 1000 };
    char other[512];
    object *frame = py.frame();
    if (!frame) return false;
    py.keep(frame);
    bool users = tell_frame(frame, text, size);
    for (int i = 0; i < MOST && frame && !users; i++) {
        object *back = py.attribute(frame, "f_back");
        object *code = back ? py.attribute(back, "f_code") : NULL; /* None has none */
        py.drop(frame);
        frame = code ? back : NULL;
        if (!code) py.drop(back);
        py.drop(code);
        users = frame && tell_frame(frame, other, sizeof other);
        if (users) snprintf(text, size, "%s", other);
    }
    py.drop(frame);
    return true;
}

bool sh__python_line(char *text, size_t size) {
    if (!is_there() || !py.initialized() || py.finalizing()) return false;
    void *mine = py.mine();
    if (!mine) return false;
    const bool held = py.current() == mine;
    const int state = held ? 0 : py.ensure();
    object *type, *value, *trace;
    py.fetch(&type, &value, &trace);
    const bool told = tell_frames(text, size);
    py.restore(type, value, trace); /* clears what we left */
    if (!held) py.release(state);
    return told;
}
