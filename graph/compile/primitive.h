/* primitive.h - one oneDNN primitive made ready, as a unit of a plan.
 *
 * A primitive is made for shapes and layouts once. It keeps what never changes (packed weights, biases) and says for each
 * other argument which of the plan's values it is; a workspace has memory objects of its own for them, whose addresses
 * are set again only when they change. Scratch memory is the frame's.
 *
 * Values have two layouts here: as they lie, or channels last. A primitive is for as
 * many threads as OpenMP would have given when it was made, so a plan is good for that number of threads only.
 *
 *     sh_primitive *p = sh__primitive_new(descriptor, "conv");
 *     SH_TRY(sh__primitive_bind(p, DNNL_ARG_SRC, dnnl_query_src_md, 0, value)); ... */
#ifndef SH_GRAPH_COMPILE_PRIMITIVE_H
#define SH_GRAPH_COMPILE_PRIMITIVE_H

#include <dnnl.h>

#include "graph/compile/plan.h"

typedef enum sh_layout {
    SH_LAYOUT_PLAIN, /* by the value's strides */
    SH_LAYOUT_LAST,  /* channels last: nhwc */
    SH_LAYOUTS
} sh_layout;

enum { SH_PRIMITIVE_ARGUMENTS = 8 };
#define SH_NO_VALUE UINT32_MAX

typedef struct sh_primitive_argument {
    int role; /* DNNL_ARG_... */
    dnnl_memory_desc_t layout;
    uint32_t value;  /* SH_NO_VALUE: a constant in `block`, which the primitive owns, or scratch memory */
    void *block;     /* 64-byte aligned */
    size_t capacity; /* of it */
} sh_primitive_argument;

typedef struct sh_primitive {
    dnnl_primitive_t made;
    dnnl_primitive_desc_t descriptor;
    const char *implementation; /* oneDNN's name for it */
    size_t scratch;
    uint32_t nargs;
    sh_primitive_argument args[SH_PRIMITIVE_ARGUMENTS];
    char note[96]; /* for reports: what is fused */
} sh_primitive;

/* Names of the kinds of unit, all of which run a sh_primitive. */
extern const sh_unit_type sh__unit_conv, sh__unit_pool, sh__unit_eltwise, sh__unit_binary, sh__unit_reorder,
    sh__unit_product;

/* oneDNN's engine for the CPU; NULL and an error. */
dnnl_engine_t sh__primitive_engine(void);

/* The primitive of a descriptor, which it takes over, on failure too; only the scratch argument is bound. */
sh_primitive *sh__primitive_new(dnnl_primitive_desc_t descriptor);
void sh__primitive_free(sh_primitive *p);
/* An argument in the layout that the descriptor asks for; by `query` and `index` as dnnl_primitive_desc_query_md has it. */
sh_status sh__primitive_bind(sh_primitive *p, int role, dnnl_query_t query, int index, uint32_t value);
/* An argument in a layout that is known already. */
sh_status sh__primitive_bind_as(sh_primitive *p, int role, const dnnl_memory_desc_t *layout, uint32_t value);
/* Fills an argument that was bound without a value with a constant, from another layout. */
sh_status sh__primitive_pack(sh_primitive *p, int role, const dnnl_memory_desc_t *from, const void *data);
/* The argument of a role, or NULL. */
sh_primitive_argument *sh__primitive_argument(sh_primitive *p, int role);

/* Zeros for constants that are not packed: to measure with. */
sh_status sh__primitive_reserve(sh_primitive *p);

/* How oneDNN describes f32 of these four sizes in a layout; PLAIN is row-major. */
dnnl_status_t sh__layout_of(const int64_t *sizes, sh_layout layout, dnnl_memory_desc_t *described);
/* The same for a value with a shape of four sizes, none of them 0, PLAIN being by its strides. SH_PASS: it is none. */
sh_status sh__layout_describe(const sh_plan_value *value, sh_layout layout, dnnl_memory_desc_t *described);
/* Does the value as it lies have its elements where this layout has them? */
bool sh__layout_is_plain(const sh_plan_value *value, sh_layout layout);
/* A copy from one layout to the other, as a unit. */
sh_primitive *sh__reorder_new(const dnnl_memory_desc_t *from, uint32_t from_value,
                              const dnnl_memory_desc_t *to, uint32_t to_value);

#endif
