/* registry.c - registering kernels, and what slot follows from the registrations.
 *
 * Every column (op, backend) is a list, newest first; the newest live one counts. A handle is an index
 * with a generation: once removed it is dead for good. Removed records stay allocated, since a call in
 * flight may hold the slot inside. */
#include "dispatch/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/chain.h"

enum { CHUNK = 256, CHUNKS = 4096 };

static sh_registration **chunks[CHUNKS]; /* registrations by index */
static uint32_t registration_count;
static sh_registration *fallbacks[SH_MAX_BACKENDS];

static sh_registration *at(uint32_t index) {
    return index < registration_count ? chunks[index / CHUNK][index % CHUNK] : NULL;
}

static sh_status enter(sh_registration *r) {
    const uint32_t chunk = registration_count / CHUNK;
    if (chunk == CHUNKS) return sh_fail(SH_ERROR_KERNEL, "too many kernels were registered");
    if (!chunks[chunk] && !(chunks[chunk] = sh__calloc(CHUNK, sizeof **chunks))) return SH_ERROR_MEMORY;
    r->index = registration_count;
    r->generation = 1;
    chunks[chunk][registration_count % CHUNK] = r;
    registration_count++;
    return SH_OK;
}

static sh_registration **column_of(sh_op *op, uint32_t column) {
    return op ? &op->columns[column] : &fallbacks[column];
}

static sh_registration *newest_live(sh_registration *r) {
    while (r && !r->live) r = r->older;
    return r;
}

const sh_registration *sh__fallback_of(uint32_t backend) { return newest_live(fallbacks[backend]); }

static void link_in(sh_registration *r, sh_op *op, uint32_t column) {
    sh_registration **head = column_of(op, column);
    r->op = op;
    r->column = column;
    r->live = 1;
    r->older = *head;
    *head = r;
}

void sh__register_builtin(sh_op *op, const sh_builtin_kernel *kernel) {
    sh_registration *r = calloc(1, sizeof *r);
    if (!r || enter(r) < 0) return;
    const bool composite = kernel->column == SH_COLUMN_COMPOSITE;
    r->slot = (sh_slot){.typed = kernel->kernel,
                        .form = (uint8_t)kernel->form,
                        .leaf = op->tags & SH_OP_COMPOSITE ? SH_LEAF_OF_COMPOSITE : SH_LEAF_PLAIN,
                        .registrant = "built-in",
                        .composite = composite && (op->tags & SH_OP_COMPOSITE),
                        .backend = composite ? SH_COMPOSITE : sh_backend_name(kernel->column)};
    if (r->slot.composite) r->slot.leaf = 0;
    link_in(r, op, kernel->column);
}

/* ---- resolving (D2, D4) ---- */

static const sh_slot infer_slot = {
    .form = SH_FORM_INFER_ONLY, .leaf = 1, .registrant = "built-in", .backend = "meta"};

static const sh_slot *resolve_one(const sh_op *op, uint32_t backend, bool *passed_on) {
    const sh_registration *r = newest_live(op->columns[backend]);
    *passed_on = r && r->fallthrough;
    if (r) return r->fallthrough ? NULL : &r->slot;
    if (sh_backend_device(backend) == SH_META && sh__op_infers(op)) return &infer_slot;
    r = newest_live(op->columns[SH_COLUMN_COMPOSITE]);
    if (r) return &r->slot;
    r = newest_live(fallbacks[backend]);
    *passed_on = r && r->fallthrough;
    return r && !r->fallthrough ? &r->slot : NULL;
}

const sh_slot *sh__slot_resolve(const sh_op *op, uint32_t backend) {
    for (int b = (int)backend; b >= 0; b = sh__backend_next((uint32_t)b)) {
        bool passed_on;
        const sh_slot *slot = resolve_one(op, (uint32_t)b, &passed_on);
        if (slot || !passed_on) return slot;
    }
    return NULL;
}

static const sh_slot *ruled_slot(void) {
    static const sh_slot slot = {
        .ruled = 1, .form = SH_FORM_BOXED, .registrant = "rules", .backend = "rules"};
    return &slot;
}

void sh__slots_publish(sh_op *op) {
    const bool ruled = sh__rules_touch(op);
    for (uint32_t b = 0; b < sh_backend_count(); b++)
        atomic_store_explicit(&op->slots[b], ruled ? ruled_slot() : sh__slot_resolve(op, b),
                              memory_order_release);
}

void sh__slots_publish_all(void) {
    for (uint32_t id = 0; id < sh_op_count(); id++) sh__slots_publish(sh__op_at(id));
}

