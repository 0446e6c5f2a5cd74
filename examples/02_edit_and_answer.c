/* Two modes: one edits arguments on the way down, one answers a call from what it has kept. */
#include <shunt.h>
#include <stdio.h>

/* Every leaky_relu gets another slope; everything below sees only the edited call. */
static sh_status steeper(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_leaky_relu)
        SH_TRY(sh_call_set_arg_named(call, "negative_slope", sh_value_float(0.5)));
    return SH_PASS;
}

/* exp of the same tensor is computed once: later calls are answered with the kept result. */
typedef struct memory {
    sh_tensor *input, *result;
    int hits;
} memory;

static sh_status remember_exp(sh_mode *mode, sh_call *call) {
    memory *m = sh_mode_user(mode);
    if (sh_call_family(call) != SH_OP_exp || sh_call_variant(call) != SH_FUNCTIONAL) return SH_PASS;
    if (sh_call_tensor(call, 0) == m->input) {
        m->hits++;
        return sh_call_set_tensor(call, m->result); /* answered: nothing below runs */
    }
    SH_TRY(sh_next(call));
    m->input = sh_keep(sh_call_tensor(call, 0));
    m->result = sh_keep(sh_call_tensor(call, 0) ? sh_call_result(call, 0).as.tensor : NULL);
    return SH_OK;
}

int main(void) {
    memory m = {NULL, NULL, 0};
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(-2, -1, 0, 1), *y;
        SH_WITH_MODE(steeper) { y = sh_leaky_relu(x); }
        sh_print(stdout, sh_leaky_relu(x));
        sh_print(stdout, y);

        sh_mode *mode = sh_mode_new(remember_exp, &(sh_mode_options){.name = "remember_exp", .user = &m});
        SH_WITH_MODE(mode) { y = sh_add(sh_add(sh_exp(x), sh_exp(x)), sh_exp(x)); }
        sh_print(stdout, y);
        printf("calls seen by the mode: %d, answered from memory: %d\n", (int)sh_mode_calls(mode), m.hits);
        sh_mode_release(mode);
    }
    sh_release(m.input);
    sh_release(m.result);
    return sh_error() != NULL;
}
