/* paths.h - from an object in a tree of modules to its first path there. */
#ifndef SH_GRAPH_PATHS_H
#define SH_GRAPH_PATHS_H

#include "graph/module/module.h"
#include "graph/text.h"

/* A hash table by address. The paths stand one behind the other in `text`. */
typedef struct sh_paths {
    struct sh_path_entry {
        const void *object; /* NULL: a free place */
        size_t at;          /* in the text */
    } * entries;
    size_t n, capacity;
    sh_text text;
} sh_paths;

/* The path of an object that is not there yet; copied. */
sh_status sh__paths_add(sh_paths *paths, const void *object, const char *path);
sh_status sh__paths_of_modules(sh_paths *paths, sh_module *root);
sh_status sh__paths_of_tensors(sh_paths *paths, sh_module *root);
/* NULL without an error if the object is not in the tree. */
const char *sh__path_of(const sh_paths *paths, const void *object);
void sh__paths_free(sh_paths *paths);

#endif
