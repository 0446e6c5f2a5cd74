#!/bin/sh
# deps.sh [--check]: install the packages that the build needs and that are not there (Debian 12 names).
#
# What counts is the program or the header, not the package: a library built by hand will do. When all is there
# this is one run of the preprocessor. --check installs nothing: it names what is missing and fails.
set -eu
CC=${CC:-cc}

programs='
gcc                 gcc
make                make
binutils            objcopy
pkg-config          pkg-config
protobuf-c-compiler protoc-c
graphviz            dot
'
headers='
libc6-dev           <stdlib.h>
libffi-dev          <ffi.h>
libcriterion-dev    <criterion/criterion.h>
libdnnl-dev         <oneapi/dnnl/dnnl.h>
libprotobuf-c-dev   <protobuf-c/protobuf-c.h>
libjansson-dev      <jansson.h>
libzip-dev          <zip.h>
libxxhash-dev       <xxhash.h>
libdw-dev           <elfutils/libdwfl.h>
'
onnx_proto=${ONNX_PROTO:-/usr/include/onnx/onnx.proto}

missing_headers() {
    probe=$(echo "$headers" | awk 'NF { printf "#if !__has_include(%s)\n%s\n#endif\n", $2, $1 }')
    # shellcheck disable=SC2086 # CC may be two words: ccache gcc
    echo "$probe" | $CC -E -P -x c - 2>/dev/null || echo "$headers" | awk '{ print $1 }'
}

missing() {
    echo "$programs" | while read -r package program; do
        [ -z "$program" ] || command -v "$program" >/dev/null || echo "$package"
    done
    [ -e "$onnx_proto" ] || echo libonnx-dev
    missing_headers
}

packages=$(missing | xargs)
[ -n "$packages" ] || exit 0

sudo=
[ "$(id -u)" -eq 0 ] || sudo=$(command -v sudo || true)
if [ "${1:-}" = --check ]; then
    echo "missing packages: $packages (\`make deps\` installs them)" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null || { [ "$(id -u)" -ne 0 ] && [ -z "$sudo" ]; }; then
    echo "missing packages: $packages (Debian's names; install them, then try again)" >&2
    exit 1
fi

echo "installing: $packages"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of words
{
    $sudo apt-get -qq update || true
    $sudo apt-get -qq install --yes --no-install-recommends $packages
} || { echo "could not install: $packages" >&2; exit 1; }

packages=$(missing | xargs)
[ -z "$packages" ] || { echo "still missing after the installation: $packages" >&2; exit 1; }
