#!/bin/sh
# exec_every_blas.sh: programs that call BLAS, alone and under shunt exec. The results are the same bits, and the modes see each
# call as what it is.
. tests/exec/checks.sh

compile() { cc -std=c11 -D_GNU_SOURCE -g -O1 "$@" || { echo "FAILED: $*"; exit 1; }; }
compile -o "$work/blas" tests/exec/every_blas.c -lblas -lm
compile -o "$work/calls" tests/exec/calls.c -lblas -lm
calls() { "$shunt" exec --mode "$1" -- "$work/calls" "$2"; } # MODE CASE

# ---- every routine
"$work/blas" >"$work/expected"
"$work/blas" -p >"$work/expected-junk"
under() { # WHAT OPTION...: with `junk`, what must not be read is NaN
    what=$1
    shift
    "$shunt" exec "$@" -- "$work/blas" ${what:+-p} >"$work/out" 2>"$work/err"
    status=$?
    holds "it ends well under '$*' $what" [ $status -eq 0 ]
    holds "the same bits under '$*' $what" cmp -s "$work/expected${what:+-$what}" "$work/out"
}
for mode in '' log profile nancheck trace:out=/dev/null; do
    under '' ${mode:+--mode "$mode"}
    holds "nothing is said of a call that was not shown, under '$mode'" [ "$(grep -c '^shunt: ' "$work/err")" -eq 0 ]
done
under junk --mode nancheck
holds 'what is not read is never a finding' [ ! -s "$work/err" ]

"$shunt" exec --mode log -- "$work/blas" >"$work/out" 2>"$work/err"
for op in dot dotu dotc dsdot sdsdot nrm2 asum iamax axpy scal copy swap rot rotg rotm rotmg gemv gbmv symv hemv sbmv hbmv spmv \
    hpmv trmv tbmv tpmv trsv tbsv tpsv ger geru gerc syr her spr hpr syr2 her2 spr2 hpr2 gemm symm hemm syrk herk syr2k her2k \
    trmm trsm; do
    holds "blas::$op is seen" grep -q "^blas::$op(" "$work/err"
done
holds 'no other op is' [ "$(grep -vc '^blas::' "$work/err")" -eq 0 ]
holds 'every call is a line, but for empty ones' [ "$(wc -l <"$work/err")" -gt 30000 ]
reference=/usr/lib/x86_64-linux-gnu/blas
if [ -e $reference/libblas.so.3 ]; then
    LD_LIBRARY_PATH=$reference "$work/blas" >"$work/reference" 2>/dev/null
    holds 'another BLAS rounds otherwise' sh -c "! cmp -s '$work/reference' '$work/expected'"
    LD_LIBRARY_PATH=$reference "$shunt" exec --mode profile -- "$work/blas" >"$work/out" 2>/dev/null
    holds 'and keeps its bits too' cmp -s "$work/reference" "$work/out"
    shadow() { "$shunt" exec --fail-on mismatch --mode "shadow:lib=$reference/libblas.so.3,first=100000,ops=blas::ge*$1" -- "$work/blas"; }
    check 'another BLAS agrees, call by call' 0 '' shadow ''
    check 'but not to the last bit' 1 'differs from libblas' shadow ,tol=0,atol=0
fi
check 'a BLAS that is not there' 4 'No such file' "$shunt" exec --mode shadow:lib=/no/such.so true
check 'nor for the loader' 0 'no-such-blas' "$shunt" exec --mode shadow:lib=no-such-blas.so "$work/calls" multiply
check 'a library without BLAS' 0 'has no BLAS' "$shunt" exec --mode shadow:lib=libm.so.6 "$work/calls" multiply

