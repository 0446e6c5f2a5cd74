/* BlazeFace, where `make model` has fetched it: the same numbers as ONNX Runtime 1.30 gives for one input. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/onnx/onnx.h"
#include "ops/ops.h"

/* Of one output: its name, some values, the sum of all absolute values, the largest. */
typedef struct output {
    const char *name;
    int64_t numel;
    double first[4], last[2], sum, largest;
} output;

static const output expected[] = {
    {"Identity:0",
     512,
     {-4.665186405, -4.032233238, -4.458826542, -3.800302744},
     {-5.210390091, -4.312284470},
     1745.255437,
     5.238910198},
    {"Identity_1:0",
     384,
     {-4.467541218, -6.572144985, -13.158219337, -23.077196121},
     {-34.087944031, -39.637290955},
     2208.945500,
     46.098972321},
    {"Identity_2:0",
     8192,
     {0.614338994, -0.243025303, 27.691389084, 27.691097260},
     {9.478919983, -4.581980705},
     59190.201115,
     46.864898682},
    {"Identity_3:0",
     6144,
     {1.806437254, 2.568930864, 43.843910217, 43.829864502},
     {60.202823639, -12.203056335},
     108475.330085,
     146.680221558},
};

static sh_tensor *image(void) {
    sh_tensor *t = sh_tensor_new(SH_F32, SH_SIZES(1, 128, 128, 3));
    float *x = sh_tensor_data(t);
    for (int k = 0; k < 128 * 128 * 3; k++) x[k] = (float)(k * 37 % 255 / 127.5 - 1);
    return t;
}

static bool agrees(const sh_tensor *t, const output *o) {
    const float *y = sh_tensor_data(t);
    double sum = 0, worst = 0;
    if (sh_tensor_numel(t) != o->numel) return false;
    for (int64_t i = 0; i < o->numel; i++) sum += fabs((double)y[i]);
    for (int i = 0; i < 4; i++) worst = fmax(worst, fabs((double)y[i] - o->first[i]));
    for (int i = 0; i < 2; i++) worst = fmax(worst, fabs((double)y[o->numel - 2 + i] - o->last[i]));
    return worst <= 1e-5 * o->largest && fabs(sum - o->sum) <= 1e-6 * o->sum;
}

Test(blazeface, gives_what_onnx_runtime_gives) {
    const char *path = "build/models/blazeface.onnx";
    if (access(path, R_OK) != 0) cr_skip_test("not fetched (make model)");
    sh_graph *g = sh_load_onnx(path);
    cr_assert(g != NULL, "%s", sh_error()->message);
    sh_list *out = sh_graph_run(g, SH_LIST(image()));
    cr_assert(out != NULL, "%s", sh_error()->message);
    for (size_t i = 0; i < 4; i++) {
        cr_expect(eq(str, (char *)sh_graph_output_name(g, i), (char *)expected[i].name));
        cr_expect(agrees(sh_contiguous(sh_list_at(out, i)), &expected[i]), "output %s", expected[i].name);
    }
    sh_graph_free(g);
}
