"""Cases of views and of ops that move elements."""

import torch

from golden import ALL, DTYPES, FLOATS, INTS, Again, blank, lin, sp, u, v

NAN = float("nan")


def every_dtype(case, op, shape, *args, **kwargs):
    for dtype in ALL:
        case(op, u(dtype, shape), *args, **kwargs)


def every_layout(case, op, shape, *args, **kwargs):
    x = u("f32", shape)
    for laid in [x.transposed(), x.stepped(), x.expanded(0), x.shifted()]:
        case(op, laid, *args, **kwargs)


def reshaping(case):
    for op in ["reshape", "view"]:
        every_dtype(case, op, [2, 3], [3, 2])
        every_layout(case, op, [2, 6], [3, 4]), every_layout(case, op, [2, 6], [2, 2, 3]), every_layout(case, op, [2, 6], [12])
        for shape, target in [([2, 3], [-1]), ([2, 3], [3, -1]), ([2, 3, 4], [-1, 4]), ([6], [1, 6, 1]), ([], [1]), ([], []), ([1], []), ([], [-1]), ([1, 1], []), ([0], [0, 3]), ([0, 3], [-1]), ([0, 3], [0, 5]), ([2, 3], [2, 3]), ([2, 3], [6, 1, 1]), ([2, 1, 3], [2, 3])]:
            case(op, u("f32", shape), target)
        for shape, target in [([2, 3], [4]), ([2, 3], [-1, -1]), ([2, 3], [-1, 4]), ([2, 3], [-2, 3]), ([0], [0, -1]), ([2, 3], []), ([0], [1])]:
            case(op, u("f32", shape), target)
        case(op, u("f32", [2, 2, 3]).with_layout([6, 3, 1]), [4, 3]), case(op, u("f32", [2, 2, 3]).with_layout([12, 3, 1]), [2, 6]), case(op, u("f32", [2, 2, 3]).with_layout([12, 3, 1]), [4, 3]), case(op, u("f32", [4, 2]).with_layout([2, 1], 2), [2, 2, 2])
    every_dtype(case, "flatten", [2, 3])
    for shape, dims in [([2, 3, 4], ()), ([2, 3, 4], (1,)), ([2, 3, 4], (0, 1)), ([2, 3, 4], (-2, -1)), ([2, 3, 4], (1, 1)), ([], ()), ([], (0, 0)), ([3], ()), ([2, 0, 3], (1,)), ([2, 3, 4], (2, 1)), ([2, 3, 4], (0, 3)), ([2, 3], (-3, 1))]:
        case("flatten", u("f32", shape), *dims), case("flatten", u("f32", shape).transposed(), *dims)
    case("flatten", u("f32", [2, 3, 4]), start_dim=1, end_dim=-1)


def axes(case):
    every_dtype(case, "permute", [2, 3], [1, 0]), every_layout(case, "permute", [2, 3, 2], [2, 0, 1])
    for shape, dims in [([2, 3, 4], [0, 1, 2]), ([2, 3, 4], [-1, 0, -2]), ([], []), ([3], [0]), ([0, 2], [1, 0]), ([2, 3], [0]), ([2, 3], [0, 0]), ([2, 3], [0, 2]), ([2, 3], [0, -2]), ([], [0])]:
        case("permute", u("f32", shape), dims)
    every_dtype(case, "transpose", [2, 3], 0, 1), every_layout(case, "transpose", [2, 3, 2], 0, -1)
    for shape, a, b in [([2, 3, 4], -1, -3), ([2, 3], 0, 0), ([3], 0, 0), ([], 0, 0), ([], -1, 0), ([2, 3], 0, 2), ([2, 3], -3, 0), ([0, 2], 0, 1), ([], 1, 0)]:
        case("transpose", u("f32", shape), a, b)
    every_dtype(case, "expand", [2, 1], [2, 3]), every_layout(case, "expand", [2, 1], [3, 2, 2])
    for shape, size in [([1], [3]), ([3], [2, 3]), ([2, 1], [-1, 4]), ([], [2, 2]), ([], []), ([1], [0]), ([2, 1], [2, 0]), ([2, 1], [3, -1, 3]), ([2], [3]), ([2, 3], [3]), ([1], [-1, 2]), ([2, 1], [2, -2]), ([0], [0]), ([0, 1], [0, 5]), ([2, 3], [2, 3])]:
        case("expand", u("f32", shape), size)
    squeezing(case)


