#!/bin/sh
# generate.sh TOOL DIR ONNX_PROTO: write the generated sources under DIR.
#
# TOOL makes the op API from ops/ops.def, protoc-c the ONNX messages. Both write beside DIR first: a file whose
# text is unchanged keeps its date, so that nothing is compiled again for it, and one no longer made goes away.
set -eu
tool=$1 dir=$2 proto=$3
new=$dir.new

rm -rf "$new"
mkdir -p "$dir" "$new/ops" "$new/graph/onnx"
"$tool" "$new" ops/ops.def
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
