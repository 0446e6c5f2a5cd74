/* state_dict.c - a module's tensors to and from a dict.
 *
 * A load first pairs each tensor with its new value, converted, and lists what does not fit; only then does it write. */
#include "graph/io/state_dict.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/device.h"
#include "dispatch/memory_impl.h"
#include "dispatch/mode.h"

/* ---- out ---- */

static sh_status add(const char *path, sh_tensor *tensor, void *user) {
    return sh_dict_set(user, path, tensor);
}

sh_dict *sh_module_state_dict(sh_module *module) {
    if (sh_error()) return NULL;
    sh_dict *dict = sh_dict_new();
    if (dict && sh_module_walk_tensors(module, SH_PARAMETERS | SH_BUFFERS | SH_DUPLICATES, add, dict) >= 0)
        return dict;
    sh_dict_free(dict);
    return NULL;
}

/* ---- in ---- */

/* Keys of one kind of fault, "a, b, c, ..." */
typedef struct keys {
    char text[240];
    size_t n;
} keys;

static void note(keys *k, const char *key) {
    const size_t length = strlen(k->text);
    const bool fits = length + strlen(key) + 8 < sizeof k->text;
    if (fits)
        snprintf(k->text + length, sizeof k->text - length, "%s%s", k->n ? ", " : "", key);
    else if (length < 4 || strcmp(k->text + length - 3, "...") != 0)
        snprintf(k->text + length, sizeof k->text - length, "%s...", k->n ? ", " : "");
    k->n++;
}

typedef struct load {
    const sh_dict *dict;
    keys missing, unexpected, shapes;
    struct {
        sh_tensor *to, *from;
    } * pairs;
    size_t n;
} load;

static bool same_shape(const sh_tensor *a, const sh_tensor *b) {
    const int n = sh_tensor_ndim(a);
    return sh_tensor_ndim(b) == n &&
           memcmp(sh_tensor_sizes(a), sh_tensor_sizes(b), (size_t)n * sizeof(int64_t)) == 0;
}

static size_t print_shape(char *text, size_t size, const sh_tensor *t) {
    size_t n = 0;
    for (int i = 0; i < sh_tensor_ndim(t) && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, i ? ", %lld" : "[%lld", (long long)sh_tensor_sizes(t)[i]);
    return n + (size_t)snprintf(text + n, n < size ? size - n : 0, n ? "]" : "[]");
}

static void note_shape(keys *k, const char *key, const sh_tensor *got, const sh_tensor *expected) {
    char text[240], shapes[2][48];
    print_shape(shapes[0], sizeof shapes[0], got);
    print_shape(shapes[1], sizeof shapes[1], expected);
    snprintf(text, sizeof text, "%.100s (got %s, expected %s)", key, shapes[0], shapes[1]);
    note(k, text);
}

/* `to` is the module's, `from` what it will hold, in its dtype. */
static sh_status pair(const char *path, sh_tensor *to, void *user) {
    load *l = user;
    sh_tensor *from = sh_dict_find(l->dict, path);
    if (!from) {
        note(&l->missing, path);
    } else if (!same_shape(from, to)) {
        note_shape(&l->shapes, path, from, to);
    } else {
        from = sh_call_op("to", from, sh_value_dtype(sh_tensor_dtype(to)));
        if (from) from = sh_tensor_to(from, sh_tensor_device(to));
        if (!from) return sh_error()->code;
        l->pairs[l->n].to = to;
        l->pairs[l->n++].from = from;
    }
    return SH_OK;
}

static sh_status count(const char *path, sh_tensor *tensor, void *user) {
    load *l = user;
    (void)path;
    (void)tensor;
    l->n++;
    return SH_OK;
}

static bool holds(sh_module *module, const char *path) {
    return sh_module_parameter(module, path) || sh_module_buffer(module, path);
}

static sh_status report(const load *l, bool strict) {
    const keys *const all[] = {&l->missing, &l->unexpected, &l->shapes};
    static const char *const titles[] = {"missing keys", "unexpected keys", "keys of another shape"};
    char message[900] = "";
    size_t n = 0;
    for (int i = strict ? 0 : 2; i < 3; i++)
        if (all[i]->n)
            n += (size_t)snprintf(message + n, sizeof message - n, "%s%s: %s", n ? "; " : "", titles[i],
                                  all[i]->text);
    return n ? sh_fail(SH_ERROR_VALUE, "sh_module_load_state_dict: %s", message) : SH_OK;
}

static sh_status pair_all(load *l, sh_module *module, bool strict) {
    const uint32_t what = SH_PARAMETERS | SH_BUFFERS | SH_DUPLICATES;
    SH_TRY(sh_module_walk_tensors(module, what, count, l));
    l->pairs = sh__alloc((l->n + 1) * sizeof *l->pairs);
    if (!l->pairs) return SH_ERROR_MEMORY;
    l->n = 0;
    SH_TRY(sh_module_walk_tensors(module, what, pair, l));
    for (size_t i = 0; i < sh_dict_size(l->dict); i++)
        if (!holds(module, sh_dict_name(l->dict, i))) note(&l->unexpected, sh_dict_name(l->dict, i));
    return report(l, strict);
}

static sh_status write_all(const load *l) {
    sh_switch off;
    sh_status status = SH_OK;
    sh_switch_off(&off, SH_OFF_ALL);
    for (size_t i = 0; i < l->n && status >= 0; i++)
        if (!sh_call_op("copy_", l->pairs[i].to, l->pairs[i].from)) status = sh_error()->code;
    sh_switch_end(&off);
    return status;
}

sh_status sh_module_load_state_dict(sh_module *module, const sh_dict *dict, bool strict) {
    if (sh_error()) return sh_error()->code;
    if (!module || !dict)
        return sh_fail(SH_ERROR_NULL, "sh_module_load_state_dict: %s is NULL", module ? "dict" : "module");
    load l = {.dict = dict};
    sh_status status;
    SH_SCOPE {
        status = pair_all(&l, module, strict);
        if (status >= 0) status = write_all(&l);
    }
    sh__free(l.pairs);
    return status;
}

/* ---- files ---- */

sh_status sh_module_save(sh_module *module, const char *path) {
    sh_dict *dict = sh_module_state_dict(module);
    if (!dict) return sh_error()->code;
    const sh_status status = sh_save_safetensors(path, dict);
    sh_dict_free(dict);
    return status;
}

sh_status sh_module_load(sh_module *module, const char *path) {
    sh_dict *dict;
    SH_TRY(sh_load_safetensors(path, &dict));
    const sh_status status = sh_module_load_state_dict(module, dict, true);
    sh_dict_free(dict);
    return status;
}
