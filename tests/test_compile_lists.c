/* test_compile_lists.c - long lists of tensors, given to a compiled call and within it. */
#include <math.h>

#include "tests/compile.h"

TestSuite(compile_lists);

enum { MANY = 300, MANY_INPUTS = 200 };

static sh_value joins_many(sh_values in, void *user) {
    sh_tensor *parts[MANY];
    (void)user;
    for (int i = 0; i < MANY; i++) parts[i] = sh_add(in.at[0].as.tensor, i);
    return sh_value_tensor(sh_cat(sh_tensors_of(parts, MANY)));
}

Test(compile_lists, as_many_tensors_are_joined_as_there_are) {
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(1, 2, 3);
        sh_compiled *c = compile_exactly(joins_many, NULL);
        for (int i = 0; i < 2; i++)
            cr_expect(same_bits(call_compiled(c, x, NULL), call_eager(joins_many, NULL, x, NULL)));
        no_error();
        sh_compiled_free(c);
    }
}

/* The first is read before and after the last is written to. */
static sh_value writes_the_last(sh_values in, void *user) {
    const sh_tensors list = sh_value_as_tensors(in.at[0]);
    (void)user;
    sh_tensor *before = sh_tanh(list.at[0]);
    sh_add_(list.at[list.n - 1], 1);
    return sh_value_tensor(sh_sub(sh_tanh(list.at[0]), before));
}

Test(compile_lists, that_the_last_shares_memory_with_the_first_is_guarded) {
    SH_SCOPE {
        sh_tensor *list[MANY_INPUTS];
        for (int i = 0; i < MANY_INPUTS; i++) list[i] = sh_zeros(SH_SIZES(2));
        const sh_value input = sh_value_tensors(sh_tensors_of(list, MANY_INPUTS));
        sh_compiled *c = compile_exactly(writes_the_last, NULL);
        for (int i = 0; i < 2; i++) {
            const sh_value y = sh_compiled_call(c, (sh_values){&input, 1});
            no_error();
            cr_expect(epsilon_eq(dbl, sh_item(sh_amax(y.as.tensor)), i ? tanh(1) : 0, 1e-6));
            list[MANY_INPUTS - 1] = sh_reshape(list[0], SH_SIZES(2));
        }
        sh_compiled_free(c);
    }
}
