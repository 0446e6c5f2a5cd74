#!/usr/bin/env python3
"""Writes the golden files of tests/test_golden.c from torch 1.13.1: `python3 -B tests/golden/make_goldens.py [FILE...]`.

Run by hand when cases change; the files are committed, so the tests need no torch. golden.py says what a line is;
cases_*.py hold the cases. With --errors the messages of failing calls are listed instead, for reading through: an
error must be torch's answer to the arguments, not to the way they were written down here."""

import os
import sys
import warnings

import torch
import torch.nn.functional as F

import cases_create
import cases_large
import cases_nn
import cases_pointwise
import cases_quantize
import cases_reduce
import cases_shape
import golden

FILES = {
    "arithmetic": [cases_pointwise.arithmetic],
    "comparison": [cases_pointwise.comparison, cases_pointwise.logic],
    "choosing": [cases_pointwise.choosing],
    "unary": [cases_pointwise.unary],
    "activation": [cases_pointwise.activations, cases_reduce.softmaxes],
    "inplace": [cases_pointwise.in_place],
    "out": [cases_pointwise.out],
    "reduction": [cases_reduce.reductions, cases_reduce.scans, cases_reduce.outs],
    "product": [cases_reduce.products],
    "convolution": [cases_nn.convolution],
    "pooling": [cases_nn.pooling],
    "normalisation": [cases_nn.normalisation, cases_nn.embedding, cases_nn.padding, cases_nn.dropout],
    "quantized": [cases_quantize.quantizing, cases_quantize.dequantizing, cases_quantize.products, cases_quantize.convolutions, cases_quantize.sums],
    "shape": [cases_shape.reshaping, cases_shape.axes, cases_shape.picking, cases_shape.splitting],
    "movement": [cases_shape.joining, cases_shape.copying, cases_shape.by_index],
    "large": [cases_large.pointwise, cases_large.reducing, cases_large.products, cases_large.images, cases_large.moving],
    "creation": [cases_create.filled, cases_create.ranges, cases_create.alike, cases_create.random, cases_create.out],
}


def over_axes(reduce_one):
    """torch 1.13 takes one axis where later versions, and we, take several."""
    def call(x, dim=None, keepdim=False, **rest):
        if dim is None or dim == []:
            return reduce_one(x, **rest)
        dims = sorted({d % max(x.dim(), 1) if -max(x.dim(), 1) <= d < max(x.dim(), 1) else d for d in (dim if isinstance(dim, list) else [dim])})
        if isinstance(dim, list) and len(dims) != len(dim):
            raise RuntimeError("dim appears multiple times in the list of dims")
        for d in reversed(dims):
            x = reduce_one(x, d, keepdim, **rest)
        return x
    return call


def optional_axis(reduce_one):
    """dim=None means all axes; torch spells that by leaving dim out."""
    return lambda x, dim=None, **rest: reduce_one(x, **rest) if dim is None else reduce_one(x, dim, **rest)


def batch_norm(x, weight=None, bias=None, running_mean=None, running_var=None, training=False, momentum=0.1, eps=1e-5):
    return torch.batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps, False)


def range_of(end, start=0, step=1, **rest):
    return torch.arange(start, end, step, **rest)


METHODS = ["view", "reshape", "expand", "contiguous", "copy_", "to"]
SPECIAL = {
    "any": over_axes(torch.any), "all": over_axes(torch.all), "prod": optional_axis(torch.prod),
    "amax": lambda x, dim=(), **rest: torch.amax(x, () if dim is None else dim, **rest),
    "amin": lambda x, dim=(), **rest: torch.amin(x, () if dim is None else dim, **rest),
    "std": lambda x, dim=None, unbiased=True, keepdim=False, **rest: torch.std(x, dim, unbiased, keepdim, **rest),
    "var": lambda x, dim=None, unbiased=True, keepdim=False, **rest: torch.var(x, dim, unbiased, keepdim, **rest),
    "norm": lambda x, p=2, dim=None, keepdim=False, **rest: torch.norm(x, p, dim, keepdim, **rest),
    **cases_quantize.FUNCTIONS, "batch_norm": batch_norm, "arange": range_of, "embedding": torch.embedding,
}
SCHEMA_FORM = {"slice", "copy", "relu6", "leaky_relu", "elu", "gelu", "silu", "softplus", "hardsigmoid", "hardswish", "hardtanh"}


def function_of(op):
    """torch's function for an op of ours: torch.X, torch.nn.functional.X, the method, or the op of the schema."""
    name = op.split(".")[0]
    if name.removesuffix("_") in SCHEMA_FORM and name not in METHODS:
        return getattr(torch.ops.aten, name)
    if name in SPECIAL:
        return SPECIAL[name]
    if name in METHODS:
        return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
    for home in (torch, F, torch.Tensor):
        if hasattr(home, name):
            return getattr(home, name)
    raise KeyError(op)


class Writer:
    """Called once a case; collects the lines of one file."""

    def __init__(self):
        self.lines, self.gaps = [], []

    def __call__(self, op, *args, **kwargs):
        self.add(op, args, kwargs, True)

    def undefined(self, op, *args, **kwargs):
        """The values of the result are not defined, only dtype and shape."""
        self.add(op, args, kwargs, False)

    def by_reference(self, op, *args, **kwargs):
        """The runner compares with `ref`."""
        self.lines.append(golden.call_text(op, args, kwargs) + " -> ref")

    def add(self, op, args, kwargs, defined):
        line = golden.golden_line(op, function_of(op), args, kwargs, defined)
        if line is None:
            self.gaps.append(golden.call_text(op, args, kwargs))
        else:
            self.lines.append(line)


def write(name, errors_only):
    golden.restart_seeds()
    writer = Writer()
    for group in FILES[name]:
        group(writer)
    lines = list(dict.fromkeys(writer.lines))
    if errors_only:
        print("\n".join(line for line in lines if "-> error" in line))
        print("\n".join("gap: " + call for call in writer.gaps))
        return
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".txt"), "w") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{name}: {len(lines)} cases, {len(writer.gaps)} left out as gaps in torch")


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    for name in names or FILES:
        write(name, "--errors" in sys.argv)


if __name__ == "__main__":
    main()
