"""Calls too large to keep their results: `-> ref` has the runner compare each backend with `ref`, which the other
files check. They reach what small ones don't: vector bodies and tails, blocking, threads, library kernels."""

import torch

from golden import FLOATS, u

ONE = ["exp", "log1p", "sin", "tanh", "sigmoid", "erf", "sqrt", "abs", "relu", "gelu", "silu", "softplus", "round", "neg", "rsqrt", "elu"]
TWO = ["add", "sub", "mul", "div", "maximum", "atan2", "pow", "remainder", "eq", "lt"]
REDUCING = ["sum", "mean", "amax", "amin", "argmax", "var", "std", "norm", "prod", "any", "all", "max", "logsumexp"]


def pointwise(case):
    for op in ONE:
        for dtype in FLOATS:
            case.by_reference(op, u(dtype, [1037], 0.01, 3))
        case.by_reference(op, u("f32", [70001], 0.01, 3)), case.by_reference(op, u("f32", [301, 203], 0.01, 3).transposed())
        case.by_reference(op, u("f32", [60, 70, 11], 0.01, 3).stepped(2, 1))
    for op in TWO:
        for dtype in [*FLOATS, "i64", "i32", "u8"]:
            case.by_reference(op, u(dtype, [1037], 1, 5), u(dtype, [1037], 1, 5))
        case.by_reference(op, u("f32", [70001], 0.5, 3), u("f32", [70001], 0.5, 3)), case.by_reference(op, u("f32", [203, 301], 0.5, 3).transposed(), u("f32", [203, 301], 0.5, 3))
        case.by_reference(op, u("f32", [201, 1], 0.5, 3), u("f32", [1, 333], 0.5, 3)), case.by_reference(op, u("f32", [333], 0.5, 3), u("f32", [201, 333], 0.5, 3)), case.by_reference(op, u("f32", [7, 1, 65, 3], 0.5, 3), u("f32", [9, 1, 3], 0.5, 3))
        case.by_reference(op, u("f32", [4099], 0.5, 3), 2.5), case.by_reference(op, u("i32", [4099], 1, 9), u("f32", [4099], 0.5, 3)), case.by_reference(op, u("f32", [2100], 0.5, 3).stepped(3, 2), u("f32", [2100], 0.5, 3).shifted(1))
    case.by_reference("where", u("b8", [5003]), u("f32", [5003]), u("f32", [5003])), case.by_reference("clamp", u("f32", [5003]), -1.0, 1.0), case.by_reference("lerp", u("f32", [5003]), u("f32", [5003]), 0.3)


def reducing(case):
    for op in REDUCING:
        options = {} if op == "max" else {"dim": 1}
        for dtype in FLOATS:
            case.by_reference(op, u(dtype, [17, 517], 0.9, 1.1), **options)
        case.by_reference(op, u("f32", [517, 300], 0.9, 1.1).transposed(), **options), case.by_reference(op, u("f32", [40, 50, 33], 0.99, 1.01), **options)
        case.by_reference(op, u("f32", [40, 50, 33], 0.99, 1.01), **({} if op == "max" else {"dim": 0}))
        if op not in ("logsumexp", "max"):
            case.by_reference(op, u("f32", [30011], 0.999, 1.001))
    for dim in [0, 1, 2]:
        case.by_reference("softmax", u("f32", [30, 41, 57], -9, 9), dim), case.by_reference("log_softmax", u("f32", [30, 41, 57], -9, 9), dim), case.by_reference("cumsum", u("f32", [30, 41, 57]), dim), case.by_reference("max.dim", u("f32", [30, 41, 57]), dim)


def products(case):
    for m, k, n in [(1, 300, 1), (300, 1, 300), (129, 257, 65), (64, 64, 64), (7, 1000, 9), (256, 300, 128)]:
        for dtype in ["f32", "f64", "bf16", "f16"]:
            case.by_reference("mm", u(dtype, [m, k], -1, 1), u(dtype, [k, n], -1, 1))
        case.by_reference("mm", u("f32", [m, k], -1, 1).transposed(), u("f32", [k, n], -1, 1).transposed()), case.by_reference("linear", u("f32", [m, k], -1, 1), u("f32", [n, k], -1, 1), u("f32", [n]))
        case.by_reference("addmm", u("f32", [n]), u("f32", [m, k], -1, 1), u("f32", [k, n], -1, 1), beta=0.5, alpha=2), case.by_reference("bmm", u("f32", [3, m, k], -1, 1), u("f32", [3, k, n], -1, 1))
    case.by_reference("mv", u("f32", [301, 511], -1, 1), u("f32", [511], -1, 1)), case.by_reference("dot", u("f32", [10007], -1, 1), u("f32", [10007], -1, 1)), case.by_reference("matmul", u("f32", [4, 1, 33, 65], -1, 1), u("f32", [3, 65, 17], -1, 1))
    case.by_reference("mm", u("i64", [65, 70], -9, 9), u("i64", [70, 33], -9, 9))


