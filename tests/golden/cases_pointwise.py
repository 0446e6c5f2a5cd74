"""Cases of the element-by-element ops: arithmetic, comparison, logic, unary functions, activations."""

import math

from golden import ALL, FLOATS, HALVES, INTS, Again, blank, lin, sp, special_table, u, v

MIXED = [("f32", "f64"), ("f16", "bf16"), ("f16", "f32"), ("i32", "f16"), ("i64", "f32"), ("u8", "i8"), ("b8", "i32"),
         ("b8", "f32"), ("i16", "u8"), ("i64", "bf16"), ("f64", "i8"), ("i32", "i64")]
BROADCASTS = [([2, 1], [1, 3]), ([3], [2, 3]), ([], [2]), ([2, 1, 3], [2, 1]), ([0], [1]), ([2, 0], [1, 1]), ([0, 3], [3]),
              ([], []), ([2, 1, 2, 1], [3, 1, 2])]
MISFITS = [([2], [3]), ([2, 3], [3, 2]), ([0], [2]), ([2, 3], [2])]


def away_from_zero(dtype, sizes):
    """A divisor: never 0."""
    return u(dtype, sizes, 0.5, 4) if dtype in FLOATS else u(dtype, sizes, 1, 5)


def layout_pairs(dtype, right=u):
    return [(u(dtype, [3, 2]).transposed(), right(dtype, [3, 2])),
            (u(dtype, [2, 3]).stepped(), right(dtype, [2, 3]).transposed()),
            (u(dtype, [2, 3]).expanded(0), right(dtype, [2, 3]).shifted()),
            (u(dtype, [2, 3]).expanded(1), right(dtype, [2, 3]).expanded(0)),
            (u(dtype, [2, 2, 3]).with_layout([2, 4, 1], 1), right(dtype, [2, 2, 3]).with_layout([1, 6, 2])),
            (u(dtype, [9]).stepped(3, 0), right(dtype, [9]).shifted(1))]


# ---- two tensors ----

ARITHMETIC = {"add": {}, "sub": {}, "mul": {}, "div": {}, "pow": {}, "fmod": {}, "remainder": {}, "floor_divide": {},
              "atan2": {}, "maximum": {}, "minimum": {}}
DIVIDING = {"div", "fmod", "remainder", "floor_divide"}
ALL_PAIRS = {"add", "div", "pow", "remainder", "maximum"}
TAKES_NUMBER = {"add", "sub", "mul", "div", "pow", "fmod", "remainder", "floor_divide"}
TAKES_NUMBER_FIRST = {"add", "sub", "mul", "div", "floor_divide", "pow"}


def right_of(op):
    return away_from_zero if op in DIVIDING else u


def left_of(op):
    return (lambda dtype, sizes: u(dtype, sizes, 0.1, 4)) if op == "pow" else (lambda dtype, sizes: u(dtype, sizes, -9, 9))


def two_tensors(case, op):
    left, right = left_of(op), right_of(op)
    for dtype in ALL:
        case(op, left(dtype, [2, 3]), right(dtype, [2, 3]))
    for a, b in [(a, b) for a in ALL for b in ALL if a != b] if op in ALL_PAIRS else MIXED + [(b, a) for a, b in MIXED]:
        case(op, left(a, [2]), right(b, [2]))
    for a, b in BROADCASTS:
        case(op, left("f32", a), right("f32", b))
    for a, b in MISFITS:
        case(op, u("f32", a), u("f32", b))
    for dtype in ["f32", "i32"]:
        for a, b in layout_pairs(dtype, right):
            case(op, a, b)
    zero_dim(case, op, right)


def zero_dim(case, op, right):
    """A 0-d tensor lifts the dtype only to another kind; so does a number."""
    for a, b in [("f32", "f64"), ("f16", "f32"), ("i32", "f32"), ("i8", "i64"), ("u8", "i8"), ("b8", "i32"), ("f32", "i64"),
                 ("i64", "f16"), ("bf16", "f16"), ("b8", "f64")]:
        case(op, right(a, [2]), right(b, []))
        case(op, right(b, []), right(a, [2]))
        case(op, right(a, []), right(b, []))


