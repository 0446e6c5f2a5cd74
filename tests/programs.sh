#!/bin/sh
# programs.sh: NumPy's own tests of linear algebra, and what R and Octave print, under shunt exec (make test-programs).
. tests/exec/checks.sh

# The line that sums up, without the time.
numpy_tests() { # [OPTION of shunt exec]...
    (cd "$work" && "$@" "$python" -m pytest -q -p no:cacheprovider --pyargs numpy.linalg 2>&1) |
        tail -n 1 | sed 's/ in [0-9.]*s.*//'
}

# All at once: each has one thread, and they take most of the time here.
if have_numpy 'pytest, hypothesis'; then
    numpy_tests env >"$work/numpy" &
    for mode in '' profile nancheck:inf=1,stop=warn; do
        numpy_tests "$shunt" exec ${mode:+--mode "$mode"} --out "$work/report-$mode" -- >"$work/numpy-$mode" &
    done
    wait
    alone=$(cat "$work/numpy")
    echo "numpy.linalg: $alone"
    holds 'NumPy has tests' [ -n "$alone" ]
    for mode in '' profile nancheck:inf=1,stop=warn; do
        got=$(cat "$work/numpy-$mode")
        holds "NumPy's tests under '$mode': $got" [ "$got" = "$alone" ]
    done
fi

if have Rscript R; then
    same '100 calls of R' Rscript tests/exec/matrix.R
    check "R's lines are named" 0 'at lines.R:4' "$shunt" exec --mode log -- \
        env R_ENABLE_JIT=0 Rscript -e 'options(keep.source = TRUE); source("tests/exec/lines.R")'
fi
if have octave-cli Octave; then same '100 calls of Octave' octave-cli --norc --quiet tests/exec/matrix.m; fi

finish
