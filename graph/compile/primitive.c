/* primitive.c - see primitive.h. */
#include "graph/compile/primitive.h"

#include <string.h>

#include "dispatch/memory_impl.h"
#include "ops/cpu/onednn.h"
#include "ops/iter.h"

dnnl_engine_t sh__primitive_engine(void) {
    dnnl_engine_t engine = sh_onednn_engine();
    if (!engine) sh_fail(SH_ERROR_MEMORY, "oneDNN: out of memory for an engine");
    return engine;
}

/* ---- making ---- */

sh_primitive *sh__primitive_new(dnnl_primitive_desc_t descriptor) {
    sh_primitive *p = sh__calloc(1, sizeof *p);
    if (!p) {
        dnnl_primitive_desc_destroy(descriptor);
        return NULL;
    }
    p->descriptor = descriptor;
    dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &p->implementation);
    sh_status status = sh_onednn_status(dnnl_primitive_create(&p->made, descriptor), "making a primitive");
    if (status == SH_OK)
        status = sh__primitive_bind(p, DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md, 0, SH_NO_VALUE);
    if (status == SH_OK) {
        p->scratch = dnnl_memory_desc_get_size(&p->args[0].layout);
        return p;
    }
    sh__primitive_free(p);
    return NULL;
}

void sh__primitive_free(sh_primitive *p) {
    if (!p) return;
    for (uint32_t i = 0; i < p->nargs; i++)
        if (p->args[i].block) sh__block_free(p->args[i].block, p->args[i].capacity);
    if (p->made) dnnl_primitive_destroy(p->made);
    dnnl_primitive_desc_destroy(p->descriptor);
    sh__free(p);
}

sh_status sh__primitive_bind_as(sh_primitive *p, int role, const dnnl_memory_desc_t *layout, uint32_t value) {
    if (p->nargs == SH_PRIMITIVE_ARGUMENTS)
        return sh_fail(SH_ERROR_UNSUPPORTED, "oneDNN: a primitive has more than %d arguments",
                       SH_PRIMITIVE_ARGUMENTS);
    p->args[p->nargs++] = (sh_primitive_argument){.role = role, .layout = *layout, .value = value};
    return SH_OK;
}

sh_status sh__primitive_bind(sh_primitive *p, int role, dnnl_query_t query, int index, uint32_t value) {
    return sh__primitive_bind_as(p, role, dnnl_primitive_desc_query_md(p->descriptor, query, index), value);
}

sh_primitive_argument *sh__primitive_argument(sh_primitive *p, int role) {
    for (uint32_t i = 0; i < p->nargs; i++)
        if (p->args[i].role == role) return &p->args[i];
    return NULL;
}

/* ---- running ---- */

typedef struct workspace {
    dnnl_stream_t stream;
    dnnl_exec_arg_t args[SH_PRIMITIVE_ARGUMENTS];
    void *address[SH_PRIMITIVE_ARGUMENTS];
} workspace;

static void close_workspace(void *own) {
    workspace *w = own;
    for (int i = 0; i < SH_PRIMITIVE_ARGUMENTS; i++)
        if (w->args[i].memory) dnnl_memory_destroy(w->args[i].memory);
    if (w->stream) dnnl_stream_destroy(w->stream);
    sh__free(w);
}

static dnnl_status_t fill_workspace(const sh_primitive *p, workspace *w, dnnl_engine_t engine) {
    dnnl_status_t status = dnnl_stream_create(&w->stream, engine, dnnl_stream_default_flags);
    for (uint32_t i = 0; i < p->nargs && !status; i++) {
        w->args[i].arg = p->args[i].role;
        w->address[i] = p->args[i].block;
        status = dnnl_memory_create(&w->args[i].memory, &p->args[i].layout, engine,
                                    w->address[i] ? w->address[i] : DNNL_MEMORY_NONE);
    }
    return status;
}

