/* test_frozen.c - what a frozen plan holds, while it is made and afterwards. */
#include "dispatch/tensor_impl.h"
#include "graph/compile/compile_impl.h"
#include "tests/compile.h"
#include "tests/fail_each.h"

TestSuite(frozen);

/* 256 kB of weights, and less than that of all else. */
static sh_module *wide_net(void) {
    sh_module *net = sh_nn_sequential(sh_nn_conv2d(64, 32, 1), sh_nn_batch_norm2d(32), sh_nn_relu(),
                                      sh_nn_conv2d(32, 64, 5), sh_nn_batch_norm2d(64));
    sh_module_eval(net);
    return net;
}
static sh_tensor *wide_image(void) { return sh_rand(SH_SIZES(1, 64, 6, 6)); }

static sh_compiled *freeze(sh_module *net) {
    sh_compile_options frozen = SH_COMPILE_OPTIONS_INIT;
    frozen.frozen = true;
    frozen.winograd = SH_WINOGRAD_OFF;
    sh_compiled *c = sh_compile(net, &frozen);
    sh_module_release(net);
    return c;
}

Test(frozen, a_frozen_plan_holds_its_packed_weights_and_no_others) {
    SH_SCOPE {
        sh_tensor *x = wide_image(), *y;
        const sh_memory_stats before = sh_memory_stats_get();
        sh_module *net;
        SH_SCOPE {
            net = wide_net();
            y = sh_escape(sh_forward(net, x));
        }
        sh_compiled *c = freeze(net);
        cr_expect(sh_allclose(sh_compiled_run(c, x), y, .rtol = 1e-4, .atol = 1e-5));
        no_error();
        const sh_memory_stats with = sh_memory_stats_get();
        cr_expect(lt(i64, with.live_bytes - before.live_bytes, 16384));
        cr_expect(le(i64, with.cached_bytes, before.cached_bytes + 65536));
        sh_compiled_free(c);
    }
}

Test(frozen, what_the_caller_holds_of_a_frozen_module_stays_as_it_was) {
    SH_SCOPE {
        sh_module *net = sh_module_keep(wide_net());
        sh_tensor *x = wide_image(), *y = sh_forward(net, x);
        sh_tensor *weight = sh_module_parameter(net, "0.weight"), *raw = sh_clone(weight);
        sh_compiled *c = freeze(net);
        cr_expect(sh_allclose(sh_compiled_run(c, x), y, .rtol = 1e-4, .atol = 1e-5));
        cr_expect(same_bits(weight, raw));
        cr_expect(same_bits(sh_forward(net, x), y));
        no_error();
        sh_compiled_free(c);
        sh_module_release(net);
    }
}

static bool freezes_and_runs(void) {
    sh_module *net = wide_net();
    sh_compiled *c = net ? freeze(net) : NULL;
    const bool worked = c && sh_compiled_run(c, wide_image()) != NULL;
    sh_compiled_free(c);
    return worked;
}

Test(frozen, freezing_fails_cleanly_whichever_allocation_fails) {
    freezes_and_runs();
    fail_each("freezing", freezes_and_runs);
}

static sh_value gives_a_number(sh_values in, void *user) {
    (void)in, (void)user;
    return sh_value_int(1);
}

Test(frozen, a_frozen_object_without_a_plan_says_that_its_module_is_gone) {
    SH_SCOPE {
        sh_compile_options frozen = SH_COMPILE_OPTIONS_INIT;
        frozen.frozen = true;
        sh_compiled *c = sh_compile_function(gives_a_number, NULL, &frozen);
        const sh_value in = sh_value_tensor(sh_ones(SH_SIZES(2)));
        sh_compiled_call(c, (sh_values){&in, 1});
        expect_error("a number");
        sh_compiled_call(c, (sh_values){&in, 1});
        expect_error("its module went");
        sh_compiled_free(c);
    }
}
