#!/bin/sh
# run.sh: what `make run` shows. On a small net with one planted fault, made here, and on BlazeFace where npm is: plain,
# with relu swapped for sin, the fault named, the graph, the profile. Each under the command that does it.
set -eu
build=${BUILD:-build}
shunt=$build/shunt
planted=$build/planted.onnx

show() {
    echo
    echo "\$ $*" | sed "s/ \([a-z]*:[^ ]*\)/ '\1'/g"
    "$@" 2>&1 || [ $? -eq 1 ] # 1 says that something was found
}

tour() {
    show "$shunt" run "$1"
    show "$shunt" run "$1" --swap relu=sin
    show "$shunt" run "$1" --mode nancheck:inf=1
    echo
    echo "\$ $shunt run $1 --mode capture 2>&1 >/dev/null | head -8"
    "$shunt" run "$1" --mode capture 2>&1 >/dev/null | head -8
    show "$shunt" run "$1" --mode profile
}

"$shunt" --version
echo "== a small net with one planted fault ($planted)"
tour "$planted"
echo
if command -v npm >/dev/null && model=$(build-aux/fetch-model.sh "$build/models"); then
    echo "== MediaPipe BlazeFace ($model)"
    tour "$model"
else
    echo "== BlazeFace is not here: install npm (apt-get install npm) and say \`make model\`, or give any ONNX model to $shunt run"
fi
