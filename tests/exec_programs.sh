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
    check 'a profile by caller' 0 'blas::gemm at lines.py:12 in product' "$shunt" exec --mode profile:by=site -- "$python" tests/exec/lines.py
fi

finish
