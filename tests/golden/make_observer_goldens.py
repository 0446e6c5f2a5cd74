#!/usr/bin/env python3
"""Writes tests/golden/observers.txt from torch 1.13.1: `python3 -B tests/golden/make_observer_goldens.py`.

A line a case: the observer, dtype, scheme, reduce_range, quant_min, quant_max; its batches; scale and zero_point of each
channel. A batch is `seed rows columns power low high` of counter.py: low + (high - low) * u ** power, so that a power
above 1 leaves a thin tail; the shape is rows x columns. Run by hand; the file is committed."""

import os
import warnings

import numpy
import torch
from torch.ao.quantization import observer

import counter

SCHEMES = {"affine": torch.per_tensor_affine, "symmetric": torch.per_tensor_symmetric,
           "channel_affine": torch.per_channel_affine, "channel_symmetric": torch.per_channel_symmetric}
KINDS = {"MIN_MAX": observer.MinMaxObserver, "MOVING_AVERAGE_MIN_MAX": observer.MovingAverageMinMaxObserver,
         "PER_CHANNEL_MIN_MAX": observer.PerChannelMinMaxObserver,
         "MOVING_AVERAGE_PER_CHANNEL_MIN_MAX": observer.MovingAveragePerChannelMinMaxObserver,
         "HISTOGRAM": observer.HistogramObserver}

# What passes, batch by batch: several batches of one range, growing ones, shrinking ones, constants, zeros, one value,
# negative only, a thin tail, ranges below 1, ranges of halves.
STREAMS = [
    ["1 8 500 1 -2 3"],
    ["2 8 500 1 -2 3", "3 8 500 1 -2 3", "4 8 500 1 -2.5 3.25"],
    ["5 8 500 3 0 6", "6 8 500 5 0 17.5", "7 8 250 1 0 1"],
    ["8 8 100 1 -1 1", "9 8 100 1 -4 0.5", "10 8 400 7 -0.25 90"],
    ["11 8 10 1 2.5 2.5"],
    ["12 8 10 1 0 0"],
    ["13 8 10 1 0 0", "14 8 300 1 -3 3"],
    ["15 1 1 1 7.25 7.5"],
    ["16 8 200 1 -9 -2", "17 8 200 9 -2 -30"],
    ["18 8 500 1 -0.4 0.6", "19 8 500 1 -0.3 0.9"],
    ["20 8 700 21 0 40"],
    ["21 8 700 9 -60 80", "22 8 700 9 80 -60"],
    ["23 8 2000 3 -1 1000"],
    ["24 8 100 1 -1e-4 2e-4", "25 8 100 1 -1e-4 3e-4"],
]
SETTINGS = [
    ("MIN_MAX", "u8", "affine", 0, 0, 0), ("MIN_MAX", "u8", "affine", 1, 0, 0), ("MIN_MAX", "i8", "symmetric", 0, 0, 0),
    ("MIN_MAX", "u8", "affine", 0, 0, 100), ("MIN_MAX", "i8", "symmetric", 0, -127, 127),
    ("MOVING_AVERAGE_MIN_MAX", "u8", "affine", 1, 0, 0), ("MOVING_AVERAGE_MIN_MAX", "i8", "affine", 0, 0, 0),
    ("PER_CHANNEL_MIN_MAX", "i8", "channel_symmetric", 0, 0, 0), ("PER_CHANNEL_MIN_MAX", "u8", "channel_affine", 0, 0, 0),
    ("MOVING_AVERAGE_PER_CHANNEL_MIN_MAX", "i8", "channel_affine", 1, 0, 0),
    ("HISTOGRAM", "u8", "affine", 1, 0, 0), ("HISTOGRAM", "u8", "affine", 0, 0, 0), ("HISTOGRAM", "i8", "symmetric", 1, 0, 0),
]


def batch(text):
    seed, rows, columns, power, low, high = text.split()
    u = counter.uniform(int(seed), int(rows) * int(columns), 0.0, 1.0)
    product = u
    for _ in range(int(power) - 1):
        product = product * u
    values = float(low) + (float(high) - float(low)) * product
    return torch.from_numpy(values.astype(numpy.float32)).reshape(int(rows), int(columns))


def case(setting, stream):
    kind, dtype, scheme, reduce, low, high = setting
    more = {"quant_min": low, "quant_max": high} if low or high else {}
    o = KINDS[kind](dtype=torch.quint8 if dtype == "u8" else torch.qint8, qscheme=SCHEMES[scheme],
                    reduce_range=bool(reduce), **more)
    for b in stream:
        o(batch(b))
    scale, zero_point = o.calculate_qparams()
    results = " ".join("%.9g %d" % (s, z) for s, z in zip(scale.tolist(), zero_point.tolist()))
    return "%s %s %s %d %d %d | %s | %s\n" % (*setting, " ; ".join(stream), results)


def main():
    warnings.simplefilter("ignore")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "observers.txt"), "w") as out:
        for setting in SETTINGS:
            for stream in STREAMS:
                out.write(case(setting, stream))


main()
