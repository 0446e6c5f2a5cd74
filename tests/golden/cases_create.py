"""Cases of ops that make tensors. What random ones give is defined in dtype and shape only."""

import torch

from golden import ALL, DTYPES, blank, u

INF = float("inf")


def shapes_and_dtypes(case, op, *args):
    for size in [[2, 3], [3], [], [0], [2, 0], [1, 1, 1, 1, 1, 1, 1, 1]]:
        case(op, size, *args)
    for dtype in ALL:
        case(op, [2], *args, dtype=DTYPES[dtype])
    case(op, [-1], *args), case(op, [2, -3], *args)


def filled(case):
    for op in ["zeros", "ones"]:
        shapes_and_dtypes(case, op)
    shapes_and_dtypes(case, "full", 1.5)
    shapes_and_dtypes(case.undefined, "empty")
    for value in [3, True, False, -2.5, 2 ** 40, INF, float("nan"), 0.1, -0.0]:
        case("full", [2], value)
        for dtype in ["f32", "f64", "f16", "bf16", "b8"]:
            case("full", [2], value, dtype=DTYPES[dtype])
    case("full", [2], 7, dtype=torch.uint8), case("full", [2], -7, dtype=torch.int8), case("full", [2], 2.7, dtype=torch.int32)


def ranges(case):
    for args in [(5,), (0,), (2.5,), (-1,), (1, 5), (1, 2.5), (1, 5, 2), (5, 1, -2), (0, 1, 0.25), (1, 1), (5, 1), (1, 5, -1), (0, 5, 0), (0, INF), (0, 1, 0.3), (0.0, 5), (2, 11, 3), (0, 10, 3.0), (-3, 3), (0, 1, 0.1), (5, 0, -1), (float("nan"), 3), (10.5, 0, -2.5)]:
        case("arange" if len(args) == 1 else "arange.start", **arange_arguments(args))
    for dtype in ALL:
        case("arange", end=5, dtype=DTYPES[dtype]), case("arange.start", start=1, end=7, step=2, dtype=DTYPES[dtype]), case("arange", end=2.5, dtype=DTYPES[dtype])
        case("linspace", 0, 10, 5, dtype=DTYPES[dtype])
    for args in [(0, 1, 5), (0, 1, 1), (0, 1, 0), (5, -5, 11), (-1.5, 2.5, 4), (3, 3, 3), (0, 1, 2), (0, 10, 7), (0, 1, -1), (0, 100, 13), (-1, 1, 33)]:
        case("linspace", *args), case("linspace", *args, dtype=torch.float64)
    for args in [(3,), (2, 3), (3, 2), (0,), (0, 2), (2, 0), (1,), (-1,), (2, -1)]:
        case("eye" if len(args) == 1 else "eye.m", *args)
    for dtype in ALL:
        case("eye", 2, dtype=DTYPES[dtype])


def arange_arguments(args):
    names = ["end"] if len(args) == 1 else ["start", "end", "step"]
    return dict(zip(names, args))


def alike(case):
    for op in ["zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "randint_like", "randint_like.low_dtype"]:
        make = case if op[0] in "zof" else case.undefined
        args = {"full_like": (2,), "randint_like": (9,), "randint_like.low_dtype": (0, 9)}.get(op, ())
        for dtype in ALL:
            make(op, u(dtype, [2]), *args), make(op, u("f32", [2]), *args, dtype=DTYPES[dtype])
        for x in [u("f32", []), u("f32", [0, 2]), u("f32", [2, 3]).transposed(), u("f32", [2, 3]).expanded(0), u("f64", [5]).stepped()]:
            make(op, x, *args)
    case("full_like", u("i32", [2]), 2.5), case("full_like", u("b8", [2]), 3), case("full_like", u("f32", [2]), INF), case("full_like", u("f32", [2]), True)


def random(case):
    for op in ["rand", "randn"]:
        shapes_and_dtypes(case.undefined, op)
    for args in [(0, 5, [3]), (-3, 3, [2, 2]), (5, 5, [2]), (6, 5, [2]), (0, 1, []), (0, 9, [0]), (0, 9, [-1])]:
        case.undefined("randint.low", *args)
    for dtype in ALL:
        case.undefined("randint.low", 0, 2, [3], dtype=DTYPES[dtype]), case.undefined("randint", 2, [3], dtype=DTYPES[dtype])
    case.undefined("randint.low", 0, 300, [3], dtype=torch.uint8), case.undefined("randint", 0, [2])


def out(case):
    for op, args in [("zeros", ([3],)), ("ones", ([3],)), ("full", ([3], 2.5)), ("linspace", (0, 1, 3))]:
        outs_of(case, op, *args)
    for op, args in [("rand", ([3],)), ("randn", ([3],)), ("empty", ([3],)), ("randint", (9, [3])), ("randint.low", (0, 9, [3]))]:
        outs_of(case.undefined, op, *args)
    case("arange", end=3, out=blank("f32", [3])), case("arange", end=3, out=blank("i64", [3])), case("arange", end=3, out=blank("i32", [3]).stepped())
    case("arange.start", start=1, end=7, step=2, out=blank("f32", [3])), case("arange.start", start=0.5, end=3, out=blank("i64", [3]))
    case("eye", 2, out=blank("f32", [2, 2])), case("eye.m", 2, 3, out=blank("i32", [2, 3]).transposed())


def outs_of(case, op, *args):
    case(op, *args, out=blank("f32", [3])), case(op, *args, out=blank("f64", [3])), case(op, *args, out=blank("f32", [3]).stepped()), case(op, *args, out=blank("f32", [3]), dtype=torch.float64)
