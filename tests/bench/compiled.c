/* compiled.c - what a call of something compiled costs: a plan of two small ops, alone and with a mode baked in, and a chain.
 * `compiled count WHAT N` runs one of them alone, for callgrind (instructions.sh, and tests/cost_compile.sh, which judges). */
#include <stdio.h>
#include <string.h>

#include "shunt.h"
#include "tests/bench/timing.h"

static sh_tensor *x, *y;
static sh_mode *mode;

static sh_status add_to_mul(sh_mode *self, sh_call *call) {
    (void)self;
    SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS;
}

/* ---- what is compiled ---- */

static sh_value add_of_mul(sh_values in, void *user) {
    (void)user;
    return sh_value_tensor(sh_add(in.at[0].as.tensor, sh_mul(in.at[1].as.tensor, in.at[0].as.tensor)));
}
static sh_value mul_of_mul(sh_values in, void *user) {
    (void)user;
    return sh_value_tensor(sh_mul(in.at[0].as.tensor, sh_mul(in.at[1].as.tensor, in.at[0].as.tensor)));
}
static sh_value adds(sh_values in, void *user) {
    sh_tensor *sum = in.at[0].as.tensor;
    (void)user;
    for (int i = 0; i < 64; i++) sum = sh_add(sum, in.at[1].as.tensor);
    return sh_value_tensor(sum);
}

static void call(sh_traceable function, int64_t times) {
    sh_compiled *compiled = sh_compile_function(function, NULL, NULL);
    for (int64_t i = 0; i < times; i++) SH_SCOPE sh_compiled_call(compiled, SH_INPUTS(x, y));
    sh_compiled_free(compiled);
}
static void without_modes(int64_t times) { call(mul_of_mul, times); }
static void baked_in(int64_t times) {
    SH_WITH_MODE(mode) call(add_of_mul, times);
}
static void before_the_mode(int64_t times) { call(add_of_mul, times); }
static void chain(int64_t times) { call(adds, times); }

static timed all[] = {
    {"x * y*x, nothing pushed", without_modes, 0},
    {"x + y*x, add->mul baked in", baked_in, 0},
    {"x + y*x, nothing pushed", before_the_mode, 0},
    {"64 adds", chain, 0},
};
enum { N = sizeof all / sizeof *all };

int main(int argc, char **argv) {
    static const char *const wants[] = {"add", NULL};
    x = sh_keep(sh_full(SH_SIZES(2, 2), 1.0));
    y = sh_keep(sh_full(SH_SIZES(2, 2), 0.5));
    mode = sh_mode_new(add_to_mul, &(sh_mode_options){.kind = SH_MODE_REWRITING, .ops = wants});
    if (argc == 4 && strcmp(argv[1], "count") == 0) {
        all[atoi(argv[2]) % N].run(atoll(argv[3]));
        return sh_error() != NULL;
    }
    if (argc == 2 && strcmp(argv[1], "names") == 0) {
        for (int i = 0; i < N; i++) puts(all[i].name);
        return 0;
    }
    time_all(all, N, 15, 20000);
    printf("%-34s %10s\n", "one call compiled, 2x2 f32", "ns");
    for (int i = 0; i < N; i++) printf("%-34s %10.1f\n", all[i].name, all[i].ns);
    return sh_error() != NULL;
}
