/* tsan_define.c - ops and kernels come and go while other threads call, look and push modes: each call works or ends in a clean
 * error, whatever schema it began with. A plain main, as Criterion does not start under TSan. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shunt.h"

enum { CALLERS = 3, ROUNDS = 300 };

static atomic_int failures, passes, calls_that_worked, stop;

static void check(bool right, const char *what) {
    atomic_fetch_add(right ? &passes : &failures, 1);
    if (right) return;
    fprintf(stderr, "FAILED: %s%s%s\n", what, sh_error() ? ": " : "", sh_error() ? sh_error()->message : "");
    sh_clear_error();
}

/* Meets arguments of its own schema only: one tensor, and an integer that is 1 where there is a second argument. */
static sh_status infer_one(const sh_value *args, sh_spec *results, void *user) {
    const sh_tensor *x = args[0].as.tensor;
    if (user && args[1].tag != SH_TAG_INT) return sh_fail(SH_ERROR_VALUE, "arguments of another schema");
    results[0].dtype = sh_tensor_dtype(x);
    results[0].ndim = 1;
    results[0].sizes[0] = sh_tensor_numel(x) * (user ? args[1].as.i : 1);
    return SH_OK;
}

static sh_status fills(sh_call *call, void *user) {
    sh_tensor *r = sh_call_result(call, 0).as.tensor;
    (void)user;
    if (!r) return sh_call_set_tensor(call, sh_full(SH_SIZES(4), 7.0));
    for (int64_t i = 0; i < sh_tensor_numel(r); i++) ((float *)sh_tensor_data(r))[i] = 7;
    return SH_OK;
}

static sh_status watches(sh_mode *mode, sh_call *call) {
    char line[300];
    (void)mode;
    sh_call_print(call, line, sizeof line);
    return strchr(line, '(') ? SH_PASS : SH_ERROR_CALLBACK;
}

static bool is_clean(void) {
    const sh_error_info *e = sh_error();
    return e && (e->code == SH_ERROR_OP || e->code == SH_ERROR_KERNEL || e->code == SH_ERROR_ARGUMENT ||
                 e->code == SH_ERROR_HANDLE);
}

static void call_once(void) {
    sh_tensor *x = sh_full(SH_SIZES(4), 1.0), *r = sh_call_op("t::moving", x);
    if (r) {
        atomic_fetch_add(&calls_that_worked, 1);
        check(sh_tensor_at(r, (const int64_t[]){0}) == 7, "a call that worked gives what its kernel gives");
    } else {
        check(is_clean(), "a call that did not ends in a clean error");
        sh_clear_error();
    }
    sh_tensor *y = sh_add(x, x);
    check(y && sh_tensor_at(y, (const int64_t[]){1}) == 2, "built-in ops are not disturbed");
}

static void *caller(void *argument) {
    (void)argument;
    while (!atomic_load(&stop)) {
        SH_SCOPE call_once();
        SH_SCOPE SH_WITH_MODE(watches) call_once();
        const sh_op *op = sh_op_find("t::moving");
        if (op) (void)sh_op_tags(op);
    }
    return NULL;
}

/* By turns with one parameter and with two. */
static void define_and_end(int round) {
    static const int marker = 1;
    sh_op_options o = SH_OP_OPTIONS_INIT;
    sh_kernel k;
    o.infer = infer_one;
    o.cpu = o.composite = fills;
    o.user = round % 2 ? (void *)(uintptr_t)&marker : NULL;
    o.registrant = "tsan";
    check(sh_op_define(round % 2 ? "t::moving(Tensor x, int n=1) -> Tensor" : "t::moving(Tensor x) -> Tensor",
                       &o, NULL) >= 0,
          "define");
    check(sh_kernel_register("t::moving", "cpu", fills, NULL, "tsan", &k) >= 0, "register");
    SH_SCOPE sh_call_op("t::moving", sh_full(SH_SIZES(4), 1.0));
    check(sh_kernel_remove(k) >= 0, "remove");
    check(sh_op_undefine("t::moving") >= 0, "undefine");
    check(sh_table_check() >= 0, "the table is right");
}

static void no_warning(const char *line, void *user) {
    (void)line;
    (void)user;
}

int main(void) {
    pthread_t threads[CALLERS];
    sh_set_warning_sink(no_warning, NULL);
    for (int i = 0; i < CALLERS; i++) pthread_create(&threads[i], NULL, caller, NULL);
    for (int round = 0; round < ROUNDS || (!atomic_load(&calls_that_worked) && round < 20 * ROUNDS); round++)
        define_and_end(round);
    atomic_store(&stop, 1);
    for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
    check(atomic_load(&calls_that_worked) > 0, "some calls met the op");
    printf("%d passed, %d failed\n", atomic_load(&passes), atomic_load(&failures));
    return atomic_load(&failures) != 0;
}
