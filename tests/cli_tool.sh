#!/bin/sh
# cli_tool.sh: the tool as a shell sees it: what goes to which stream, exit codes, errors that point at their place.
set -u
shunt=${BUILD:-build}/shunt
make_onnx=${BUILD:-build}/make_onnx
. tests/checks.sh

"$make_onnx" planted "$work/planted.onnx" && "$make_onnx" relu "$work/relu.onnx" && "$make_onnx" add "$work/add.onnx" || exit 1
planted=$work/planted.onnx

check 'version' 0 'shunt 0.1.0' "$shunt" --version
check 'help lists commands' 0 'doctor' "$shunt" help
check 'help tells about one' 0 'usage: shunt run' "$shunt" help run
check '--help after a command' 0 'usage: shunt graph' "$shunt" graph --help
check 'no command' 2 'usage' "$shunt"
check 'a misspelt command' 2 'did you mean run' "$shunt" rum
check 'a misspelt option' 2 'did you mean --seed' "$shunt" run "$planted" --sed 3
check 'a missing value' 2 '--seed needs a value' "$shunt" run "$planted" --seed
check 'a bad number' 2 'expected a number' "$shunt" run "$planted" --seed x
check 'no model' 2 'the model is missing' "$shunt" run
check 'two models' 2 'one model only' "$shunt" run "$planted" "$planted"

check 'a model runs' 0 'scores' "$shunt" run "$planted"
holds 'outputs go to stdout' grep -q scores "$work/out"
holds 'and nothing to stderr' [ ! -s "$work/err" ]
check 'a missing file' 3 'No such file' "$shunt" run "$work/none.onnx"
printf 'no model' >"$work/bad.onnx"
check 'a file that is no model' 3 'bad.onnx' "$shunt" run "$work/bad.onnx"
check 'a folder' 3 'no regular file' "$shunt" run "$work"

check 'nancheck names the planted fault' 1 'Inf born in conv2d' "$shunt" run "$planted" --mode nancheck:inf=1
holds 'with node and reason' sh -c "grep -q 'scope   conv2' '$work/err' && grep -q overflow '$work/err'"
check 'nancheck warns and goes on' 1 'scores' "$shunt" run "$planted" --mode nancheck:inf=1,stop=warn
check 'a bad specification points at its place' 2 '^' "$shunt" run "$planted" --mode 'nancheck:stop=mybe'
check 'a bad mode is suggested' 2 'did you mean nancheck' "$shunt" run "$planted" --mode nanchek
check 'a bad backend is suggested' 2 'did you mean ref' "$shunt" run "$planted" --backend reff
check 'a bad swap' 2 'expected A=B' "$shunt" run "$planted" --swap relu
check 'a swap of an unknown op' 2 "there is no op 'relus'" "$shunt" run "$planted" --swap relus=sin

"$shunt" run "$work/relu.onnx" --seed 3 >"$work/a" && "$shunt" run "$work/relu.onnx" --seed 3 >"$work/b"
holds 'a seed fixes the inputs' cmp "$work/a" "$work/b"
"$shunt" run "$work/relu.onnx" --seed 4 >"$work/b"
holds 'another seed gives others' sh -c "! cmp -s '$work/a' '$work/b'"
"$shunt" run "$work/relu.onnx" --seed 3 --swap relu=neg >"$work/b"
holds 'a swap changes the result' sh -c "! cmp -s '$work/a' '$work/b'"
"$shunt" run "$work/relu.onnx" --seed 3 --swap relu=neg,numel=1000000.. >"$work/b"
holds 'a swap whose rule matches nothing does not' cmp "$work/a" "$work/b"

check 'outputs are written' 0 '' "$shunt" run "$work/relu.onnx" --output-dir "$work/o"
file=$(ls "$work/o" | head -1)
holds 'as .npy' sh -c "head -c 6 '$work/o/$file' | grep -q NUMPY"
check 'a file as the one input' 0 '' "$shunt" run "$work/relu.onnx" --input "$work/o/$file"
check 'an input of another shape' 3 'the model takes' "$shunt" run "$planted" --input "$work/o/$file"
check 'an input of no such name' 2 'fits no input' "$shunt" run "$work/add.onnx" --input "nothing=$work/o/$file"
check 'a JSON report' 1 '"Inf born in conv2d"' "$shunt" run "$planted" --mode nancheck:inf=1 --json -
check 'times of repeated runs' 0 'median' "$shunt" run "$planted" --repeat 3
check 'an unwritable report' 4 "can't write" "$shunt" run "$planted" --json /no/such/folder/x
for mode in log trace profile capture 'log:level=dispatch;capture:asked=1'; do
    case $mode in *:*) spec=$mode,out=/dev/full ;; *) spec=$mode:out=/dev/full ;; esac
    check "a report on a full disk: $mode" 4 'a report is not complete' "$shunt" run "$planted" --mode "$spec"
