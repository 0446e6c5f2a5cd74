/* 17_broken_kernel.c - a kernel that is wrong at one place is caught by its policy, taken out, and the numbers are right. */
#include <shunt.h>
#include <stdio.h>

/* Adds eight at a time and forgets what is left over. */
static sh_status broken_add(sh_tensor *result, sh_tensor *self, sh_tensor *other, sh_scalar alpha) {
    const float *a = sh_tensor_data(self), *b = sh_tensor_data(other);
    float *to = sh_tensor_data(result);
    (void)alpha;
    for (int64_t i = 0; i + 8 <= sh_tensor_numel(result); i += 8)
        for (int64_t k = 0; k < 8; k++) to[i + k] = a[i + k] + b[i + k];
    return SH_OK;
}

static void print_line(const char *line, void *user) {
    (void)user;
    printf("%s\n", line);
}

int main(void) {
    sh_kernel kernel;
    const sh_kernel_options options = {.size = sizeof options,
                                       .where = "dtype=f32",
                                       .policy = "verify:first=100;fallback",
                                       .registrant = "broken_add"};
    sh_set_warning_sink(print_line, NULL);
    sh_kernel_register_typed(sh_add_kernel(broken_add), &options, &kernel);
    SH_SCOPE {
        sh_tensor *x = sh_arange(16, .dtype = SH_F32), *y = sh_arange(10, .dtype = SH_F32);
        sh_add(x, x); /* 16 elements: right */
        printf("after the first call: %d findings\n", (int)sh_finding_count());
        sh_add_(y, y); /* 10 elements: the last two are not added; y is put right */
        printf("y[9] = %g, findings: %d\n", sh_tensor_at(y, (const int64_t[]){9}), (int)sh_finding_count());
    }
    return sh_error() != NULL || sh_table_check() < 0;
}
