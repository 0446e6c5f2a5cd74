#!/bin/sh
# onnx_peer.sh: our outputs against ONNX Runtime's on the same models and inputs, output by output. By hand, as it
# needs node, npm and the network: the runtime (300 MB) is installed under build/ort, BlazeFace fetched.
set -eu
: "${BUILD:=build}"
make --no-print-directory all "$BUILD/make_onnx"
[ -d build/ort/node_modules/onnxruntime-node ] ||
    npm install --silent --ignore-scripts --prefix build/ort onnxruntime-node@1.30.0 >/dev/null
mkdir -p "$BUILD/peer"
for model in $("$BUILD/make_onnx" | grep -v planted); do "$BUILD/make_onnx" "$model" "$BUILD/peer/$model.onnx"; done
build-aux/fetch-model.sh build/models >/dev/null
NODE_PATH=build/ort/node_modules node tests/measure/onnx_peer.js "$BUILD/shunt" "$BUILD/peer"/*.onnx build/models/blazeface.onnx
