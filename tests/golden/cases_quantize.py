"""Cases of quantised ops, and what torch says of each.

torch's own quantised tensors carry their grid, and it rounds a bias to a grid of its own. So quantising is torch's with
int_repr, and products are written down here: exact sums of integers, then the factor and the offset of quantize.h in
f32, op by op."""

import torch
import torch.nn.functional as F

from golden import u, v

QUANTIZED = {torch.uint8: torch.quint8, torch.int8: torch.qint8}
LEAST = {torch.uint8: 0, torch.int8: -128}
U8, I8, F32 = torch.uint8, torch.int8, torch.float32


# ---- torch's answers ----

def within(q, dtype, quant_min, quant_max):
    low, high = LEAST[dtype], LEAST[dtype] + 255
    for end in (quant_min, quant_max):
        if end is not None and not low <= end <= high:
            raise ValueError("quant_min or quant_max is no number of the dtype")
    return q.clamp(quant_min if quant_min is not None else low, quant_max if quant_max is not None else high).to(dtype)


def check_scale(*scales):
    if not all(s > 0 for s in scales):
        raise ValueError("a scale is not positive")


def check_entries(scales, zero_points=None, low=0, high=0):
    """What only data can say: tests/golden_run.c knows this message."""
    bad = [s for s in scales.flatten().tolist() if not s > 0]
    if bad or (zero_points is not None and not all(low <= z <= high for z in zero_points.tolist())):
        raise ValueError("an entry is no part of a grid")


def quantize_per_tensor(x, scale, zero_point, dtype, quant_min=None, quant_max=None):
    check_scale(scale)
    if dtype not in QUANTIZED:
        raise TypeError("not a quantised dtype")
    q = torch.quantize_per_tensor(x, scale, zero_point, QUANTIZED[dtype]).int_repr()
    return within(q, dtype, quant_min, quant_max)


def quantize_per_channel(x, scales, zero_points, axis, dtype, quant_min=None, quant_max=None):
    check_entries(scales, zero_points, LEAST[dtype], LEAST[dtype] + 255)
    q = torch.quantize_per_channel(x.contiguous(), scales, zero_points, axis % x.dim(), QUANTIZED[dtype]).int_repr()
    return within(q, dtype, quant_min, quant_max)


def check_grid(x, scale, zero_point):
    check_scale(scale)
    if x.dtype not in QUANTIZED or not LEAST[x.dtype] <= zero_point <= LEAST[x.dtype] + 255:
        raise ValueError("not a grid")


def dequantize_per_tensor(x, scale, zero_point):
    check_grid(x, scale, zero_point)
    return (x.int() - zero_point).float() * torch.tensor(scale, dtype=F32)


def dequantize_per_channel(x, scales, zero_points, axis):
    shape = [1] * x.dim()
    shape[axis] = -1
    check_entries(scales, zero_points, LEAST[x.dtype], LEAST[x.dtype] + 255)
    return (x.int() - zero_points.reshape(shape).int()).float() * scales.reshape(shape)


def fake_per_tensor(x, scale, zero_point, quant_min, quant_max):
    check_scale(scale)
    return torch.fake_quantize_per_tensor_affine(x, scale, zero_point, quant_min, quant_max)


def fake_per_channel(x, scale, zero_point, axis, quant_min, quant_max):
    check_entries(scale, zero_point, quant_min, quant_max)
    return torch.fake_quantize_per_channel_affine(x, scale, zero_point, axis, quant_min, quant_max)


def finish(y, output_scale, output_zero_point, output_dtype, relu):
    """y in steps of the result."""
    y = y.clamp(min=0) if relu else y
    if output_dtype in (None, F32):
        return y
    low = LEAST[output_dtype] - output_zero_point
    if not low <= 0 <= low + 255:
        raise ValueError("output_zero_point is out of range")
    return (y.clamp(low, low + 255).round() + output_zero_point).to(output_dtype)


def step_of(output_scale, output_dtype):
    check_scale(output_scale)
    return 1.0 if output_dtype in (None, F32) else output_scale


