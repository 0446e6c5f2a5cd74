#!/bin/sh
# generate.sh BUILD DIR ONNX_PROTO: write the generated sources under DIR.
#
# BUILD/generate makes the op API from ops/ops.def, BUILD/generate-wrappers the preload library's functions, protoc-c the
# ONNX messages. All write beside DIR first: a file whose
# text is unchanged keeps its date, so that nothing is compiled again for it, and one no longer made goes away.
set -eu
build=$1 dir=$2 proto=$3
new=$dir.new

rm -rf "$new"
mkdir -p "$dir" "$new/ops" "$new/interpose" "$new/graph/onnx"
"$build/generate" "$new" ops/ops.def
"$build/generate-wrappers" "$new/interpose" interpose/blas.def
protoc-c --proto_path="$(dirname "$proto")" --c_out="$new/graph/onnx" "$proto"

(cd "$new" && find . -type f) | while read -r file; do
    cmp -s "$new/$file" "$dir/$file" && continue
    mkdir -p "$(dirname "$dir/$file")"
    mv "$new/$file" "$dir/$file"
    touch "$new/$file"
done
(cd "$dir" && find . -type f) | while read -r file; do
    [ -e "$new/$file" ] || rm "$dir/$file"
done
rm -rf "$new"
