#!/bin/sh
# cli_code.sh: sh_graph_code's functions compile without a warning as a user would compile them, and give the graphs' bits.
set -u
stage=$(pwd)/${BUILD:-build}/stage
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
link="-L$stage/lib -Wl,-rpath,$stage/lib -lshunt-io -lshunt -lm"
strict="-std=c11 -Wall -Wextra -Wpedantic -Werror"

die() {
    echo "FAILED: $*"
    echo "0 passed, 1 failed"
    exit 1
}

# shellcheck disable=SC2086 # CC and flags are several words
{
    ${CC:-gcc} ${SANITIZE:-} -std=c11 -I"$stage/include" -I. -o "$work/write" tests/code/cases.c tests/fx_nets.c $link ||
        die "the cases don't build against $stage"
    "$work/write" "$work" || die "a graph gives no code"
    for file in "$work"/code_*.c; do
        for compiler in "${CC:-gcc}" clang-14; do
            command -v ${compiler%% *} >/dev/null || continue
            $compiler $strict -I"$stage/include" -fsyntax-only "$file" || die "$compiler on $(basename "$file")"
        done
    done
    ${CC:-gcc} ${SANITIZE:-} -std=c11 -DCASES -I"$stage/include" -I. -I"$work" -o "$work/compare" \
        tests/code/cases.c tests/fx_nets.c "$work"/code_*.c $link || die "the code doesn't link"
}
"$work/compare"
