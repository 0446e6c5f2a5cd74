#!/bin/sh
# peers.sh: our kernels beside torch's, one thread, in one run. torch is Debian's python3-torch, where it is installed.
set -eu
build=${BUILD:-build}
"$build/bench/kernels" >"$build/bench/ours.txt"
if ! /usr/bin/python3 -c 'import torch' 2>/dev/null; then
    echo "torch is not installed (package python3-torch); ours alone, in microseconds:"
    cat "$build/bench/ours.txt"
    exit 0
fi
/usr/bin/python3 -B - "$build/bench/ours.txt" <<'PY'
import sys, time, torch
torch.set_num_threads(1)
v, large, m = torch.rand(100000), torch.rand(10000000), torch.rand(1024, 1024)
image, weight = torch.rand(1, 64, 56, 56), torch.rand(64, 64, 3, 3)
work = {"exp_1e5": lambda: v.exp(), "sigmoid_1e5": lambda: v.sigmoid(), "tanh_1e5": lambda: v.tanh(), "add_1e7": lambda: large + large,
        "matmul_1024": lambda: m @ m, "conv2d_64_56": lambda: torch.conv2d(image, weight, padding=1)}
def median(f):
    samples = []
    for _ in range(9):
        start = time.perf_counter(); f(); f(); samples.append((time.perf_counter() - start) / 2)
    return sorted(samples)[4] * 1e6
print("%-14s %12s %12s %8s" % ("us, 1 thread", "shunt", "torch", "ratio"))
with torch.inference_mode():
    for line in open(sys.argv[1]):
        name, ours = line.split()
        theirs = median(work[name])
        print("%-14s %12.1f %12.1f %8.2f" % (name, float(ours), theirs, float(ours) / theirs))
PY
