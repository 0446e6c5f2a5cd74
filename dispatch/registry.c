/* registry.c - registering kernels, and what slot follows from the registrations.
 *
 * Every column (op, backend) is a list, newest first; the newest live one counts. A handle is an index
 * with a generation: once removed it is dead for good. Removed records stay allocated, since a call in
 * flight may hold the slot inside. */
#include "dispatch/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/candidates.h"
#include "dispatch/foreign.h"
#include "dispatch/journal.h"

enum { CHUNK = 256, CHUNKS = 4096 };

static sh_registration **chunks[CHUNKS]; /* registrations by index */
static uint32_t registration_count;
static sh_registration *_Atomic fallbacks[SH_MAX_BACKENDS];
atomic_bool sh__table_watched;

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

static sh_registration *_Atomic *column_of(sh_op *op, uint32_t column) {
    return op ? &op->columns[column] : &fallbacks[column];
}

static const sh_registration *newest_live(const sh_registration *r) {
    while (r && atomic_load(&r->state) == SH_KERNEL_REMOVED) r = r->older;
    return r;
}

const sh_registration *sh__fallback_of(uint32_t backend) {
    return atomic_load_explicit(&fallbacks[backend], memory_order_acquire);
}

/* In front of all others of its column, or behind them. */
static void link_in(sh_registration *r, sh_op *op, uint32_t column, bool base) {
    sh_registration *_Atomic *at = column_of(op, column);
    r->op = op;
    r->column = column;
    atomic_store(&r->state, SH_KERNEL_LIVE);
    for (sh_registration *older; base && (older = atomic_load(at));) at = &older->older;
    atomic_store(&r->older, atomic_load(at));
    atomic_store_explicit(at, r, memory_order_release);
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
    link_in(r, op, kernel->column, false);
}

/* ---- what the table holds (D2, D4) ---- */

/* The call decides: a rule touches the op, the first candidate has a condition or policy, or calls are watched. */
static const sh_slot *slot_for(const sh_op *op, uint32_t backend, bool ruled) {
    static const sh_slot looks_around = {
        .ruled = 1, .form = SH_FORM_BOXED, .registrant = "rules", .backend = "rules"};
    const sh_slot *slot = ruled ? NULL : sh__slot_resolve(op, backend);
    return ruled || (slot && sh__slot_is_special(slot)) ? &looks_around : slot;
}

atomic_uint_fast64_t sh__table_version, sh__configuration;

static bool is_ruled(const sh_op *op) { return atomic_load(&sh__table_watched) || sh__rules_touch(op); }

void sh__slots_publish(sh_op *op) {
    const bool ruled = is_ruled(op);
    bool changed = false;
    for (uint32_t b = 0; b < sh_backend_count(); b++) {
        const sh_slot *slot = slot_for(op, b, ruled);
        changed |= atomic_exchange_explicit(&op->slots[b], slot, memory_order_acq_rel) != slot;
    }
    if (!changed) return;
    atomic_fetch_add(&sh__table_version, 1);
    sh__configuration_changed();
}

void sh__slots_publish_all(void) {
    for (uint32_t id = 0; id < sh_op_count(); id++) sh__slots_publish(sh__op_at(id));
}