def squeezing(case):
    every_dtype(case, "squeeze", [1, 2, 1]), every_layout(case, "squeeze", [2, 1, 3])
    for shape in [[1, 1], [], [2, 3], [1, 0, 1], [1]]:
        case("squeeze", u("f32", shape))
    for shape, dim in [([1, 2], 0), ([1, 2], 1), ([1, 2], -2), ([], 0), ([], -1), ([1, 2], 2), ([1, 2], -3), ([], 1), ([2, 1, 3], 1)]:
        case("squeeze.dim", u("f32", shape), dim), case("squeeze.dim", u("f32", shape).stepped(), dim=dim)
    every_dtype(case, "unsqueeze", [2], 0), every_layout(case, "unsqueeze", [2, 3], 1)
    for shape, dim in [([2, 3], 0), ([2, 3], 1), ([2, 3], 2), ([2, 3], -1), ([2, 3], -3), ([], 0), ([], -1), ([0], 1), ([2, 3], 3), ([2, 3], -4), ([], 1)]:
        case("unsqueeze", u("f32", shape), dim)


def picking(case):
    every_dtype(case, "select", [2, 3], 1, 2), every_layout(case, "select", [2, 3], 0, 1)
    for shape, dim, i in [([2, 3], 0, -1), ([2, 3], -1, 0), ([2, 3], -2, -2), ([3], 0, 1), ([2, 3], 0, 2), ([2, 3], 0, -3), ([2, 3], 2, 0), ([], 0, 0), ([2, 0], 0, 1), ([2, 0], 1, 0), ([2, 3, 4], 1, 1)]:
        case("select", u("f32", shape), dim, i)
    every_dtype(case, "narrow", [2, 4], 1, 1, 2), every_layout(case, "narrow", [3, 4], 0, 1, 2)
    for shape, dim, start, length in [([5], 0, 0, 5), ([5], 0, 2, 0), ([5], 0, 5, 0), ([5], 0, -2, 2), ([2, 5], -1, 1, 3), ([5], 0, 3, 3), ([5], 0, 6, 0), ([5], 0, -6, 1), ([5], 0, 0, -1), ([5], 1, 0, 1), ([], 0, 0, 0)]:
        case("narrow", u("f32", shape), dim, start, length)
    every_dtype(case, "slice", [2, 4], 1, 1, 4, 2), every_layout(case, "slice", [3, 5], 1, 1, 5, 3), every_layout(case, "slice", [3, 2], 0, -2)
    for args in [(), (0,), (0, 2), (0, None, 3), (0, 1, -1), (0, -3, -1), (0, -100, 100), (0, 3, 1), (0, 7, 9), (0, 0, 0), (0, None, None, 2), (0, None, None, 3), (0, 1, None, 10), (0, 0, 9223372036854775807), (0, None, -100), (0, 0, 5, 0), (0, 0, 5, -1), (1, 0, 1), (-1, 1, 2), (-2, 1, 2)]:
        case("slice", lin("f32", [5], 0, 1), *args)
    case("slice", u("f32", [2, 0]), 1, 0, 3), case("slice", u("f32", []), 0, 0, 1), case("slice", u("f32", [2, 3, 4]), 1, 0, 3, 2), case("slice", u("f32", [2, 3, 4]), dim=2, start=1, step=2)