def product(sums, channel, input_scale, weight_scales, bias, outputs, output_scale, output_zero_point, output_dtype, relu):
    """sums in f64; `outputs` lie along dimension `channel`."""
    step = step_of(output_scale, output_dtype)
    shape = [1] * sums.dim()
    shape[channel] = outputs
    check_scale(input_scale), check_entries(weight_scales)
    factor = (input_scale * weight_scales.double() / step).float().expand(outputs).reshape(shape)
    offset = torch.zeros(outputs) if bias is None else (bias.double() / step).float()
    return finish(sums.float() * factor + offset.reshape(shape), output_scale, output_zero_point, output_dtype, relu)


def check_weight(weight):
    if weight.dtype != I8:
        raise TypeError("weight is not of i8")


def quantized_linear(x, input_scale, input_zero_point, weight, weight_scales, bias=None, output_scale=1.0, output_zero_point=0, output_dtype=None, relu=False):
    check_grid(x, input_scale, input_zero_point), check_weight(weight)
    sums = F.linear(x.double() - input_zero_point, weight.double(), None if bias is None else bias.double() * 0)
    return product(sums, -1, input_scale, weight_scales, bias, len(weight), output_scale, output_zero_point, output_dtype, relu)


def convolution_of(axes):
    def call(x, input_scale, input_zero_point, weight, weight_scales, bias=None, stride=1, padding=0, dilation=1, groups=1, output_scale=1.0, output_zero_point=0, output_dtype=None, relu=False):
        check_grid(x, input_scale, input_zero_point), check_weight(weight)
        convolve = F.conv1d if axes == 1 else F.conv2d
        sums = convolve(x.double() - input_zero_point, weight.double(), None if bias is None else bias.double() * 0, stride, padding, dilation, groups)
        return product(sums, -1 - axes, input_scale, weight_scales, bias, len(weight), output_scale, output_zero_point, output_dtype, relu)
    return call


def quantized_add(a, a_scale, a_zero, b, b_scale, b_zero, output_scale=1.0, output_zero_point=0, output_dtype=None, relu=False):
    check_grid(a, a_scale, a_zero), check_grid(b, b_scale, b_zero)
    step = step_of(output_scale, output_dtype)
    parts = [(q.int() - zero).float() * torch.tensor(scale / step, dtype=F32) for q, scale, zero in ((a, a_scale, a_zero), (b, b_scale, b_zero))]
    return finish(parts[0] + parts[1], output_scale, output_zero_point, output_dtype, relu)


FUNCTIONS = {"quantize_per_tensor": quantize_per_tensor, "quantize_per_channel": quantize_per_channel, "dequantize_per_tensor": dequantize_per_tensor,
             "dequantize_per_channel": dequantize_per_channel, "fake_quantize_per_tensor_affine": fake_per_tensor,
             "fake_quantize_per_channel_affine": fake_per_channel, "quantized_linear": quantized_linear, "quantized_conv1d": convolution_of(1),
             "quantized_conv2d": convolution_of(2), "quantized_add": quantized_add}


# ---- cases ----

