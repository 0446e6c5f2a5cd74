/* wrapper.h - the functions that stand under a routine's names, and those that call the real ones.
 *
 * While nobody wants to see a call, a wrapper is two tests and a jump: is the op undisturbed, is the caller the object that
 * called last. Only made files include this. */
#ifndef SH_INTERPOSE_WRAPPER_H
#define SH_INTERPOSE_WRAPPER_H

#include "interpose/machine.h"

#define WR_SEEN __attribute__((visibility("default")))

static inline wr_target *wr_bound(wr_binding *binding, const void *site) {
    wr_target *t = atomic_load_explicit(&binding->last, memory_order_acquire);
    return SH_LIKELY(t && wr_serves(t, site)) ? t : wr_bind(binding, site);
}

static inline bool wr_undisturbed(const wr_routine *routine) {
    return !routine->of || sh_op_undisturbed(routine->of, wr_kernel);
}

#define WR_BINDING(symbol_, entry_, prefix_, suffix_, cblas_)                                         \
    static wr_binding binding = {                                                                     \
        .symbol = #symbol_, .entry = &entry_, .prefix = prefix_, .suffix = suffix_, .cblas = cblas_}; \
    const void *const site = __builtin_return_address(0)

#define WR_CALL_VOID(name, type, member, types, arguments)    \
    static void name(wr_function f, void **a, wr_result *r) { \
        (void)r;                                              \
        ((void(*) types)f) arguments;                         \
    }
#define WR_CALL_VALUE(name, type, member, types, arguments) \
    static void name(wr_function f, void **a, wr_result *r) { r->member = ((type(*) types)f)arguments; }

#define WR_ENTRY(name, routine_, dtype_, cblas_) \
    static wr_entry entry_##name = {&routine_, dtype_, #name, call_##name##_, cblas_};

/* ---- one symbol ---- */

#define WR_ONE_VOID(symbol, entry, prefix, suffix, cblas, params, types, arguments, ...) \
    WR_SEEN void symbol params;                                                          \
    WR_SEEN void symbol params {                                                         \
        WR_BINDING(symbol, entry, prefix, suffix, cblas);                                \
        wr_target *const target = wr_bound(&binding, site);                              \
        if (SH_LIKELY(wr_undisturbed(entry.routine))) {                                  \
            ((void(*) types)target->function) arguments;                                 \
            return;                                                                      \
        }                                                                                \
        wr_result value = {0};                                                           \
        void *words[] = {__VA_ARGS__};                                                   \
        wr_intercept(&binding, target, words, &value, site);                             \
    }
#define WR_ONE_VALUE(symbol, entry, prefix, suffix, cblas, type, member, params, types, arguments, ...)  \
    WR_SEEN type symbol params;                                                                          \
    WR_SEEN type symbol params {                                                                         \
        WR_BINDING(symbol, entry, prefix, suffix, cblas);                                                \
        wr_target *const target = wr_bound(&binding, site);                                              \
        if (SH_LIKELY(wr_undisturbed(entry.routine))) return ((type(*) types)target->function)arguments; \
        wr_result value = {0};                                                                           \
        void *words[] = {__VA_ARGS__};                                                                   \
        wr_intercept(&binding, target, words, &value, site);                                             \
        return value.member;                                                                             \
    }

/* ---- the spellings ---- plain; 64-bit integers by OpenBLAS's suffix; the prefix of the wheels of NumPy and SciPy */

#define WR_BARE(...) __VA_ARGS__
#define WR_FORTRAN_VOID(name, type, member, params, types, arguments)                                    \
    WR_ONE_VOID(name##_, entry_##name, "", "", false, params, types, arguments, WR_BARE arguments)       \
    WR_ONE_VOID(name##_64_, entry_##name, "", "64_", false, params, types, arguments, WR_BARE arguments) \
    WR_ONE_VOID(scipy_##name##_, entry_##name, "scipy_", "", false, params, types, arguments,            \
                WR_BARE arguments)                                                                       \
    WR_ONE_VOID(scipy_##name##_64_, entry_##name, "scipy_", "64_", false, params, types, arguments,      \
                WR_BARE arguments)
#define WR_FORTRAN_VALUE(name, type, member, params, types, arguments)                                       \
    WR_ONE_VALUE(name##_, entry_##name, "", "", false, type, member, params, types, arguments,               \
                 WR_BARE arguments)                                                                          \
    WR_ONE_VALUE(name##_64_, entry_##name, "", "64_", false, type, member, params, types, arguments,         \
                 WR_BARE arguments)                                                                          \
    WR_ONE_VALUE(scipy_##name##_, entry_##name, "scipy_", "", false, type, member, params, types, arguments, \
                 WR_BARE arguments)                                                                          \
    WR_ONE_VALUE(scipy_##name##_64_, entry_##name, "scipy_", "64_", false, type, member, params, types,      \
                 arguments, WR_BARE arguments)
#define WR_CBLAS_VOID(symbol, name, type, member, params, types, arguments, ...)                         \
    WR_ONE_VOID(symbol, entry_##name, "", "", true, params, types, arguments, __VA_ARGS__)               \
    WR_ONE_VOID(symbol##64_, entry_##name, "", "64_", true, params, types, arguments, __VA_ARGS__)       \
    WR_ONE_VOID(scipy_##symbol, entry_##name, "scipy_", "", true, params, types, arguments, __VA_ARGS__) \
    WR_ONE_VOID(scipy_##symbol##64_, entry_##name, "scipy_", "64_", true, params, types, arguments,      \
                __VA_ARGS__)
#define WR_CBLAS_VALUE(symbol, name, type, member, params, types, arguments, ...)                          \
    WR_ONE_VALUE(symbol, entry_##name, "", "", true, type, member, params, types, arguments, __VA_ARGS__)  \
    WR_ONE_VALUE(symbol##64_, entry_##name, "", "64_", true, type, member, params, types, arguments,       \
                 __VA_ARGS__)                                                                              \
    WR_ONE_VALUE(scipy_##symbol, entry_##name, "scipy_", "", true, type, member, params, types, arguments, \
                 __VA_ARGS__)                                                                              \
    WR_ONE_VALUE(scipy_##symbol##64_, entry_##name, "scipy_", "64_", true, type, member, params, types,    \
                 arguments, __VA_ARGS__)

#endif
