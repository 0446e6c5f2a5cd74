/* models.h - tensors that lie as a plan's values will, over memory that holds nothing.
 *
 * Infer functions and view kernels run on them, once: what they say of shapes, strides and shared storage holds for each
 * run of the plan. Their memory is address space that reads as zeros and takes no room. All models lie at its start, each
 * in a storage of its own. */
#ifndef SH_GRAPH_COMPILE_MODELS_H
#define SH_GRAPH_COMPILE_MODELS_H

#include "dispatch/tensor_impl.h"

enum { SH_MODEL_MAPPINGS = 48 }; /* each twice as large as the one before */

typedef struct sh_models {
    sh_tensor **at; /* by value; NULL: it has none. The scope's, or a plan's constant */
    uint32_t n, room;
    struct {
        char *at;
        size_t size;
    } memory[SH_MODEL_MAPPINGS];
    uint32_t nmemory;
} sh_models;

/* The model of value `id`; those before it that were never set have none. */
sh_status sh__models_set(sh_models *models, uint32_t id, sh_tensor *model);
static inline sh_tensor *sh__model(const sh_models *models, uint32_t id) {
    return id < models->n ? models->at[id] : NULL;
}
/* A new one of this layout, the scope's; strides NULL: row-major. NULL and an error. */
sh_tensor *sh__model_new(sh_models *models, const sh_spec *spec, const int64_t *strides);
/* After the scope of the models has ended. */
void sh__models_free(sh_models *models);

#endif
