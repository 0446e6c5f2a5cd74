/* A function pointer that is an op: an integrator that was written for any float (*)(float) calls exp, and modes see each
 * of its calls. */
#include <shunt.h>
#include <stdio.h>

/* Simpson's rule on 2n strips. It knows nothing of tensors. */
static double integrate(double (*f)(double), double from, double to, int n) {
    const double h = (to - from) / (2 * n);
    double sum = f(from) + f(to);
    for (int i = 1; i < 2 * n; i++) sum += (i % 2 ? 4 : 2) * f(from + i * h);
    return sum * h / 3;
}

static sh_status exp_to_sqrt(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_exp) SH_TRY(sh_call_swap(call, SH_OP_sqrt));
    return SH_PASS;
}

int main(void) {
    sh_closure *closure = sh_closure_new("exp", "double(double)", NULL);
    double (*f)(double) = (double (*)(double))sh_closure_code(closure);
    if (!f) return 1;
    printf("integral of exp over [0, 1]: %.6f\n", integrate(f, 0, 1, 50));
    SH_WITH_MODE(exp_to_sqrt) {
        printf("the same pointer under a mode, sqrt over [0, 1]: %.3f\n", integrate(f, 0, 1, 50));
    }

    sh_mode *check = NULL;
    sh_mode_from_spec("nancheck:inf,out=/dev/null", &check);
    SH_WITH_MODE(check) { printf("over [700, 800]: %f\n", integrate(f, 700, 800, 50)); }
    printf("and why: %s\n", sh_error() ? sh_error()->message : "nothing was found");
    sh_clear_error();
    sh_mode_release(check);
    return sh_closure_free(closure) < 0;
}