static void *open_workspace(const void *unit) {
    dnnl_engine_t engine = sh__primitive_engine();
    workspace *w = engine ? sh__calloc(1, sizeof *w) : NULL;
    if (!w) return NULL;
    if (sh_onednn_status(fill_workspace(unit, w, engine), "making memory objects") == SH_OK) return w;
    close_workspace(w);
    return NULL;
}

static dnnl_status_t place(workspace *w, uint32_t i, void *address) {
    if (w->address[i] == address) return dnnl_success;
    w->address[i] = address;
    return dnnl_memory_set_data_handle(w->args[i].memory, address);
}

static sh_status run_primitive(const void *unit, const sh_unit_frame *frame) {
    const sh_primitive *p = unit;
    workspace *w = frame->own;
    dnnl_status_t status = place(w, 0, frame->scratch);
    for (uint32_t i = 1; i < p->nargs && !status; i++)
        if (p->args[i].value != SH_NO_VALUE) status = place(w, i, frame->records[p->args[i].value].data);
    const int before = sh_onednn_limit(sh__threads(INT64_MAX));
    if (!status) status = dnnl_primitive_execute(p->made, w->stream, (int)p->nargs, w->args);
    sh_onednn_restore(before);
    return sh_onednn_status(status, p->implementation);
}

static size_t scratch_of(const void *unit) { return ((const sh_primitive *)unit)->scratch; }
static void print_primitive(const void *unit, FILE *out) {
    const sh_primitive *p = unit;
    fprintf(out, "%s%s%s", p->implementation, *p->note ? " " : "", p->note);
}
static void free_primitive(void *unit) { sh__primitive_free(unit); }

#define DEFINE_UNIT(NAME)                                           \
    const sh_unit_type sh__unit_##NAME = {.name = #NAME,            \
                                          .run = run_primitive,     \
                                          .scratch = scratch_of,    \
                                          .open = open_workspace,   \
                                          .close = close_workspace, \
                                          .print = print_primitive, \
                                          .free = free_primitive}
DEFINE_UNIT(conv);
DEFINE_UNIT(pool);
DEFINE_UNIT(eltwise);
DEFINE_UNIT(binary);
DEFINE_UNIT(reorder);
DEFINE_UNIT(product);

/* ---- constants ---- */

static dnnl_status_t reorder_now(dnnl_engine_t engine, const dnnl_memory_desc_t *from, const void *data,
                                 const dnnl_memory_desc_t *to, void *packed) {
    dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, NULL}, {DNNL_ARG_TO, NULL}};
    dnnl_primitive_desc_t descriptor = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&descriptor, from, engine, to, engine, NULL);
    if (!status) status = dnnl_primitive_create(&reorder, descriptor);
    if (!status) status = dnnl_stream_create(&stream, engine, dnnl_stream_default_flags);
    if (!status) status = dnnl_memory_create(&args[0].memory, from, engine, (void *)(uintptr_t)data);
    if (!status) status = dnnl_memory_create(&args[1].memory, to, engine, packed);
    if (!status) status = dnnl_primitive_execute(reorder, stream, 2, args);
    for (int i = 0; i < 2; i++)
        if (args[i].memory) dnnl_memory_destroy(args[i].memory);
    if (stream) dnnl_stream_destroy(stream);
    if (reorder) dnnl_primitive_destroy(reorder);
    if (descriptor) dnnl_primitive_desc_destroy(descriptor);
    return status;
}

/* Memory for an argument's bytes that the argument owns. */
static sh_status add_block(sh_primitive_argument *a) {
    const size_t size = dnnl_memory_desc_get_size(&a->layout);
    if (!a->block) a->block = sh__block_alloc(size, &a->capacity);
    return a->block ? SH_OK : SH_ERROR_MEMORY;
}

