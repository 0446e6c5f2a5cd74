"""The language of the golden files, and how a case is run in torch.

A line is one call by name and what torch gave for it:

    add(f32[2,3]:u(1,-2,2), f32[3]{2}+1:lin(0,0.5), alpha=2) -> f32[2,3] 1 2 3 4 5 6
    max.dim(f32[4]:v(1,nan,3,2), 0) -> f32[] nan | i64[] 1
    split(i64[3]:lin(0,1), 2) -> { i64[2]{1} 0 1 | i64[1]{1} 2 }
    add(f32[2]:v(1,2), f32[3]:v(1,2,3)) -> error # The size of tensor a (2) must match ...

A tensor is dtype[sizes]{strides}+offset:fill. Its storage is as long as the view needs, element i of the
STORAGE is fill(i), and the strided view is laid over it; without {} the layout is row-major. `@k` is the k-th
tensor of the line once more, the same object; `@k[sizes]{strides}+offset` another view of its storage. Fills:

    u(seed,lo,hi)    uniform by a counter: see `uniform`       lin(start,step)  start + step * i
    sp(shift)        the table of hard values, from `shift` on  v(a,b,...)       as written
    -                zeros, for results to be written to

A bare number, [1,2] (integers), 'text', True, None, f32 (a dtype) and {a, b} (tensors) are the other arguments.
Results: values in row-major order; `?` stands for values that are not defined (empty, random). {strides} on a
result says that it shares storage with an argument. `via f32` before the results: torch has no good kernel for this
half type, so the inputs were widened and the results rounded. `after k` names tensor k of the line as it is afterwards,
where the call changes an argument that is not its result. `ref` alone: whatever the backend ref gives."""

import functools
import math
import re

import numpy
import torch

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
          "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "b8": torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
TITLES = {"Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16, "Long": torch.int64,
          "Int": torch.int32, "Short": torch.int16, "Char": torch.int8, "Byte": torch.uint8, "Bool": torch.bool}
FLOATS = ["f32", "f64", "f16", "bf16"]
HALVES = ["f16", "bf16"]
INTS = ["i64", "i32", "i16", "i8", "u8"]
ALL = FLOATS + INTS + ["b8"]

