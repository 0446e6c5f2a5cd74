/* walk.c - over a tree of modules, where one module may hang at several paths.
 *
 * A path is built in one growing text as the walk goes down, and cut again as it goes up. */
#include <string.h>

#include "graph/given.h"
#include "graph/module/module_impl.h"
#include "graph/text.h"

/* ---- sets of addresses ---- */

static const void **find_place(const sh_seen *seen, const void *address) {
    for (uint64_t i = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u >> 20;; i++) {
        const void **place = &seen->at[i & (seen->capacity - 1)];
        if (!*place || *place == address) return place;
    }
}

static sh_status grow(sh_seen *seen) {
    sh_seen larger = {NULL, seen->n, seen->capacity ? seen->capacity * 2 : 256};
    larger.at = sh__calloc(larger.capacity, sizeof *larger.at);
    if (!larger.at) return SH_ERROR_MEMORY;
    for (size_t i = 0; i < seen->capacity; i++)
        if (seen->at[i]) *find_place(&larger, seen->at[i]) = seen->at[i];
    sh__free(seen->at);
    *seen = larger;
    return SH_OK;
}

bool sh__seen_first(sh_seen *seen, const void *address) {
    if ((seen->n + 1) * 2 > seen->capacity && grow(seen) < 0) return false;
    const void **place = find_place(seen, address);
    if (*place) return false;
    *place = address;
    seen->n++;
    return true;
}

bool sh__seen_holds(const sh_seen *seen, const void *address) {
    return seen->capacity && *find_place(seen, address);
}

void sh__seen_free(sh_seen *seen) { sh__free(seen->at); }

/* ---- the walk ---- */

typedef struct walk {
    sh_text path;
    sh_seen modules, tensors;
    uint32_t what;
    sh_module_visit visit;               /* this, or */
    sh_module_tensor_visit tensor_visit; /* this */
    void *user;
} walk;

static sh_status add_part(walk *w, const char *name) {
    if (w->path.length) sh__text_add(&w->path, ".", 1);
    sh__text_add(&w->path, name, strlen(name));
    return w->path.failed ? SH_ERROR_MEMORY : SH_OK;
}

static sh_status visit_tensors(walk *w, const sh_slots *slots) {
    const size_t length = w->path.length;
    for (uint32_t i = 0; i < slots->n; i++) {
        if (!(w->what & SH_DUPLICATES) && !sh__seen_first(&w->tensors, slots->at[i].object)) {
            if (sh__error_pending()) return sh_error()->code;
            continue;
        }
        SH_TRY(add_part(w, slots->at[i].name));
        SH_TRY(w->tensor_visit(w->path.at, slots->at[i].object, w->user));
        sh__text_cut(&w->path, length);
    }
    return SH_OK;
}

static sh_status visit_module(walk *w, sh_module *module) {
    if (w->visit) return w->visit(w->path.length ? w->path.at : "", module, w->user);
    if (w->what & SH_PARAMETERS) SH_TRY(visit_tensors(w, &module->parameters));
    if (w->what & SH_BUFFERS) SH_TRY(visit_tensors(w, &module->buffers));
    return SH_OK;
}

static sh_status go(walk *w, sh_module *module) {
    if (!(w->what & SH_DUPLICATES) && !sh__seen_first(&w->modules, module))
        return sh__error_pending() ? sh_error()->code : SH_OK;
    SH_TRY(visit_module(w, module));
    const size_t length = w->path.length;
    for (uint32_t i = 0; i < module->children.n; i++) {
        SH_TRY(add_part(w, module->children.at[i].name));
        SH_TRY(go(w, module->children.at[i].object));
        sh__text_cut(&w->path, length);
    }
    return SH_OK;
}

static sh_status run(walk *w, sh_module *module) {
    if (sh__error_pending()) return sh_error()->code;
    if (!module) return sh_fail(SH_ERROR_NULL, "a walk over modules begins at NULL");
    const sh_status status = go(w, module);
    sh__text_drop(&w->path);
    sh__seen_free(&w->modules);
    sh__seen_free(&w->tensors);
    return status;
}

sh_status sh_module_walk(sh_module *module, sh_module_visit visit, void *user) {
    SH_GIVEN(visit, SH_ERROR_NULL);
    walk w = {.visit = visit, .user = user};
    return run(&w, module);
}

