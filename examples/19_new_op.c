/* An op that the library has never heard of: defined in one call, checked, seen by modes, captured, its kernel replaced. */
#include <math.h>
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the result will be: as x is. No data is read, so it serves traces too. */
static sh_status infer(const sh_value *args, sh_spec *results, void *user) {
    const sh_tensor *x = args[0].as.tensor;
    (void)user;
    if (sh_dtype_kind_of(sh_tensor_dtype(x)) != SH_KIND_FLOAT)
        return sh_fail(SH_ERROR_DTYPE, "mylib::gate: x is of %s, expected floats",
                       sh_dtype_name(sh_tensor_dtype(x)));
    results[0].dtype = sh_tensor_dtype(x);
    results[0].ndim = sh_tensor_ndim(x);
    memcpy(results[0].sizes, sh_tensor_sizes(x), (size_t)results[0].ndim * sizeof *results[0].sizes);
    return SH_OK;
}

/* The op written with other ops: any dtype, any layout. */
static sh_status gate_composite(sh_call *call, void *user) {
    sh_tensor *x = sh_call_tensor(call, 0);
    const double slope = sh_call_arg_named(call, "slope").as.f;
    (void)user;
    return sh_call_set_tensor(call, sh_mul(x, sh_sigmoid(sh_mul(x, slope))));
}

/* A kernel in one loop; what it can't do it leaves to the composite form. `broken` forgets the slope. */
static sh_status gate_kernel(sh_call *call, void *broken) {
    const sh_tensor *x = sh_call_tensor(call, 0);
    const double slope = broken ? 1 : sh_call_arg_named(call, "slope").as.f;
    if (sh_tensor_dtype(x) != SH_F32 || !sh_tensor_is_contiguous(x)) return gate_composite(call, NULL);
    const float *from = sh_tensor_data(x);
    float *to = sh_tensor_data(sh_call_result(call, 0).as.tensor);
    for (int64_t i = 0; i < sh_tensor_numel(x); i++) to[i] = (float)(from[i] / (1 + exp(-slope * from[i])));
    return SH_OK;
}

static void check(const char *when) {
    sh_op_report *report;
    const sh_status status = sh_op_check("mylib::gate", &(sh_op_check_options){.only = "!threads"}, &report);
    printf("%s: %s\n", when, status < 0 ? "found" : "nothing found");
    for (size_t i = 0; i < sh_op_report_count(report) && i < 1; i++)
        printf("    %s: kernel and composite form differ\n", sh_op_report_fault(report, i).check);
    sh_op_report_free(report);
    sh_clear_error();
}

static void show_graph(sh_tensor *x) {
    sh_capture *capture = sh_capture_new(NULL);
    sh_tensor *y = NULL;
    sh_capture_input(capture, x, "x");
    SH_WITH_MODE(sh_capture_mode(capture)) y = sh_relu(sh_call_op("mylib::gate", x, SH_NAMED("slope", 2.0)));
    sh_graph *graph = sh_capture_graph(capture, SH_LIST(y));
    char *text = sh_graph_text(graph);
    puts(text);
    free(text);
    sh_graph_free(graph);
    sh_capture_free(capture);
}

/* Prints what is called, as the log mode does on stderr. */
static sh_status log_call(sh_mode *mode, sh_call *call) {
    char line[200];
    (void)mode;
    SH_TRY(sh_next(call));
    sh_call_print(call, line, sizeof line);
    puts(line);
    return SH_PASS;
}

int main(void) {
    sh_op_options options = SH_OP_OPTIONS_INIT;
    options.infer = infer;
    options.cpu = gate_kernel;
    options.composite = gate_composite;
    options.tags = SH_OP_PURE;
    options.registrant = "example";
    if (sh_op_define("mylib::gate(Tensor x, *, float slope=1.0) -> Tensor", &options, NULL) < 0) return 1;
    SH_SCOPE {
        sh_tensor *x = sh_full(SH_SIZES(2, 3), 1.0);
        check("as it is defined");
        SH_WITH_MODE(log_call) sh_call_op("mylib::gate", x, SH_NAMED("slope", 2.0));
        show_graph(x);

        sh_kernel kernel;
        static int broken;
        sh_kernel_register("mylib::gate", "cpu", gate_kernel, &broken, "a broken kernel", &kernel);
        check("with another kernel");
        sh_kernel_remove(kernel); /* the first one is back */
        check("without it");
    }
    sh_op_undefine("mylib::gate");
    return sh_error() != NULL;
}
