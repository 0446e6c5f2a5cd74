#!/bin/sh
# run.sh [NET]...: nets by us, ONNX Runtime and torch, with one thread and with two. A peer that can't be had is left out.
set -eu
build=${BUILD:-build} cxx=${CXX:-g++}
models=build/models
unset OPENBLAS_CORETYPE # forced on some machines, and for tests

build-aux/fetch-model.sh "$models" >/dev/null || echo "no BlazeFace: no lines of it"
for net in resnet18 adds gelu; do "$build/make_nets" $net "$models/$net.onnx"; done
PEERS_MODELS=$models
PEERS_ORT=$(build-aux/fetch-ort.sh build/ort) || echo "no ONNX Runtime: no lines of it"
PEERS_TORCH=
if echo '#include <ATen/ATen.h>' | $cxx -std=c++17 -E -x c++ - >/dev/null 2>&1; then
    PEERS_TORCH=$build/peers-torch.so
    $cxx -O2 -std=c++17 -fPIC -shared -fvisibility=hidden -I. "-I$build/gen" -o "$PEERS_TORCH" tests/peers/torch.cpp \
        -ltorch -ltorch_cpu -lc10
else
    echo "libtorch-dev is not installed: no lines of torch"
fi
export PEERS_MODELS PEERS_ORT PEERS_TORCH
for threads in 1 2; do OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads "$build/peers" $threads "$@"; done