def quantizing(case):
    op = "quantize_per_tensor"
    for dtype, zero in [(U8, 0), (U8, 10), (U8, 255), (I8, 0), (I8, -128), (I8, 7)]:
        case(op, u("f32", [2, 5], -9, 9), 0.05, zero, dtype), case(op, v("f32", 0.05, 0.15, 0.25, 0.35, -0.05, -0.15, 0.0, -0.0, 100, -100, 12.75, 1e7), 0.1, zero, dtype), case(op, u("f32", [3, 19], -4, 4).transposed(), 1 / 3, zero, dtype)
    case(op, u("f32", [40], -4, 4), 0.03, 3, U8, quant_min=1, quant_max=127), case(op, u("f32", [2, 3], -4, 4), 0.03, 0, I8, quant_min=-127), case(op, u("f32", []), 0.1, 0, I8), case(op, u("f32", [0, 2]), 0.1, 0, I8), case(op, u("f32", [4, 3]).stepped(), 0.01, 128, U8), case(op, u("f32", [2, 3]).expanded(0), 0.01, 128, U8)
    case(op, u("f64", [2]), 0.1, 0, I8), case(op, u("f32", [2]), 0.0, 0, I8), case(op, u("f32", [2]), -0.1, 0, I8), case(op, u("f32", [2]), 0.1, 256, U8), case(op, u("f32", [2]), 0.1, -1, U8), case(op, u("f32", [2]), 0.1, -129, I8), case(op, u("f32", [2]), 0.1, 0, F32), case(op, u("f32", [2]), 0.1, 0, I8, quant_max=128)
    op = "quantize_per_channel"
    for dtype, zeros in [(U8, [0, 100, 255]), (I8, [0, -128, 5])]:
        for axis, sizes in [(0, [3, 4]), (1, [2, 3]), (-1, [2, 2, 3]), (1, [2, 3, 2, 2])]:
            case(op, u("f32", sizes, -6, 6), v("f32", 0.05, 0.1, 0.01), v("i64", *zeros), axis, dtype)
    case(op, u("f32", [2, 20], -6, 6).transposed(), v("f32", 0.05, 0.1), v("i64", 3, 4), 0, U8, quant_min=0, quant_max=127), case(op, u("f32", [0, 2]), v("f32", 0.05, 0.1), v("i64", 3, 4), 1, U8)
    case(op, u("f32", [2, 3]), v("f32", 0.05, 0.1), v("i64", 3, 4), 1, U8), case(op, u("f32", [2, 3]), v("f32", 0.05, -0.1), v("i64", 3, 4), 0, U8), case(op, u("f32", [2, 3]), v("f32", 0.05, 0.1), v("i64", 3, 400), 0, U8)
    for low, high, zero in [(0, 255, 9), (-128, 127, 0), (-8, 7, -8), (0, 15, 15), (-30000, 30000, 1)]:
        case("fake_quantize_per_tensor_affine", u("f32", [3, 7], -9, 9), 0.05, zero, low, high), case("fake_quantize_per_channel_affine", u("f32", [2, 3, 2], -9, 9), v("f32", 0.05, 0.1, 0.3), v("i32", zero, zero, low), 1, low, high)
    op = "fake_quantize_per_tensor_affine"
    case(op, v("f32", 0.05, 0.15, 0.25, -0.05, -0.25), 0.1, 0, 0, 255), case(op, u("f32", [2]), 0.1, 300, 0, 255), case(op, u("f32", [2]), 0.1, 0, 9, 2), case(op, u("f32", [2]), 0.0, 0, 0, 2), case(op, u("f32", [4, 3]).transposed(), 0.01, 128, 0, 255)
    op = "fake_quantize_per_channel_affine"
    case(op, u("f32", [2, 3]), v("f32", 0.1, 0.2), v("i32", 0, 0), 1, 0, 255), case(op, u("f32", [2, 3]), v("f32", 0.1, 0.2), v("i32", 0, 300), 0, 0, 255), case(op, u("f32", [2, 33], -9, 9).transposed(), v("f32", 0.1, 0.2), v("i32", 0, 30), 0, 0, 255)


def dequantizing(case):
    op = "dequantize_per_tensor"
    for dtype, zero in [("u8", 0), ("u8", 200), ("i8", -3), ("i8", 127)]:
        case(op, u(dtype, [2, 9], -128, 255 if dtype == "u8" else 127), 0.07, zero), case(op, u(dtype, [3, 4], -9, 9).transposed(), 2.5, zero)
    case(op, u("i8", []), 0.1, 0), case(op, u("i8", [0]), 0.1, 0), case(op, u("i32", [2]), 0.1, 0), case(op, u("i8", [2]), 0.0, 0), case(op, u("u8", [2]), 0.1, -1)
    op = "dequantize_per_channel"
    for axis, sizes in [(0, [3, 4]), (1, [2, 3]), (-1, [2, 2, 3]), (1, [2, 3, 2, 2])]:
        case(op, u("u8", sizes, 0, 255), v("f32", 0.05, 0.1, 0.01), v("i64", 0, 7, 255), axis), case(op, u("i8", sizes, -128, 127), v("f32", 0.05, 0.1, 0.01), v("i32", 0, 7, -9), axis)
    case(op, u("u8", [20, 2], 0, 255).transposed(), v("f32", 0.05, 0.1), v("i64", 3, 4), 1), case(op, u("u8", [2, 3]), v("f32", 0.05, 0.1), v("i64", 3, 4), 1), case(op, u("u8", [2, 3]), v("f32", 0.05, 0.0), v("i64", 3, 4), 0)


