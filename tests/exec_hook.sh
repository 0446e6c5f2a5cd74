#!/bin/sh
# exec_hook.sh: plug-ins with kernels for the BLAS calls of a program, under conditions and verified.
. tests/exec/checks.sh
broken=$(realpath "$build/tests/plugins/broken.so") tally=$(realpath "$build/examples/plugins/relu6_hook.so")
good=$(realpath "$build/tests/plugins/good.so")
cc -std=c11 -o "$work/gemm" tests/exec/gemm.c -lblas 2>"$work/err" || {
    echo "no BLAS to link with: $(tail -n 1 "$work/err")"
    exit 77
}
told() { grep -qF -- "$1" "$work/err"; }

# ---- conditions and policies
check 'a kernel for every gemm' 0 '1002 1008' "$shunt" exec --hook "$broken" "$work/gemm"
check 'for large ones' 0 '2 1008' "$shunt" exec --hook "$broken,numel=64.." "$work/gemm"
check 'for doubles' 0 '1002 1008' "$shunt" exec --hook "$broken,dtype=f64" "$work/gemm"
check 'for floats' 0 '2 8' "$shunt" exec --hook "$broken,dtype=f32" "$work/gemm"
check 'a wrong one is found by verify and taken out' 0 '2 8' \
    "$shunt" exec --hook "$broken,policy=[verify:first=3]" "$work/gemm"
holds 'it says so' told 'verify: blas::gemm('
holds 'once' [ "$(grep -c 'it is taken out' "$work/err")" -eq 1 ]
check 'under a condition too' 1 '2 8' \
    "$shunt" exec --fail-on mismatch --hook "$broken,numel=64..,policy=[verify:first=3]" "$work/gemm"
holds 'it names kernel and shape' told 'out=f64[8, 8]) -> f64[8, 8]: kernel broken (cpu)'
holds 'that it replaces another is said once' [ "$(grep -c 'relu for cpu: broken replaces built-in' "$work/err")" -eq 1 ]
check 'a call that is not compared is believed' 0 '2 1008' \
    "$shunt" exec --fail-on mismatch --hook "$broken,numel=64..,policy=[verify:first=0,then=0]" "$work/gemm"
check 'a hook of the environment comes first' 0 "$good:$broken,shape=[8,8],call=1" \
    env SHUNT_HOOK="$good" "$shunt" exec --hook "$broken,shape=[8,8],call=1" sh -c 'echo $SHUNT_HOOK'

# ---- what the tool finds before the program starts
not_started() { # NAME WORDS OPTION...
    title=$1 words=$2
    shift 2
    check "$title" 2 "$words" "$shunt" exec "$@" -- sh -c 'echo started'
    holds "$title: before the program starts" [ ! -s "$work/out" ]
}
not_started 'a condition that can not be read' 'did you mean numel' --hook "$broken,numl=4"
holds 'with its place' grep -q '^  ^' "$work/err"
not_started 'a policy that can not be read' 'did you mean verify' --hook "$broken,policy=[verfy:first=3]"
not_started 'a plug-in of another ABI' 'has ABI 77' --hook "$(dirname "$broken")/bad_abi.so"
not_started 'two plug-ins in one' "can't be passed on" --hook "$broken:$good"
not_started 'a bad value for a mode of a plug-in' 'level 10 is above 9' --mode good:level=10 --hook "$good"
not_started 'a mode that none brings' "there is no mode 'tally'" --mode tally --hook "$good"
not_started 'a backend that none brings' 'goodback' --backend goodbak --hook "$good"
check 'a mode of a plug-in' 0 'tally: 2 calls of blas::gemm' \
    "$shunt" exec --mode tally:ops=blas::gemm --hook "$tally" "$work/gemm"
check 'a mode of a plug-in, counting all' 0 'tally: 2 calls of all ops' "$shunt" exec --mode tally --hook "$tally" "$work/gemm"

# ---- last words
check 'SHUNT_VERBOSE=dispatch says why a kernel was passed over' 0 'numel 4 is too small' \
    "$shunt" exec --verbose dispatch --hook "$broken,numel=64.." "$work/gemm"
check 'a crash in a hooked kernel' 139 'shunt: crashed in blas::gemm(' \
    env BROKEN=crash "$shunt" exec --verbose dispatch,crash --hook "$broken" "$work/gemm"
# A shell may add its own words.
ends_with_it() { grep '^shunt: ' "$work/err" | tail -n 1 | grep -q '^shunt: crashed in blas::gemm(.*kernel broken (cpu)$'; }
holds 'its call is the last word' ends_with_it
finish