/* The live table against a second reading of the registrations (D5). */
static sh_status check_op(const sh_op *op) {
    const bool ruled = sh__rules_touch(op);
    for (uint32_t b = 0; b < sh_backend_count(); b++) {
        const sh_slot *live = atomic_load(&op->slots[b]),
                      *expected = ruled ? ruled_slot() : sh__slot_resolve(op, b);
        if (live != expected)
            return sh_fail(SH_ERROR_KERNEL, "the slot of %s for %s is %s, the registrations say %s", op->name,
                           sh_backend_name(b), live ? live->registrant : "empty",
                           expected ? expected->registrant : "empty");
    }
    return SH_OK;
}

sh_status sh_table_check(void) {
    sh_status status = SH_OK;
    sh__table_lock();
    for (uint32_t id = 0; id < sh_op_count() && status >= 0; id++) status = check_op(sh__op_at(id));
    sh__table_unlock();
    return status;
}

/* ---- registering ---- */

static sh_status column_index(const char *backend, uint32_t *column) {
    if (backend && strcmp(backend, SH_COMPOSITE) == 0) {
        *column = SH_COLUMN_COMPOSITE;
        return SH_OK;
    }
    const int found = backend ? sh_backend_find(backend) : -1;
    if (found < 0) return sh_fail(SH_ERROR_KERNEL, "there is no backend %s", backend ? backend : "NULL");
    *column = (uint32_t)found;
    return SH_OK;
}

static void note_replaced(const sh_registration *r, const char *backend) {
    const sh_registration *before = newest_live(r->older);
    if (before)
        sh_warn("kernel of %s for %s: %s replaces %s", r->op ? r->op->name : "all ops", backend,
                r->slot.registrant, before->slot.registrant);
}

static void publish_for(sh_op *op) {
    if (op)
        sh__slots_publish(op);
    else
        sh__slots_publish_all();
}

sh_registration *sh__register_locked(sh_op *op, uint32_t column, sh_boxed boxed, void *user,
                                     const char *registrant) {
    sh_registration *r = sh__calloc(1, sizeof *r);
    char *who = r ? sh__strdup(registrant ? registrant : "unknown") : NULL;
    if (who) {
        r->fallthrough = !boxed;
        r->slot =
            (sh_slot){.boxed = boxed,
                      .user = user,
                      .form = SH_FORM_BOXED,
                      .registrant = who,
                      .composite = column == SH_COLUMN_COMPOSITE,
                      .backend = column == SH_COLUMN_COMPOSITE ? SH_COMPOSITE : sh_backend_name(column)};
        if (enter(r) >= 0) {
            link_in(r, op, column);
            if (op && column == SH_COLUMN_COMPOSITE) atomic_fetch_or(&op->tags, SH_OP_COMPOSITE);
            return r;
        }
    }
    sh__free(who);
    sh__free(r);
    return NULL;
}

static sh_status do_register(const char *name, const char *backend, sh_boxed boxed, void *user,
                             void (*removed)(void *), const char *registrant, sh_kernel *kernel) {
    uint32_t column = 0;
    if (sh__error_pending()) return sh_error()->code;
    SH_TRY(column_index(backend, &column));
    sh_op *op = name ? sh__op_intern(name) : NULL;
    if (name && !op) return sh__error_ensure(SH_ERROR_MEMORY);
    sh__table_lock();
    sh_registration *r = sh__register_locked(op, column, boxed, user, registrant);
    if (r) r->removed = removed;
    if (r) publish_for(op);
    if (r && kernel) *kernel = (sh_kernel){r->index, r->generation};
    sh__table_unlock();
    if (!r) return sh__error_ensure(SH_ERROR_MEMORY);
    note_replaced(r, backend);
    return SH_OK;
}

sh_status sh_kernel_register(const char *name, const char *backend, sh_boxed boxed, void *user,
                             const char *registrant, sh_kernel *kernel) {
    if (!name || !boxed)
        return sh_fail(SH_ERROR_NULL, "sh_kernel_register: %s is NULL", name ? "the kernel" : "name");
    return do_register(name, backend, boxed, user, NULL, registrant, kernel);
}

sh_status sh__kernel_register_owned(const char *name, const char *backend, sh_boxed boxed, void *user,
                                    void (*removed)(void *user), const char *registrant, sh_kernel *kernel) {
    return do_register(name, backend, boxed, user, removed, registrant, kernel);
}

sh_status sh_kernel_fallthrough(const char *name, const char *backend, const char *registrant,
                                sh_kernel *kernel) {
    return do_register(name, backend, NULL, NULL, NULL, registrant, kernel);
}

sh_status sh_backend_fallback(const char *backend, sh_boxed boxed, void *user, const char *registrant,
                              sh_kernel *kernel) {
    if (!boxed) return sh_fail(SH_ERROR_NULL, "sh_backend_fallback: the kernel is NULL");
    if (backend && strcmp(backend, SH_COMPOSITE) == 0)
        return sh_fail(SH_ERROR_KERNEL, "sh_backend_fallback: composite is no backend");
    return do_register(NULL, backend, boxed, user, NULL, registrant, kernel);
}

