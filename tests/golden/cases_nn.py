"""Cases of convolution, pooling, normalisation, embedding, padding."""

from golden import ALL, FLOATS, INTS, blank, lin, sp, u, v

NAN, INF = float("nan"), float("inf")


def convolution(case):
    for dtype in FLOATS:
        case("conv2d", u(dtype, [1, 2, 4, 4]), u(dtype, [2, 2, 3, 3]), u(dtype, [2])), case("conv1d", u(dtype, [1, 2, 6]), u(dtype, [3, 2, 3]), u(dtype, [3]))
    conv_options(case, "conv1d", [7], [3])
    conv_options(case, "conv2d", [5, 6], [3, 2])
    for kernel, options in [([1, 1], {}), ([1, 1], {"stride": [2, 2]}), ([2, 2], {"stride": [1, 2], "padding": [0, 1]}), ([3, 3], {"padding": [2, 1], "dilation": [2, 1]}), ([5, 6], {}),
                            ([3, 3], {"stride": [2, 2], "padding": [1, 1]}), ([2, 3], {"padding": [1, 2], "dilation": [1, 2], "stride": [3, 2]})]:
        case("conv2d", u("f32", [2, 2, 5, 6]), u("f32", [2, 2, *kernel]), u("f32", [2]), **options)
    depthwise(case)
    conv_layouts(case)
    conv_errors(case)