def images(case):
    for shape, weight, options in [([1, 64, 28, 28], [64, 64, 3, 3], {"padding": 1}), ([2, 3, 65, 63], [16, 3, 5, 5], {"stride": 2, "padding": 2}), ([1, 96, 17, 17], [96, 1, 3, 3], {"padding": 1, "groups": 96}), ([1, 48, 9, 9], [32, 48, 1, 1], {}),
                                   ([1, 24, 30, 30], [48, 12, 3, 3], {"groups": 2, "dilation": 2}), ([3, 17, 11, 13], [5, 17, 3, 2], {"padding": [1, 0]}), ([1, 1, 100, 100], [1, 1, 7, 7], {}), ([1, 24, 16, 16], [24, 1, 3, 3], {"stride": 2, "padding": 1, "groups": 24})]:
        for dtype in ["f32", "f64", "bf16"]:
            case.by_reference("conv2d", u(dtype, shape, -1, 1), u(dtype, weight, -1, 1), u(dtype, weight[:1]), **options)
        case.by_reference("conv2d", u("f32", shape, -1, 1).transposed(), u("f32", weight, -1, 1), **options)
    case.by_reference("conv1d", u("f32", [4, 32, 129], -1, 1), u("f32", [48, 32, 5], -1, 1), u("f32", [48]), stride=2, padding=3), case.by_reference("conv1d", u("f32", [2, 16, 300], -1, 1), u("f32", [16, 1, 3], -1, 1), groups=16)
    for op in ["max_pool2d", "avg_pool2d"]:
        case.by_reference(op, u("f32", [2, 16, 57, 55]), 3, 2, 1), case.by_reference(op, u("f32", [1, 33, 40, 40]), 2), case.by_reference(op, u("bf16", [1, 8, 20, 20]), 3, 1, 1), case.by_reference(op, u("f32", [2, 8, 33, 31]).transposed(), [5, 3], [2, 3], [2, 1], ceil_mode=True)
    case.by_reference("adaptive_avg_pool2d", u("f32", [2, 40, 33, 29]), [7, 5]), case.by_reference("adaptive_avg_pool2d", u("f32", [2, 40, 33, 29]), [1, 1])
    for training in [True, False]:
        case.by_reference("batch_norm", u("f32", [4, 33, 15, 17]), running_mean=None if training else u("f32", [33]), running_var=None if training else u("f32", [33], 0.5, 2), weight=u("f32", [33]), bias=u("f32", [33]), training=training)
    case.by_reference("layer_norm", u("f32", [50, 517]), [517], u("f32", [517]), u("f32", [517])), case.by_reference("embedding", u("f32", [1000, 33]), u("i64", [70, 11], 0, 999)), case.by_reference("pad", u("f32", [2, 8, 33, 31]), [3, 2, 1, 4], "reflect"), case.by_reference("pad", u("f32", [2, 8, 33, 31]), [3, -2, 1, 4])


def moving(case):
    for dtype in [*FLOATS, "i64", "u8"]:
        case.by_reference("clone", u(dtype, [131, 67]).transposed()), case.by_reference("contiguous", u(dtype, [31, 37, 7]).transposed())
    case.by_reference("cat", (u("f32", [100, 33]), u("f32", [100, 77]).transposed(), u("f32", [100, 1])), 1), case.by_reference("stack", (u("f32", [999]), u("f32", [999])), 1), case.by_reference("index_select", u("f32", [500, 33]), 0, u("i64", [1000], 0, 499)), case.by_reference("index_select", u("f32", [33, 500]), 1, u("i64", [1000], 0, 499))
    case.by_reference("nonzero", u("i32", [70, 71], 0, 3)), case.by_reference("tril", u("f32", [201, 203]), 3), case.by_reference("masked_fill", u("f32", [301, 203]), u("b8", [301, 1]), 1.5), case.by_reference("arange", 100000), case.by_reference("linspace", -3, 3, 10001), case.by_reference("to", u("f32", [10007], -100, 100), torch.int32), case.by_reference("check_array", u("f32", [2, 3]).transposed(), "x")
