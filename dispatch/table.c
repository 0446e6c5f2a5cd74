/* table.c - ops, and the slots that their registrations resolve to.
 *
 * All writers hold the table lock; readers follow atomic pointers to records that are never freed while
 * the process lives. Names are found in a fixed open hash that only grows. */
#include "dispatch/table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/registry.h"
#include "dispatch/suggest.h"

enum { BUCKETS = 16384 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static sh_op *_Atomic by_id[SH_MAX_OPS];
static sh_op *_Atomic by_name[BUCKETS];
static _Atomic uint32_t op_count;

void sh__table_lock(void) { pthread_mutex_lock(&table_lock); }
void sh__table_unlock(void) { pthread_mutex_unlock(&table_lock); }

static uint32_t bucket_of(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash % BUCKETS;
}

static sh_op *find(const char *name) {
    for (uint32_t b = bucket_of(name);; b = (b + 1) % BUCKETS) {
        sh_op *op = atomic_load_explicit(&by_name[b], memory_order_acquire);
        if (!op || strcmp(op->name, name) == 0) return op;
    }
}

static void enter_name(sh_op *op) {
    uint32_t b = bucket_of(op->name);
    while (atomic_load_explicit(&by_name[b], memory_order_relaxed)) b = (b + 1) % BUCKETS;
    atomic_store_explicit(&by_name[b], op, memory_order_release);
}

const sh_op *sh_op_find(const char *name) { return name ? find(name) : NULL; }
sh_op *sh__op_at(uint32_t id) {
    return id < atomic_load_explicit(&op_count, memory_order_acquire)
               ? atomic_load_explicit(&by_id[id], memory_order_acquire)
               : NULL;
}
const sh_op *sh_op_by_id(uint32_t id) { return sh__op_at(id); }
uint32_t sh_op_count(void) { return atomic_load_explicit(&op_count, memory_order_acquire); }
const char *sh_op_name(const sh_op *op) { return op->name; }
uint32_t sh_op_id(const sh_op *op) { return op->id; }
uint32_t sh_op_family(const sh_op *op) { return op->family; }
uint32_t sh_op_tags(const sh_op *op) { return op->tags; }
const sh_schema *sh_op_schema(const sh_op *op) {
    return atomic_load_explicit(&op->schema, memory_order_acquire);
}

const char *sh_op_suggest(const char *name) {
    static const char *names[SH_MAX_OPS];
    size_t n = 0;
    sh__table_lock();
    for (uint32_t id = 0; id < sh_op_count(); id++)
        if (sh_op_schema(sh__op_at(id))) names[n++] = sh__op_at(id)->name;
    const char *near = sh_suggest(name, names, n);
    sh__table_unlock();
    const size_t n_family = strcspn(name, ".");
    if (!name[n_family] || (near && strncmp(near, name, n_family + 1) == 0)) return near;
    char family[96];
    snprintf(family, sizeof family, "%.*s", (int)n_family, name);
    const sh_op *plain = sh_op_find(family); /* any has what PyTorch calls any.dim */
    return plain && sh_op_schema(plain) ? plain->name : near;
}

/* ---- ops ---- */

static sh_status add_op(sh_op *op) {
    const uint32_t id = sh_op_count();
    if (id == SH_MAX_OPS)
        return sh_fail(SH_ERROR_OP, "op %s is one too many: the most is %d", op->name, SH_MAX_OPS);
    op->id = id;
    atomic_store_explicit(&by_id[id], op, memory_order_release);
    enter_name(op);
    atomic_store_explicit(&op_count, id + 1, memory_order_release);
    return SH_OK;
}

static void set_family(sh_op *op, uint32_t family) {
    op->family = family;
    op->bit = (uint16_t)sh__family_bit(family);
    op->word = op->bit / 64;
}

/* What names the family of an overload, without it; NULL and no error for a name that has none. */
static bool family_head(const char *name, const sh_op **head) {
    const char *dot = strchr(strstr(name, "::") ? strstr(name, "::") : name, '.');
    char family[128];
    *head = NULL;
    if (!dot) return true;
    snprintf(family, sizeof family, "%.*s", (int)(dot - name), name);
    *head = sh__op_intern_locked(family);
    return *head != NULL;
}

/* Who finds it in the table finds it whole. */
sh_op *sh__op_intern_locked(const char *name) {
    const sh_op *head;
    sh_op *op = find(name);
    if (op) return op;
    if (!family_head(name, &head)) return NULL;
    op = sh__calloc(1, sizeof *op);
    char *copy = op ? sh__strdup(name) : NULL;
    if (copy) {
        op->name = copy;
        set_family(op, head ? head->id : sh_op_count());
    }
    if (copy && add_op(op) >= 0) return op;
    sh__free(copy);
    sh__free(op);
    return NULL;
}

sh_op *sh__op_intern(const char *name) {
    sh__table_lock();
    sh_op *op = sh__op_intern_locked(name);
    if (op) sh__slots_publish(op);
    sh__table_unlock();
    return op;
}

sh_status sh__family_intern(const char *name, uint32_t *family) {
    const sh_op *op = sh__op_intern(name);
    if (!op) return sh__error_ensure(SH_ERROR_MEMORY);
    *family = op->family;
    return SH_OK;
}

/* ---- what the library brings ---- */

void sh__table_install(sh_op *ops, uint32_t nops, const sh_builtin_kernel *kernels, size_t nkernels) {
    sh__table_lock();
    for (uint32_t i = 0; i < nops; i++) {
        set_family(&ops[i], ops[i].family);
        add_op(&ops[i]);
    }
    for (size_t i = 0; i < nkernels; i++) sh__register_builtin(&ops[kernels[i].op], &kernels[i]);
    sh__slots_publish_all();
    sh__table_unlock();
}