def with_numbers(case, op):
    left = left_of(op)
    numbers = [2, 2.5, True] if op in DIVIDING else [2, -3.0, 0.5, True]
    for dtype in ALL:
        for x in numbers:
            if op in TAKES_NUMBER:
                case(op, left(dtype, [2]), x)
            if op in TAKES_NUMBER_FIRST:
                case(op, x, away_from_zero(dtype, [2]))
    if op in TAKES_NUMBER:
        case(op, u("i32", []), 2.5), case(op, u("f16", []), 2), case(op, u("i8", []), 3), case(op, u("f32", [0]), 2)


def hard_quotients(dtype, shift):
    """Pairs of hard values, without quotients so large that torch's vectors (SLEEF) answer NaN where its scalars don't."""
    table = special_table(dtype)
    pairs = [(a, b) for a, b in zip(table, table[shift:] + table[:shift])
             if not (math.isfinite(a) and math.isfinite(b)) or b == 0 or abs(a) <= abs(b) * 2 ** 20]
    return v(dtype, *[a for a, _ in pairs]), v(dtype, *[b for _, b in pairs])


def hard_pairs(case, op):
    for dtype in FLOATS:
        for shift in [0, 1, 3, 5, 14]:
            case(op, *(hard_quotients(dtype, shift) if op in DIVIDING - {"div"} else (sp(dtype, [27]), sp(dtype, [27], shift))))
    case(op, sp("f32", [27]), sp("f32", [27], 9).expanded(0))
    case(op, sp("f32", [19], 4).stepped(), sp("f32", [19], 8).shifted(2))
    for dtype in INTS if op not in DIVIDING else []:
        for shift in [0, 1, 3, 6]:
            case(op, sp(dtype, [13]), sp(dtype, [13], shift))


def arithmetic(case):
    for op in ARITHMETIC:
        two_tensors(case, op)
        with_numbers(case, op)
        hard_pairs(case, op)
    alpha(case)
    rounding_modes(case)
    integer_division(case)
    powers(case)


def alpha(case):
    for op in ["add", "sub"]:
        for dtype in ["f32", "f64", "f16", "bf16", "i64", "u8", "i8"]:
            case(op, u(dtype, [3]), u(dtype, [3]), alpha=2)
        case(op, u("f32", [3]), u("f32", [3]), alpha=-0.5)
        case(op, u("f32", [3]), 2.0, alpha=3)
        case(op, u("f32", [3]), u("i32", [3]), alpha=0.5)
        case(op, u("i32", [3]), u("f32", [3]), alpha=0.5)
        case(op, u("i32", [3]), u("i32", [3]), alpha=0.5)
        case(op, u("i32", [3]), 2, alpha=3)
        case(op, u("b8", [3]), u("b8", [3]), alpha=2)
        case(op, u("f32", [3]), v("f32", float("nan"), 1, 2), alpha=0)


def rounding_modes(case):
    for mode in ["trunc", "floor"]:
        for dtype in ALL:
            case("div", u(dtype, [6], -9, 9), away_from_zero(dtype, [6]), rounding_mode=mode)
        for a, b in MIXED:
            case("div", u(a, [3], -9, 9), away_from_zero(b, [3]), rounding_mode=mode)
        for dtype in FLOATS:
            case("div", *hard_quotients(dtype, 5), rounding_mode=mode)
        case("div", u("i32", [3], -9, 9), -4, rounding_mode=mode)
        case("div", u("i32", [3], -9, 9), 2.5, rounding_mode=mode)
        case("div", -7, u("i32", [3], 2, 5), rounding_mode=mode)
        case("div", u("i32", [2]), v("i32", 1, 0), rounding_mode=mode)
        case("div", u("f32", [2]), v("f32", 1, 0), rounding_mode=mode)
    case("div", u("f32", [2]), u("f32", [2]), rounding_mode=None)
    case("div", u("f32", [2]), u("f32", [2]), rounding_mode="up")