# ---- what is seen of a call
check 'shapes, and no input that beta 0 leaves out' 0 'blas::gemm(f64[3, 4], f64[4, 2], out=f64[3, 2]) -> f64[3, 2]' calls log multiply
check 'with beta it is one' 0 'blas::gemm(f64[3, 4], f64[4, 2], c=f64[3, 2], beta=0.5, out=f64[3, 2]) -> f64[3, 2]' calls log beta
check 'numbers that are not the default' 0 'alpha=3' calls log triple
check 'a birth' 0 'Inf born in blas::gemm' calls nancheck:inf=1,stop=warn birth
check 'with its place' 0 '[1, 0]' calls nancheck:inf=1,stop=warn birth
check 'an arrival' 0 'NaN arrived in input a of blas::gemm' calls nancheck:stop=warn arrival
holds 'told once' [ "$(grep -c 'NaN arrived' "$work/err")" -eq 1 ]
calls nancheck junk >"$work/out" 2>"$work/err"
holds 'neither the other triangle nor gaps are inputs' [ ! -s "$work/err" ]
check 'an error of a mode is not the program'"'"'s' 0 '' calls nancheck:inf=1 birth
same 'its results stay' "$work/calls" birth
"$work/calls" triple >"$work/expected"
calls 'swap:from=blas::gemm,set=[alpha=3]' multiply >"$work/out" 2>"$work/err"
holds 'a mode changes a number' cmp -s "$work/expected" "$work/out"
check 'the caller is shown by its name' 0 'multiply' "$shunt" exec --mode profile:by=site -- "$work/calls" multiply

# ---- a standard error that the program closes
"$shunt" exec --mode log -- "$work/calls" closed "$work/own" >"$work/out" 2>"$work/err"
holds "a report is not written into a file of the program's" [ "$(cat "$work/own")" = mine ]

# ---- what programs do
same 'a routine complains and its handler jumps' "$work/calls" complain
calls log complain >"$work/out" 2>"$work/err"
holds 'and calls that are wrong are no ops, those that are right are' [ "$(grep -c '^blas::gemm' "$work/err")" -eq 2 ]
same 'threads' "$work/calls" threads
calls profile threads >"$work/out" 2>"$work/err"
holds 'and none of their calls is lost' grep -q '^blas::gemm *400 ' "$work/err"
same 'children' "$work/calls" children

# ---- which function is the real one
library() { # NAME FLAG...: a BLAS of its own in $work/libNAME.so
    name=$1
    shift
    compile -shared -fPIC -o "$work/lib$name.so" "$@" tests/exec/library.c
}
user() { # NAME OF FLAG...: a library that calls it
    name=$1 of=$2
    shift 2
    compile -shared -fPIC -o "$work/$name.so" "$@" tests/exec/library.c -L"$work" -l"$of" -Wl,-rpath,"$work"
}
library two -DNAME=ddot_ -DFACTOR=2
library five -DNAME=ddot_ -DFACTOR=5
library wide -DNAME=ddot_64_ -DINT=int64_t -DFACTOR=3
library wheel -DNAME=scipy_cblas_ddot64_ -DBY_VALUE -DINT=int64_t -DFACTOR=4
library plain64 -DNAME=ddot_ -DINT=int64_t -DFACTOR=6 -DCONFIG='"OpenBLAS 0.3.21 USE64BITINT"'
user use-two two -DUSE=ddot_
user use-five five -DUSE=ddot_
user use-wide wide -DUSE=ddot_64_ -DINT=int64_t
user use-wheel wheel -DUSE=scipy_cblas_ddot64_ -DBY_VALUE -DINT=int64_t
user use-plain64 plain64 -DUSE=ddot_ -DINT=int64_t
compile -o "$work/local" tests/exec/calls.c -DNO_BLAS -lm
for which in two five wide wheel plain64; do
    same "a library of its own: $which" "$work/local" use "$work/use-$which.so"
    "$shunt" exec --mode log -- "$work/local" use "$work/use-$which.so" >"$work/out" 2>"$work/err"
    holds "its calls are seen: $which" [ "$(grep -c '^blas::dot(f64\[4\], f64\[4\])' "$work/err")" -eq 2 ]
done
same 'several at once, at addresses that come again' "$work/local" use "$work/use-two.so" "$work/use-five.so" "$work/use-wide.so"
same 'what is linked with the program wins' "$work/calls" use "$work/use-two.so"
finish
