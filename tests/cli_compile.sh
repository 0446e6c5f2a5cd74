#!/bin/sh
# cli_compile.sh: what the tool compiles gives what it gives eagerly, and `bench` measures both.
set -u
shunt=${BUILD:-build}/shunt
make_onnx=${BUILD:-build}/make_onnx
. tests/checks.sh

# near FILE FILE: tables of `shunt run` that agree in words, and in numbers to 1e-4 of their size.
near() {
    paste -d '\n' "$1" "$2" | awk '
        NR % 2 { n = NF; for (i = 1; i <= NF; i++) a[i] = $i; next }
        NF != n { exit 1 }
        { for (i = 1; i <= NF; i++) {
              d = a[i] - $i; s = $i < 0 ? -$i : $i
              if (a[i] != $i && ($i !~ /^-?[0-9.]/ || d * d > (1e-4 * s + 1e-6) ^ 2)) { bad = 1; exit } } }
        END { exit bad || NR == 0 || NR % 2 }'
}
# same NAME WORDS...: `shunt run WORDS` prints near the same compiled.
same() {
    name=$1
    shift
    "$shunt" run "$@" >"$work/eager" 2>/dev/null
    eager=$?
    "$shunt" run "$@" --compile >"$work/compiled" 2>/dev/null
    compiled=$?
    holds "$name: the same exit code" [ $eager -eq $compiled ]
    holds "$name: the same numbers" near "$work/eager" "$work/compiled"
}

for model in $("$make_onnx"); do "$make_onnx" "$model" "$work/$model.onnx" || exit 1; done
net=$work/conv_pads.onnx
for model in $("$make_onnx"); do
    [ "$model" = planted ] || same "compiled $model" "$work/$model.onnx" --seed 5
done
same 'under a swap' "$net" --swap conv2d=relu,numel=1000000..
same 'under a swap that matches' "$work/relu.onnx" --swap relu=neg
same 'run over and over' "$net" --repeat 3
same 'on another backend' "$net" --backend ref
check 'a fault is found in compiled code' 1 'Inf born in conv2d' "$shunt" run "$work/planted.onnx" --compile --mode nancheck:inf=1
check 'a logging mode keeps logging' 0 'relu(f32[2, 3])' "$shunt" run "$work/relu.onnx" --compile --mode log
check 'what was compiled is told on stderr' 0 '' sh -c "'$shunt' run '$net' --compile 2>&1 >/dev/null | grep -q compil"
check 'or is in the JSON' 0 '"compiled"' "$shunt" run "$net" --compile --json -
holds 'which then is alone' sh -c "[ ! -s '$work/err' ] && /usr/bin/env python3 -m json.tool '$work/out'"

check 'bench' 0 'eager' "$shunt" bench "$net" --rounds 3
holds 'is eager only' sh -c "! grep -q compiled '$work/out'"
check 'bench of both' 0 'compiled' "$shunt" bench "$net" --compile --rounds 3 --threads 1
holds 'has a line for each' [ "$(wc -l <"$work/out")" -eq 3 ]
check 'bench as JSON' 0 '"ratio"' "$shunt" bench "$net" --compile --rounds 3 --json -
holds 'that parses' /usr/bin/env python3 -m json.tool "$work/out"
check 'bench into a file of JSON' 0 'median ms' "$shunt" bench "$net" --rounds 3 --json "$work/bench.json"
holds 'that has the peak' grep -q '"peak": [1-9]' "$work/bench.json"
check 'bench under modes' 0 'compiled' "$shunt" bench "$net" --compile --rounds 3 --swap conv2d=relu,numel=1000000..
check 'bench that finds something' 1 'eager' "$shunt" bench "$work/planted.onnx" --rounds 3 --mode nancheck:inf=1,stop=warn
check 'bench of nothing' 2 'the model is missing' "$shunt" bench
check 'of two models' 2 'one model only' "$shunt" bench "$net" "$net"
check 'of a missing file' 3 'No such file' "$shunt" bench "$work/none.onnx"
holds 'is said once' [ "$(wc -l <"$work/err")" -eq 1 ]
check 'with no threads' 2 '--threads 0: expected 1 to' "$shunt" bench "$net" --threads 0
check 'with no rounds' 2 '--rounds 0: expected 1 to' "$shunt" bench "$net" --rounds 0
check 'with bad rounds' 2 'expected a number' "$shunt" bench "$net" --rounds x
check 'with a misspelt option' 2 'did you mean --rounds' "$shunt" bench "$net" --round 3
check 'with a bad mode' 2 'did you mean nancheck' "$shunt" bench "$net" --mode nanchek
check 'with an input of no such name' 2 'fits no input' "$shunt" bench "$work/add.onnx" --input nothing=x.npy
check 'whose report can not be written' 4 "can't write" "$shunt" bench "$net" --rounds 3 --json /no/such/folder/x
check 'help' 0 'usage: shunt bench' "$shunt" help bench

check 'a plan' 0 'conv' "$shunt" graph --plan "$net"
check 'as a form' 0 'conv' "$shunt" graph "$net" --format plan
check 'under a swap' 0 'neg' "$shunt" graph --plan "$work/relu.onnx" --swap relu=neg
check 'into a file' 0 '' "$shunt" graph --plan "$net" -o "$work/plan.txt"
holds 'which holds it' grep -q conv "$work/plan.txt"
check 'modes without a plan' 2 'give --plan' "$shunt" graph "$net" --mode log
check 'a plan and a picture' 2 'choose one' "$shunt" graph "$net" --plan --svg
check 'a plan of a missing file' 3 'No such file' "$shunt" graph --plan "$work/none.onnx"

finish
