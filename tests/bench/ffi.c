/* ffi.c - what it costs to call a plain C function as a kernel, beside libffi's own call of it; a closure beside a bare
 * closure of libffi; sh_check while nobody looks. */
#include <ffi.h>

#include "shunt.h"
#include "tests/bench/timing.h"

static sh_tensor *x, *y;
static int64_t ran;

/* Three parameters, as most kernels have at least; it does next to nothing. */
static __attribute__((noinline)) void kernel(const float *from, float *to, size_t n) {
    to[0] = from[n - 1];
    ran++;
}

static ffi_cif cif;
static ffi_type *types[] = {&ffi_type_pointer, &ffi_type_pointer, &ffi_type_uint64};

static void direct(int64_t times) {
    void (*volatile f)(const float *, float *, size_t) = kernel;
    for (int64_t i = 0; i < times; i++) f(sh_tensor_data(x), sh_tensor_data(y), 4);
}

static void call_by_hand(const sh_tensor *from, const sh_tensor *to) {
    const void *a = sh_tensor_data(from), *b = sh_tensor_data(to);
    size_t n = (size_t)sh_tensor_numel(from);
    void *args[] = {&a, &b, &n};
    ffi_call(&cif, (void (*)(void))kernel, NULL, args);
}
static void bare(int64_t times) {
    const void *a = sh_tensor_data(x), *b = sh_tensor_data(y);
    size_t n = 4;
    void *args[] = {&a, &b, &n};
    for (int64_t i = 0; i < times; i++) ffi_call(&cif, (void (*)(void))kernel, NULL, args);
}

/* ---- as kernels of one op ---- */

static sh_status boxed_direct(sh_call *call, void *user) {
    (void)user;
    const sh_tensor *from = sh_call_tensor(call, 0), *to = sh_call_tensor(call, 1);
    kernel(sh_tensor_data(from), sh_tensor_data(to), (size_t)sh_tensor_numel(from));
    return SH_OK;
}
static sh_status boxed_ffi(sh_call *call, void *user) {
    (void)user;
    call_by_hand(sh_call_tensor(call, 0), sh_call_tensor(call, 1));
    return SH_OK;
}

static void call_op(const char *name, int64_t times) {
    const sh_argument args[] = {{NULL, sh_value_tensor(x)}, {NULL, sh_value_tensor(y)}};
    sh_value results[SH_MAX_RESULTS];
    for (int64_t i = 0; i < times; i++) sh_call_by_name(name, args, 2, results);
}
static void op_direct(int64_t times) { call_op("bench::direct", times); }
static void op_ffi(int64_t times) { call_op("bench::ffi", times); }
static void op_ours(int64_t times) { call_op("bench::ours", times); }

static void define(const char *name, sh_boxed boxed) {
    char schema[80];
    snprintf(schema, sizeof schema, "%s(Tensor x, Tensor(a!) y) -> ()", name);
    sh_op_define(schema, NULL, NULL);
    if (boxed)
        sh_kernel_register(name, "cpu", boxed, NULL, "bench", NULL);
    else
        sh_kernel_register_c(name, "cpu", "void(const float x[n], float y[n], size_t n)",
                             (sh_c_function)kernel, NULL, NULL);
}

/* ---- closures ---- */

static float (*bare_closure)(float, float);
static float (*our_closure)(float, float);

static void add_handler(ffi_cif *unused, void *value, void **args, void *user) {
    (void)unused;
    (void)user;
    *(float *)value = *(float *)args[0] + *(float *)args[1];
}
static void closure_bare(int64_t times) {
    for (int64_t i = 0; i < times; i++) bare_closure(1, 2);
}
static void closure_ours(int64_t times) {
    for (int64_t i = 0; i < times; i++) our_closure(1, 2);
}
static void make_closures(void) {
    static ffi_cif of_two;
    static ffi_type *floats[] = {&ffi_type_float, &ffi_type_float};
    void *code;
    ffi_closure *c = ffi_closure_alloc(sizeof *c, &code);
    ffi_prep_cif(&of_two, FFI_DEFAULT_ABI, 2, &ffi_type_float, floats);
    ffi_prep_closure_loc(c, &of_two, add_handler, NULL, code);
    bare_closure = (float (*)(float, float))code;
    our_closure =
        (float (*)(float, float))sh_closure_code(sh_closure_new("add", "float(float, float)", NULL));
}

static void check_idle(int64_t times) {
    static const float array[4];
    for (int64_t i = 0; i < times; i++) sh_check(array, 4, "array");
}

static timed all[] = {
    {"the function itself", direct, 0},
    {"ffi_call, interface prepared", bare, 0},
    {"op, kernel that calls it", op_direct, 0},
    {"op, kernel with ffi_call by hand", op_ffi, 0},
    {"op, C kernel by its signature", op_ours, 0},
    {"libffi's closure that adds", closure_bare, 0},
    {"closure of add", closure_ours, 0},
    {"sh_check, nobody looks", check_idle, 0},
};
enum { N = sizeof all / sizeof *all, TURNS = 101 };

int main(void) {
    x = sh_keep(sh_ones(SH_SIZES(4)));
    y = sh_keep(sh_zeros(SH_SIZES(4)));
    ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 3, &ffi_type_void, types);
    define("bench::direct", boxed_direct);
    define("bench::ffi", boxed_ffi);
    define("bench::ours", NULL);
    make_closures();
    if (sh_error()) {
        puts(sh_error()->message);
        return 1;
    }
    time_all(all, N, 25, 20000);
    printf("%-34s %10s %10s\n", "one call, one thread", "ns", "ratio");
    for (int i = 0; i < N; i++)
        printf("%-34s %10.1f %10.2f\n", all[i].name, all[i].ns, all[i].ns / all[1].ns);
    double more[TURNS];
    for (int i = 0; i < TURNS; i++) more[i] = (time_turn(op_ours, 20000) - time_turn(op_ffi, 20000)) * 1e3;
    const double by = median(more, TURNS);
    printf("C kernel over ffi_call by hand, in the same op: %+.1f ns (most: 15)  %s\n", by,
           by <= 15 ? "met" : "MISSED");
    return 0;
}