def integer_division(case):
    """Signs of quotient and remainder; division by zero."""
    for op in ["div", "fmod", "remainder", "floor_divide"]:
        for dtype in ["i64", "i32", "i16", "i8", "f32", "f64", "f16", "bf16"]:
            case(op, v(dtype, 7, -7, 7, -7, 6, -6, 0, 0), v(dtype, 3, 3, -3, -3, 3, -3, 5, -5))
        case(op, v("u8", 7, 200, 255, 0), v("u8", 3, 7, 255, 9))
        for dtype in INTS:
            case(op, v(dtype, 1, 2), v(dtype, 1, 0))
            case(op, v(dtype, 1, 2), 0)
        case(op, v("f32", 1, 0, -1), 0), case(op, v("f32", 1, 0, -1), -0.0), case(op, v("i32", 1, 2), 0.0)
        case(op, v("f32", 5.5, -5.5, 5.5, -5.5), v("f32", 2, 2, -2, -2))
        case(op, v("f32", 1, 0.3, 1e30, -1e-30), v("f32", 0.1, 0.1, 3, 7))
        case(op, v("i32"), v("i32", 0)), case(op, v("i64", 5, -5, 4), 3), case(op, v("i64", 5, -5, 4), -3)
        case(op, v("i8", 100, -100, 3), 7.5), case(op, v("b8", 1, 1, 0), v("b8", 1, 1, 1))


def powers(case):
    for dtype in INTS:
        case("pow", u(dtype, [4], -3, 3), 3), case("pow", u(dtype, [4], -3, 3), 0), case("pow", u(dtype, [2], 1, 3), -1)
        case("pow", u(dtype, [4], -3, 3), 2), case("pow", u(dtype, [4], 0, 3), 0.5), case("pow", 2, u(dtype, [4], 0, 5))
        case("pow", v(dtype, 0, 1, 2, 3), v(dtype, 0, 0, 9, 4))
    case("pow", v("i32", 1, -1, 2, -1, 3), v("i32", -1, -1, -1, -2, -3))
    case("pow", v("i64", -2, -2, 3, 0), v("i64", 63, 62, 50, 7))
    for dtype in FLOATS:
        for exponent in [0, 0.0, *([] if dtype in HALVES else [0.5, -0.5]), 1, 2, 3, -1, -2, -1.0, 1.5, float("inf"), float("-inf"), float("nan")]:
            case("pow", sp(dtype, [14]), exponent)
        for base in [0, 1, -1, 2.0, -2.5, 0.5, float("inf"), float("nan")]:
            case("pow", base, sp(dtype, [14]))
    case("pow", v("f32", -8, -8, -8, 0, 0), v("f32", 1 / 3, 3, -3, -1, -3))
    case("pow", u("b8", [4]), 2), case("pow", u("b8", [4]), -1)


# ---- comparison and logic ----

def comparison(case):
    for op in ["eq", "ne", "lt", "le", "gt", "ge"]:
        for dtype in ALL:
            case(op, u(dtype, [6], -1, 1), u(dtype, [6], -1, 1))
            case(op, lin(dtype, [4], 0, 1), 2)
            case(op, v(dtype, 0, 1), True)
        for a, b in MIXED:
            case(op, lin(a, [4], 0, 1), v(b, 1, 1, 1, 1))
        for dtype in FLOATS:
            case(op, sp(dtype, [27]), sp(dtype, [27])), case(op, sp(dtype, [27]), sp(dtype, [27], 1))
        for dtype in ["i64", "i8", "u8"]:
            case(op, sp(dtype, [13]), sp(dtype, [13], 3))
        case(op, lin("i32", [5], 0, 1), 2.5), case(op, v("f32", 0.1, 0.2), 0.1), case(op, v("f64", 0.1, 0.2), 0.1)
        case(op, v("f32", float("nan"), 1), float("nan")), case(op, v("i64", 2 ** 53, 2 ** 53 + 1), v("i64", 2 ** 53 + 1, 2 ** 53))
        case(op, lin("f32", [3], 0, 1), v("f64", 1, sizes=[])), case(op, v("i32", 3, sizes=[]), lin("f32", [5], 1, 1))
        shapes_of_two(case, op, "f32")


def shapes_of_two(case, op, dtype):
    for a, b in BROADCASTS:
        case(op, u(dtype, a, -1, 1), u(dtype, b, -1, 1))
    for a, b in MISFITS:
        case(op, u(dtype, a), u(dtype, b))
    for a, b in layout_pairs(dtype):
        case(op, a, b)


