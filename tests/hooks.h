/* hooks.h - kernels that the tests of hooks share, and what was told. */
#ifndef SH_TESTS_HOOKS_H
#define SH_TESTS_HOOKS_H

#include "tests/modes.h"

static char told[8192];
static inline void tell(const char *line, void *user) {
    (void)user;
    const size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s\n", line);
}
static inline void listen(void) { sh_set_warning_sink(tell, NULL); }
static inline bool was_told(const char *words) {
    if (!strstr(told, words)) fprintf(stderr, "told: %s", told);
    return strstr(told, words) != NULL;
}

static inline float *data(sh_call *call) { return sh_tensor_data(sh_call_result(call, 0).as.tensor); }

/* What is behind it plus the number behind `user`. */
static inline sh_status adds(sh_call *call, void *user) {
    SH_TRY(sh_next_kernel(call));
    for (int64_t i = 0; i < sh_tensor_numel(sh_call_result(call, 0).as.tensor); i++)
        data(call)[i] += *(const float *)user;
    return SH_OK;
}
static inline sh_status declines(sh_call *call, void *user) {
    (void)call;
    (void)user;
    return SH_PASS;
}
static inline sh_status fails(sh_call *call, void *user) {
    (void)user;
    data(call)[0] = -99;
    return sh_fail(SH_ERROR_VALUE, "it is broken");
}
static inline sh_status sevens(sh_call *call, void *user) {
    (void)user;
    for (int64_t i = 0; i < sh_tensor_numel(sh_call_result(call, 0).as.tensor); i++) data(call)[i] = 7;
    return SH_OK;
}
static float ten = 10;

static inline sh_kernel hook(const char *op, sh_boxed kernel, void *user, const char *where,
                             const char *policy) {
    sh_kernel k = {0, 0};
    const sh_kernel_options o = {
        .where = where, .policy = policy, .registrant = "mine.so", .user = user, .size = sizeof o};
    cr_assert(eq(int, sh_kernel_register_with(op, kernel, &o, &k), SH_OK), "%s",
              sh_error() ? sh_error()->message : "");
    cr_assert(eq(int, sh_table_check(), SH_OK));
    return k;
}

#endif