sh_status sh_module_walk_tensors(sh_module *module, uint32_t what, sh_module_tensor_visit visit, void *user) {
    SH_GIVEN(visit, SH_ERROR_NULL);
    walk w = {.what = what, .tensor_visit = visit, .user = user};
    return run(&w, module);
}

/* ---- apply ---- */

typedef struct application {
    sh_seen done;
    sh_status (*function)(sh_module *module, void *user);
    void *user;
} application;

static sh_status apply(application *a, sh_module *module) {
    if (!sh__seen_first(&a->done, module)) return sh__error_pending() ? sh_error()->code : SH_OK;
    for (uint32_t i = 0; i < module->children.n; i++) SH_TRY(apply(a, module->children.at[i].object));
    return a->function(module, a->user);
}

sh_status sh_module_apply(sh_module *module, sh_status (*function)(sh_module *module, void *user),
                          void *user) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(module, SH_ERROR_NULL);
    SH_GIVEN(function, SH_ERROR_NULL);
    application a = {.function = function, .user = user};
    const sh_status status = apply(&a, module);
    sh__seen_free(&a.done);
    return status;
}

/* ---- train and eval ---- */

bool sh_module_is_training(const sh_module *module) {
    SH_GIVEN(module, false);
    return module->training;
}

/* Setting a shared module twice does no harm, so this needs no memory and can't fail. */
void sh_module_train(sh_module *module, bool training) {
    SH_GIVEN_OR_LEAVE(module);
    module->training = training;
    for (uint32_t i = 0; i < module->children.n; i++)
        sh_module_train(module->children.at[i].object, training);
}

void sh_module_eval(sh_module *module) {
    SH_GIVEN_OR_LEAVE(module);
    sh_module_train(module, false);
}

/* ---- to ---- */

/* Each tensor that changes, once, and what it becomes. */
typedef struct conversion {
    sh_dtype dtype;
    struct {
        const sh_tensor *from;
        sh_tensor *to;
    } * pairs;
    size_t n, capacity;
} conversion;

static sh_status convert(const char *path, sh_tensor *tensor, void *user) {
    conversion *c = user;
    (void)path;
    if (tensor->dtype == c->dtype || sh_dtype_kind_of((sh_dtype)tensor->dtype) != SH_KIND_FLOAT) return SH_OK;
    if (c->n == c->capacity) {
        const size_t capacity = c->capacity ? c->capacity * 2 : 16;
        void *pairs = sh__realloc(c->pairs, capacity * sizeof *c->pairs);
        if (!pairs) return SH_ERROR_MEMORY;
        c->pairs = pairs;
        c->capacity = capacity;
    }
    sh_tensor *to = sh_call_op("to", tensor, sh_value_dtype(c->dtype));
    if (!to) return sh_error()->code;
    c->pairs[c->n].from = tensor;
    c->pairs[c->n++].to = to;
    return SH_OK;
}

static void release_tensor(void *tensor) { sh_release(tensor); }

static void replace_all(const conversion *c, sh_slots *slots) {
    for (uint32_t i = 0; i < slots->n; i++)
        for (size_t k = 0; k < c->n; k++) {
            if (slots->at[i].object != c->pairs[k].from) continue;
            sh__slot_fill(&slots->at[i], sh_keep(c->pairs[k].to), release_tensor);
            break;
        }
}

static void install(const conversion *c, sh_module *module) {
    replace_all(c, &module->parameters);
    replace_all(c, &module->buffers);
    for (uint32_t i = 0; i < module->children.n; i++) install(c, module->children.at[i].object);
}

sh_status sh_module_to(sh_module *module, sh_dtype dtype) {
    if (sh__error_pending()) return sh_error()->code;
    if (sh_dtype_kind_of(dtype) != SH_KIND_FLOAT)
        return sh_fail(SH_ERROR_DTYPE, "sh_module_to: got %s, expected a float dtype", sh_dtype_name(dtype));
    conversion c = {.dtype = dtype};
    sh_status status;
    SH_SCOPE {
        status = sh_module_walk_tensors(module, SH_PARAMETERS | SH_BUFFERS, convert, &c);
        if (status >= 0) install(&c, module);
    }
    sh__free(c.pairs);
    return status;
}
