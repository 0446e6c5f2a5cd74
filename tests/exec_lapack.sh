#!/bin/sh
# exec_lapack.sh: a program whose own modes and kernels see its LAPACK calls, since libshunt is preloaded into it.
. tests/exec/checks.sh
stage=$(realpath "$build/stage")
cc -std=c11 -D_GNU_SOURCE -o "$work/lapack" tests/exec/lapack.c -I"$stage/include" -L"$stage/lib" -Wl,-rpath,"$stage/lib" \
    -lshunt -llapack -lm || exit 1
"$stage/bin/shunt" exec "$work/lapack"
