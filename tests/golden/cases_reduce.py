"""Cases of reductions, scans and matrix products."""

import torch

from golden import ALL, FLOATS, HALVES, INTS, Again, blank, lin, sp, u, v

NAN, INF = float("nan"), float("inf")
DIMS = [0, 1, -1, -3, [0, 2], [1, -1], [0, 1, 2]]
MANY = {"sum", "mean", "amax", "amin", "any", "all", "var", "std", "norm"}
EMPTY_IS_ERROR = {"amax", "amin", "max", "min", "argmax", "argmin"}


def dims_of(op):
    return DIMS if op in MANY else [d for d in DIMS if isinstance(d, int)]


def reduction(case, op, low=-3, high=3):
    """Any reduction to one result: dtypes, axes, layouts, empty, 0-d, hard values, wrong axes."""
    for dtype in ALL:
        case(op, u(dtype, [2, 4], low, high))
        case(op, u(dtype, [2, 4], low, high), dim=1)
    for dim in dims_of(op):
        case(op, u("f32", [2, 3, 4], low, high), dim=dim)
        case(op, u("f32", [2, 3, 4], low, high).transposed(), dim=dim, keepdim=True)
    for x in layouts(low, high):
        case(op, x), case(op, x, dim=0), case(op, x, dim=1, keepdim=True)
    for dim in [None, 0, -1]:
        case(op, u("f32", [], low, high), dim=dim)
    empty(case, op)
    for dim in [2, -3] + ([[0, 0], [1, -1]] if op in MANY else []):
        case(op, u("f32", [2, 3]), dim=dim)
    case(op, u("f32", []), dim=1)
    for dtype in FLOATS:
        case(op, v(dtype, 1, NAN, 2, INF, 3, 4, -INF, 1, 0, 0, INF, -INF, sizes=[6, 2]), dim=1)
    case(op, u("f32", [300], low, high)), case(op, u("f32", [3, 100], low, high), dim=1), case(op, u("f32", [100, 3], low, high), dim=0)


def layouts(low, high):
    return [u("f32", [3, 4], low, high).transposed(), u("f32", [3, 4], low, high).stepped(), u("f32", [3, 4], low, high).expanded(0),
            u("f32", [3, 4], low, high).expanded(1), u("i32", [3, 4], low, high).transposed(), u("f64", [3, 4], low, high).shifted()]


def empty(case, op):
    case(op, u("f32", [0])), case(op, u("f32", [0]), dim=0), case(op, u("f32", [2, 0]), dim=1), case(op, u("f32", [2, 0]), dim=0)
    case(op, u("f32", [2, 0, 3]), dim=1, keepdim=True), case(op, u("i64", [0]))
    if op in MANY:
        case(op, u("f32", [2, 3]), dim=[]), case(op, u("f32", [2, 0, 3]), dim=[0, 2])


