/* mode.h - modes: objects whose callback sees every op before it runs.
 *
 *     static sh_status add_to_mul(sh_mode *mode, sh_call *call) {
 *         if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
 *         return SH_PASS;
 *     }
 *     SH_WITH_MODE(add_to_mul) { z = sh_add(x, y); }    // z = x * y
 *
 * Each thread has its own stack; the last pushed runs first. A callback runs with the stack lowered to
 * what is below its mode, so ops that it calls cannot come back to it. It returns SH_PASS (go on with the
 * call as it stands; after sh_next: keep that result), SH_OK (the result is set) or an error. An error
 * becomes the caller's and leaves every stack as it was. */
#ifndef SH_DISPATCH_MODE_H
#define SH_DISPATCH_MODE_H

#include "dispatch/call.h"

SH_BEGIN_DECLS

typedef struct sh_mode sh_mode;
typedef sh_status (*sh_callback)(sh_mode *mode, sh_call *call);

typedef enum sh_level {
    SH_LEVEL_FUNCTION = 0, /* sees calls as the user made them: linear is one call */
    SH_LEVEL_DISPATCH = 1  /* sees what composites are made of */
} sh_level;

/* What a mode's effect depends on (M14). Compilation and capture rely on it. */
typedef enum sh_mode_kind {
    SH_MODE_STATEFUL = 0, /* anything */
    SH_MODE_REWRITING,    /* on nothing but the call and the mode's configuration version */
    SH_MODE_WATCHING      /* it has no effect on the call */
} sh_mode_kind;

enum {
    SH_MODE_COUNTS_CALLS = 1,     /* keep sh_call_number */
    SH_MODE_KEEPS_COMPOSITES = 2, /* a dispatch-level mode that does not ask for composites to be split */
    SH_MODE_FIRST = 4,            /* runs before every other mode, whatever the push order */
    SH_MODE_LAST = 8,             /* runs after every other mode of its level */
    SH_MODE_CAPTURES = 32, /* records calls: does not see ops issued inside a watching mode's callback */
    SH_MODE_SHARED = 16    /* may enter other threads in a captured context */
};

typedef struct sh_mode_options {
    const char *name; /* shown in reports and errors; default "mode" */
    sh_level level;
    sh_mode_kind kind;
    uint32_t flags; /* SH_MODE_... */
    const char *const
        *ops;   /* the families it wants, by name (defined or not yet), NULL-terminated; NULL = all */
    void *user; /* sh_mode_user */
    void (*destroy)(void *user); /* runs when the last reference ends, no error pending; optional */
    sh_status (*pushed)(sh_mode *mode, bool global); /* may refuse; optional */
    void (*popped)(sh_mode *mode, bool global);      /* optional */
} sh_mode_options;

/* A new mode; the caller owns one reference (sh_mode_release). options may be NULL. */
SH_API sh_mode *sh_mode_new(sh_callback callback, const sh_mode_options *options);
SH_API sh_mode *sh_mode_keep(sh_mode *mode);
SH_API void sh_mode_release(sh_mode *mode);
SH_API void *sh_mode_user(const sh_mode *mode);
SH_API const char *sh_mode_name(const sh_mode *mode);
SH_API uint64_t sh_mode_serial(const sh_mode *mode); /* its identity: never used twice in a process */
SH_API sh_mode_kind sh_mode_kind_of(const sh_mode *mode);
SH_API sh_level sh_mode_level(const sh_mode *mode);
/* Raise the configuration version when the mode's effect changes. */
SH_API void sh_mode_touch(sh_mode *mode);
SH_API uint64_t sh_mode_version(const sh_mode *mode);
/* Callback runs so far, on all threads. */
SH_API uint64_t sh_mode_calls(const sh_mode *mode);
/* Own time in ns (without what runs below it), while sh_mode_time(true) is on in the process. */
SH_API uint64_t sh_mode_own_ns(const sh_mode *mode);
SH_API void sh_mode_time(bool on);

/* ---- the stack ---- */
SH_API sh_status sh_push_mode(sh_mode *mode);
/* Pops `mode`, which must be the last pushed: else an error that names both, and nothing changes. (M2) */
SH_API sh_status sh_pop_mode(sh_mode *mode);
SH_API size_t sh_mode_depth(void);
/* Under every thread's own modes. A pop returns at once; calls in flight may still run the mode. (M1) */
SH_API sh_status sh_push_mode_global(sh_mode *mode);
SH_API sh_status sh_pop_mode_global(sh_mode *mode);
SH_API void sh_mode_pop_all_global(void);
/* Leaves them where they are, unpopped and never reported: in the child of a fork they are the parent's. */
void sh__globals_abandon(void);

