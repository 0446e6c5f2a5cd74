"""Our symbolic trace of ResNet18 beside torch.fx's, in turns: trace_fx.py build/bench/trace."""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))

import torch.fx

import resnet


def median_us(work, times=7):
    samples = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        samples.append((time.perf_counter() - start) * 1e6)
    return sorted(samples)[times // 2]


def main():
    net = resnet.ResNet18()
    theirs, ours = {"trace": [], "symbolic_trace": []}, {"trace": [], "symbolic_trace": []}
    for _ in range(3):
        theirs["trace"].append(median_us(lambda: torch.fx.Tracer().trace(net)))
        theirs["symbolic_trace"].append(median_us(lambda: torch.fx.symbolic_trace(net)))
        for line in subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines():
            _, name, value, _ = line.split()
            ours[name].append(float(value))
    print("%-26s %10s %10s %8s" % ("us, ResNet18", "torch.fx", "shunt", "ratio"))
    for name in ours:
        a, b = sorted(theirs[name])[1], sorted(ours[name])[1]
        print("%-26s %10.0f %10.1f %8.0f" % (name, a, b, a / b))


main()
