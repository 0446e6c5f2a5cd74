/* nancheck on calls that write over what they read: what was there before tells birth from arrival. */
#include <math.h>

#include "dispatch/finding.h"
#include "tests/modes.h"

static void begin(void) {
    cr_assert(eq(int, sh_mode_push_spec("nancheck:inf=1,stop=warn,out=/dev/null"), SH_OK));
}
TestSuite(nancheck, .init = begin);

/* Made by no op. */
static sh_tensor *plain(double v) { return sh_tensor_copy_of((const double[]){v, v}, SH_F64, SH_SIZES(2)); }

static char *what(size_t i) { return TEXT(sh_finding_at(i) ? sh_finding_at(i)->what : "nothing"); }

Test(nancheck, a_value_born_in_place_is_born) {
    sh_sqrt_(plain(-1));
    cr_expect(eq(str, what(0), TEXT("NaN born in sqrt_")));
    cr_expect(eq(str, TEXT(sh_finding_at(0)->inputs), TEXT("self (overwritten)")));
}

Test(nancheck, a_value_that_was_there_arrived) {
    sh_neg_(plain(NAN));
    cr_expect(eq(str, what(0), TEXT("NaN arrived in input self of neg_")));
    sh_neg_(plain(NAN));
    cr_expect(eq(u64, sh_finding_count(), 1), "the first arrival is enough");
}

Test(nancheck, a_value_from_another_input_arrived_there) {
    sh_add_(plain(1), plain(-INFINITY));
    cr_expect(eq(str, what(0), TEXT("-Inf arrived in input other of add_")));
}

/* As BLAS has it: out is written where c is read. */
static sh_status update(sh_call *call, void *user) {
    (void)user;
    double *c = sh_tensor_data(sh_call_tensor(call, 1));
    for (int i = 0; i < 2; i++) c[i] *= 1e200;
    return sh_call_set_tensor(call, sh_call_tensor(call, 1));
}

Test(nancheck, views_of_one_memory_are_looked_at_before) {
    double memory[2] = {1e200, 1};
    sh_kernel kernel;
    const sh_op_options options = {.registrant = "test"};
    cr_assert(
        eq(int, sh_op_define("mine::update(Tensor c, Tensor(a!) out) -> Tensor(a!)", &options, NULL), SH_OK));
    cr_assert(eq(int, sh_kernel_register("mine::update", "cpu", update, NULL, "test", &kernel), SH_OK));
    sh_tensor *c = sh_from_data(memory, SH_F64, SH_SIZES(2), SH_SIZES(1), NULL, NULL),
              *out = sh_from_data(memory, SH_F64, SH_SIZES(2), SH_SIZES(1), NULL, NULL);
    cr_assert(sh_call_op("mine::update", c, out) != NULL);
    cr_expect(eq(str, what(0), TEXT("Inf born in mine::update")));
    cr_expect(eq(str, TEXT(sh_finding_at(0)->inputs), TEXT("c (overwritten)")));
}