typedef struct sh_mode_info {
    sh_mode *mode; /* borrowed */
    bool global;
    size_t position; /* 0 is the first pushed of its stack */
} sh_mode_info;
/* What a call of this thread would meet, in the order it would meet it. Returns how many there are; at most
 * `capacity` are written. */
SH_API size_t sh_modes(sh_mode_info *infos, size_t capacity);
/* "function: log(all) swap(add); dispatch: -", for people. Owned by the caller, free() it. */
SH_API char *sh_modes_describe(void);

/* ---- with a block ---- */
typedef struct sh_mode_guard {
    sh_mode *mode; /* NULL when the push failed or was ended */
} sh_mode_guard;
SH_API sh_mode_guard sh__mode_enter(sh_mode *mode);
SH_API sh_mode_guard sh__mode_enter_callback(sh_callback callback);
SH_API void sh_mode_leave(sh_mode_guard *guard);

/* A mode or a callback function. The body always runs: a push that failed is a pending error. */
#define SH_WITH_MODE(m) SH__BLOCK(sh_mode_guard, SH__UNIQUE(sh__guard), sh_mode_leave, SH__MODE_ENTER(m))
/* To the end of the block it stands in; for use inside loops. */
#define SH_MODE_HERE(m) SH__HERE(sh_mode_guard, SH__UNIQUE(sh__guard), sh_mode_leave, SH__MODE_ENTER(m))
#ifdef __cplusplus
#define SH__MODE_ENTER(m) ::sh__cxx::mode_enter(m)
#else
#define SH__MODE_ENTER(m) _Generic((m), sh_mode * : sh__mode_enter, default : sh__mode_enter_callback)(m)
#endif

/* ---- switches (M11) ---- nested, restored in order */
typedef struct sh_switch {
    struct sh_switch *outer;
    const sh_mode *mode;
    uint32_t before;
    uint8_t open;
} sh_switch;
enum { SH_OFF_ALL = 1, SH_OFF_OVERRIDES = 2 };
/* All interception off, or only tensor overrides; SH_ON undoes both inside. `s` lives until sh_switch_end. */
SH_API void sh_switch_off(sh_switch *s, uint32_t what);
SH_API void sh_switch_on(sh_switch *s);
/* One mode off on this thread. */
SH_API void sh_switch_mode_off(sh_switch *s, const sh_mode *mode);
/* The innermost open switch only: else an error, and nothing changes. */
SH_API sh_status sh_switch_end(sh_switch *s);

/* ---- other threads (M1) ---- a snapshot of this thread's modes and switches */
typedef struct sh_context sh_context;
/* NULL and an error if a capturing mode in it is not marked SH_MODE_SHARED. The caller ends it by sh_context_free. */
SH_API sh_context *sh_context_capture(void);
SH_API void sh_context_free(sh_context *context);
typedef struct sh_context_guard {
    void *saved;
} sh_context_guard;
SH_API sh_status sh_context_enter(const sh_context *context, sh_context_guard *guard);
SH_API void sh_context_leave(sh_context_guard *guard);

/* ---- tensor overrides (M12) ---- the C form of a subclass with __torch_function__ */
typedef struct sh_override_kind sh_override_kind;
/* SH_PASS declines; SH_OK answers. Runs below all function-level modes with overrides off. */
typedef sh_status (*sh_override)(const sh_override_kind *kind, sh_call *call, void *user);
/* `base` may be NULL. Kinds are never freed before process end (sh_override_kind_free ends one that no tensor carries). */
SH_API sh_override_kind *sh_override_kind_new(const char *name, sh_override callback,
                                              const sh_override_kind *base, void *user);
SH_API void sh_override_kind_free(sh_override_kind *kind);
SH_API const char *sh_override_kind_name(const sh_override_kind *kind);
SH_API sh_status sh_tensor_set_override(sh_tensor *t, const sh_override_kind *kind); /* NULL takes it off */
SH_API const sh_override_kind *sh_tensor_override(const sh_tensor *t);

SH_END_DECLS

#ifdef __cplusplus
namespace sh__cxx {
inline sh_mode_guard mode_enter(sh_mode *mode) { return sh__mode_enter(mode); }
inline sh_mode_guard mode_enter(sh_callback callback) { return sh__mode_enter_callback(callback); }
} // namespace sh__cxx
#endif

#endif