def reductions(case):
    for op in ["sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "var", "std", "norm"]:
        reduction(case, op)
    result_dtypes(case)
    arg_ties(case)
    extremes(case)
    spread(case)
    norms(case)
    log_sum_exp(case)
    sums(case)
    for op in ["sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "var", "std"]:
        case(op, u("f32", [2, 3]), dim=1, out=blank("f32", [2])), case(op, u("f32", [2, 3]), dim=1, out=blank("i64", [2]))
        case(op, u("f32", [2, 3]), dim=1, keepdim=True, out=blank("b8", [2, 1]))


def result_dtypes(case):
    for op in ["sum", "mean", "prod"]:
        for given in [torch.float64, torch.float32, torch.int64, torch.int32, torch.bool]:
            for dtype in ["f32", "i32", "b8", "u8"]:
                case(op, u(dtype, [3], 0, 3), dtype=given)
        case(op, u("f16", [3]), dtype=torch.float32), case(op, u("bf16", [2, 3]), dim=1, dtype=torch.float32)


def sums(case):
    case("sum", lin("f32", [1000], 0.1, 0)), case("sum", lin("f32", [1025], 1, 1)), case("sum", lin("f16", [600], 0.1, 0.001)), case("mean", lin("f16", [600], 200, 0))
    case("sum", lin("bf16", [600], 1, 0)), case("mean", lin("bf16", [600], 1, 0)), case("sum", v("u8", 200, 200)), case("sum", v("i8", 100, 100, 100)), case("sum", v("i32", 2147483647, 1))
    case("prod", v("u8", 200, 2)), case("prod", v("i32", 65536, 65536)), case("sum", v("i64", 2 ** 62, 2 ** 62, -1))
    case("mean", u("i32", [3]), dtype=torch.float64), case("sum", u("b8", [2, 9]), dim=1), case("sum", u("f32", [4, 5, 6]), [0, 2], True), case("sum", u("f32", [2, 3, 2, 2]), [1, 3])
    case("mean", v("f32", 3e38, 3e38)), case("sum", v("f16", 60000, 60000)), case("mean", v("f16", 60000, 60000)), case("prod", v("f32", 0, INF)), case("prod", v("f32", 1e30, 1e30, 0))


def arg_ties(case):
    for op in ["argmax", "argmin"]:
        for dtype in ALL:
            case(op, v(dtype, 1, 0, 1, 0, 1)), case(op, v(dtype, 1, 0, 1, 1, 1, 0, sizes=[2, 3]), dim=1), case(op, v(dtype, 1, 0, 1, 1, 1, 0, sizes=[3, 2]), dim=0, keepdim=True)
        case(op, v("f32", 1, NAN, 3, NAN)), case(op, v("f32", NAN, NAN)), case(op, v("f32", 0.0, -0.0, 0.0)), case(op, v("f32", -INF, -INF)), case(op, v("f32", INF, NAN, INF))
        case(op, v("f32", 1, NAN, 3, NAN, 2, 1, sizes=[2, 3]), dim=0), case(op, u("f32", [2, 3]), keepdim=True), case(op, u("f32", [2, 3]).transposed())
        case(op, u("f32", [5, 7, 3]), dim=1), case(op, u("f64", [3, 41]), dim=-1), case(op, lin("f32", [100], 0, -1)), case(op, u("f32", [2, 0]), dim=0)


def extremes(case):
    """max and min: of all, and with indices along an axis."""
    for op in ["max", "min"]:
        for dtype in ALL:
            case(op, u(dtype, [2, 4])), case(op + ".dim", u(dtype, [2, 4]), 1), case(op + ".dim", v(dtype, 1, 0, 1, 1, 1, 0, sizes=[2, 3]), 1)
        for x in layouts(-3, 3):
            case(op, x), case(op + ".dim", x, 0), case(op + ".dim", x, -1, True)
        for dim in [0, 1, 2, -1, 3, -4]:
            case(op + ".dim", u("f32", [2, 3, 4]), dim), case(op + ".dim", u("f32", [2, 3, 4]), dim, keepdim=True)
        for dtype in FLOATS:
            case(op, v(dtype, 1, NAN, INF)), case(op, v(dtype, -INF, INF, 2)), case(op + ".dim", v(dtype, 1, NAN, INF, NAN, 2, 3, sizes=[2, 3]), 1)
            case(op + ".dim", v(dtype, 1, NAN, INF, NAN, 2, 3, sizes=[3, 2]), 0), case(op, sp(dtype, [27])), case(op, sp(dtype, [26], 1))
        case(op, u("f32", [])), case(op + ".dim", u("f32", []), 0), case(op + ".dim", u("f32", []), -1), case(op, u("f32", [0])), case(op + ".dim", u("f32", [2, 0]), 1)
        case(op + ".dim", u("f32", [2, 0]), 0), case(op + ".dim", u("f32", [0]), 0), case(op, u("f32", [300])), case(op, u("i64", [3, 100])), case(op + ".dim", u("f32", [3, 100]), 1)


def spread(case):
    for op in ["var", "std"]:
        for unbiased in [True, False]:
            for dtype in FLOATS:
                case(op, u(dtype, [3, 4]), dim=None, unbiased=unbiased), case(op, u(dtype, [3, 4]), [1], unbiased, True)
            case(op, u("f32", [2, 3, 4]), [0, 2], unbiased), case(op, u("f32", [1]), unbiased=unbiased), case(op, u("f32", []), unbiased=unbiased)
            case(op, u("f32", [2, 1]), [1], unbiased), case(op, u("f32", [0]), unbiased=unbiased), case(op, u("f32", [3, 0]), [1], unbiased)
            case(op, lin("f32", [50], 10000, 0.01), unbiased=unbiased), case(op, v("f32", 1, NAN), unbiased=unbiased), case(op, v("f32", 1, INF), unbiased=unbiased)
        case(op, u("f32", [2, 3]), dim=None, keepdim=True), case(op, u("i32", [4])), case(op, lin("f32", [100], 1e8, 0))


def norms(case):
    for p in [0, 1, 2, 3, 0.5, -1, INF, -INF, 2.5]:
        for dtype in FLOATS:
            case("norm", u(dtype, [2, 3]), p), case("norm", u(dtype, [2, 3]), p, [1])
        case("norm", v("f32", 0, 3, -4, 0), p), case("norm", u("f32", [2, 3, 4]), p, [0, 2], True), case("norm", u("f32", [0]), p), case("norm", u("f32", []), p)
        case("norm", v("f32", NAN, 1, INF, 1, -INF, 1, sizes=[3, 2]), p, [1]), case("norm", u("f32", [3, 2]).transposed(), p, 0)
    case("norm", u("i32", [3])), case("norm", v("f32", 3e20, 4e20)), case("norm", v("f64", 3, 4)), case("norm", v("f32", 3e-30, 4e-30)), case("norm", u("f32", [2, 0]), INF, [1])


def log_sum_exp(case):
    for dtype in ALL:
        case("logsumexp", u(dtype, [2, 3]), 1), case("logsumexp", u(dtype, [3]), [0], True)
    for dtype in FLOATS:
        case("logsumexp", v(dtype, INF, 1, -INF, -INF, INF, -INF, NAN, 1, 1000, 1000, -1000, -1000, sizes=[6, 2]), 1)
    for dim in [0, -1, [0, 2], [0, 1, 2], [1], 3, -4, [0, 0]]:
        case("logsumexp", u("f32", [2, 3, 4]), dim), case("logsumexp", u("f32", [2, 3, 4]).transposed(), dim, keepdim=True)
    case("logsumexp", u("f32", []), 0), case("logsumexp", u("f32", [2, 0]), 1), case("logsumexp", u("f32", [2, 0]), 0), case("logsumexp", u("f32", [3]).expanded(0), 0)


def scans(case):
    for dtype in ALL:
        case("cumsum", u(dtype, [2, 3]), 1), case("cumsum", u(dtype, [2, 3]), 0)
    for given in [torch.float64, torch.float32, torch.int32, torch.int64, torch.int8]:
        case("cumsum", u("i32", [3]), 0, dtype=given), case("cumsum", u("f32", [3]), 0, dtype=given), case("cumsum", u("u8", [3]), 0, dtype=given)
    for dim in [0, 1, 2, -1, -3, 3, -4]:
        case("cumsum", u("f32", [2, 3, 2]), dim)
    for x in layouts(-3, 3):
        case("cumsum", x, 0), case("cumsum", x, 1)
    case("cumsum", u("f32", []), 0), case("cumsum", u("f32", [0]), 0), case("cumsum", u("f32", [2, 0]), 0), case("cumsum", u("f32", []), 1)
    case("cumsum", v("f32", 1, NAN, 2, 3), 0), case("cumsum", v("f32", 1, INF, 2, -INF, 1), 0), case("cumsum", v("u8", 200, 100, 1), 0), case("cumsum", v("b8", 1, 1, 0, 1), 0)
    case("cumsum", u("f16", [40], 0, 1), 0), case("cumsum", u("bf16", [40], 0, 1), 0), case("cumsum", u("f32", [2, 3]), 1, out=blank("f32", [2, 3])), case("cumsum", v("i64", 2 ** 62, 2 ** 62, 5), 0)


def outs(case):
    for op, args, shape in [("softmax", (1,), [2, 3]), ("log_softmax", (1,), [2, 3]), ("logsumexp", (1,), [2]), ("norm", (2, [1]), [2]), ("norm", (1, [0], True), [1, 3])]:
        case(op, u("f32", [2, 3]), *args, out=blank("f32", shape)), case(op, u("f32", [2, 3]), *args, out=blank("f32", shape).stepped()), case(op, u("f32", [2, 3]), *args, out=blank("i32", shape))


def softmaxes(case):
    for op in ["softmax", "log_softmax"]:
        for dtype in ALL:
            case(op, u(dtype, [2, 3]), 1), case(op, u(dtype, [2, 3]), 0)
        for dim in [0, 1, 2, -1, -3, 3, -4]:
            case(op, u("f32", [2, 3, 4]), dim)
        for x in layouts(-9, 9):
            case(op, x, 0), case(op, x, 1)
        for dtype in FLOATS:
            case(op, v(dtype, INF, 1, -INF, -INF, 1, -INF, NAN, 1, 1000, 999, -1000, -1001, sizes=[6, 2]), 1)
        case(op, u("f32", []), 0), case(op, u("f32", [0]), 0), case(op, u("f32", [2, 0]), 1), case(op, u("f32", [2, 0]), 0), case(op, u("f32", [40], -20, 20), 0), case(op, u("f32", [3, 1]), 1)
        for given in [torch.float64, torch.float32, torch.float16, torch.bfloat16]:
            case(op, u("f32", [2, 3]), 1, dtype=given), case(op, u("i32", [3]), 0, dtype=given)


# ---- products ----

def product(case, op, shapes, misfits):
    """Shapes that fit in each dtype's turn, every layout of both, shapes that do not fit, dtypes that differ."""
    for dtype in FLOATS + INTS:
        case(op, *[u(dtype, s) for s in shapes[0]])
    for given in shapes:
        case(op, *[u("f32", s) for s in given]), case(op, *[u("f64", s).transposed() for s in given])
        case(op, *[u("f32", s).stepped() for s in given]), case(op, *[u("f32", s).shifted() if i else u("f32", s).transposed() for i, s in enumerate(given)])
        case(op, *[u("f32", s).expanded(0) if s else u("f32", s) for s in given])
    for given in misfits:
        case(op, *[u("f32", s) for s in given])
    case(op, u("f32", shapes[0][0]), *[u("f64", s) for s in shapes[0][1:]]), case(op, u("i32", shapes[0][0]), *[u("f32", s) for s in shapes[0][1:]])
    case(op, u("b8", shapes[0][0]), *[u("b8", s) for s in shapes[0][1:]])


def products(case):
    product(case, "mm", [([2, 3], [3, 4]), ([1, 5], [5, 1]), ([0, 3], [3, 2]), ([2, 0], [0, 3]), ([2, 3], [3, 0]), ([7, 17], [17, 5])], [([2, 3], [2, 3]), ([3], [3, 2]), ([1, 2, 3], [3, 4])])
    product(case, "bmm", [([2, 2, 3], [2, 3, 2]), ([1, 1, 5], [1, 5, 2]), ([0, 2, 3], [0, 3, 2]), ([2, 2, 0], [2, 0, 2])], [([2, 2, 3], [3, 3, 2]), ([2, 2, 3], [2, 2, 3]), ([2, 3], [3, 2])])
    product(case, "mv", [([2, 3], [3]), ([0, 3], [3]), ([2, 0], [0]), ([5, 19], [19])], [([2, 3], [2]), ([3], [3]), ([2, 3], [3, 1])])
    product(case, "dot", [([3], [3]), ([0], [0]), ([1], [1]), ([33], [33])], [([2], [3]), ([2, 2], [2, 2]), ([], [])])
    product(case, "outer", [([2], [3]), ([0], [3]), ([3], [0]), ([1], [1])], [([2, 2], [3]), ([2], [])])
    product(case, "matmul", [([2, 3], [3, 2]), ([3], [3]), ([2, 3], [3]), ([3], [3, 2]), ([2, 1, 2, 3], [3, 3, 2]), ([2, 2, 3], [3, 2]), ([2, 2, 3], [3]), ([3], [2, 3, 2]),
                             ([0, 2, 3], [3, 2]), ([2, 0], [0, 2]), ([1, 2, 3], [4, 3, 2])], [([2, 3], [2, 3]), ([], [3]), ([3], []), ([2], [3]), ([2, 2, 3], [3, 3, 2]), ([2, 3], [2])])
    product(case, "linear", [([2, 3], [4, 3]), ([2, 3], [4, 3], [4]), ([3], [2, 3], [2]), ([2, 2, 3], [2, 3], [2]), ([0, 3], [2, 3], [2]), ([3], [2, 3]), ([2, 0], [3, 0], [3])],
            [([2, 3], [3, 2]), ([2, 3], [4, 3], [3]), ([2, 2], [4, 3])])
    product(case, "addmm", [([2, 4], [2, 3], [3, 4]), ([4], [2, 3], [3, 4]), ([], [2, 3], [3, 4]), ([2, 1], [2, 3], [3, 4]), ([2, 4], [2, 0], [0, 4]), ([0, 4], [0, 3], [3, 4])],
            [([3, 4], [2, 3], [3, 4]), ([4], [2, 3], [2, 4]), ([4], [3], [3, 4]), ([2, 2, 4], [2, 3], [3, 4])])
    nonfinite_products(case)
    scaled(case)
    product_outs(case)


def nonfinite_products(case):
    case("mm", v("f32", 1, INF, NAN, 0, sizes=[2, 2]), v("f32", 1, 0, 1, 2, sizes=[2, 2])), case("dot", v("f32", INF, 1), v("f32", 0, 1)), case("mv", v("f32", 1, -INF, 0, 0, sizes=[2, 2]), v("f32", 1, 1))
    case("mm", lin("i8", [2, 3], -50, 30), lin("i8", [3, 2], 7, 11)), case("mm", lin("u8", [2, 3], 50, 40), lin("u8", [3, 2], 7, 11)), case("dot", v("i64", 2 ** 40, 3), v("i64", 2 ** 30, 2))
    case("mm", u("f32", [3, 200], -1, 1), u("f32", [200, 3], -1, 1)), case("mm", u("bf16", [3, 60], -1, 1), u("bf16", [60, 3], -1, 1)), case("mm", u("f16", [3, 60], -1, 1), u("f16", [60, 3], -1, 1))
    case("matmul", u("f64", [3, 70], -1, 1), u("f64", [70, 2], -1, 1)), case("bmm", u("f32", [2, 8, 33], -1, 1), u("f32", [2, 33, 2], -1, 1))
    case("mm", u("f32", [2, 3]), Again(0, [3, 2], [1, 3])), case("matmul", u("f32", [3, 3]), Again(0))


def scaled(case):
    for dtype in ["f32", "f64", "f16", "bf16", "i64", "i32"]:
        case("addmm", u(dtype, [2, 2]), u(dtype, [2, 3]), u(dtype, [3, 2]), beta=2, alpha=3), case("addmm", u(dtype, [2]), u(dtype, [2, 3]), u(dtype, [3, 2]), beta=0), case("addmm", u(dtype, [2]), u(dtype, [2, 3]), u(dtype, [3, 2]), alpha=0)
    case("addmm", v("f32", NAN, INF), u("f32", [2, 3]), u("f32", [3, 2]), beta=0), case("addmm", v("f32", NAN, 1), u("f32", [2, 3]), u("f32", [3, 2]), beta=0.5, alpha=-1.5)
    case("addmm", u("f32", [2]), v("f32", NAN, 1, 1, 1, sizes=[2, 2]), u("f32", [2, 2]), alpha=0), case("addmm", u("i32", [2]), u("i32", [2, 2]), u("i32", [2, 2]), beta=0.5), case("addmm", u("f32", [2, 2]), u("f32", [2, 0]), u("f32", [0, 2]), beta=2)
    case("addmm_", u("f32", [2, 2]), u("f32", [2, 3]), u("f32", [3, 2]), beta=2), case("addmm_", u("f32", [2]), u("f32", [2, 3]), u("f32", [3, 2])), case("addmm", u("f32", [2]), u("f32", [2, 3]), u("f32", [3, 2]), out=blank("f32", [2, 2]))


def product_outs(case):
    for op, a, b, c in [("mm", [2, 3], [3, 2], [2, 2]), ("bmm", [2, 2, 3], [2, 3, 2], [2, 2, 2]), ("mv", [2, 3], [3], [2]), ("dot", [3], [3], []), ("outer", [2], [3], [2, 3]), ("matmul", [2, 3], [3, 2], [2, 2]),
                        ("matmul", [2, 2, 3], [3], [2, 2])]:
        case(op, u("f32", a), u("f32", b), out=blank("f32", c)), case(op, u("f32", a), u("f32", b), out=blank("f32", c).transposed()), case(op, u("f32", a), u("f32", b), out=blank("f64", c)), case(op, u("f32", a), u("f32", b), out=blank("i32", c))
