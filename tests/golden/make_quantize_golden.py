#!/usr/bin/env python3
"""Writes tests/golden/quantize.txt from torch 1.13.1: `python3 -B tests/golden/make_quantize_golden.py`.

The SQNR of each layer of the net of tests/quantize_net.h after prepare_fx and convert_to_reference_fx with the settings of
fbgemm, weights and images by counter.py: a line `setting layer SQNR` each. Both modules run on one image that the
observers have not seen. The reference form is what fbgemm's kernels compute too; not every build of torch has those. Run by
hand; the file is committed."""

import os
import warnings

import numpy
import torch
from torch import nn
from torch.ao.quantization import QConfig, QConfigMapping, get_default_qconfig, observer, quantize_fx

import counter

IMAGES = 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(8)
        self.conv3 = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=2)
        self.pool = nn.MaxPool2d(2)
        self.mean = nn.AdaptiveAvgPool2d((1, 1))
        self.fc1 = nn.Linear(16, 12)
        self.fc2 = nn.Linear(12, 10)

    def forward(self, x):
        a = self.relu(self.bn1(self.conv1(x)))
        b = self.relu(self.bn2(self.conv2(a)))
        c = torch.relu(a + b)
        d = torch.cat([self.pool(c), self.conv3(c)], dim=1)
        e = torch.flatten(self.mean(d), 1)
        return self.fc2(self.relu(self.fc1(e)))


# Each layer: where the float module gives its value, where the quantised one does.
LAYERS = [("conv1", "relu", "conv1"), ("conv2", "relu_1", "conv2"), ("add", "relu_2", "relu_2"), ("conv3", "conv3", "conv3"),
          ("cat", "cat", "cat"), ("fc1", "relu_3", "fc1"), ("fc2", "fc2", "fc2")]


def image(number):
    values = counter.uniform(2000 + number, 2 * 3 * 16 * 16, -2.0, 2.0).astype(numpy.float32)
    return torch.from_numpy(values).reshape(2, 3, 16, 16)


class Keeps(torch.fx.Interpreter):
    def run_node(self, node):
        value = super().run_node(node)
        self.kept[node.name] = value
        return value


def values(module, x):
    interpreter = Keeps(module, garbage_collect_values=False)
    interpreter.kept = {}
    interpreter.run(x)
    return interpreter.kept


def stored(graph, name):
    """The node that brings back what is stored of the value of `name`."""
    node = next(n for n in graph.nodes if n.name == name)
    quantize = next(u for u in node.users if u.target is torch.quantize_per_tensor)
    return next(u for u in quantize.users if u.target == "dequantize").name


def sqnr(x, y):
    return 20 * torch.log10(torch.norm(x.double()) / torch.norm(x.double() - y.double())).item()


SETTINGS = {
    "histogram": get_default_qconfig("fbgemm"),
    "min_max": QConfig(activation=observer.MinMaxObserver.with_args(reduce_range=True),
                       weight=observer.default_per_channel_weight_observer),
    "moving_average": QConfig(activation=observer.MovingAverageMinMaxObserver.with_args(reduce_range=True),
                              weight=observer.default_weight_observer),
}


def main():
    warnings.simplefilter("ignore")
    net = Net().eval()
    net.load_state_dict(counter.filled(net.state_dict()))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "quantize.txt"), "w") as out, torch.inference_mode():
        for name, qconfig in SETTINGS.items():
            prepared = quantize_fx.prepare_fx(net, QConfigMapping().set_global(qconfig), (image(0),))
            for number in range(IMAGES):
                prepared(image(number))
            quantized = quantize_fx.convert_to_reference_fx(prepared)
            x = values(torch.fx.symbolic_trace(net), image(IMAGES))
            y = values(quantized, image(IMAGES))
            for layer, of_float, of_quantized in LAYERS:
                out.write("%s %s %.4f\n" % (name, layer, sqnr(x[of_float], y[stored(quantized.graph, of_quantized)])))


main()