def logic(case):
    for op in ["logical_and", "logical_or", "logical_xor"]:
        for dtype in ALL:
            case(op, v(dtype, 0, 0, 1, 1, 2), v(dtype, 0, 1, 0, 1, 2))
        for a, b in MIXED:
            case(op, v(a, 0, 0, 1, 1), v(b, 0, 1, 0, 1))
        case(op, sp("f32", [27]), sp("f32", [27], 1)), case(op, v("f32", 0.25, 0), v("f64", 1e-300, 0.5))
        shapes_of_two(case, op, "b8")
    for op in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        for dtype in INTS + ["b8"]:
            case(op, sp(dtype, [13]), sp(dtype, [13], 4))
            case(op, lin(dtype, [4], 0, 1), 3), case(op, lin(dtype, [4], 0, 1), True)
        for a, b in [("u8", "i8"), ("i16", "u8"), ("b8", "i32"), ("i64", "i32"), ("i8", "i16")]:
            case(op, lin(a, [4], 0, 3), lin(b, [4], 1, 2))
        case(op, u("f32", [2]), u("f32", [2])), case(op, u("i32", [2]), 1.5), case(op, u("f16", [2]), u("i32", [2]))
        shapes_of_two(case, op, "i32")
    for dtype in ALL:
        case("logical_not", v(dtype, 0, 1, 2)), case("bitwise_not", lin(dtype, [5], 0, 1))
    case("logical_not", sp("f32", [27])), case("logical_not", u("f32", [0])), case("logical_not", u("b8", [2, 3]).transposed())
    case("bitwise_not", u("i32", [2, 3]).transposed()), case("bitwise_not", sp("i8", [13])), case("bitwise_not", u("i32", []))


# ---- three tensors ----

def choosing(case):
    for dtype in ALL:
        case("where", u("b8", [4]), u(dtype, [4]), u(dtype, [4]))
        case("where", u("b8", [4]), u(dtype, [4]), 1), case("where", u("b8", [4]), 0.5, u(dtype, [4]))
    for a, b in MIXED:
        case("where", u("b8", [4]), u(a, [4]), u(b, [4]))
        case("where", u("b8", [4]), u(a, [4]), u(b, []))
    case("where", u("b8", [4]), 1.0, 2.0), case("where", u("b8", [4]), 1, 2), case("where", u("b8", [4]), 1, 2.5)
    case("where", u("b8", [2, 1]), u("f32", [1, 3]), u("f32", [])), case("where", u("b8", [0]), u("f32", [1]), u("f32", [0]))
    case("where", u("b8", [3, 2]).transposed(), u("f32", [3, 2]).stepped(), u("f32", [3, 2]).expanded(0))
    case("where", u("b8", []), u("f32", [3]), u("f32", [2, 1])), case("where", u("b8", [27]), sp("f32", [27]), sp("f32", [27], 3))
    case("where", u("b8", [2]), u("f32", [3]), u("f32", [3])), case("where", u("f32", [2]), u("f32", [2]), u("f32", [2]))
    case("where", u("i32", [2]), u("f32", [2]), u("f32", [2]))
    clamping(case)
    interpolating(case)


