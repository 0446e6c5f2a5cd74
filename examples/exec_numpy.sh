#!/bin/sh
# exec_numpy.sh: a NumPy program that can't be changed prints NaN. Where was it born, and where does the time go?
shunt=${SHUNT:-shunt} python=/usr/bin/python3 program=$(dirname "$0")/exec_solve.py
export OPENBLAS_NUM_THREADS=1 PYTHONUNBUFFERED=1
$python -c 'import numpy' && "$shunt" exec true || { echo "needs NumPy, and a shunt that can be preloaded"; exit 77; }

echo '== python3 -W error: the line where NumPy noticed a NaN, in a product'
$python -W error "$program" 2>&1 | sed -n 's|^  File "[^"]*/|  "|p; /^Runtime/p'

echo '== shunt exec: before that an Inf was born, in the solve of fit; the exit status tells a script'
"$shunt" exec --mode nancheck:inf=1,stop=warn --fail-on nan,inf -- $python -W ignore "$program" 2>&1
echo "exit status $?"

echo '== shunt exec: calls by Python line (time, bytes and FLOPs cut off here)'
"$shunt" exec --mode profile:by=site,sort=name -- $python -W ignore "$program" 2>&1 >/dev/null | sed 's/\( [0-9]*\) *[0-9.]* *[0-9.]*%.*/\1/; s/  *calls.*/  calls/'