def x_of(sizes, dtype="u8"):
    return u(dtype, sizes, -128, 255 if dtype == "u8" else 127)


def w_of(sizes):
    return u("i8", sizes, -128, 127)


def outputs_of(scale):
    """A result on each kind of grid, and reals."""
    for relu in [False, True]:
        for options in [{}, {"output_scale": scale, "output_zero_point": 120, "output_dtype": U8}, {"output_scale": scale, "output_zero_point": -8, "output_dtype": I8}]:
            yield {**options, **({"relu": True} if relu else {})}


def products(case):
    op = "quantized_linear"
    for options in outputs_of(0.5):
        case(op, x_of([3, 7]), 0.02, 100, w_of([5, 7]), u("f32", [5], 0.001, 0.02), u("f32", [5]), **options), case(op, x_of([2, 19], "i8"), 0.05, -3, w_of([3, 19]), v("f32", 0.01), **options)
    for sizes in [[7], [1, 7], [2, 2, 7], [0, 7], [9, 7]]:
        case(op, x_of(sizes), 0.02, 3, w_of([5, 7]), v("f32", 0.01, sizes=[]), u("f32", [5]), output_scale=0.3, output_dtype=I8)
    case(op, x_of([3, 7]).transposed(), 0.02, 3, w_of([5, 7]).transposed(), u("f32", [5], 0.001, 0.02).stepped(), u("f32", [5]).stepped()), case(op, x_of([2, 0]), 0.02, 3, w_of([3, 0]), v("f32", 0.01), u("f32", [3])), case(op, x_of([3, 70]), 0.02, 0, w_of([17, 70]), v("f32", 0.01), output_scale=2.0, output_zero_point=255, output_dtype=U8)
    case(op, x_of([2, 3]), 0.1, 0, w_of([4, 2]), v("f32", 0.1)), case(op, x_of([2, 3]), 0.1, 0, w_of([4, 3]), v("f32", 0.1, 0.1)), case(op, x_of([2, 3]), 0.1, 0, u("u8", [4, 3]), v("f32", 0.1)), case(op, u("f32", [2, 3]), 0.1, 0, w_of([4, 3]), v("f32", 0.1)), case(op, x_of([2, 3]), 0.1, 0, w_of([4, 3]), v("f32", 0.1), u("f32", [3]))
    case(op, x_of([2, 3]), 0.0, 0, w_of([4, 3]), v("f32", 0.1)), case(op, x_of([2, 3]), 0.1, 256, w_of([4, 3]), v("f32", 0.1)), case(op, x_of([2, 3]), 0.1, 0, w_of([4, 3]), v("f32", -0.1)), case(op, x_of([2, 3]), 0.1, 0, w_of([4, 3]), v("f32", 0.1), output_scale=0.0, output_dtype=U8), case(op, x_of([2, 3]), 0.1, 0, w_of([4, 3]), v("f32", 0.1), output_zero_point=-1, output_dtype=U8)


