/* A mode that replaces add by mul around a block of code, without touching a line in it. */
#include <shunt.h>
#include <stdio.h>

static sh_status add_to_mul(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS; /* go on, with the call as it now stands */
}

static sh_tensor *f(sh_tensor *x, sh_tensor *y) { return sh_add(x, sh_mul(y, x)); } /* x + y * x */

int main(void) {
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(1, 2, 3), *y = SH_FLOATS(10, 20, 30), *z;
        sh_print(stdout, f(x, y));
        SH_WITH_MODE(add_to_mul) { z = f(x, y); } /* x * (y * x) */
        sh_print(stdout, z);
        printf("as expected: %s\n", sh_allclose(z, sh_mul(sh_mul(x, y), x)) ? "yes" : "no");
    }
    return sh_error() != NULL;
}
