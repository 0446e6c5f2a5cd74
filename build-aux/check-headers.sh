#!/bin/sh
# check-headers.sh HEADER...: each compiles alone; those that shunt.h is made of, and the installed one, in C++17 too.
#
# The public ones are compiled with harsher warnings than the library itself, by each compiler that is there.
set -u
: "${BUILD:=build}"
failed=0
installed=$(mktemp -d)
trap 'rm -rf "$installed"' EXIT

include="-I. -I$BUILD/gen"
warnings='-Wall -Wextra -Wpedantic -Werror'
harsh="$warnings -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wcast-qual -Wwrite-strings -Wconversion"

# compile HEADER LANGUAGE COMPILER FLAGS...
compile() {
    header=$1 language=$2
    shift 2
    command -v "$1" >/dev/null || return 0
    echo "#include \"$header\"" | "$@" -x "$language" -fsyntax-only - && return
    echo "$header does not compile alone: $*"
    failed=1
}

# shellcheck disable=SC2086 # lists of flags
public() {
    for compiler in gcc clang; do compile "$1" c $compiler -std=c11 $harsh $2; done
    for compiler in g++ clang++; do compile "$1" c++ $compiler -std=c++17 $warnings $2; done
}

for header in "$@"; do
    name=${header#"$BUILD/gen/"}
    # shellcheck disable=SC2086
    for compiler in gcc clang; do
        compile "$name" c $compiler -std=c11 -D_GNU_SOURCE $include $warnings
    done
done

if [ -e shunt.h ]; then
    for header in $(awk -v path=".:$BUILD/gen" -v list=1 -f build-aux/amalgamate.awk shunt.h | grep '\.h$'); do
        public "$header" "$include"
    done
    awk -v path=".:$BUILD/gen" -f build-aux/amalgamate.awk shunt.h >"$installed/shunt.h" || failed=1
    public "$installed/shunt.h" ""
    ! grep -n '_Atomic' "$installed/shunt.h" || { echo "the installed shunt.h holds _Atomic"; failed=1; }
fi
[ $failed -eq 0 ] && echo "headers: ok"
