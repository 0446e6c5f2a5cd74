/* core.c - what a call costs: nothing pushed, under modes, off to the side. `core count WHAT N` runs one of them alone, for
 * callgrind (instructions.sh). */
#include <stdio.h>
#include <string.h>

#include "dispatch/table.h"
#include "shunt.h"
#include "tests/bench/timing.h"

static sh_tensor *x, *y, *row;

static sh_status passes(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    return SH_PASS;
}
static sh_status calls_next(sh_mode *mode, sh_call *call) {
    (void)mode;
    return sh_next(call);
}

static void add(int64_t times) {
    for (int64_t i = 0; i < times; i += 100) SH_SCOPE {
            for (int k = 0; k < 100; k++) sh_add(x, y);
        }
}
static void broadcast(int64_t times) {
    for (int64_t i = 0; i < times; i += 100) SH_SCOPE {
            for (int k = 0; k < 100; k++) sh_add(x, row);
        }
}
static void in_place(int64_t times) {
    for (int64_t i = 0; i < times; i++) sh_add_(x, y);
}
static void scoped(int64_t times) {
    for (int64_t i = 0; i < times; i++) SH_SCOPE {
            sh_add(x, y);
        }
}

/* `add` under n copies of a mode. */
static void under(sh_callback callback, const char *const *ops, int n, int64_t times) {
    sh_mode *mode = sh_mode_new(callback, &(sh_mode_options){.ops = ops});
    for (int i = 0; i < n; i++) sh_push_mode(mode);
    add(times);
    for (int i = 0; i < n; i++) sh_pop_mode(mode);
    sh_mode_release(mode);
}
static const char *const others[] = {"conv2d", "linear", NULL};
static void pass_1(int64_t times) { under(passes, NULL, 1, times); }
static void pass_2(int64_t times) { under(passes, NULL, 2, times); }
static void pass_4(int64_t times) { under(passes, NULL, 4, times); }
static void pass_8(int64_t times) { under(passes, NULL, 8, times); }
static void next_1(int64_t times) { under(calls_next, NULL, 1, times); }
static void next_4(int64_t times) { under(calls_next, NULL, 4, times); }
static void uninterested_1(int64_t times) { under(passes, others, 1, times); }
static void uninterested_4(int64_t times) { under(passes, others, 4, times); }

/* By name: a built-in op, an op defined at run time that fills the result laid out for it, and the built-in one in a boxed
 * kernel, which does as little. */
static sh_status infer_like_first(const sh_value *args, sh_spec *results, void *user) {
    const sh_tensor *t = args[0].as.tensor;
    (void)user;
    results[0].dtype = sh_tensor_dtype(t);
    results[0].ndim = sh_tensor_ndim(t);
    memcpy(results[0].sizes, sh_tensor_sizes(t), sizeof(int64_t) * (size_t)sh_tensor_ndim(t));
    return SH_OK;
}
static sh_status adds_four(sh_call *call, void *user) {
    const float *a = sh_tensor_data(sh_call_tensor(call, 0)), *b = sh_tensor_data(sh_call_tensor(call, 1));
    float *r = sh_tensor_data(sh_value_as_tensor(sh_call_result(call, 0)));
    (void)user;
    for (int i = 0; i < 4; i++) r[i] = a[i] + b[i];
    return SH_OK;
}
static void by_name(const char *name, int64_t times) {
    for (int64_t i = 0; i < times; i += 100) SH_SCOPE {
            for (int k = 0; k < 100; k++) sh_call_op(name, x, y);
        }
}
static void built_in_by_name(int64_t times) { by_name("add", times); }
static void run_time_op(int64_t times) {
    static bool defined;
    const sh_op_options o = {.cpu = adds_four, .infer = infer_like_first, .tags = SH_OP_PURE};
    if (!defined) sh_op_define("bench::add(Tensor a, Tensor b) -> Tensor", &o, NULL);
    defined = true;
    by_name("bench::add", times);
}
static void boxed_built_in(int64_t times) {
    static bool registered;
    if (!registered) sh_kernel_register("atan2", "cpu", adds_four, NULL, "bench", NULL);
    registered = true;
    by_name("atan2", times);
}

/* The built-in kernel of add, hooked by its C signature, and a boxed kernel that only hands on to it. */
static void typed_kernel(int64_t times) {
    const sh_typed_kernel typed = {SH_OP_add, sh_op_find("add")->slots[SH_BACKEND_CPU]->typed};
    sh_kernel kernel;
    sh_kernel_register_typed(typed, NULL, &kernel);
    add(times);
    sh_kernel_remove(kernel);
}
static sh_status hands_on(sh_call *call, void *user) {
    (void)user;
    return sh_next_kernel(call);
}
static void next_kernel(int64_t times) {
    sh_kernel kernel;
    sh_kernel_register("add", "cpu", hands_on, NULL, "bench", &kernel);
    add(times);
    sh_kernel_remove(kernel);
}

static void push_and_pop(int64_t times) {
    sh_mode *mode = sh_mode_new(passes, NULL);
    for (int64_t i = 0; i < times; i++) {
        sh_push_mode(mode);
        sh_pop_mode(mode);
    }
    sh_mode_release(mode);
}

static timed all[] = {
    {"add 2x2, nothing pushed", add, 0},
    {"add 2x2, a scope each", scoped, 0},
    {"add 2x2 in place", in_place, 0},
    {"add [2,2] + [1,2]", broadcast, 0},
    {"add, 1 mode that passes", pass_1, 0},
    {"add, 2 modes that pass", pass_2, 0},
    {"add, 4 modes that pass", pass_4, 0},
    {"add, 8 modes that pass", pass_8, 0},
    {"add, 1 mode that calls sh_next", next_1, 0},
    {"add, 4 modes that call sh_next", next_4, 0},
    {"add, 1 mode not interested", uninterested_1, 0},
    {"add, 4 modes not interested", uninterested_4, 0},
    {"push + pop", push_and_pop, 0},
    {"add 2x2 by name", built_in_by_name, 0},
    {"a run-time op by name", run_time_op, 0},
    {"a built-in op, boxed kernel, by name", boxed_built_in, 0},
    {"add 2x2, a typed kernel hooked", typed_kernel, 0},
    {"add 2x2, a hook that goes on to it", next_kernel, 0},
};
enum { N = sizeof all / sizeof *all };

int main(int argc, char **argv) {
    x = sh_keep(sh_full(SH_SIZES(2, 2), 1.0));
    y = sh_keep(sh_full(SH_SIZES(2, 2), 0.0));
    row = sh_keep(sh_full(SH_SIZES(1, 2), 0.0));
    if (argc == 4 && strcmp(argv[1], "count") == 0) {
        all[atoi(argv[2]) % N].run(atoll(argv[3]));
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "names") == 0) {
        for (int i = 0; i < N; i++) puts(all[i].name);
        return 0;
    }
    time_all(all, N, 15, 20000);
    printf("%-34s %10s %10s\n", "one call, one thread", "ns", "ratio");
    for (int i = 0; i < N; i++)
        printf("%-34s %10.1f %10.2f\n", all[i].name, all[i].ns, all[i].ns / all[0].ns);
    printf("each further mode: %.1f ns by SH_PASS, %.1f ns by sh_next\n", (all[7].ns - all[4].ns) / 7,
           (all[9].ns - all[8].ns) / 3);
    return 0;
}