def convolutions(case):
    for op, size, kernel in [("quantized_conv1d", [9], [3]), ("quantized_conv2d", [5, 6], [3, 2])]:
        wide, x, w = len(size), [1, 4, *size], [4, 4, *kernel]
        for options in outputs_of(0.7):
            case(op, x_of(x), 0.02, 100, w_of(w), u("f32", [4], 0.001, 0.02), u("f32", [4]), **options), case(op, x_of([4, *size], "i8"), 0.02, -5, w_of(w), v("f32", 0.01), padding=1, **options)
        for options in [{"stride": 2}, {"padding": 1}, {"dilation": 2}, {"stride": [2] * wide, "padding": [1] * wide, "dilation": [2] * wide}, {"padding": 2, "stride": 3}]:
            case(op, x_of(x), 0.02, 31, w_of(w), v("f32", 0.01), u("f32", [4]), output_scale=0.5, output_zero_point=99, output_dtype=U8, **options)
        case(op, x_of(x), 0.02, 31, w_of([4, 2, *kernel]), v("f32", 0.01), groups=2), case(op, x_of(x, "i8"), 0.02, 31, w_of([8, 1, *kernel]), u("f32", [8], 0.001, 0.02), u("f32", [8]), groups=4, padding=1), case(op, x_of([0, 4, *size]), 0.02, 31, w_of(w), v("f32", 0.01)), case(op, x_of([2, 3, *size]), 0.02, 31, w_of([5, 3, *kernel]), v("f32", 0.01))
    op = "quantized_conv2d"
    case(op, x_of([1, 3, 4, 4]).with_layout([48, 1, 12, 3]), 0.1, 7, w_of([2, 3, 3, 3]).with_layout([27, 1, 9, 3]), v("f32", 0.1)), case(op, x_of([1, 2, 4, 4]).stepped(), 0.1, 7, w_of([2, 2, 1, 1]), v("f32", 0.1)), case(op, x_of([2, 5, 3, 7]), 0.1, 7, w_of([6, 5, 1, 1]), v("f32", 0.1), output_scale=9.0, output_dtype=I8, relu=True), case(op, x_of([1, 5, 7, 7]), 0.1, 255, w_of([3, 5, 1, 1]), v("f32", 0.1), stride=2), case(op, x_of([1, 2, 5, 6]), 0.1, 7, w_of([2, 2, 5, 6]), v("f32", 0.1))
    case(op, x_of([1, 3, 4, 4]), 0.1, 0, w_of([2, 2, 3, 3]), v("f32", 0.1)), case(op, x_of([1, 2, 4, 4]), 0.1, 0, w_of([2, 2, 3, 3]), v("f32", 0.1, 0.1, 0.1)), case(op, x_of([1, 2, 4, 4]), 0.1, 300, w_of([2, 2, 3, 3]), v("f32", 0.1)), case(op, x_of([1, 2, 4, 4]), 0.1, 0, u("f32", [2, 2, 3, 3]), v("f32", 0.1)), case(op, x_of([1, 2, 4, 4]), 0.1, 0, w_of([2, 2, 3, 3]), v("f32", 0.1), stride=0), case(op, x_of([1, 2, 2, 2]), 0.1, 0, w_of([2, 2, 3, 3]), v("f32", 0.1)), case(op, x_of([1, 2, 4, 4]), 0.1, 0, w_of([2, 2, 3, 3]), v("f32", 0.1), output_zero_point=200, output_dtype=I8)


def sums(case):
    op = "quantized_add"
    for options in outputs_of(0.05):
        case(op, x_of([3, 7]), 0.02, 100, x_of([3, 7], "i8"), 0.03, -3, **options), case(op, x_of([2, 19]), 0.04, 0, x_of([19]), 0.01, 9, **options)
    case(op, x_of([3, 1, 4]).transposed(), 0.02, 100, x_of([2, 1]), 0.03, 3, output_scale=0.1, output_dtype=U8), case(op, x_of([]), 0.02, 100, x_of([2]), 0.03, 3), case(op, x_of([0, 2]), 0.02, 100, x_of([2]), 0.03, 3)
    case(op, x_of([3]), 0.02, 100, x_of([2]), 0.03, 3), case(op, u("f32", [2]), 0.02, 100, x_of([2]), 0.03, 3), case(op, x_of([2]), 0.0, 100, x_of([2]), 0.03, 3), case(op, x_of([2]), 0.1, 100, x_of([2]), 0.03, 256)