def conv_options(case, op, size, kernel):
    wide = len(size)
    x, w = [2, 4, *size], [4, 4, *kernel]
    case(op, u("f32", x), u("f32", w)), case(op, u("f32", [4, *size]), u("f32", w), u("f32", [4]))
    for options in [{"stride": 2}, {"padding": 1}, {"dilation": 2}, {"stride": [2] * wide, "padding": [1] * wide, "dilation": [2] * wide}, {"padding": 2, "stride": 3}]:
        case(op, u("f32", [1, *x[1:]]), u("f32", w), u("f32", [4]), **options)
    for groups in [2, 4]:
        case(op, u("f32", [1, *x[1:]]), u("f32", [4, 4 // groups, *kernel]), u("f32", [4]), groups=groups)
    case(op, u("f32", [1, *x[1:]]), u("f32", [8, 1, *kernel]), groups=4, padding=1), case(op, u("f32", [0, *x[1:]]), u("f32", w)), case(op, u("f64", [1, *x[1:]]), u("f64", w), u("f64", [4]), 2, 1, 1, 1)
    case(op, u("f32", [1, *x[1:]]), u("f32", w), None, [2], [0], [1], 1), case(op, u("f32", [1, *x[1:]]), u("f32", w), bias=None)


def depthwise(case):
    case("conv2d", u("f32", [1, 3, 4, 4]), u("f32", [3, 1, 3, 3]), u("f32", [3]), padding=1, groups=3), case("conv2d", u("f32", [1, 3, 4, 4]), u("f32", [6, 1, 3, 3]), stride=2, padding=1, groups=3)
    case("conv2d", u("f32", [1, 16, 3, 3]), u("f32", [16, 1, 3, 3]), u("f32", [16]), padding=1, groups=16, stride=2), case("conv2d", u("f32", [1, 32, 2, 2]), u("f32", [16, 32, 1, 1]), u("f32", [16]))
    case("conv2d", u("f32", [1, 16, 4, 4]), u("f32", [8, 16, 3, 3])), case("conv2d", u("f64", [1, 3, 4, 4]), u("f64", [3, 1, 3, 3]), u("f64", [3]), padding=1, groups=3)


def conv_layouts(case):
    case("conv2d", u("f32", [1, 2, 4, 4]).with_layout([32, 1, 8, 2]), u("f32", [2, 2, 3, 3])), case("conv2d", u("f32", [1, 2, 4, 4]).stepped(), u("f32", [2, 2, 3, 3]).with_layout([18, 1, 6, 2])), case("conv2d", u("f32", [2, 2, 4, 4]).expanded(0), u("f32", [2, 2, 3, 3]).expanded(1), u("f32", [2]).stepped())
    case("conv1d", u("f32", [1, 2, 6]).transposed(), u("f32", [2, 2, 3]).transposed()), case("conv2d", v("f32", 1, NAN, 3, 4, 5, INF, 7, 8, 9, sizes=[1, 1, 3, 3]), u("f32", [1, 1, 2, 2]))
    case("conv2d", v("f32", 1, NAN, 3, 4, 5, INF, 7, 8, 9, sizes=[1, 1, 3, 3]), v("f32", 0, 0, 0, 1, sizes=[1, 1, 2, 2]), padding=1), case("conv2d", u("i64", [1, 1, 3, 3]), u("i64", [1, 1, 2, 2])), case("conv2d", u("f32", [1, 2, 3, 3]), u("f64", [1, 2, 2, 2]))
    case("conv2d", u("f32", [1, 2, 3, 3]), u("f32", [1, 2, 2, 2]), u("f64", [1]))


def conv_errors(case):
    x, w = u("f32", [1, 2, 4, 4]), u("f32", [2, 2, 3, 3])
    for a, b in [([1, 3, 4, 4], [2, 2, 3, 3]), ([2, 2], [2, 2, 3, 3]), ([1, 2, 4, 4], [2, 2, 3]), ([1, 2, 2, 2], [2, 2, 3, 3]), ([1, 1, 2, 4, 4], [2, 2, 3, 3])]:
        case("conv2d", u("f32", a), u("f32", b))
    case("conv2d", x, w, u("f32", [3])), case("conv2d", x, w, u("f32", [2, 1])), case("conv2d", x, w, stride=0), case("conv2d", x, w, padding=-1), case("conv2d", x, w, dilation=0), case("conv2d", x, w, groups=2), case("conv2d", x, w, groups=0), case("conv2d", x, w, stride=[1, 1, 1]), case("conv2d", x, w, dilation=2)
    case("conv1d", u("f32", [1, 2, 4]), u("f32", [2, 3, 3])), case("conv1d", u("f32", [1, 2, 2]), u("f32", [2, 2, 3])), case("conv1d", u("f32", [2]), u("f32", [2, 2, 3])), case("conv1d", u("f32", [1, 3, 4]), u("f32", [3, 1, 3]), groups=2)
    case("conv1d", u("f32", [1, 2, 4]), u("f32", [2, 2, 3]), u("f32", [3]))


def pooling(case):
    for op in ["max_pool2d", "avg_pool2d"]:
        for dtype in FLOATS + INTS:
            case(op, u(dtype, [1, 1, 4, 4]), [2, 2])
        for args, options in [(([2, 2],), {}), ((3,), {}), (([2, 3],), {"stride": [1, 2]}), ((3,), {"stride": 2, "padding": 1}), ((3,), {"stride": 2, "ceil_mode": True}), ((2,), {"stride": 3, "ceil_mode": True}), ((2, 2, 1), {"ceil_mode": True}),
                              (([3, 2],), {"padding": [1, 1], "stride": [2, 1]}), ((5,), {}), ((1,), {}), ((1,), {"stride": 2})]:
            case(op, u("f32", [1, 2, 5, 6]), *args, **options)
        case(op, u("f32", [2, 5, 5]), 2), case(op, u("f32", [1, 1, 4, 4]).transposed(), 2), case(op, u("f32", [1, 2, 4, 4]).with_layout([32, 1, 8, 2]), 2), case(op, u("f32", [2, 1, 4, 4]).expanded(0), 2), case(op, u("f32", [0, 2, 4, 4]), 2), case(op, u("f32", [1, 1, 4, 4]).stepped(), 3, 1)
        case(op, v("f32", 1, NAN, 3, 4, 5, INF, 7, 8, -INF, sizes=[1, 1, 3, 3]), 2, 1), case(op, v("f32", *[-INF] * 4, sizes=[1, 1, 2, 2]), 2), case(op, u("f64", [1, 2, 7, 5]), 3, 2, 1)
        for shape, kernel, options in [([4, 4], 2, {}), ([1, 1, 2, 2], 3, {}), ([1, 1, 4, 4], 0, {}), ([1, 1, 4, 4], 2, {"padding": 2}), ([1, 1, 4, 4], 2, {"stride": 0}), ([1, 1, 4, 4], [2, 2, 2], {}), ([1, 1, 4, 4], 2, {"padding": -1}), ([1, 1, 1, 4, 4], 2, {}), ([1, 0, 4, 4], 2, {}), ([1, 1, 0, 4], 1, {})]:
            case(op, u("f32", shape), kernel, **options)
    case("max_pool2d", u("f32", [1, 1, 5, 5]), 2, dilation=2), case("max_pool2d", u("f32", [1, 1, 6, 6]), 3, 1, 1, 2), case("max_pool2d", u("f32", [1, 1, 6, 6]), [2, 3], [2, 1], [1, 1], [1, 2], True), case("max_pool2d", u("f32", [1, 1, 4, 4]), 2, dilation=0)
    averages(case)


def averages(case):
    for include in [True, False]:
        for ceil in [True, False]:
            case("avg_pool2d", u("f32", [1, 1, 5, 6]), 3, 2, 1, ceil, include), case("avg_pool2d", u("f32", [1, 1, 5, 6]), [2, 3], [3, 2], [1, 0], ceil_mode=ceil, count_include_pad=include)
    case("avg_pool2d", u("f32", [1, 1, 4, 4]), 2, divisor_override=3), case("avg_pool2d", u("f32", [1, 1, 4, 4]), 2, padding=1, divisor_override=1, count_include_pad=False), case("avg_pool2d", u("f32", [1, 1, 4, 4]), 2, divisor_override=0)
    op = "adaptive_avg_pool2d"
    for dtype in FLOATS:
        case(op, u(dtype, [1, 2, 5, 7]), [2, 3])
    for size in [1, [1, 1], [5, 7], [3, 4], [8, 9], [2, 0], [5, 1], [3, 3]]:
        case(op, u("f32", [1, 1, 5, 7]), size)
    case(op, u("f32", [2, 5, 7]), [2, 2]), case(op, u("f32", [1, 2, 4, 4]).transposed(), [3, 2]), case(op, u("f32", [0, 2, 4, 4]), [2, 2]), case(op, u("f32", [1, 2, 4, 4]).with_layout([32, 1, 8, 2]), [1, 1]), case(op, v("f32", 1, NAN, 3, INF, sizes=[1, 1, 2, 2]), [2, 1])
    case(op, u("f32", [4, 4]), [2, 2]), case(op, u("f32", [1, 1, 4, 4]), [2, 2, 2]), case(op, u("f32", [1, 1, 4, 4]), [-1, 2]), case(op, u("f32", [1, 1, 0, 4]), [2, 2]), case(op, u("i32", [1, 1, 4, 4]), [2, 2])


def normalisation(case):
    batch(case)
    op = "layer_norm"
    for dtype in FLOATS:
        case(op, u(dtype, [2, 4]), [4]), case(op, u(dtype, [2, 4]), [4], u(dtype, [4]), u(dtype, [4]))
    for shape, normalized in [([2, 3, 4], [4]), ([2, 3, 4], [3, 4]), ([2, 3, 4], [2, 3, 4]), ([4], [4]), ([0, 3], [3]), ([3, 33], [33])]:
        case(op, u("f32", shape), normalized, u("f32", normalized), u("f32", normalized)), case(op, u("f32", shape).transposed(), normalized, eps=0.1), case(op, u("f32", shape), normalized, weight=u("f32", normalized)), case(op, u("f32", shape).stepped(), normalized, bias=u("f32", normalized).stepped())
    case(op, u("f32", [2, 1]), [1], u("f32", [1]), u("f32", [1]), 0.5)  # with a small eps torch's x * scale + shift cancels
    case(op, v("f32", 1, NAN, 1, INF, 2, 2, sizes=[3, 2]), [2]), case(op, u("f64", [2, 5]), [5], u("f64", [5]), None, 1e-3)
    case(op, u("f32", [2, 4]), [3]), case(op, u("f32", [2, 4]), []), case(op, u("f32", [2, 4]), [4], u("f32", [3])), case(op, u("f32", [2, 4]), [4], u("f32", [4]), u("f32", [2])), case(op, u("f32", [4]), [2, 4]), case(op, u("i32", [2, 4]), [4]), case(op, u("f32", [2, 0]), [0])


def stats(dtype, n):
    return {"running_mean": u(dtype, [n]), "running_var": u(dtype, [n], 0.5, 2)}


def affine(dtype, n):
    return {"weight": u(dtype, [n]), "bias": u(dtype, [n])}


def batch(case):
    op = "batch_norm"
    for dtype in FLOATS:
        case(op, u(dtype, [2, 3, 2]), **stats(dtype, 3)), case(op, u(dtype, [2, 3, 2]), **stats(dtype, 3), **affine(dtype, 3)), case(op, u(dtype, [2, 3, 2]), **stats(dtype, 3), **affine(dtype, 3), training=True)
    for shape in [[4, 3], [2, 3, 4], [2, 3, 2, 2], [2, 3, 1, 2, 2], [1, 3, 5]]:
        case(op, u("f32", shape), **stats("f32", 3), **affine("f32", 3)), case(op, u("f32", shape), training=True), case(op, u("f32", shape), **stats("f32", 3), training=True, momentum=0.3, eps=0.01), case(op, u("f32", shape).transposed(), **stats("f32", 3), weight=u("f32", [3])), case(op, u("f32", shape).stepped(), **stats("f32", 3), bias=u("f32", [3]), eps=0.5)
    case(op, u("f32", [2, 2, 2, 2]).with_layout([8, 1, 4, 2]), **stats("f32", 2), **affine("f32", 2)), case(op, u("f32", [0, 3, 2]), **stats("f32", 3)), case(op, v("f32", 1, NAN, INF, 2, sizes=[2, 2]), **stats("f32", 2)), case(op, v("f32", 1, NAN, INF, 2, 3, 4, 5, 6, sizes=[2, 4]), training=True)
    case(op, u("f32", [2, 3])), case(op, u("f32", [1, 3]), training=True, eps=0.5), case(op, u("f32", [2, 3]), **stats("f32", 2)), case(op, u("f32", [2, 3]), **stats("f32", 3), weight=u("f32", [4])), case(op, u("f32", [2, 3]), **stats("f32", 3), bias=u("f32", [2])), case(op, u("f32", [3]), **stats("f32", 3)), case(op, u("i32", [2, 3]), **stats("f32", 3))
    case(op, u("f32", [2, 3]), running_mean=u("f32", [3])), case(op, u("f32", []), training=True)


def embedding(case):
    for dtype in ALL:
        case("embedding", u(dtype, [4, 2]), v("i64", 3, 0, 1))
    case("embedding", u("f32", [4, 2]), v("i32", 3, 0, 1, 2, sizes=[2, 2])), case("embedding", u("f32", [4, 2]), v("i64", 2, sizes=[])), case("embedding", u("f32", [4, 2]).transposed(), v("i64", 3, 0, 0)), case("embedding", u("f32", [4, 2]), v("i64", 3, 0, 1, 2, 1, 1, sizes=[3, 2]).transposed())
    for index in [0, 3, -1]:
        case("embedding", u("f32", [4, 2]), v("i64", 3, 0, 3), padding_idx=index)
    case("embedding", u("f32", [4, 2]), v("i64", sizes=[0])), case("embedding", u("f32", [4, 0]), v("i64", 1)), case("embedding", u("f32", [4, 2]), v("i64", 4)), case("embedding", u("f32", [4, 2]), v("i64", -1)), case("embedding", u("f32", [4, 2]), v("f32", 1)), case("embedding", u("f32", [4]), v("i64", 1)), case("embedding", u("f32", [2, 2, 2]), v("i64", 1)), case("embedding", u("f32", [0, 2]), v("i64", 0))


def padding(case):
    for dtype in ALL:
        case("pad", u(dtype, [3], 0, 3), [1, 2]), case("pad", u(dtype, [2, 2]), [1, 0, 0, 1], "constant", 2.0), case("pad", u(dtype, [1, 2, 3]), [1, 1], "replicate"), case("pad", u(dtype, [1, 2, 3]), [2, 1], "reflect")
    for pads in [[0, 0], [2, -1], [-1, -1], [1, 1, 2, 0], [0, 0, 1, 0, 0, 2], [-1, 2, 1, -1], [], [-3, 0], [-2, -2], [1], [1, 2, 3], [1, 1, 1, 1, 1, 1, 1, 1]]:
        case("pad", u("f32", [2, 2, 3]), pads), case("pad", u("f32", [2, 2, 3]).transposed(), pads, value=-1.5)
    for mode in ["reflect", "replicate"]:
        for shape, pads in [([1, 2, 4], [3, 1]), ([2, 4], [1, 2]), ([1, 1, 3, 3], [1, 2, 2, 0]), ([1, 3, 3], [1, 1, 1, 1]), ([1, 2, 4], [-1, 1]), ([1, 2, 4], [0, 0]), ([1, 1, 2, 2, 3], [1, 1, 1, 0, 0, 1]), ([1, 2, 3], [3, 0]), ([1, 2, 3], [0, 4]), ([3], [1, 1]), ([1, 2, 3], [1]), ([1, 2, 3], [1, 1, 1, 1, 1, 1]), ([1, 2, 0], [1, 1]), ([1, 2, 3], [-4, 1])]:
            case("pad", u("f32", shape), pads, mode), case("pad", u("f32", shape).stepped(), pads, mode=mode)
    case("pad", u("f32", []), [1, 1]), case("pad", u("f32", [0]), [1, 1]), case("pad", u("f32", [3]), [1, 1], "circularish"), case("pad", u("f32", [2]), [1, 1], "constant", NAN), case("pad", u("f32", [1, 2, 3]), [1, 1], "reflect", 1.0), case("pad", u("i32", [2]), [1, 1], value=2.5), case("pad", sp("f32", [1, 1, 27]), [2, 2], "reflect"), case("pad", u("b8", [2]), [1, 1], value=1)


def dropout(case):
    """Values are random unless nothing or all is dropped."""
    case("dropout", u("f32", [4]), 0.5, False), case("dropout", u("f32", [4]), 0.0, True), case("dropout", u("f32", [4]), 1.0, True), case("dropout", u("f32", [0]), 0.5, True), case("dropout", u("f32", [3]), 1.5, True), case("dropout", u("f32", [3]), -0.1, False)
    case.undefined("dropout", u("f32", [2, 3]).transposed(), 0.5, True), case.undefined("dropout", u("f64", []), 0.5, True), case.undefined("dropout", u("bf16", [5]), 0.5, True)