LARGEST = {"f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308, "f16": 65504.0, "bf16": 3.3895313892515355e38}
SMALLEST_NORMAL = {"f32": 2.0 ** -126, "f64": 2.0 ** -1022, "f16": 2.0 ** -14, "bf16": 2.0 ** -126}
SMALLEST = {"f32": 2.0 ** -149, "f64": 2.0 ** -1074, "f16": 2.0 ** -24, "bf16": 2.0 ** -133}
BITS = {"i64": 64, "i32": 32, "i16": 16, "i8": 8, "u8": 8}


def special_table(dtype):
    """The hard values of a dtype; as long for each float type, and for each integer type."""
    if dtype in FLOATS:
        return [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5,
                LARGEST[dtype], -LARGEST[dtype], SMALLEST_NORMAL[dtype], SMALLEST[dtype], -SMALLEST[dtype],
                0.1, -0.1, 20.0, -20.0, 100.0, -100.0, 1000.0, -1000.0]
    if dtype == "b8":
        return [0, 1, 1]
    low = 0 if dtype == "u8" else -(1 << (BITS[dtype] - 1))
    high = low + (1 << BITS[dtype]) - 1
    return [0, 1, -1 if low else 128, high, low, 2, -2 if low else 254, 3, -3 if low else 5, 7, -7 if low else 9, 100, 64]


def splitmix64(counter):
    """Steele, Lea and Flood's mixer of a 64-bit counter."""
    mask = (1 << 64) - 1
    z = (counter + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def uniform(dtype, seed, low, high, i):
    """Floats: low + (high - low) * u with 53 random bits; integers: both ends included; bool: the top bit."""
    bits = splitmix64((seed << 32) + i)
    if dtype == "b8":
        return bits >> 63
    if dtype in FLOATS:
        return low + (high - low) * ((bits >> 11) * 2.0 ** -53)
    return low + bits % (high - low + 1)


def number(x):
    """A number as the files write it: floats always look like floats."""
    if isinstance(x, (bool, int)):
        return str(x)
    return repr(float(x))


class Spec:
    """A tensor as the files describe it."""

    def __init__(self, dtype, sizes, fill, strides=None, offset=0, base=None):
        self.dtype, self.sizes, self.fill, self.strides, self.offset = dtype, list(sizes), fill, strides, offset
        self.base = base

    def with_layout(self, strides, offset=0):
        return Spec(self.dtype, self.sizes, self.fill, list(strides), offset)

    def transposed(self):
        """Column-major: the last axis varies slowest."""
        strides, step = [], 1
        for size in self.sizes:
            strides.append(step)
            step *= max(size, 1)
        return self.with_layout(strides)

    def stepped(self, step=2, offset=1):
        return self.with_layout([s * step for s in row_major(self.sizes)], offset)

    def expanded(self, dim=0):
        """Stride 0 on one axis; the others row-major without it."""
        rest = row_major([1 if d == dim else s for d, s in enumerate(self.sizes)])
        return self.with_layout([0 if d == dim else s for d, s in enumerate(rest)])

    def shifted(self, offset=3):
        return self.with_layout(row_major(self.sizes), offset)

    def storage_length(self):
        if 0 in self.sizes:
            return self.offset
        strides = self.strides or row_major(self.sizes)
        return 1 + self.offset + sum((n - 1) * s for n, s in zip(self.sizes, strides))

    def layout_text(self):
        text = "[" + ",".join(map(str, self.sizes)) + "]"
        if self.strides is not None:
            text += "{" + ",".join(map(str, self.strides)) + "}"
        return text + (f"+{self.offset}" if self.offset else "")

    def text(self):
        kind, *values = self.fill
        fill = kind if kind == "-" else kind + "(" + ",".join(map(number, values)) + ")"
        return f"{self.dtype}{self.layout_text()}:{fill}"

    def value(self, i):
        kind, *v = self.fill
        if kind == "u":
            return uniform(self.dtype, *v, i)
        if kind == "lin":
            return v[0] + v[1] * i
        if kind == "sp":
            table = special_table(self.dtype)
            return table[(i + v[0]) % len(table)]
        return v[i] if kind == "v" else 0

    def tensor(self):
        values = [self.value(i) for i in range(self.storage_length())]
        if self.dtype in FLOATS:
            storage = torch.tensor(values, dtype=torch.float64)
            storage = storage.to(torch.float64 if self.dtype == "f64" else torch.float32).to(DTYPES[self.dtype])
        else:
            storage = torch.tensor(values, dtype=DTYPES[self.dtype])
        return storage.as_strided(self.sizes, self.strides or row_major(self.sizes), self.offset)


class Again:
    """The k-th tensor of the line once more, or another view of its storage."""

    def __init__(self, k, sizes=None, strides=None, offset=0):
        self.k, self.sizes, self.strides, self.offset = k, sizes, strides, offset

    def text(self):
        return f"@{self.k}" + (Spec("", self.sizes, ("-",), self.strides, self.offset).layout_text() if self.sizes else "")

    def view(self, tensors):
        base = tensors[self.k]
        return base.as_strided(self.sizes, self.strides, self.offset) if self.sizes else base


def row_major(sizes):
    strides, step = [0] * len(sizes), 1
    for d in reversed(range(len(sizes))):
        strides[d] = step
        step *= max(sizes[d], 1)
    return strides


_seed = 0


def restart_seeds():
    global _seed
    _seed = 0


def u(dtype, sizes, low=-2, high=2):
    """A fresh uniform tensor. For integers the bounds are integers; u8 takes the part above 0."""
    global _seed
    _seed += 1
    if dtype not in FLOATS:
        low, high = math.ceil(low), math.floor(high)
    if dtype == "u8":
        low = max(low, 0)
    return Spec(dtype, sizes, ("u", _seed, low, high))


def lin(dtype, sizes, start=0, step=1):
    return Spec(dtype, sizes, ("lin", start, step))


def sp(dtype, sizes, shift=0):
    return Spec(dtype, sizes, ("sp", shift))


def v(dtype, *values, sizes=None):
    return Spec(dtype, [len(values)] if sizes is None else sizes, ("v", *values))


def blank(dtype, sizes):
    return Spec(dtype, sizes, ("-",))


# ---- writing ----

def argument_text(x):
    if isinstance(x, (Spec, Again)):
        return x.text()
    if isinstance(x, torch.dtype):
        return NAMES[x]
    if isinstance(x, tuple):
        return "{" + ", ".join(map(argument_text, x)) + "}"
    if isinstance(x, list):
        return "[" + ",".join(map(str, x)) + "]"
    if isinstance(x, str):
        return f"'{x}'"
    return "None" if x is None else number(x)


def call_text(op, args, kwargs):
    parts = [argument_text(x) for x in args] + [f"{k}={argument_text(x)}" for k, x in kwargs.items()]
    return f"{op}({', '.join(parts)})"


def value_text(x, dtype):
    """The shortest decimal that reads back to the same bits."""
    if dtype not in FLOATS:
        return str(int(x))
    if dtype == "f64":
        return repr(float(x))
    if dtype == "bf16":
        return "%.4g" % float(x)
    return str(numpy.float32(x) if dtype == "f32" else numpy.float16(x))


def tensor_text(t, shares, defined):
    dtype = NAMES[t.dtype]
    text = f"{dtype}[{','.join(map(str, t.shape))}]"
    if shares:
        text += "{" + ",".join(map(str, t.stride())) + "}"
    if not defined:
        return text + " ?"
    values = t.contiguous().to(torch.float64 if dtype in FLOATS else torch.int64).flatten()
    words = [value_text(x, dtype) for x in values.tolist()]
    return " ".join([text] + [w[:-2] if w.endswith(".0") else w for w in words])


# ---- running ----

def flat(x):
    """The specs in an argument, lists opened."""
    if isinstance(x, (Spec, Again)):
        return [x]
    return list(x) if isinstance(x, tuple) else []


class Case:
    """One call. Tensors are made afresh for each run, widened to f32 on the second try."""

    def __init__(self, op, args, kwargs):
        self.op, self.args, self.kwargs = op, args, kwargs
        self.specs = [s for x in (*args, *kwargs.values()) for s in flat(x)]

    def half_type(self):
        """The half type of the result: asked for, or what the inputs promote to."""
        asked = NAMES.get(self.kwargs.get("dtype"))
        if asked is None:
            types = [t for t in self.tensors if t.is_floating_point() or t.dim()]
            asked = NAMES[functools.reduce(promoted, types).dtype] if types else None
        return asked if asked in HALVES else None

    def run(self, function, widen=False):
        self.tensors = []
        args = [self.bind(x, widen) for x in self.args]
        kwargs = {k: self.bind(x, widen) for k, x in self.kwargs.items()}
        self.before = [t.clone() for t in self.tensors]
        return function(*args, **kwargs)

    def bind(self, x, widen):
        if isinstance(x, tuple):
            return [self.bind(entry, widen) for entry in x]
        if isinstance(x, Spec):
            t = x.tensor()
            self.tensors.append(t.float() if widen and x.dtype in HALVES else t)
            return self.tensors[-1]
        if isinstance(x, Again):
            self.tensors.append(x.view(self.tensors))
            return self.tensors[-1]
        return torch.float32 if widen and isinstance(x, torch.dtype) and NAMES[x] in HALVES else x

    def changed(self, results):
        """Arguments that the call changed and that are not its results."""
        addresses = {r.data_ptr() for r in results}
        return [k for k, (t, old) in enumerate(zip(self.tensors, self.before))
                if t.data_ptr() not in addresses and not same(t, old)]


def promoted(a, b):
    """A tensor of the dtype that a and b promote to, with the rank that counts."""
    return torch.empty([1] * max(a.dim(), b.dim()), dtype=torch.result_type(a, b))


def same(a, b):
    return torch.equal(a.nan_to_num() if a.is_floating_point() else a, b.nan_to_num() if b.is_floating_point() else b)


def shares(result, tensors):
    address = result.storage().data_ptr()
    return address != 0 and any(t.storage().data_ptr() == address for t in tensors)


def results_text(case, results, is_list, written, narrow, defined):
    """`written`: the results are arguments (in place, out), whose layout is known already."""
    words = []
    for r in results:
        t = r.to(DTYPES[narrow]) if narrow and r.dtype == torch.float32 else r
        words.append(tensor_text(t, not written and not narrow and shares(r, case.tensors), defined))
    text = " | ".join(words)
    if is_list:
        text = "{ " + text + " }" if text else "{ }"
    for k in [] if written else case.changed(results):
        text += f" | after {k} " + tensor_text(case.tensors[k].to(DTYPES[case.specs[k].dtype]), False, True)
    return ("via f32 " if narrow else "") + text


def error_text(error):
    line = str(error).split("\n")[0].strip()
    return "error # " + line.encode("ascii", "replace").decode()[:110]


def lacks_half_kernel(error):
    text = str(error)
    return "not implemented for 'Half'" in text or "not implemented for 'BFloat16'" in text


# Ops that are about floating point: that torch lacks their integer kernels is the answer. In the rest it is a gap.
FLOAT_ONLY = {"lerp", "elu", "gelu", "silu", "softplus", "leaky_relu", "hardsigmoid", "hardswish", "softmax", "log_softmax",
              "batch_norm", "layer_norm", "adaptive_avg_pool2d", "var", "std", "rand", "randn", "rand_like", "randn_like"}
BITS_ONLY = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"}


def says_nothing(op, error):
    """Is this error a gap in torch's kernels and no statement about the op?"""
    name = op.split(".")[0].removesuffix("_")
    text = str(error)
    if "not implemented for" in text:
        return name not in FLOAT_ONLY and not (name in BITS_ONLY and ("Float" in text or "Double" in text))
    found = re.match(r"Found dtype (\w+) but expected (\w+)", text)
    return found is not None and torch.can_cast(TITLES[found[2]], TITLES[found[1]])


# torch rounds partial results of these to the half type, some kernels of it and not others: no oracle.
SLOPPY = {"gelu", "mm", "bmm", "mv", "dot", "matmul", "linear", "addmm", "conv1d", "conv2d", "batch_norm", "layer_norm"}


def run_widening(case, function):
    """The results, and the half type that they are to be rounded to where torch has no good kernel for it."""
    try:
        raw = case.run(function)
    except RuntimeError as error:
        if not lacks_half_kernel(error):
            raise
        raw = None
    narrow = case.half_type()
    if raw is not None and not (narrow and case.op in SLOPPY):
        return raw, None
    return case.run(function, widen=True), narrow or "f32"


def golden_line(op, function, args, kwargs, defined=True):
    """The line of one case; None where torch has a gap."""
    case = Case(op, args, kwargs)
    text = call_text(op, args, kwargs) + " -> "
    try:
        raw, narrow = run_widening(case, function)
    except (RuntimeError, IndexError, ValueError, ZeroDivisionError, TypeError, NotImplementedError) as error:
        return None if says_nothing(op, error) else text + error_text(error)
    results = [raw] if isinstance(raw, torch.Tensor) else list(raw)
    is_list = isinstance(raw, (list, tuple)) and op.split(".")[0] in ("split", "chunk")
    written = op.split(".")[0].endswith("_") or "out" in kwargs
    return text + results_text(case, results, is_list, written, narrow, defined)
