#!/bin/sh
# deps.sh [--check | --programs]: install the packages that are needed and not there (Debian 12 names).
#
# What counts is the program or the header, not the package: a library built by hand will do, and when all is there
# the check is one run of the preprocessor. --check installs nothing: it names what the build misses and fails; what
# only the tests or the running program need (last column) doesn't stop it. --programs installs what only
# `make test-programs` needs, too.
set -eu
CC=${CC:-cc}
ONNX_PROTO=${ONNX_PROTO:-/usr/include/onnx/onnx.proto}

wanted="
gcc                  gcc
make                 make
binutils             objcopy
libc6-dev            <stdlib.h>
protobuf-c-compiler  protoc-c
libffi-dev           <ffi.h>
libdnnl-dev          <oneapi/dnnl/dnnl.h>
libprotobuf-c-dev    <protobuf-c/protobuf-c.h>
libonnx-dev          $ONNX_PROTO
libjansson-dev       <jansson.h>
libzip-dev           <zip.h>
libxxhash-dev        <xxhash.h>
libdw-dev            <elfutils/libdwfl.h>
libcriterion-dev     <criterion/criterion.h>  later
pkg-config           pkg-config               later
g++                  g++                      later
graphviz             dot                      later
valgrind             valgrind                 later
libblas-dev          /usr/lib/x86_64-linux-gnu/libblas.so          later
liblapack-dev        /usr/lib/x86_64-linux-gnu/liblapack.so        later
gfortran             gfortran                 later
python3-numpy        /usr/lib/python3/dist-packages/numpy          later
python3-pytest       /usr/lib/python3/dist-packages/pytest         programs
python3-hypothesis   /usr/lib/python3/dist-packages/hypothesis     programs
r-base-core          Rscript                  programs
octave               octave-cli               programs
"
case ${1:-} in
--check) wanted=$(echo "$wanted" | grep -v -e 'later$' -e 'programs$') ;;
--programs) ;;
*) wanted=$(echo "$wanted" | grep -v 'programs$') ;;
esac

# Reads the table, prints the packages of the headers that are missing: all of them when there is no compiler.
missing_headers() {
    headers=$(echo "$wanted" | grep '<')
    # shellcheck disable=SC2086 # CC may be two words: ccache gcc
    echo "$headers" | awk '{ printf "#if !__has_include(%s)\n%s\n#endif\n", $2, $1 }' | $CC -E -P -x c - 2>/dev/null ||
        echo "$headers" | awk '{ print $1 }'
}

missing() {
    echo "$wanted" | while read -r package sign _; do
        case $sign in
        '' | '<'*) ;;
        /*) [ -e "$sign" ] || echo "$package" ;;
        *) command -v "$sign" >/dev/null || echo "$package" ;;
        esac
    done
    missing_headers
}

packages=$(missing | xargs)
[ -n "$packages" ] || exit 0
if [ "${1:-}" = --check ]; then
    echo "missing packages: $packages (\`make deps\` installs them)" >&2
    exit 1
fi

sudo=
[ "$(id -u)" -eq 0 ] || sudo=$(command -v sudo) || sudo=none
if [ "$sudo" = none ] || ! command -v apt-get >/dev/null; then
    echo "missing packages: $packages (Debian's names; install them as root, then try again)" >&2
    exit 1
fi

echo "installing: $packages"
$sudo apt-get -qq update || true # a stale list may still do
apt_install="env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install --yes --no-install-recommends"
# shellcheck disable=SC2086 # lists of words
$sudo $apt_install $packages || {
    echo "could not install: $packages" >&2
    exit 1
}
packages=$(missing | xargs)
[ -z "$packages" ] || { echo "still missing after the installation: $packages" >&2; exit 1; }