def joining(case):
    for dtype in ALL:
        case("cat", (u(dtype, [2]), u(dtype, [3]))), case("cat", (u(dtype, [2, 1]), u(dtype, [2, 2])), 1), case("stack", (u(dtype, [2]), u(dtype, [2])))
    for a, b in [("f32", "f64"), ("f16", "bf16"), ("i32", "f16"), ("i64", "f32"), ("u8", "i8"), ("b8", "i32"), ("b8", "f32"), ("i16", "u8")]:
        case("cat", (u(a, [2]), u(b, [2]))), case("stack", (u(a, [2]), u(b, [2])), -1), case("cat", (u(b, [1]), u(a, [1]), u(b, [1])))
    x, y = u("f32", [2, 3]), u("f32", [2, 3])
    for dim in [0, 1, -1, -2, 2, -3]:
        case("cat", (x, y), dim), case("stack", (x, y), dim), case("cat", (x.transposed(), y.stepped(), u("f32", [2, 3]).expanded(0)), dim)
    case("stack", (x, y), 3), case("stack", (x, y), -4), case("stack", (x.transposed(), y.expanded(1)), 1), case("stack", (u("f32", []), u("f32", []))), case("stack", (u("f32", [0]), u("f32", [0])), 1), case("stack", (x,)), case("stack", (x, y, Again(0)), 2)
    case("cat", (u("f32", [0]), x)), case("cat", (x, u("f32", [0])), 1), case("cat", (u("f32", [0]), u("f32", [0]))), case("cat", (u("f32", [0, 3]), x)), case("cat", (u("f32", [2, 0]), x), 1), case("cat", (x,)), case("cat", (u("i64", [0]), x)), case("cat", (u("f64", [0]), x)), case("cat", (x, Again(0)))
    case("cat", (x, u("f32", [3, 2]))), case("cat", (x, u("f32", [3]))), case("cat", (u("f32", []), u("f32", []))), case("cat", (u("f32", [2, 0]), x)), case("stack", (x, u("f32", [3, 2]))), case("stack", (u("f32", [0]), u("f32", [1]))), case("cat", ()), case("stack", ()), case("cat", (u("f32", [2, 2, 1]), u("f32", [2, 2, 3]), u("f32", [2, 2, 2])), 2)
    case("cat", (u("f32", [2]), u("f32", [3])), out=blank("f32", [5])), case("stack", (u("f32", [2]), u("f32", [2])), out=blank("f32", [2, 2])), case("cat", (u("f32", [2]), u("f32", [3])), out=blank("i32", [5])), case("cat", (sp("f32", [14]), sp("f32", [13], 14)))


def splitting(case):
    for op, n in [("split", 2), ("chunk", 2)]:
        every_dtype(case, op, [5], n), every_layout(case, op, [3, 4], n, 1)
    for shape, size, dim in [([5], 1, 0), ([5], 5, 0), ([5], 7, 0), ([2, 5], 3, -1), ([2, 5], 2, 0), ([0], 2, 0), ([0], 0, 0), ([5], 0, 0), ([5], -1, 0), ([5], 2, 1), ([], 1, 0), ([2, 0], 1, 0)]:
        case("split", u("f32", shape), size, dim)
    for shape, sizes, dim in [([5], [2, 3], 0), ([5], [5], 0), ([5], [0, 5], 0), ([5], [1, 1, 3], -1), ([2, 5], [4, 1], 1), ([5], [2, 2], 0), ([5], [-1, 6], 0), ([5], [], 0), ([0], [], 0), ([5], [2, 3], 1), ([0], [0, 0], 0)]:
        case("split.sizes", u("f32", shape), sizes, dim)
    for shape, n, dim in [([5], 3, 0), ([5], 4, 0), ([5], 5, 0), ([5], 7, 0), ([6], 4, 0), ([2, 5], 2, -1), ([0], 3, 0), ([5], 0, 0), ([5], -1, 0), ([5], 2, 1), ([], 1, 0), ([2, 0], 2, 1)]:
        case("chunk", u("f32", shape), n, dim)


