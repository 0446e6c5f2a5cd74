/* guard.c - the words of a guard, written and compared by the same walk. */
#include "graph/compile/guard.h"

#include <string.h>

#include "dispatch/chain.h"
#include "graph/compile/batch.h"
#include "graph/function_impl.h"
#include "graph/graph_impl.h"
#include "graph/module/graph_module.h"
#include "ops/iter.h"

/* ---- words ---- */

/* Words go to a guard, or are compared with those that are there. */
typedef struct words {
    sh_guard *into; /* NULL: compare */
    const sh_guard *with;
    size_t n;
    int64_t batch; /* the size that any other may stand for; 0: none */
    bool differ, failed;
} words;

static bool grow(sh_guard *guard) {
    const size_t room = guard->room ? 2 * guard->room : 64;
    uint64_t *moved = sh__realloc(guard->at, room * sizeof *moved);
    if (!moved) return false;
    guard->at = moved;
    guard->room = room;
    return true;
}

static inline void put(words *w, uint64_t word) {
    if (SH_LIKELY(!w->into)) {
        w->differ |= w->n >= w->with->n || w->with->at[w->n] != word;
        w->n++;
        return;
    }
    if (w->into->n == w->into->room && !grow(w->into))
        w->failed = true;
    else
        w->into->at[w->into->n++] = word;
}

static void put_pointer(words *w, const void *pointer) { put(w, (uint64_t)(uintptr_t)pointer); }

static void put_bytes(words *w, const void *bytes, size_t n) {
    const char *at = bytes;
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, at + i, n - i < sizeof word ? n - i : sizeof word);
        put(w, word);
    }
}

static void put_text(words *w, const char *text) {
    put(w, strlen(text));
    put_bytes(w, text, strlen(text));
}

/* ---- where it runs ---- */

static void put_table(words *w) {
    put(w, atomic_load(&sh__table_version));
    put(w, sh__functions_version());
    for (int i = 0; i < SH_MAX_DEVICES; i++) put(w, atomic_load(&sh__default_backend[i]));
}

/* oneDNN's primitives are for a number of threads, which is 1 in the child of a fork. */
static void put_thread(words *w, const sh_thread *thread) {
    put(w, (uint64_t)sh__threads(INT64_MAX));
    put(w, thread->state.switches);
    for (int i = 0; i < SH_MAX_DEVICES; i++) put(w, thread->state.backend[i]);
}

static void put_modes(words *w, sh_thread *thread) {
    const bool pinned = !thread->depth && sh__globals_any();
    if (pinned) sh__globals_pin(thread);
    for (uint32_t p = 0; p < SH_POS_COUNT; p++)
        for (const sh_entry *e = sh__seen_from_here(thread, p); e; e = e->below) {
            if (sh__mode_is_off(thread, e->mode)) continue;
            put(w, p);
            put(w, e->mode->serial);
            put(w, atomic_load(&e->mode->version));
        }
    if (pinned) sh__globals_release(thread);
}

static void put_scope(words *w) {
    const sh_guard *guard = w->into ? w->into : w->with;
    if (guard->scoped) put_text(w, sh__scope_path());
}

/* ---- the module ---- */

static void put_field(words *w, const sh_module_field *field, const char *state) {
    static const size_t sizes[] = {
        [SH_FIELD_INT] = sizeof(int64_t), [SH_FIELD_FLOAT] = sizeof(double), [SH_FIELD_FLAG] = sizeof(bool)};
    const char *at = state + field->offset;
    if (field->kind == SH_FIELD_INTS)
        put_bytes(w, at, field->count * sizeof(int64_t));
    else if (field->kind == SH_FIELD_CHOICE)
        put_text(w, *(const char *const *)(const void *)at ? *(const char *const *)(const void *)at : "");
    else
        put_bytes(w, at, sizes[field->kind]);
}

/* The members that the type declares; the bytes where it declares none. */
static void put_state(words *w, const sh_module *module) {
    const sh_module_field *field = module->type->fields;
    if (sh_graph_module_graph(module)) return;
    if (!field) put_bytes(w, module->state, module->type->state_size);
    for (; field && field->name; field++) put_field(w, field, module->state);
}

static void put_module(words *w, const sh_module *module) {
    put(w, module->training | (uint64_t)module->nhooks << 1 | (uint64_t)module->last_hook << 32);
    put_state(w, module);
    put(w, module->children.n);
    for (uint32_t i = 0; i < module->children.n; i++) put_module(w, module->children.at[i].object);
}

