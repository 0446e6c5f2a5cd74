/* test_format.c - printing: what torch 1.13 prints for the same tensors. */
#include <math.h>
#include <stdlib.h>

#include "tests/modes.h"

static void prints(const sh_tensor *t, const char *expected) {
    char *text = sh_tensor_text(t);
    cr_assert(eq(str, text, TEXT(expected)));
    free(text);
}

Test(format, prints_as_torch_does) {
    prints(sh_mul(sh_tensor_copy_of((float[]){0, 1, 2, 3}, SH_F32, SH_SIZES(2, 2)), 0.5),
           "tensor([[0.0000, 0.5000],\n"
           "        [1.0000, 1.5000]])");
    prints(SH_FLOATS(1, 2, 3), "tensor([1., 2., 3.])");
    prints(SH_FLOATS(0, 0), "tensor([0., 0.])");
    prints(SH_FLOATS(1e-5f, 1), "tensor([1.0000e-05, 1.0000e+00])");
    prints(SH_FLOATS(NAN, 1.5f, INFINITY), "tensor([   nan, 1.5000,    inf])");
    prints(SH_FLOATS(NAN, -INFINITY), "tensor([nan, -inf])");
    prints(SH_INT64S(1, 20, -300), "tensor([   1,   20, -300])");
    prints(sh_full(SH_SCALAR_SHAPE, 3.5), "tensor(3.5000)");
    prints(sh_full(SH_SCALAR_SHAPE, 3.5, .dtype = SH_F64), "tensor(3.5000, dtype=torch.float64)");
    prints(sh_full(SH_SIZES(2, 0, 3), 0.0), "tensor([], size=(2, 0, 3))");
    prints(sh_full(SH_SIZES(0), 0.0), "tensor([])");
    prints(sh_full(SH_SIZES(2, 2, 2), 1.0, .dtype = SH_F16), "tensor([[[1., 1.],\n"
                                                             "         [1., 1.]],\n"
                                                             "\n"
                                                             "        [[1., 1.],\n"
                                                             "         [1., 1.]]], dtype=torch.float16)");
    prints(sh_full(SH_SIZES(3), 1, .dtype = SH_B8), "tensor([True, True, True])");
    prints(sh_full(SH_SIZES(1200), 1.5), "tensor([1.5000, 1.5000, 1.5000,  ..., 1.5000, 1.5000, 1.5000])");
    prints(sh_full(SH_SIZES(40, 40), -1.0), "tensor([[-1., -1., -1.,  ..., -1., -1., -1.],\n"
                                            "        [-1., -1., -1.,  ..., -1., -1., -1.],\n"
                                            "        [-1., -1., -1.,  ..., -1., -1., -1.],\n"
                                            "        ...,\n"
                                            "        [-1., -1., -1.,  ..., -1., -1., -1.],\n"
                                            "        [-1., -1., -1.,  ..., -1., -1., -1.],\n"
                                            "        [-1., -1., -1.,  ..., -1., -1., -1.]])");
    prints(sh_full(SH_SIZES(9, 9, 20), 7, .dtype = SH_I32),
           "tensor([[[7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         ...,\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7]],\n"
           "\n"
           "        [[7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         ...,\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7]],\n"
           "\n"
           "        [[7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         ...,\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7]],\n"
           "\n"
           "        ...,\n"
           "\n"
           "        [[7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         ...,\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7]],\n"
           "\n"
           "        [[7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         ...,\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7]],\n"
           "\n"
           "        [[7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         ...,\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7],\n"
           "         [7, 7, 7,  ..., 7, 7, 7]]], dtype=torch.int32)");
    prints(sh_full(SH_SIZES(40), 1.25),
           "tensor([1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500,\n"
           "        1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500,\n"
           "        1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500,\n"
           "        1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500,\n"
           "        1.2500, 1.2500, 1.2500, 1.2500])");
    prints(sh_full(SH_SIZES(2, 3), 1e9), "tensor([[1.0000e+09, 1.0000e+09, 1.0000e+09],\n"
                                         "        [1.0000e+09, 1.0000e+09, 1.0000e+09]])");
    prints(sh_full(SH_SIZES(17), 1.25, .dtype = SH_F64),
           "tensor([1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500,\n"
           "        1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500],\n"
           "       dtype=torch.float64)");
    prints(sh_full(SH_SIZES(8), 1.25, .dtype = SH_BF16),
           "tensor([1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500],\n"
           "       dtype=torch.bfloat16)");
    prints(SH_FLOATS(1000, 1), "tensor([1000.,    1.])");
    prints(SH_FLOATS(1001, 1), "tensor([1.0010e+03, 1.0000e+00])");
    prints(sh_tensor_copy_of((float[]){-1.5f, 2, 100.25f, 0}, SH_F32, SH_SIZES(2, 2)),
           "tensor([[ -1.5000,   2.0000],\n"
           "        [100.2500,   0.0000]])");
    prints(sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(5, 2)), "tensor(..., device='meta', size=(5, 2))");
}