def copying(case):
    for op in ["contiguous", "clone"]:
        every_dtype(case, op, [2, 3]), every_layout(case, op, [2, 3]), case(op, u("f32", [])), case(op, u("f32", [0, 2])), case(op, sp("f32", [27]).stepped())
    for a in ALL:
        for b in ALL:
            case("copy_", blank(a, [3]), u(b, [3], 0, 5)), case("to", u(a, [3], 0, 5), DTYPES[b])
    for a in FLOATS:
        for b in FLOATS:
            case("to", sp(a, [27]), DTYPES[b])
        for b in ["i64", "i32", "i8"]:
            case("to", u(a, [6], -100, 100), DTYPES[b])
        case("to", sp(a, [27]), torch.bool), case("to", v(a, 0.5, -0.5, 1.5, -1.5, 2.5, 0.99), torch.int32), case("to", v(a, 0.5, 1.5, 254.9), torch.uint8)
    rounding(case)
    for shape in [[2, 3], [3], [1], [], [2, 1]]:
        case("copy_", blank("f32", [2, 3]), u("f32", shape)), case("copy_", blank("f32", [3, 2]).transposed(), u("f32", [3, 2])), case("copy_", blank("f32", [2, 3]).stepped(), u("i32", shape))
    case("copy_", blank("f32", [3]), u("f32", [2])), case("copy_", blank("f32", [3]), u("f32", [2, 3])), case("copy_", blank("f32", [0]), u("f32", [1])), case("copy_", blank("f32", [2, 3]).expanded(0), u("f32", [3])), case("copy_", u("f32", [3, 3]), Again(0, [3, 3], [1, 3])), case("copy_", u("f32", [3]), Again(0))
    for dtype in ALL:
        case("copy", u(dtype, [2, 3]), u("f32", [3], 0, 5)), case("copy", u("f32", [2, 3]).transposed(), u(dtype, [2, 1], 0, 5))
    case("copy", u("f32", [3]), u("f32", [2])), case("copy", u("i8", []), u("i64", [])), case("copy", u("f32", [0, 2]), u("f32", [2]))
    case("to", u("f32", [2, 3]).transposed(), torch.float64), case("to", u("f32", [2, 3]).expanded(0), torch.float16), case("to", u("f32", []), torch.int64), case("to", u("f32", [0]), torch.int64), case("to", u("f32", [2, 3]).transposed(), torch.float32)


def rounding(case):
    """Halves to even, overflow to infinity, subnormals; integers that need rounding; wrap-around between integers."""
    for a in ["f32", "f64"]:
        case("to", v(a, 1.00048828125, 1.00146484375, 65519, 65520, -65520, 2 ** -25, 2 ** -24 * 1.5, 6.1e-5, 2.0009765625), torch.float16), case("to", v(a, 1.00390625, 1.01171875, 3.3961775e38, 1e-40, 9e-41, -1.00390625, 4e-41), torch.bfloat16)
    case("to", v("f64", 1 + 2 ** -24, 1 + 3 * 2 ** -24, 3.4028235677973366e38, 3.5e38, 1e-46, 7e-46), torch.float32), case("to", v("i64", 2 ** 24 + 1, 2 ** 24 + 3, 2 ** 62 + 1, -2 ** 63), torch.float32), case("to", v("i64", 2 ** 53 + 1, 2 ** 53 + 3), torch.float64), case("to", v("i32", 2049, 2051, 65519, 70000), torch.float16), case("to", v("i32", 257, 259, 2 ** 30 + 1), torch.bfloat16)
    for a in INTS:
        for b in INTS + ["b8"]:
            case("to", sp(a, [13]), DTYPES[b])