/* ---- what hangs in it ---- */

static bool is_written(const words *w, const sh_tensor *t) {
    const sh_guard *guard = w->into ? w->into : w->with;
    for (size_t i = 0; i < guard->nwritten; i++)
        if (guard->written[i] == t) return true;
    return false;
}

/* By serial number: once a plan has packed a tensor, another one may come to lie at its address. */
static void put_tensors(words *w, const sh_slots *slots) {
    put(w, slots->n);
    for (uint32_t i = 0; i < slots->n; i++) {
        const sh_tensor *t = slots->at[i].object;
        put(w, slots->at[i].serial);
        if (!t) continue;
        put_pointer(w, sh__address(t));
        put(w, t->flags & SH_TENSOR_OVERRIDE);
        put(w, t->storage && !is_written(w, t) ? atomic_load(&t->storage->version) : 0);
    }
}

static void put_contents(words *w, const sh_module *module) {
    const sh_graph *graph = sh_graph_module_graph(module);
    put(w, graph ? graph->serial : 0);
    put(w, graph ? graph->version : 0);
    put(w, graph ? graph->attrs_version : 0);
    put_tensors(w, &module->parameters);
    put_tensors(w, &module->buffers);
    put(w, module->children.n);
    for (uint32_t i = 0; i < module->children.n; i++) {
        put(w, module->children.at[i].serial);
        put_contents(w, module->children.at[i].object);
    }
}

/* ---- inputs ---- */

#define ANY_SIZE (UINT64_MAX - 1)

static inline void put_tensor(words *w, const sh_tensor *t) {
    if (!t) {
        put(w, UINT64_MAX);
        return;
    }
    put(w, (uint64_t)t->flags << 32 | (uint64_t)t->dtype << 16 | (uint64_t)t->device << 8 | t->ndim);
    const bool any = w->batch && t->ndim && t->sizes[0] == w->batch;
    if (any) put(w, ANY_SIZE);
    for (int i = any; i < t->ndim; i++) put(w, (uint64_t)t->sizes[i]);
    if (t->flags & SH_TENSOR_CONTIGUOUS) return;
    for (int i = 0; i < t->ndim; i++) put(w, (uint64_t)t->strides[i]);
}

static void put_value(words *w, sh_value v) {
    put(w, v.tag | (uint64_t)v.count << 32);
    if (v.tag == SH_TAG_TENSOR)
        put_tensor(w, v.as.tensor);
    else if (v.tag == SH_TAG_TENSORS)
        for (uint32_t i = 0; i < v.count; i++) put_tensor(w, v.as.tensors[i]);
    else if (v.tag == SH_TAG_INTS)
        put_bytes(w, v.as.ints, v.count * sizeof(int64_t));
    else if (v.tag == SH_TAG_STRING)
        put_text(w, v.as.string);
    else
        put(w, v.as.bits);
}

static const sh_tensor *tensor_at(sh_values inputs, size_t i, uint32_t k) {
    const sh_value v = inputs.at[i];
    return v.tag == SH_TAG_TENSOR                   ? v.as.tensor
           : v.tag == SH_TAG_TENSORS && k < v.count ? v.as.tensors[k]
                                                    : NULL;
}

bool sh__share_memory(const sh_tensor *a, const sh_tensor *b) {
    const sh_storage *s = a->storage, *t = b->storage;
    if (!s || !t || s->device != t->device) return false;
    return s == t || (s->data < t->data + t->size && t->data < s->data + s->size);
}

/* Which earlier tensor each one shares memory with. */
static void put_aliases(words *w, sh_values inputs) {
    const sh_tensor *seen[SH_MOST_INPUTS];
    uint32_t n = 0;
    for (size_t i = 0; i < inputs.n; i++) {
        const uint32_t entries = inputs.at[i].tag == SH_TAG_TENSORS ? inputs.at[i].count : 1;
        for (uint32_t k = 0; k < entries && n < SH_MOST_INPUTS; k++) {
            const sh_tensor *t = tensor_at(inputs, i, k);
            if (!t) continue;
            for (uint32_t j = 0; j < n; j++)
                if (sh__share_memory(seen[j], t))
                    put(w, (uint64_t)n << 32 | j | (uint64_t)(seen[j] == t) << 63);
            seen[n++] = t;
        }
    }
}

