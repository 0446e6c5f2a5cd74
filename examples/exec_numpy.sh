#!/bin/sh
# exec_numpy.sh: a NumPy program that can't be changed gives NaN. Where does it come from, and where does the time go?
shunt=${SHUNT:-shunt}
python=/usr/bin/python3
program=$(dirname "$0")/exec_solve.py
export OPENBLAS_NUM_THREADS=1

echo '# What Python says of itself: a line at which NumPy noticed a NaN, in matmul.'
$python -W error "$program" 2>&1 | grep -A 1 -e Warning -e 'in residual' | grep -v -e '^--' -e ' *~' | sed 's|[^ "]*/||'

echo '# What shunt says: the Inf was born before that, in the solve that fit made. The exit status tells a script.'
"$shunt" exec --mode nancheck:inf=1,stop=warn,out=/dev/stdout --fail-on nan,inf -- $python "$program"
echo "exit status $?"

echo '# Where the time goes, by Python line.'
"$shunt" exec --mode profile:by=site,sort=calls,out=/dev/stdout -- $python "$program" | awk '/^op/ { table = 1 } table { print $1, $2, $3, $4, $5 }'