/* The live table against a second reading of the registrations (D5). */
static sh_status check_op(const sh_op *op) {
    const bool ruled = is_ruled(op);
    for (uint32_t b = 0; b < sh_backend_count(); b++) {
        const sh_slot *live = atomic_load(&op->slots[b]), *expected = slot_for(op, b, ruled);
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

static void free_registration(sh_registration *r) {
    if (!r) return;
    if (r->hook) sh_selection_free(&r->hook->where);
    sh__free(r->hook);
    sh__free((void *)(uintptr_t)r->slot.registrant);
    sh__free(r);
}

static sh_status read_hook(sh_hook *hook, const sh_kernel_options *o) {
    hook->conditional = o->where && *o->where;
    hook->calls_ops = (o->flags & SH_KERNEL_CALLS_OPS) != 0;
    SH_TRY(sh_selection_parse(&hook->where, o->where));
    return sh_policy_parse(&hook->policy, o->policy);
}

/* A registration with all that does not depend on the table's state. */
static sh_registration *new_registration(const sh_slot *slot, const sh_kernel_options *o) {
    const bool hooks =
        (o->where && *o->where) || (o->policy && *o->policy) || (o->flags & SH_KERNEL_CALLS_OPS);
    sh_registration *r = sh__calloc(1, sizeof *r);
    char *who = r ? sh__strdup(o->registrant ? o->registrant : "unknown") : NULL;
    if (!who) {
        sh__free(r);
        return NULL;
    }
    r->slot = *slot;
    r->slot.registrant = who;
    r->slot.user = o->user;
    r->removed = o->removed;
    r->slot.hooked = 1;
    if (hooks) r->hook = sh__calloc(1, sizeof *r->hook);
    if (!hooks || (r->hook && read_hook(r->hook, o) >= 0)) return r;
    free_registration(r);
    return NULL;
}

static sh_status link_new(sh_registration *r, sh_op *op, uint32_t column, bool base, sh_kernel *kernel) {
    r->slot.composite = column == SH_COLUMN_COMPOSITE;
    r->slot.backend = r->slot.composite ? SH_COMPOSITE : sh_backend_name(column);
    SH_TRY(enter(r));
    link_in(r, op, column, base);
    if (op && column == SH_COLUMN_COMPOSITE) atomic_fetch_or(&op->tags, SH_OP_COMPOSITE);
    if (kernel) *kernel = (sh_kernel){r->index, r->generation};
    return SH_OK;
}

sh_registration *sh__register_locked(sh_op *op, uint32_t column, sh_boxed boxed, void *user,
                                     const char *registrant) {
    const sh_kernel_options o = {.registrant = registrant, .user = user};
    sh_registration *r = new_registration(&(sh_slot){.boxed = boxed, .form = SH_FORM_BOXED}, &o);
    if (!r) return NULL;
    r->fallthrough = !boxed;
    if (link_new(r, op, column, false, NULL) >= 0) return r;
    free_registration(r);
    return NULL;
}

static void undo_register(uint64_t what) {
    sh_kernel_remove((sh_kernel){(uint32_t)what, (uint32_t)(what >> 32)});
}

/* For one op, or with `name` NULL for all of a backend. */
static sh_status do_register(const char *name, const sh_slot *slot, const sh_kernel_options *o,
                             bool fallthrough, sh_kernel *kernel) {
    uint32_t column = 0;
    if (sh__error_pending()) return sh_error()->code;
    SH_TRY(column_index(o->backend, &column));
    SH_TRY(sh__journal_reserve());
    sh_op *op = name ? sh__op_intern(name) : NULL;
    if (name && !op) return sh__error_ensure(SH_ERROR_MEMORY);
    sh_registration *r = new_registration(slot, o);
    if (!r) return sh__error_ensure(SH_ERROR_MEMORY);
    r->fallthrough = fallthrough;
    sh__table_lock();
    const sh_status status = link_new(r, op, column, (o->flags & SH_KERNEL_BASE) != 0, kernel);
    if (status >= 0) publish_for(op);
    sh__table_unlock();
    if (status < 0) {
        free_registration(r);
        return status;
    }
    sh__journal_note(undo_register, (uint64_t)r->generation << 32 | r->index);
    note_replaced(r, r->slot.backend);
    return SH_OK;
}

/* Of an options struct what its size covers, the rest as if left out. */
static sh_kernel_options options_of(const sh_kernel_options *given) {
    sh_kernel_options o = {0};
    const size_t size = given && given->size && given->size < sizeof o ? given->size : sizeof o;
    if (given) memcpy(&o, given, size);
    if (!o.backend) o.backend = "cpu";
    return o;
}

sh_status sh_kernel_register_with(const char *name, sh_boxed boxed, const sh_kernel_options *options,
                                  sh_kernel *kernel) {
    if (!name || !boxed)
        return sh_fail(SH_ERROR_NULL, "sh_kernel_register_with: %s is NULL", name ? "the kernel" : "name");
    const sh_kernel_options o = options_of(options);
    return do_register(name, &(sh_slot){.boxed = boxed, .form = SH_FORM_BOXED}, &o, false, kernel);
}

sh_status sh_kernel_register_typed(sh_typed_kernel typed, const sh_kernel_options *options,
                                   sh_kernel *kernel) {
    if (!typed.function) return sh_fail(SH_ERROR_NULL, "sh_kernel_register_typed: the kernel is NULL");
    const sh_op *op = sh__op_at(typed.op);
    if (!op || (op->tags & SH_OP_CUSTOM))
        return sh_fail(SH_ERROR_OP, "sh_kernel_register_typed: %u is no built-in op", typed.op);
    const sh_kernel_options o = options_of(options);
    if (strcmp(o.backend, SH_COMPOSITE) == 0)
        return sh_fail(SH_ERROR_KERNEL, "sh_kernel_register_typed: a composite kernel of %s is to be boxed",
                       op->name);
    const bool out = op->thunk_out != NULL;
    const bool leaf = !(o.flags & SH_KERNEL_CALLS_OPS);
    const sh_slot slot = {.typed = typed.function,
                          .form = out ? SH_FORM_OUT : SH_FORM_RETURNS,
                          .leaf = !leaf                        ? 0
                                  : op->tags & SH_OP_COMPOSITE ? SH_LEAF_OF_COMPOSITE
                                                               : SH_LEAF_PLAIN};
    return do_register(op->name, &slot, &o, false, kernel);
}

sh_status sh_kernel_register(const char *name, const char *backend, sh_boxed boxed, void *user,
                             const char *registrant, sh_kernel *kernel) {
    if (!name || !boxed)
        return sh_fail(SH_ERROR_NULL, "sh_kernel_register: %s is NULL", name ? "the kernel" : "name");
    const sh_kernel_options o = {.backend = backend, .registrant = registrant, .user = user};
    return do_register(name, &(sh_slot){.boxed = boxed, .form = SH_FORM_BOXED}, &o, false, kernel);
}

sh_status sh_kernel_register_base(const char *name, const char *backend, sh_boxed boxed, void *user,
                                  const char *registrant, sh_kernel *kernel) {
    if (!name || !boxed)
        return sh_fail(SH_ERROR_NULL, "sh_kernel_register_base: %s is NULL", name ? "the kernel" : "name");
    const sh_kernel_options o = {
        .backend = backend, .registrant = registrant, .user = user, .flags = SH_KERNEL_BASE};
    return do_register(name, &(sh_slot){.boxed = boxed, .form = SH_FORM_BOXED}, &o, false, kernel);
}

sh_status sh_kernel_fallthrough(const char *name, const char *backend, const char *registrant,
                                sh_kernel *kernel) {
    const sh_kernel_options o = {.backend = backend, .registrant = registrant};
    return do_register(name, &(sh_slot){.form = SH_FORM_BOXED}, &o, true, kernel);
}

sh_status sh_backend_fallback(const char *backend, sh_boxed boxed, void *user, const char *registrant,
                              sh_kernel *kernel) {
    if (!boxed) return sh_fail(SH_ERROR_NULL, "sh_backend_fallback: the kernel is NULL");
    if (backend && strcmp(backend, SH_COMPOSITE) == 0)
        return sh_fail(SH_ERROR_KERNEL, "sh_backend_fallback: composite is no backend");
    const sh_kernel_options o = {.backend = backend, .registrant = registrant, .user = user};
    return do_register(NULL, &(sh_slot){.boxed = boxed, .form = SH_FORM_BOXED}, &o, false, kernel);
}

static sh_registration *alive(sh_kernel kernel) {
    sh_registration *r = at(kernel.index);
    if (r && atomic_load(&r->state) && r->generation == kernel.generation) return r;
    sh_fail(SH_ERROR_HANDLE, "kernel handle %u is not valid: it was removed or never made", kernel.index);
    return NULL;
}

void sh__remove_locked(sh_registration *r) {
    atomic_store(&r->state, SH_KERNEL_REMOVED);
    r->generation++;
}

void sh__kernel_drop_locked(sh_kernel kernel) {
    sh_registration *r = at(kernel.index);
    if (r && atomic_load(&r->state) && r->generation == kernel.generation) sh__remove_locked(r);
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

bool sh__kernel_take_out(const sh_registration *r) {
    uint_fast8_t live = SH_KERNEL_LIVE;
    sh__table_lock();
    const bool first =
        atomic_compare_exchange_strong(&((sh_registration *)(uintptr_t)r)->state, &live, SH_KERNEL_OUT);
    if (first) publish_for(r->op);
    sh__table_unlock();
    return first;
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

/* ---- describing ---- */

static void describe_column(FILE *out, const sh_registration *head, const char *backend, bool *any) {
    const sh_registration *r = newest_live(head);
    if (!r) return;
    fprintf(out, "%s%s: %s%s", *any ? ", " : "", backend, r->slot.registrant,
            r->fallthrough                            ? " (fallthrough)"
            : atomic_load(&r->state) == SH_KERNEL_OUT ? " (taken out by verify)"
            : r->hook                                 ? " (on condition)"
                                                      : "");
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