def clamping(case):
    for dtype in ALL:
        case("clamp", u(dtype, [6], -5, 5), -1, 2), case("clamp", u(dtype, [6], -5, 5), min=0), case("clamp", u(dtype, [6], -5, 5), max=1)
        case("clamp.Tensor", u(dtype, [6], -5, 5), v(dtype, 0, sizes=[1]), u(dtype, [6], 1, 3))
    for dtype in ["f32", "i32"]:
        case("clamp", u(dtype, [6], -5, 5), 2, -1), case("clamp", u(dtype, [6], -5, 5), -1.5, 2.5), case("clamp", u(dtype, [3])), case("clamp.Tensor", u(dtype, [3]))
        case("clamp.Tensor", u(dtype, [2, 3], -5, 5).transposed(), max=u(dtype, [3])), case("clamp.Tensor", u(dtype, [4], -5, 5), min=u(dtype, [4]))
    nan = float("nan")
    case("clamp", sp("f32", [27]), -1.0, 1.0), case("clamp", v("f32", 1, 2), nan, 1.0), case("clamp", v("f32", 1, 2), 0.0, nan)
    case("clamp.Tensor", v("f32", nan, 1, 5), v("f32", 0, nan, 0), v("f32", 2, 2, nan)), case("clamp.Tensor", v("f32", 1, 2, 3), v("f32", 5, 5, 5), v("f32", 0, 0, 0))
    case("clamp.Tensor", u("f32", [3]), u("f64", [3]), u("i32", [3])), case("clamp.Tensor", u("i32", [3]), u("f32", [3]))
    case("clamp", u("f32", [0]), 0, 1), case("clamp", u("f32", []), 0, 1), case("clamp.Tensor", u("f32", [2, 1]), u("f32", [1, 3]))
    case("clamp.Tensor", u("f32", [2]), u("f32", [3])), case("clamp", sp("f64", [27]), -1.0, 1.0), case("clamp", sp("i64", [13]), -5, 5)


def interpolating(case):
    for dtype in ALL:
        case("lerp", u(dtype, [4]), u(dtype, [4]), 0.25), case("lerp", u(dtype, [4]), u(dtype, [4]), 0.75)
        case("lerp", u(dtype, [4]), u(dtype, [4]), u(dtype, [4]))
    for weight in [0.0, 1.0, 0.5, -1.0, 2, float("nan")]:
        case("lerp", u("f32", [3]), u("f32", [3]), weight)
    case("lerp", sp("f32", [27]), sp("f32", [27], 5), 0.5), case("lerp", u("f32", [2, 1]), u("f32", [3]), u("f32", [2, 1]))
    case("lerp", u("f32", [2, 3]).transposed(), u("f32", [2, 3]).stepped(), u("f32", [2, 3]).expanded(1))
    case("lerp", u("f32", [3]), u("f64", [3]), 0.5), case("lerp", u("f32", [0]), u("f32", [0]), 0.5), case("lerp", u("f32", []), u("f32", []), 0.5)
    case("lerp", u("f32", [2]), u("f32", [3]), 0.5), case("lerp", u("f32", [2]), u("f32", [2]), u("f32", [3]))


# ---- one tensor ----

DOMAINS = {"log": (0.01, 9), "log1p": (-0.9, 9), "log2": (0.01, 9), "log10": (0.01, 9), "sqrt": (0, 9), "rsqrt": (0.01, 9),
           "asin": (-1, 1), "acos": (-1, 1), "tan": (-1.4, 1.4), "floor": (-9, 9), "ceil": (-9, 9), "round": (-9, 9),
           "trunc": (-9, 9)}
# Stretches of the table of hard values, (length, shift), where all of it is not fit: torch's log1p(largest) is inf, as is
# its hardswish, which multiplies first; its sigmoid(-100) is 0.
HARD = {"log1p": [(14, 0), (11, 16)], "hardswish": [(14, 0), (11, 16)], "sigmoid": [(23, 0)]}
UNARY = ["neg", "abs", "sign", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "square",
         "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf", "erfc", "sigmoid", "floor", "ceil", "round",
         "trunc", "isnan", "isinf", "isfinite"]


def one_tensor(case, op, low=-3, high=3, **options):
    for dtype in ALL:
        case(op, u(dtype, [2, 4], low, high), **options)
        for length, shift in HARD.get(op, [(27, 0)]) if dtype in FLOATS else []:
            case(op, sp(dtype, [length], shift), **options)
    shapes = [u("f32", [], low, high), u("f32", [0], low, high), u("f32", [2, 0, 3], low, high), u("f32", [3, 2], low, high).transposed(),
              u("f32", [2, 3], low, high).stepped(), u("f32", [2, 3], low, high).expanded(0), u("f32", [2, 2, 3], low, high).with_layout([3, 6, 1], 2),
              u("f32", [19], low, high).shifted(1), u("f64", [5], low, high).stepped(3, 2), u("i64", [], low, high)]
    for x in shapes:
        case(op, x, **options)