done
check 'a finding on a full disk' 4 'a report is not complete' "$shunt" run "$planted" --mode nancheck:inf=1,stop=warn,out=/dev/full
check 'the same from the environment' 4 'a report is not complete' env SHUNT_MODES=log:out=/dev/full "$shunt" run "$planted"
check 'reports to a closed stderr' 4 '' sh -c "'$shunt' run '$planted' --mode log 2>/dev/full"
check 'a report on JSON that is lost' 4 '"exit": 4' "$shunt" run "$planted" --mode log:out=/dev/full --json -
check 'a JSON report on a full disk' 4 "can't write" "$shunt" run "$planted" --json /dev/full
check 'a graph on a full disk' 4 "can't write" "$shunt" graph "$planted" -o /dev/full
check 'outputs where no folder can be' 4 "can't make the folder" "$shunt" run "$planted" --output-dir "$planted/o"
mkdir "$work/taken" && for name in boxes scores y out output; do mkdir -p "$work/taken/$name.npy"; done
check 'outputs that can not be written' 4 '' "$shunt" run "$planted" --output-dir "$work/taken"
check 'a mode that can not write' 4 "can't write" "$shunt" run "$planted" --mode log:out=/no/such/folder/x

check 'a full disk' 4 "can't write" sh -c "'$shunt' ops >/dev/full"

# What fails in a run: the input's fault, or that of the mode that was asked for.
check 'a mode that can not change a call' 2 'mode swap' "$shunt" run "$planted" --swap 'relu=cat'
check 'a swap whose results differ' 2 'mode swap' "$shunt" run "$planted" --swap 'relu=split'
check 'an op that can not take what comes' 3 'conv' "$shunt" run "$planted" --swap 'relu=flatten'

check 'calls are counted from 1' 0 'conv2d' "$shunt" run "$planted" --mode log:call=1..1
holds 'and the range says which' [ "$(wc -l <"$work/err")" -eq 1 ]
check 'there is no call 0' 2 'counted from 1' "$shunt" run "$planted" --mode log:call=0..0
check 'an inverted range' 2 '^' "$shunt" run "$planted" --mode log:call=5..2
check 'a range that ends before it begins' 2 '^' "$shunt" run "$planted" --mode log:numel=5..0
check 'no tensor is empty here' 0 'scores' "$shunt" run "$planted" --mode log:numel=0..0
holds 'so there is nothing to log' [ ! -s "$work/err" ]

mkdir "$work/a=b" && cp "$work/o/$file" "$work/a=b/c=d.npy" && cp "$work/o/$file" "$work/e=f.npy"
check 'a path with = in it' 0 '' "$shunt" run "$work/relu.onnx" --input "$work/a=b/c=d.npy"
check 'a file name with = in it' 0 '' sh -c "cd '$work' && '$(realpath "$shunt")' run relu.onnx --input e=f.npy"
check 'no file behind =' 2 '--input image=: the file is missing' "$shunt" run "$work/relu.onnx" --input image=
holds 'is said once' [ "$(wc -l <"$work/err")" -eq 1 ]
check 'no name before =' 2 'the name of the input is missing' "$shunt" run "$work/relu.onnx" --input =x.npy
check 'two forms of a graph' 2 '--svg and --dot: choose one' "$shunt" graph "$planted" --svg --dot
check 'no op to put in place' 2 '       ^' "$shunt" run "$planted" --swap relu=
check 'no op to replace' 2 '  ^' "$shunt" run "$planted" --swap =sin

check 'a graph as torch.fx prints it' 0 'call_function[target=relu](args = (%conv1,), kwargs = {})' "$shunt" graph "$planted"
check 'as a table' 0 'opcode' "$shunt" graph "$planted" --tabular
check 'for Graphviz' 0 'digraph' "$shunt" graph "$planted" --dot
check 'drawn' 0 '<svg' "$shunt" graph "$planted" --svg
mkdir "$work/saved" && printf '\002\000\000\000\000\000\000\000{}' >"$work/saved/weights.safetensors"
cat >"$work/saved/graph.txt" <<'END'
shunt-ir 1
graph():
    %x : [num_users=1] = placeholder[target=x], tensor = f32[2, 3]
    %relu : [num_users=1] = call_function[target=relu](args = (%x,), kwargs = {})
    return relu
