#!/usr/bin/env python3
"""Writes tests/golden/resnet18.txt from torch 1.13.1: `python3 -B tests/golden/make_resnet_golden.py`.

The names of the state dict, then the 1000 logits of two images. Weights and images come from counter.py, so that only
this is kept. Run by hand; the file is committed."""

import os

import torch

import counter
import resnet


def main():
    net = resnet.ResNet18()
    net.load_state_dict(counter.filled(net.state_dict()))
    net.eval()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "resnet18.txt"), "w") as out, torch.inference_mode():
        out.write(" ".join(net.state_dict()) + "\n")
        for number in range(2):
            out.write(" ".join("%.9g" % v for v in net(counter.image(number))[0].tolist()) + "\n")


main()
