#!/bin/sh
# exec_programs.sh: programs that know nothing of shunt compute the same bits under it, and lines name their callers.
# What takes longer is in tests/programs.sh (make test-programs).
. tests/exec/checks.sh

if have gfortran Fortran && gfortran -g -o "$work/program" tests/exec/program.f90 -llapack -lblas; then
    same 'a Fortran program' "$work/program"
    check 'its calls are ops' 0 'blas::gemm(f64[5, 5], f64[5, 5]' "$shunt" exec --mode log -- "$work/program"
    holds 'and name the line' grep -q 'blas::gemm.* at program.f90:18 in MAIN__' "$work/err"
    holds 'drivers too' grep -q 'lapack::gesv.* at program.f90:' "$work/err"
    holds 'a singular matrix shows' grep -q 'lapack::gesv.*info=1' "$work/err"
    holds 'inner calls do not' sh -c "! grep -q 'blas::trsm' '$work/err'"
    holds 'nor workspace queries' [ "$(grep -c 'lapack::syevd\|lapack::gesv' "$work/err")" -eq 2 ]
fi

cc -std=c11 -D_GNU_SOURCE -g -pthread -o "$work/jumps" tests/exec/jumps.c -llapack -lblas || failed=$((failed + 1))
same 'errors that leave by longjmp, forks and threads' "$work/jumps"
check 'after a longjmp calls are seen as before' 0 '' "$shunt" exec --mode log -- "$work/jumps"
holds 'all of them' [ "$(grep -c blas::dot "$work/err")" -eq 4003 ]

if have_numpy; then
    for seed in 1 2; do same "200 calls of NumPy, seed $seed" "$python" tests/exec/linalg.py $seed; done
    check 'Python lines are named' 0 'blas::gemm' "$shunt" exec --mode log -- "$python" tests/exec/lines.py
    holds 'of the caller of NumPy' grep -q 'blas::gemm.* at lines.py:12 in product$' "$work/err"
    holds 'through its wrappers' grep -q 'lapack::gesv.* at lines.py:16 in solve$' "$work/err"
    holds 'at module level' grep -q 'blas::gemm.* at lines.py:20$' "$work/err"
    holds 'in threads' grep -q 'blas::gemm.* at lines.py:24 in threaded$' "$work/err"
    holds 'in a child' grep -q 'blas::gemm.* at lines.py:32 in child$' "$work/err"
    check 'inner calls are shown if asked' 0 '  blas::' "$shunt" exec --nested --mode log --mode profile -- "$python" tests/exec/lines.py
    holds 'and leave nothing open' sh -c "! grep -q '^shunt:' '$work/err'"
    check 'a child counts once in the total' 0 '' "$shunt" exec --nested --mode profile:format=table -- "$python" -c \
        'import numpy as np; np.linalg.eigh(np.eye(40) + 1)'
    holds 'while it has its row' awk '/^blas::|^lapack::/ { sum += $2 } /^lapack::syevd/ { driver = $2 } /^total/ { total = $2 }
        END { exit !(driver == 1 && total < sum) }' "$work/err"
    product='import numpy as np; a = np.ones((8, 12)) / 7; c = a @ (np.ones((12, 10)) / 3); print((c == np.float32(c)).all())'
    check 'operations are counted' 0 '"blas::gemm",1,' "$shunt" exec --mode profile:format=csv -- "$python" -c "$product"
    holds 'as 2 m n k' grep -q '^"blas::gemm",1,.*,1920$' "$work/err"
    check 'four times as many if complex' 0 '"blas::gemm",2,' "$shunt" exec --mode profile:format=csv -- \
        "$python" -c "$product; c = a[:, :4] * 1j @ np.ones((4, 5), complex)"
    holds 'six for a product, two for a sum' grep -q '^"blas::gemm",2,.*,3200$' "$work/err"
    check 'and those of drivers' 0 '"lapack::potrf",1,' "$shunt" exec --mode profile:format=csv -- \
        "$python" -c 'import numpy as np; np.linalg.cholesky(np.eye(12) + 1)'
    holds 'with the terms of lower order' grep -q '^"lapack::potrf",1,.*,650$' "$work/err"
    check 'no cast in it' 0 False "$shunt" exec -- "$python" -c "$product"
    check 'modes of the environment know ops that come later: swap' 0 True \
        env 'SHUNT_MODES=swap:from=blas::gemm,cast=f32' "$shunt" exec -- "$python" -c "$product"
    holds 'without a word' [ ! -s "$work/err" ]
    check 'log' 0 'blas::gemm(f64[8, 12]' env 'SHUNT_MODES=log:ops=blas::*' "$shunt" exec -- "$python" -c "$product"
    check 'nancheck' 0 'nancheck: -Inf born in blas::gemm' env SHUNT_MODES=nancheck:inf=1,stop=warn "$shunt" exec -- "$python" -c \
        'import numpy as np; a = np.full((3, 3), 1e200); a[0] *= -1; print(a[:, :2] @ np.array([[1e200, 1.0], [0.0, 1.0]]))'
    check 'a library to compare with that is not there' 4 "can't read /no/blas.so" \
        "$shunt" exec --mode shadow:lib=/no/blas.so -- "$python" -c "$product"
    check 'one without BLAS is told of once' 0 'has no BLAS' "$shunt" exec --mode shadow:lib=libm.so.6 -- "$python" -c "$product"
    holds 'and the program goes on' grep -q False "$work/out"
    for reference in /usr/lib/*/blas/libblas.so.3; do
        [ -e "$reference" ] || { echo 'skipped: another BLAS (libblas3 is not installed)'; continue; }
        check 'another BLAS agrees' 0 False "$shunt" exec --fail-on mismatch --mode "shadow:lib=$reference" -- "$python" -c "$product"
        check 'a mismatch changes the status' 1 'differs from libblas1' "$shunt" exec --fail-on mismatch \
            --mode "shadow:lib=$reference,rtol=0,atol=0" -- "$python" examples/two_blas.py
    done
    check 'a profile by caller' 0 'blas::gemm at lines.py:12 in product' "$shunt" exec --mode profile:by=site -- "$python" tests/exec/lines.py
fi

finish