END
check 'a saved graph' 0 'call_function[target=relu](args = (%x,), kwargs = {})' "$shunt" graph "$work/saved"
check 'run' 0 '[2, 3]' "$shunt" run "$work/saved"
echo oops >>"$work/saved/graph.txt"
check 'a saved graph with a fault' 3 'graph.txt:6:1: expected a line of' "$shunt" run "$work/saved"
for form in text table readable code dot svg; do
    check "as $form" 0 '' "$shunt" graph "$planted" --format $form
    holds "which isn't empty" [ -s "$work/out" ]
done
check 'as code to read' 0 'f32[' "$shunt" graph "$planted" --format readable
check 'as C' 0 '#include <shunt.h>' "$shunt" graph "$planted" --format code
check 'two names of one form' 0 'digraph' "$shunt" graph "$planted" --format dot --dot
check 'a misspelt form' 2 'did you mean readable' "$shunt" graph "$planted" --format readble
check 'two forms by name' 2 '--format and --dot: choose one' "$shunt" graph "$planted" --format text --dot
check 'a picture of every node' 0 'digraph' "$shunt" graph "$planted" --dot --full
check 'the neighbourhood of a node' 0 'up to 1 from %relu1' "$shunt" graph "$planted" --dot --around relu1 --depth 1
check 'which may be written as in the text' 0 'up to 2 from %relu1' "$shunt" graph "$planted" --dot --around %relu1
check 'a misspelt node' 2 'did you mean relu1' "$shunt" graph "$planted" --dot --around rleu1
check 'a depth of nothing' 2 '--depth needs --around NODE' "$shunt" graph "$planted" --dot --depth 1
check 'a bad depth' 2 'expected a number from 0' "$shunt" graph "$planted" --dot --around relu --depth x
check 'a text of a neighbourhood' 2 '--around is for pictures' "$shunt" graph "$planted" --around relu
check 'colours of dtypes' 0 'dtype of the result' "$shunt" graph "$planted" --dot --color dtype
check 'colours of time' 0 'share of a run' "$shunt" graph "$planted" --dot --color time
check 'a misspelt colour' 2 'did you mean time' "$shunt" graph "$planted" --dot --color tine
check 'a colour of a text' 2 '--color is for pictures' "$shunt" graph "$planted" --color time
check 'into a file' 0 '' "$shunt" graph "$planted" -o "$work/g.txt"
holds 'which holds it' grep -q 'graph():' "$work/g.txt"

check 'ops by filter' 0 'conv2d(Tensor input' "$shunt" ops 'conv*'
check 'ops as JSON' 0 '"schema"' "$shunt" ops add --json
check 'ops checked' 0 'relu: 0 faults in 6 samples' "$shunt" ops relu --check
check 'ops checked, as JSON' 0 '"faults": []' "$shunt" ops relu --check --json
check 'an op of a specification that is none' 2 "no op 'reluu'; did you mean relu" "$shunt" modes --explain 'swap:from=reluu,to=sin'
check 'an op of a specification that may come later' 0 'mylib::gate' "$shunt" modes --explain 'swap:from=relu,to=mylib::gate'
check 'no such op' 2 'did you mean relu' "$shunt" ops relv
check 'modes are listed' 0 'nancheck' "$shunt" modes
check 'shadow among them' 0 'compares each result with that of another backend' "$shunt" modes
check 'a specification is explained' 0 'given;' "$shunt" modes --explain 'swap:from=relu,to=sin'
check 'doctor' 0 'table check: ok' "$shunt" doctor
check 'doctor shows the environment' 0 'SHUNT_BACKEND=ref' env SHUNT_BACKEND=ref "$shunt" doctor

check 'modes from the environment' 0 'conv2d' env SHUNT_MODES=log "$shunt" run "$planted"
check 'a bad variable stops the tool' 2 'did you mean log' env SHUNT_MODES=lgo "$shunt" run "$planted"

# A program linked statically obeys the environment without a change.
static=${BUILD:-build}/examples/01_add_to_mul
if [ -x "$static" ]; then
    check 'a linked program obeys SHUNT_MODES' 0 'add(f32[3], f32[3])' env SHUNT_MODES=log "$static"
    check 'and goes on without a bad one' 0 'did you mean log' env SHUNT_MODES=lgo "$static"
    check 'unless it is to be strict' 2 'did you mean log' env SHUNT_MODES=lgo SHUNT_STRICT=1 "$static"
    check 'reports go where SHUNT_OUT says' 0 '' env SHUNT_MODES=log SHUNT_OUT="$work/log-%p" "$static"
    holds 'with the pid in the name' sh -c "ls '$work' | grep -q '^log-[0-9]'"
else
    echo "FAILED: $static is not built"
    failed=$((failed + 1))
fi

finish