sh_status sh__primitive_pack(sh_primitive *p, int role, const dnnl_memory_desc_t *from, const void *data) {
    sh_primitive_argument *a = sh__primitive_argument(p, role);
    dnnl_engine_t engine = sh__primitive_engine();
    if (!engine) return SH_ERROR_MEMORY;
    SH_TRY(add_block(a));
    if (!dnnl_memory_desc_equal(from, &a->layout))
        return sh_onednn_status(reorder_now(engine, from, data, &a->layout, a->block), "packing weights");
    memcpy(a->block, data, dnnl_memory_desc_get_size(from));
    return SH_OK;
}

sh_status sh__primitive_reserve(sh_primitive *p) {
    for (uint32_t i = 1; i < p->nargs; i++) {
        sh_primitive_argument *a = &p->args[i];
        if (a->value != SH_NO_VALUE || a->block) continue;
        SH_TRY(add_block(a));
        memset(a->block, 0, dnnl_memory_desc_get_size(&a->layout));
    }
    return SH_OK;
}

/* ---- layouts ---- */

dnnl_status_t sh__layout_of(const int64_t *sizes, sh_layout layout, dnnl_memory_desc_t *described) {
    static const dnnl_format_tag_t tags[SH_LAYOUTS] = {dnnl_nchw, dnnl_nhwc};
    const dnnl_dims_t all = {sizes[0], sizes[1], sizes[2], sizes[3]};
    return dnnl_memory_desc_init_by_tag(described, 4, all, dnnl_f32, tags[layout]);
}

sh_status sh__layout_describe(const sh_plan_value *value, sh_layout layout, dnnl_memory_desc_t *described) {
    const int64_t *sizes = value->spec.sizes;
    if (!value->known || value->spec.ndim != 4 || value->spec.dtype != SH_F32) return SH_PASS;
    for (int i = 0; i < 4; i++)
        if (sizes[i] == 0) return SH_PASS;
    const dnnl_dims_t all = {sizes[0], sizes[1], sizes[2], sizes[3]};
    const dnnl_dims_t strides = {value->strides[0], value->strides[1], value->strides[2], value->strides[3]};
    const dnnl_status_t status = layout == SH_LAYOUT_PLAIN
                                     ? dnnl_memory_desc_init_by_strides(described, 4, all, dnnl_f32, strides)
                                     : sh__layout_of(sizes, layout, described);
    return status ? SH_PASS : SH_OK;
}

bool sh__layout_is_plain(const sh_plan_value *value, sh_layout layout) {
    const int64_t *sizes = value->spec.sizes;
    if (value->spec.ndim != 4) return false;
    if (layout == SH_LAYOUT_PLAIN) return true;
    static const int order[] = {1, 3, 2, 0};
    int64_t stride = 1;
    for (int i = 0; i < 4; i++) {
        const int axis = order[i];
        if (sizes[axis] > 1 && value->strides[axis] != stride) return false;
        stride *= sizes[axis];
    }
    return true;
}

sh_primitive *sh__reorder_new(const dnnl_memory_desc_t *from, uint32_t from_value,
                              const dnnl_memory_desc_t *to, uint32_t to_value) {
    dnnl_engine_t engine = sh__primitive_engine();
    dnnl_primitive_desc_t descriptor = NULL;
    dnnl_primitive_attr_t attr = NULL;
    if (!engine) return NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&attr);
    if (!status) status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (!status) status = dnnl_reorder_primitive_desc_create(&descriptor, from, engine, to, engine, attr);
    if (attr) dnnl_primitive_attr_destroy(attr);
    if (sh_onednn_status(status, "a reorder") < 0) return NULL;
    sh_primitive *p = sh__primitive_new(descriptor);
    if (!p || sh__primitive_bind_as(p, DNNL_ARG_FROM, from, from_value) < 0 ||
        sh__primitive_bind_as(p, DNNL_ARG_TO, to, to_value) < 0) {
        sh__primitive_free(p);
        return NULL;
    }
    return p;
}
