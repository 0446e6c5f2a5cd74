/* kernel.c - C functions in the table: registration, and the boxed kernel that all of them share.
 *
 * What a slot points to is a holder that stays for ever, as registrations do. Behind it is the hook: signature, interface
 * and the program for the op's schema, fitted when the schema is known and again when it is another one. A hook that was
 * removed, and a program that was replaced, are freed once no thread runs a C kernel: each thread counts those it is in.
 * A call that finds its hook gone between the slot and here looks its op up again.
 *
 * Between a thread's count and its look at the hook there must be a fence, which costs as much as all of the binding. So
 * calls do without: who frees has the kernel run a fence on every thread (membarrier), where the kernel can. */
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dispatch/ffi/program.h"
#include "dispatch/registry.h"

typedef struct hook {
    sh_signature *signature;
    sh_interface *interface;
    sh_c_function function;
    sh_c_options options;
    struct hook *retired;
    sh_cprogram *old; /* of a retired hook: its program; or all that a retired program consists of */
} hook;

/* Changed under the lock. */
typedef struct holder {
    _Atomic(sh_cprogram *) program; /* NULL until the schema is known, and when the hook is gone */
    _Atomic(hook *) hook;
} holder;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hook *retired; /* under the lock */

/* ---- fences ---- */

#if defined(__SANITIZE_THREAD__)
enum { MAY_ASK = 0 }; /* it knows nothing of membarrier */
#else
enum { MAY_ASK = 1 };
#endif

static bool calls_fence = true; /* until the kernel has said that it will */
static pthread_once_t ask_once = PTHREAD_ONCE_INIT;

/* Before the first kernel is registered, and so before the first call. */
static void ask(void) {
    if (MAY_ASK && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
        calls_fence = false;
}

/* False where it could not be done: then nothing is freed. */
static bool fence_all(void) {
    return calls_fence || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static inline void enter_foreign(atomic_uint *foreign, unsigned n) {
    if (SH_UNLIKELY(calls_fence)) {
        atomic_exchange(foreign, n);
    } else {
        atomic_store_explicit(foreign, n, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
    }
}

/* ---- the end of hooks ---- */

static void hook_free(hook *h) {
    sh__free(h->old);
    sh__interface_free(h->interface);
    sh__signature_free(h->signature);
    sh__free(h);
}

static void is_running(sh_thread_cold *cold, void *user) {
    if (atomic_load(&cold->foreign)) *(bool *)user = true;
}

/* Under the lock. Whoever entered a C kernel after what is retired went out of sight can't have found it. */
static void reclaim(void) {
    bool running = false;
    if (!retired || !fence_all()) return;
    sh__threads_visit(is_running, &running);
    while (!running && retired) {
        hook *h = retired;
        retired = h->retired;
        hook_free(h);
    }
}

static void retire(hook *h) {
    h->retired = retired;
    retired = h;
    reclaim();
}

static void removed(void *user) {
    holder *owner = user;
    pthread_mutex_lock(&lock);
    hook *h = atomic_exchange(&owner->hook, NULL);
    if (h) {
        h->old = atomic_exchange(&owner->program, NULL);
        retire(h);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- programs ---- */

static sh_cprogram *fit(const hook *h, const sh_schema *schema) {
    sh_cprogram *p = sh__cprogram_new(h->signature, schema, &h->options, 0);
    if (!p) return NULL;
    p->interface = h->interface;
    p->function = h->function;
    return p;
}

/* The op's schema came, or is another one. */
static __attribute__((noinline)) const sh_cprogram *refit(holder *owner, const sh_schema *schema) {
    pthread_mutex_lock(&lock);
    const hook *h = atomic_load(&owner->hook);
    sh_cprogram *p = atomic_load(&owner->program);
    if (h && (!p || p->schema != schema)) {
        hook *old = p ? sh__calloc(1, sizeof *old) : NULL;
        sh_cprogram *fresh = !p || old ? fit(h, schema) : NULL;
        if (fresh) atomic_store(&owner->program, fresh);
        if (old) {
            old->old = fresh ? p : NULL;
            retire(old);
        }
        p = fresh;
    }
    pthread_mutex_unlock(&lock);
    return p;
}

/* ---- calls ---- */

/* The kernel was removed after the table was read: what is there now is called in its stead. */
static __attribute__((noinline, cold)) sh_status gone(sh_call *call) { return sh__run_kernel(call); }

static sh_status run_hook(sh_call *call, void *user) {
    holder *owner = user;
    sh_thread *thread = &sh__thread;
    atomic_uint *foreign = &thread->cold->foreign;
    /* A chain that begins finds no other in this thread, whatever a longjmp left here. */
    const unsigned outer = thread->depth > 1 ? atomic_load_explicit(foreign, memory_order_relaxed) : 0;
    enter_foreign(foreign, outer + 1);
    const sh_cprogram *p = atomic_load_explicit(&owner->program, memory_order_acquire);
    if (SH_UNLIKELY(!p || p->schema != call->schema)) p = refit(owner, call->schema);
    const sh_status status = SH_LIKELY(p != NULL) ? sh__crun(p, call) : SH_PASS;
    atomic_store_explicit(foreign, outer, memory_order_release);
    return SH_LIKELY(p != NULL) ? status : sh__error_pending() ? sh_error()->code : gone(call);
}

/* ---- registering ---- */

static hook *hook_new(const char *signature, sh_c_function function, const sh_c_options *options) {
    pthread_once(&ask_once, ask);
    hook *h = sh__calloc(1, sizeof *h);
    if (!h) return NULL;
    h->function = function;
    if (options) h->options = *options;
    h->signature = sh__signature_parse(signature);
    h->interface = h->signature ? sh__interface_new(h->signature) : NULL;
    if (h->interface) return h;
    hook_free(h);
    return NULL;
}

static sh_status check_backend(const char *backend) {
    const int index = backend ? sh_backend_find(backend) : -1;
    if (index < 0 || sh_backend_device((uint32_t)index) != SH_META) return SH_OK;
    return sh_fail(SH_ERROR_KERNEL,
                   "sh_kernel_register_c: tensors of backend %s have no data for a C function", backend);
}

static sh_status fit_now(const hook *h, const char *name, sh_cprogram **program) {
    const sh_op *op = sh_op_find(name);
    const sh_schema *schema = op ? sh_op_schema(op) : NULL;
    if (!schema) return SH_OK;
    *program = fit(h, schema);
    return *program ? SH_OK : sh_error()->code;
}

sh_status sh_kernel_register_c(const char *name, const char *backend, const char *signature,
                               sh_c_function function, const sh_c_options *options, sh_kernel *kernel) {
    if (sh__error_pending()) return sh_error()->code;
    if (!name || !function)
        return sh_fail(SH_ERROR_NULL, "sh_kernel_register_c: %s is NULL", name ? "function" : "name");
    SH_TRY(check_backend(backend));
    hook *h = hook_new(signature, function, options);
    if (!h) return sh_error()->code;
    sh_status status = fit_now(h, name, &h->old);
    holder *owner = status >= 0 ? sh__calloc(1, sizeof *owner) : NULL;
    if (owner) {
        atomic_init(&owner->hook, h);
        atomic_init(&owner->program, h->old);
        const char *who = options && options->registrant ? options->registrant : h->signature->text;
        const sh_kernel_options own = {
            .backend = backend, .registrant = who, .user = owner, .removed = removed};
        status = sh_kernel_register_with(name, run_hook, &own, kernel);
        if (status >= 0) return SH_OK;
    }
    sh__free(owner);
    hook_free(h);
    return sh__error_ensure(status < 0 ? status : SH_ERROR_MEMORY);
}
