#!/bin/sh
# exec.sh: what the preload library adds to a program that no mode looks at: a dgemm of 4x4 and of 256x256, runs with and
# without it in turns, medians of the pairs.
set -eu
build=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OPENBLAS_NUM_THREADS=1
cc -O2 -o "$work/cost" tests/exec/blas_cost.c -lblas 2>/dev/null || { echo "exec: no BLAS to measure"; exit 0; }
for round in $(seq "${ROUNDS:-21}"); do
    bare=$("$work/cost")
    with=$(LD_PRELOAD=$(realpath "$build/libshunt-interpose.so") "$work/cost")
    echo "$bare $with"
done >"$work/pairs"
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
echo "dgemm 4x4: $(awk '{ print $1 }' "$work/pairs" | median) ns alone, $(awk '{ print $3 - $1 }' "$work/pairs" | median) ns more under shunt exec"
echo "dgemm 256: $(awk '{ print $2 / 1e3 }' "$work/pairs" | median) us alone, paired ratio $(awk '{ print $4 / $2 }' "$work/pairs" | median)"