static void put_inputs(words *w, sh_values inputs) {
    const sh_guard *guard = w->into ? w->into : w->with;
    w->batch = guard->any_batch ? sh__batch_size(inputs) : 0;
    put(w, inputs.n);
    for (size_t i = 0; i < inputs.n; i++) put_value(w, inputs.at[i]);
    if (inputs.n > 1 || (inputs.n && inputs.at[0].tag == SH_TAG_TENSORS)) put_aliases(w, inputs);
}

/* ---- guards ---- */

static void put_section(words *w, sh_guard_section section, const sh_module *module, sh_values inputs) {
    switch (section) {
    case SH_GUARD_TABLE: put_table(w); break;
    case SH_GUARD_THREAD: put_thread(w, &sh__thread); break;
    case SH_GUARD_MODES: put_modes(w, &sh__thread); break;
    case SH_GUARD_SCOPE: put_scope(w); break;
    case SH_GUARD_MODULE:
        if (module) put_module(w, module);
        break;
    case SH_GUARD_CONTENTS:
        if (module) put_contents(w, module);
        break;
    default: put_inputs(w, inputs);
    }
}

sh_status sh__guard_take(sh_guard *guard, const sh_module *module, sh_values inputs) {
    words w = {.into = guard};
    guard->n = 0;
    for (int s = 0; s < SH_GUARD_SECTIONS; s++) {
        put_section(&w, (sh_guard_section)s, module, inputs);
        guard->ends[s] = guard->n;
    }
    return w.failed ? SH_ERROR_MEMORY : SH_OK;
}

sh_status sh__guard_share_written(sh_guard *to, const sh_guard *from) {
    to->written = sh__alloc((from->nwritten + 1) * sizeof *to->written);
    if (!to->written) return SH_ERROR_MEMORY;
    for (size_t i = 0; i < from->nwritten; i++) to->written[i] = sh_keep(from->written[i]);
    to->nwritten = from->nwritten;
    return SH_OK;
}

void sh__guard_free(sh_guard *guard) {
    for (size_t i = 0; i < guard->nwritten; i++) sh_release(guard->written[i]);
    sh__free(guard->written);
    sh__free(guard->at);
}

static bool section_holds(const sh_guard *guard, sh_guard_section section, const sh_module *module,
                          sh_values inputs) {
    words w = {.with = guard, .n = section ? guard->ends[section - 1] : 0};
    put_section(&w, section, module, inputs);
    return !w.differ && w.n == guard->ends[section];
}

/* Inputs first: they differ most. */
bool sh__guard_holds(const sh_guard *guard, const sh_module *module, sh_values inputs, bool stamped) {
    if (!section_holds(guard, SH_GUARD_INPUTS, module, inputs)) return false;
    for (int s = stamped ? SH_GUARD_SCOPE : SH_GUARD_TABLE; s < SH_GUARD_INPUTS; s++)
        if (!section_holds(guard, (sh_guard_section)s, module, inputs)) return false;
    return true;
}

bool sh__guard_may_hold(const sh_guard *guard, const sh_module *module) {
    return section_holds(guard, SH_GUARD_CONTENTS, module, (sh_values){NULL, 0});
}

sh_guard_section sh__guard_difference(const sh_guard *a, const sh_guard *b) {
    size_t from = 0;
    for (int s = 0; s < SH_GUARD_SECTIONS; s++) {
        const size_t n = a->ends[s] - from;
        if (a->ends[s] != b->ends[s] || (n && memcmp(a->at + from, b->at + from, n * sizeof *a->at) != 0))
            return (sh_guard_section)s;
        from = a->ends[s];
    }
    return SH_GUARD_INPUTS;
}

uint64_t sh__guard_stamp(void) {
    static atomic_uint_fast64_t last;
    sh_thread *thread = &sh__thread;
    if (thread->gate & (SH_GATE_SWITCH | SH_GATE_BACKEND | SH_GATE_ACTIVE)) return 0;
    const uint64_t configuration = atomic_load_explicit(&sh__configuration, memory_order_acquire);
    if (thread->stamp && thread->stamp_at == configuration) return thread->stamp;
    thread->stamp_at = configuration;
    thread->stamp = atomic_fetch_add(&last, 1) + 1;
    return thread->stamp;
}