static sh_registration *alive(sh_kernel kernel) {
    sh_registration *r = at(kernel.index);
    if (r && r->live && r->generation == kernel.generation) return r;
    sh_fail(SH_ERROR_HANDLE, "kernel handle %u is not valid: it was removed or never made", kernel.index);
    return NULL;
}

void sh__remove_locked(sh_registration *r) {
    r->live = 0;
    r->generation++;
}

void sh__kernel_drop_locked(sh_kernel kernel) {
    sh_registration *r = at(kernel.index);
    if (r && r->live && r->generation == kernel.generation) sh__remove_locked(r);
}

sh_status sh_kernel_remove(sh_kernel kernel) {
    sh__table_lock();
    sh_registration *r = alive(kernel);
    if (r) {
        sh__remove_locked(r);
        publish_for(r->op);
    }
    sh__table_unlock();
    if (r && r->removed) r->removed(r->slot.user);
    return r ? SH_OK : SH_ERROR_HANDLE;
}

const sh_slot *sh__kernel_slot(sh_kernel kernel, const sh_op *op) {
    sh__table_lock();
    const sh_registration *r = alive(kernel);
    sh__table_unlock();
    if (!r) return NULL;
    if (!r->fallthrough && (!r->op || r->op == op)) return &r->slot;
    sh_fail(SH_ERROR_HANDLE, "kernel handle %u is no kernel of %s", kernel.index, op->name);
    return NULL;
}

/* ---- finding at call time ---- */

static bool takes_tensors(const sh_op *op) {
    const sh_schema *schema = sh_op_schema(op);
    for (uint32_t i = 0; schema && i < schema->nparams; i++)
        if (schema->params[i].type == SH_TYPE_TENSOR || schema->params[i].type == SH_TYPE_TENSORS)
            return true;
    return !schema;
}

/* What is there to know beside what is registered. */
static const char *hint(const sh_op *op, const char *backend) {
    if (!takes_tensors(op)) return " (it has no tensor argument to choose by)";
    if ((op->tags & SH_OP_CUSTOM) && strcmp(backend, "meta") == 0)
        return " (tensors without data, as in a trace, need an infer function)";
    return "";
}

static void missing(const sh_op *op, const char *backend) {
    char *known = sh_op_describe(op);
    sh_fail(SH_ERROR_KERNEL, "%s: no kernel for backend %s%s; registered: %s", op->name, backend,
            hint(op, backend), known ? known : "?");
    free(known);
}

const sh_slot *sh__backend_slot(const sh_op *op, uint32_t backend) {
    const sh_slot *slot = atomic_load_explicit(&op->slots[backend], memory_order_acquire);
    if (slot && slot->ruled) {
        sh__table_lock();
        slot = sh__slot_resolve(op, backend);
        sh__table_unlock();
    }
    if (!slot) missing(op, sh_backend_name(backend));
    return slot;
}

const sh_slot *sh__slot_find_slow(const sh_call *call, uint32_t backend) {
    const sh_slot *slot = atomic_load_explicit(&call->op->slots[backend], memory_order_acquire);
    const int ruled = slot ? sh__rules_choose(call, call->device) : -1;
    return sh__backend_slot(call->op, ruled >= 0 ? (uint32_t)ruled : backend);
}

const sh_slot *sh__composite_slot(const sh_op *op) {
    sh__table_lock();
    const sh_registration *r = newest_live(op->columns[SH_COLUMN_COMPOSITE]);
    sh__table_unlock();
    if (r) return &r->slot;
    missing(op, SH_COMPOSITE);
    return NULL;
}

/* ---- describing ---- */

static void describe_column(FILE *out, sh_registration *head, const char *backend, bool *any) {
    const sh_registration *r = newest_live(head);
    if (!r) return;
    fprintf(out, "%s%s: %s%s", *any ? ", " : "", backend, r->slot.registrant,
            r->fallthrough ? " (fallthrough)" : "");
    *any = true;
}

char *sh_op_describe(const sh_op *op) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    bool any = false;
    sh__table_lock();
    for (uint32_t b = 0; b < sh_backend_count(); b++)
        describe_column(out, op->columns[b], sh_backend_name(b), &any);
    describe_column(out, op->columns[SH_COLUMN_COMPOSITE], SH_COMPOSITE, &any);
    for (uint32_t b = 0; b < sh_backend_count(); b++)
        if (fallbacks[b]) {
            char name[64];
            snprintf(name, sizeof name, "%s fallback", sh_backend_name(b));
            describe_column(out, fallbacks[b], name, &any);
        }
    sh__table_unlock();
    if (!any) fputs("nothing", out);
    fclose(out);
    return text;
}
