#!/bin/sh
# exec_two_blas.sh: does OpenBLAS compute what reference BLAS does? Each BLAS call of a NumPy program is made by both.
shunt=${SHUNT:-shunt} python=/usr/bin/python3 program=$(dirname "$0")/two_blas.py
reference=$(ls /usr/lib/*/blas/libblas.so.3 2>/dev/null | head -n 1)
export OPENBLAS_NUM_THREADS=1 PYTHONUNBUFFERED=1
$python -c 'import numpy' && "$shunt" exec true || { echo "needs NumPy, and a shunt that can be preloaded"; exit 77; }
[ -n "$reference" ] || { echo "needs the reference BLAS (Debian: libblas3)"; exit 77; }

echo '== within the tolerance of the dtype: nothing is said'
"$shunt" exec --mode "shadow:lib=$reference" --fail-on mismatch -- $python "$program" 2>&1
echo "exit status $?"

echo '== to the last bit: findings where the two add up in another order; the exit status tells a script'
"$shunt" exec --mode "shadow:lib=$reference,rtol=0,atol=0" --fail-on mismatch --out /dev/null -- $python "$program" 2>&1
echo "exit status $?"
