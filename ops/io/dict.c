/* dict.c - a table of names whose objects are the tensors; the table keeps the order. */
#include <string.h>

#include "dispatch/memory_impl.h"
#include "dispatch/symbols.h"
#include "ops/io/io.h"

struct sh_dict {
    sh_symbols names;
};

sh_dict *sh_dict_new(void) { return sh__calloc(1, sizeof(sh_dict)); }

void sh_dict_free(sh_dict *dict) {
    if (!dict) return;
    for (uint32_t i = 0; i < dict->names.n; i++) sh_release(dict->names.at[i]->object);
    sh__symbols_free(&dict->names);
    sh__free(dict);
}

sh_status sh_dict_set(sh_dict *dict, const char *name, sh_tensor *t) {
    if (!dict || !name || !t)
        return sh_fail(SH_ERROR_NULL, "sh_dict_set: %s is NULL",
                       !dict   ? "dict"
                       : !name ? "name"
                               : "the tensor");
    sh_symbol *symbol = sh__symbol(&dict->names, name, strlen(name));
    if (!symbol) return SH_ERROR_MEMORY;
    sh_keep(t);
    sh_release(symbol->object);
    symbol->object = t;
    return SH_OK;
}

size_t sh_dict_size(const sh_dict *dict) { return dict ? dict->names.n : 0; }

const char *sh_dict_name(const sh_dict *dict, size_t i) {
    return i < sh_dict_size(dict) ? dict->names.at[i]->text : NULL;
}

sh_tensor *sh_dict_at(const sh_dict *dict, size_t i) {
    return i < sh_dict_size(dict) ? dict->names.at[i]->object : NULL;
}

sh_tensor *sh_dict_find(const sh_dict *dict, const char *name) {
    const sh_symbol *symbol = dict && name ? sh__symbol_find(&dict->names, name, strlen(name)) : NULL;
    return symbol ? symbol->object : NULL;
}
