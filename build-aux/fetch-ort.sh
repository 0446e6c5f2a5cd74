#!/bin/sh
# fetch-ort.sh DIR: put ONNX Runtime's library (MIT, npm's package onnxruntime-node) into DIR, for comparisons; prints its path.
#
# The version is pinned, and what npm brings is compared with the hash below (the integrity that npm states, in hexadecimal)
# before it is unpacked. No script of the package runs. A second run needs no network.
set -eu
dir=${1:-build/ort}
package=onnxruntime-node@1.30.0
package_sha512=b7086cd42d82fc1164cf5c9ce4e634288536194aba0d444eee10f86f1e50d90cb79c0309c115d6f31537355733136f5503d96894b3987a9a03f1f8d318e7c8ab
case $(uname -m) in
x86_64) machine=x64 ;;
aarch64) machine=arm64 ;;
*) echo "$package has no library for $(uname -m)" >&2 && exit 1 ;;
esac
member=package/bin/napi-v6/linux/$machine/libonnxruntime.so.1
library=$dir/libonnxruntime-1.30.0.so

if [ -e "$library" ]; then
    echo "$library"
    exit
fi
command -v npm >/dev/null || { echo "no npm here: put $member of npm's $package there as $library" >&2; exit 1; }

mkdir -p "$dir"
scratch=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
npm pack --silent --pack-destination "$scratch" "$package" >/dev/null
archive=$(find "$scratch" -name '*.tgz')
hash=$(sha512sum "$archive" | cut -d ' ' -f 1)
if [ "$hash" != "$package_sha512" ]; then
    echo "$package is not what it was: sha512 $hash, expected $package_sha512" >&2
    exit 1
fi
tar -xzf "$archive" -C "$scratch" "$member"
mv "$scratch/$member" "$library"
echo "$library"
