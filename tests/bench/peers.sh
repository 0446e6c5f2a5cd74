#!/bin/sh
# peers.sh: our kernels beside torch's and OpenBLAS's, one thread, in turns, where libtorch-dev and libopenblas-dev are there.
#
# A peer has a process of its own: the thread pools of two would disturb each other. The core type that some machines force on
# OpenBLAS is for tests, and is not what it would choose.
set -eu
build=${BUILD:-build} ours=${CC:-gcc} theirs=${CXX:-g++}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
unset OPENBLAS_CORETYPE

# beside PEER PACKAGE HEADER LIBRARIES...
beside() {
    peer=$1 package=$2 header=$3 program=$build/bench/peer_$1
    shift 3
    if ! echo "#include <$header>" | $theirs -std=c++17 -E -x c++ - >/dev/null 2>&1; then
        echo "$package is not installed: nothing beside $peer"
        return 0
    fi
    # shellcheck disable=SC2086 # commands with arguments
    $ours -O2 -std=c11 -D_GNU_SOURCE -I. "-I$build/gen" "-DSH_PEER_PAIRS=\"tests/bench/pairs_$peer.def\"" \
        -c -o "$program.ours.o" tests/bench/kernels.c
    $theirs -O2 -std=c++17 -I. -c -o "$program.theirs.o" "tests/bench/peer_$peer.cpp"
    $theirs -fopenmp -o "$program" "$program.ours.o" "$program.theirs.o" "$build/libshunt.a" -lffi -ldnnl -lmvec "$@" -lm
    "$program"
}

beside torch libtorch-dev ATen/ATen.h -ltorch -ltorch_cpu -lc10
beside blas libopenblas-dev cblas.h -lopenblas

if /usr/bin/python3 -c 'import torch.fx' 2>/dev/null; then
    /usr/bin/python3 -B tests/bench/trace_fx.py "$build/bench/trace"
else
    echo "torch.fx is not installed (package python3-torch)"
fi