Test(format, precision_threshold_edges_and_width_can_be_set) {
    sh_set_print_options(&(sh_print_options){
        .precision = 2, .threshold = 5, .edge_items = 1, .line_width = 40, .sci_mode = 1});
    prints(sh_full(SH_SIZES(4, 9), 1.5), "tensor([[1.50e+00,  ..., 1.50e+00],\n"
                                         "        ...,\n"
                                         "        [1.50e+00,  ..., 1.50e+00]])");
    sh_set_print_options(NULL);
    prints(SH_FLOATS(1), "tensor([1.])");
}

Test(format, allclose_takes_tolerances_nan_and_infinities) {
    sh_tensor *a = SH_FLOATS(1, INFINITY, NAN), *b = SH_FLOATS(1.000001f, INFINITY, NAN);
    cr_assert(not(sh_allclose(a, b)));
    cr_assert(sh_allclose(a, b, .equal_nan = true));
    cr_assert(not(sh_allclose(a, b, .rtol = 0, .atol = 0, .equal_nan = true)));
    cr_assert(sh_allclose(SH_FLOATS(2), SH_INT64S(2, 2)));
    cr_assert(not(sh_allclose(a, NULL)));
    cr_assert(failed_with(SH_ERROR_NULL, "b"));
    cr_assert(not(sh_allclose(a, SH_FLOATS(1, 2))));
    cr_assert(failed_with(SH_ERROR_SHAPE, "[2]"));
    cr_assert(sh_equal(SH_INT64S(INT64_MAX), SH_INT64S(INT64_MAX)));
    cr_assert(not(sh_equal(SH_INT64S(INT64_MAX), SH_INT64S(INT64_MAX - 1))));
    cr_assert(not(sh_equal(SH_INT64S(1), SH_FLOATS(1))));
}

static int deleted;
static void count_deleted(DLManagedTensorVersioned *self) {
    (void)self;
    deleted++;
}

Test(format, dlpack_hands_tensors_over_without_a_copy) {
    sh_tensor *t = sh_transpose(sh_rand(SH_SIZES(3, 4)), 0, 1), *back;
    const int64_t live = sh_memory_stats_get().live_tensors;
    SH_SCOPE {
        back = sh_from_dlpack(sh_to_dlpack(t));
        cr_assert(sh_equal(back, t));
        cr_assert(eq(ptr, sh_tensor_data(back), sh_tensor_data(t)));
        cr_assert(eq(i64, sh_tensor_stride(back, 1), 4));
        cr_assert(sh_equal(sh_from_dlpack_unversioned(sh_to_dlpack_unversioned(t)), t));
    }
    cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live));
    cr_assert(eq(int, sh_tensor_refs(t), 1));
    float data[6] = {1, 2, 3, 4, 5, 6};
    int64_t shape[2] = {2, 3};
    DLManagedTensorVersioned m = {
        {1, 0}, NULL, count_deleted, 0, {data, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0}};
    SH_SCOPE { cr_assert(eq(dbl, sh_tensor_at(sh_from_dlpack(&m), (const int64_t[]){1, 2}), 6)); }
    cr_assert(eq(int, deleted, 1));
    m.dl_tensor.dtype.lanes = 4;
    cr_assert(eq(ptr, sh_from_dlpack(&m), NULL));
    cr_assert(failed_with(SH_ERROR_DTYPE, "lanes"));
    m.dl_tensor.dtype.lanes = 1;
    m.dl_tensor.device.device_type = 2;
    cr_assert(eq(ptr, sh_from_dlpack(&m), NULL));
    cr_assert(failed_with(SH_ERROR_DEVICE, "2"));
    m.dl_tensor.device.device_type = 1;
    m.version.major = 9;
    cr_assert(eq(ptr, sh_from_dlpack(&m), NULL));
    cr_assert(failed_with(SH_ERROR_UNSUPPORTED, "9"));
    cr_assert(eq(int, deleted, 1));
}