def by_index(case):
    for dtype in ALL:
        case("index_select", u(dtype, [3, 2]), 0, v("i64", 2, 0, 2)), case("masked_fill", u(dtype, [4]), u("b8", [4]), 1), case("nonzero", u(dtype, [2, 3], -1, 1) if dtype in INTS + ["b8"] else v(dtype, 0, 1, NAN, 0, -0.0, 2, sizes=[2, 3]))
    for shape, dim, index in [([2, 3], 1, [2, 0]), ([2, 3], -1, [1]), ([2, 3], 0, []), ([2, 3], 0, [2]), ([2, 3], 0, [-1]), ([2, 3], 2, [0]), ([3], 0, [1, 1, 1]), ([2, 3, 2], 1, [2, 1])]:
        case("index_select", u("f32", shape), dim, v("i64", *index)), case("index_select", u("f32", shape).transposed(), dim, v("i32", *index))
    case("index_select", u("f32", []), 0, v("i64", 0)), case("index_select", u("f32", [3]), 0, v("i64", 1, sizes=[])), case("index_select", u("f32", [3]), 0, v("i64", 1, sizes=[1, 1])), case("index_select", u("f32", [3]), 0, v("f32", 1)), case("index_select", u("f32", [0]), 0, v("i64", 0)), case("index_select", u("f32", [3, 0]), 0, v("i64", 1)), case("index_select", u("f32", [5]).stepped(), 0, lin("i64", [2], 0, 1).stepped(2, 0))
    masking(case)
    finding(case)


def masking(case):
    for x, value in [("f32", 2.5), ("f32", float("inf")), ("f32", NAN), ("i32", 7), ("i32", 2.5), ("b8", True), ("u8", 300), ("f16", 1e5), ("b8", 2), ("f32", True)]:
        case("masked_fill", u(x, [4]), u("b8", [4]), value)
    case("masked_fill", u("f32", [2, 3]), u("b8", [3]), 1.0), case("masked_fill", u("f32", [3]), u("b8", [2, 3]), 1.0), case("masked_fill", u("f32", [2, 3]).transposed(), u("b8", [2, 1]), 0), case("masked_fill", u("f32", [2, 3]).expanded(0), u("b8", [2, 3]), 0), case("masked_fill", u("f32", []), v("b8", 1, sizes=[]), 3), case("masked_fill", u("f32", [0]), u("b8", [1]), 3), case("masked_fill", u("f32", [2]), u("b8", [3]), 0)
    case("masked_fill", u("f32", [2]), u("i32", [2]), 0), case("masked_fill", u("f32", [2]), u("f32", [2]), 0), case("masked_fill", u("f32", [3]), u("b8", [3]), v("f32", 9, sizes=[])), case("masked_fill", u("f32", [3]), u("b8", [3]), v("f32", 9)), case("masked_fill", u("f32", [3]), u("b8", [3]), v("i64", 9, sizes=[])), case("masked_fill", u("i32", [3]), v("b8", 1, 0, 1), v("f32", 2.5, sizes=[]))


def finding(case):
    case("nonzero", v("b8", 0, 0)), case("nonzero", v("f32", 1, sizes=[])), case("nonzero", v("f32", 0, sizes=[])), case("nonzero", u("f32", [0])), case("nonzero", u("f32", [2, 0])), case("nonzero", u("i32", [2, 3], 0, 1).transposed()), case("nonzero", u("i32", [2, 2, 2], 0, 1)), case("nonzero", u("b8", [6]).stepped())
    for op in ["tril", "triu"]:
        every_dtype(case, op, [3, 3]), every_layout(case, op, [3, 3], 1)
        for shape in [[2, 4], [4, 2], [2, 2, 3], [1, 1], [0, 3], [3, 0]]:
            for diagonal in [-5, -2, -1, 0, 1, 2, 5]:
                case(op, u("f32", shape), diagonal)
        case(op, u("f32", [3])), case(op, u("f32", [])), case(op, v("f32", NAN, NAN, NAN, NAN, sizes=[2, 2])), case(op, u("f32", [2, 2]), out=blank("f32", [2, 2]))
    case("nonzero", v("f32", 0, 1, 2), out=blank("i64", [2, 1])), case("nonzero", v("f32", 0, 1, 2), out=blank("i32", [2, 1]))
    case("index_select", v("f32", 1, 2, 3), 0, v("i64", 2, 0), out=blank("f32", [2])), case("index_select", v("f32", 1, 2, 3), 0, v("i64", 2, 0), out=blank("f64", [2]))
