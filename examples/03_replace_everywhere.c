/* Put back an op's old behaviour in a whole program. The net below was written for gelu's tanh approximation; one mode,
 * pushed for the whole process, makes every call site compute the exact form again. Nothing in the net is touched.
 *
 * The same from outside, on any program linked with shunt:
 *     SHUNT_MODES='swap:from=gelu,set=[approximate=none]' ./program */
#include <math.h>
#include <shunt.h>
#include <stdio.h>

static sh_tensor *layer(sh_tensor *x) { return sh_gelu(x, .approximate = "tanh"); }
static sh_tensor *net(sh_tensor *x) { return layer(sh_mul(layer(x), 2.0)); }

static sh_status exact_gelu(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_gelu)
        SH_TRY(sh_call_set_arg_named(call, "approximate", sh_value_string("none")));
    return SH_PASS;
}

static double gelu(double x) { return x / 2 * (1 + erf(x / sqrt(2))); }

int main(void) {
    SH_SCOPE {
        sh_tensor *x = SH_DOUBLES(0.5, 1.0, 2.0);
        const double expected = gelu(2 * gelu(2.0));
        const int64_t last[] = {2};
        printf("tanh form:  %.6f\n", sh_tensor_at(net(x), last));

        sh_mode *mode =
            sh_mode_new(exact_gelu, &(sh_mode_options){.name = "exact_gelu", .kind = SH_MODE_REWRITING});
        sh_push_mode_global(mode); /* under every thread's own modes, until popped */
        printf("with mode:  %.6f\n", sh_tensor_at(net(x), last));
        sh_pop_mode_global(mode);
        sh_mode_release(mode);
        printf("exact gelu: %.6f\n", expected);

        if (sh_mode_push_spec("swap:from=gelu,set=[approximate=none]") < 0) return 1;
        printf("by spec:    %.6f\n", sh_tensor_at(net(x), last));
    }
    return sh_error() != NULL;
}