def unary(case):
    for op in UNARY:
        one_tensor(case, op, *DOMAINS.get(op, (-3, 3)))
    for dtype in FLOATS:
        case("round", lin(dtype, [16], -3.75, 0.5)), case("round", lin(dtype, [16], -4, 0.5))
        case("exp", lin(dtype, [16], -110, 13.3)), case("sigmoid", lin(dtype, [16], -80, 12.5)), case("tanh", lin(dtype, [16], -10, 1.25))
        case("erf", lin(dtype, [16], -4, 0.5)), case("erfc", lin(dtype, [16], -4, 1)), case("expm1", lin(dtype, [16], -1e-3, 1.25e-4))
        case("log1p", lin(dtype, [16], -1e-3, 1.25e-4)), case("sin", lin(dtype, [16], -100, 12.3)), case("cos", lin(dtype, [16], -1000, 133))
        case("tan", lin(dtype, [16], -20, 2.7)), case("sinh", lin(dtype, [16], -1e-2, 1.3e-3)), case("exp2", lin(dtype, [16], -150, 19))
    case("round", u("f32", [4]), decimals=1), case("round", v("f32", 125, 135, -126), decimals=-1), case("round", u("i32", [3]), decimals=1)
    for op in ["neg", "abs", "sign", "square"]:
        for dtype in INTS:
            case(op, sp(dtype, [13]))
    case("sin", v("f32", 1e5, 1e10, -1e20, 3e38)), case("cos", v("f32", 1e5, 1e10, -1e20, 3e38)), case("sin", v("f64", 1e5, 1e15, -1e22, 1e300))


ACTIVATIONS = [("relu", {}), ("relu6", {}), ("leaky_relu", {}), ("leaky_relu", {"negative_slope": 0.2}), ("leaky_relu", {"negative_slope": -0.5}),
               ("elu", {}), ("elu", {"alpha": 0.5}), ("gelu", {}), ("gelu", {"approximate": "tanh"}), ("silu", {}), ("softplus", {}),
               ("softplus", {"beta": 2, "threshold": 3}), ("hardsigmoid", {}), ("hardswish", {}), ("hardtanh", {}),
               ("hardtanh", {"min_val": -2.5, "max_val": 0.5})]


def activations(case):
    for op, options in ACTIVATIONS:
        one_tensor(case, op, -5, 5, **options)
    for op in ["gelu", "silu", "softplus", "elu"]:
        case(op, lin("f32", [16], -40, 5)), case(op, lin("f64", [16], -40, 5))
    case("gelu", u("f32", [3]), approximate="none"), case("gelu", u("f32", [3]), approximate="exact"), case("leaky_relu", u("f32", [3]), 0)
    case("hardtanh", u("f32", [3]), 1, -1), case("relu", sp("i64", [13])), case("relu", sp("i8", [13]))


# ---- results written to an argument ----

TO_SELF_ONE = [op for op in UNARY if not op.startswith("is")] + ["relu", "relu6", "leaky_relu", "elu", "silu", "hardsigmoid", "hardswish",
                                                                 "hardtanh", "logical_not", "bitwise_not"]
TO_SELF_TWO = list(ARITHMETIC) + ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "bitwise_and",
                                  "bitwise_or", "bitwise_xor"]
NO_INPLACE = {"maximum", "minimum"}
NO_OUT = {"relu", "relu6"}  # of gelu's out, torch leaves a strided one as it was


def ints_for(op):
    return "i32" if op.startswith("bitwise") else "f32"


