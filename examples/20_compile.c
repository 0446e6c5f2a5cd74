/* Where this library began: f(x, y) = x + y * x, compiled, then called under a mode that turns add into mul. The mode's effect is
 * baked in, so its callback runs while the plan is made and never again; without the mode there is another plan. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>

static int callbacks;

static sh_status add_to_multiply(sh_mode *mode, sh_call *call) {
    (void)mode;
    callbacks++;
    SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS; /* go on, with the call as it now stands */
}

static sh_value f(sh_values in, void *user) {
    sh_tensor *x = in.at[0].as.tensor, *y = in.at[1].as.tensor;
    (void)user;
    return sh_value_tensor(sh_add(x, sh_mul(y, x)));
}

static void call(const char *how, sh_compiled *compiled, sh_tensor *x, sh_tensor *y) {
    callbacks = 0;
    const sh_value z = sh_compiled_call(compiled, SH_INPUTS(x, y));
    printf("%s, callback runs: %d\n", how, callbacks);
    if (z.tag == SH_TAG_TENSOR) sh_print(stdout, z.as.tensor);
}

int main(void) {
    static const char *const wants[] = {"add", NULL};
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(1, 2, 3), *y = SH_FLOATS(10, 20, 30);
        /* rewriting: what it does depends on nothing but the call */
        sh_mode *mode =
            sh_mode_new(add_to_multiply,
                        &(sh_mode_options){.name = "AddToMultiply", .kind = SH_MODE_REWRITING, .ops = wants});
        sh_compile_options options = SH_COMPILE_OPTIONS_INIT;
        options.name = "f";
        sh_compiled *compiled = sh_compile_function(f, NULL, &options);
        SH_WITH_MODE(mode) {
            call("under the mode, x * y * x", compiled, x, y);
            call("the same again", compiled, x, y);
        }
        call("without the mode, x + y * x", compiled, x, y);
        SH_WITH_MODE(mode) call("under the mode once more", compiled, x, y);

        char *report = sh_compiled_report(compiled);
        if (report) fputs(report, stderr); /* it tells times, too */
        free(report);
        sh_compiled_free(compiled);
        sh_mode_release(mode);
    }
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    return sh_error() != NULL;
}