def in_place(case):
    for op in TO_SELF_ONE:
        dtype = ints_for(op)
        case(op + "_", u(dtype, [4], 0.1, 0.9 if dtype == "f32" else 5)), case(op + "_", u(dtype, [3, 2], 0, 1).transposed()), case(op + "_", u("i32", [3]))
        case(op + "_", u(dtype, [3, 2]).expanded(0)), case(op + "_", u(dtype, [5], 0, 1).stepped()), case(op + "_", u("b8", [3]))
    for op in TO_SELF_TWO:
        if op in NO_INPLACE:
            continue
        dtype, right = ints_for(op), right_of(op)
        case(op + "_", u(dtype, [3], 1, 3), right(dtype, [3])), case(op + "_", u(dtype, [2, 3], 1, 3).stepped(), right(dtype, [3]))
        case(op + "_", u("i32", [3], 1, 3), right("f32", [3])), case(op + "_", u("f32", [3]), right("f64", [3]))
        case(op + "_", u("i8", [3]), right("i64", [3])), case(op + "_", u("f16", [3]), right("f32", []))
        case(op + "_", u(dtype, [3]), right(dtype, [2, 3])), case(op + "_", u(dtype, [1]), right(dtype, [3])), case(op + "_", u("b8", [3]), right("b8", [3]))
        case(op + "_", u(dtype, [3], 1, 3), Again(0)), case(op + "_", u(dtype, [2, 2], 1, 3), Again(0, [2, 2], [1, 2]))
        case(op + "_", u(dtype, [3], 1, 3).with_layout([1], 1), Again(0, [3], [1], 0)), case(op + "_", u(dtype, [2, 3]).expanded(0), right(dtype, [3]))
    for op in [op for op in TO_SELF_TWO if op not in NO_INPLACE and not op.startswith("logical") and op != "atan2"]:
        case(op + "_", u(ints_for(op), [3], 1, 3), 2), case(op + "_", u("i32", [3], 1, 3), 2.5)
    case("add_", u("f32", [3]), u("f32", [3]), alpha=2), case("div_", u("i32", [3], -9, 9), v("i32", 2, 3, 4), rounding_mode="floor")
    case("clamp_", u("f32", [4]), -0.5, 0.5), case("clamp_", u("i32", [4]), 0.5), case("clamp_.Tensor", u("f32", [4]), min=u("f32", [4])), case("clamp_.Tensor", u("i32", [4]), max=u("f32", [4]))
    case("lerp_", u("f32", [4]), u("f32", [4]), 0.3), case("softplus", u("f32", [0])), case("masked_fill_", u("f32", [4]), u("b8", [4]), 2.5)
    case("masked_fill_", u("i32", [4]), u("b8", [1]), 7), case("tril_", u("f32", [3, 3])), case("triu_", u("f32", [2, 3]).transposed(), 1)
    case("cumsum_", u("f32", [2, 3]), 1)


def out(case):
    for op in TO_SELF_ONE + ["gelu", "softplus"]:
        dtype = ints_for(op)
        if op == "gelu":
            case(op, u(dtype, [2, 3]), out=blank(dtype, [2, 3]))
        elif op not in NO_OUT:
            outs_of(case, op, dtype, u(dtype, [2, 3], 0.1, 1 if dtype == "f32" else 5))
    for op in TO_SELF_TWO:
        dtype, right = ints_for(op), right_of(op)
        outs_of(case, op, dtype, u(dtype, [2, 3], 1, 3), right(dtype, [2, 3]))
        case(op, u(dtype, [2, 1], 1, 3), right(dtype, [3]), out=blank(dtype, [2, 3]))
        case(op, u(dtype, [3], 1, 3), right(dtype, [3]), out=Again(0)), case(op, u(dtype, [3], 1, 3), right(dtype, [3]), out=Again(1))
        case(op, u(dtype, [3], 1, 3).with_layout([1], 1), right(dtype, [3]), out=Again(0, [3], [1], 0))
    case("clamp", u("f32", [4]), -0.5, 0.5, out=blank("f32", [4])), case("clamp.Tensor", u("f32", [4]), u("f32", [1]), out=blank("f32", [4])), case("lerp", u("f32", [4]), u("f32", [4]), 0.5, out=blank("f32", [4]))
    case("where", u("b8", [4]), u("f32", [4]), u("f32", [4]), out=blank("f32", [4]))


def outs_of(case, op, dtype, *args):
    case(op, *args, out=blank(dtype, [2, 3])), case(op, *args, out=blank(dtype, [2, 3]).transposed()), case(op, *args, out=blank("f64", [2, 3]))
    case(op, *args, out=blank("i8", [2, 3])), case(op, *args, out=blank(dtype, [2, 3]).expanded(0)), case(op, *args, out=blank(dtype, [2, 3]).stepped())
