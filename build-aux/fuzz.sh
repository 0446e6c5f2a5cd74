#!/bin/sh
# fuzz.sh TARGET...: fuzz each for FUZZ_SECONDS, FUZZ_JOBS at a time, from the kept corpus, with its words in
# tests/fuzz/NAME.dict if there are any; what is new, what crashes and what was said stays under BUILD.
set -eu
: "${BUILD:=build/fuzz}" "${FUZZ_SECONDS:=60}" "${FUZZ_JOBS:=$(nproc)}"

# fuzz TARGET: its end is shown, all of it if it found something.
fuzz() {
    name=$(basename "$1")
    said=$BUILD/$name.log
    kept=tests/fuzz/corpus/${name#fuzz_}
    words=tests/fuzz/${name#fuzz_}.dict
    mkdir -p "$BUILD/corpus/$name" "$BUILD/crashes"
    if "$1" -max_total_time="$FUZZ_SECONDS" -timeout=5 $(test ! -f "$words" || echo "-dict=$words") \
        -artifact_prefix="$BUILD/crashes/$name-" "$BUILD/corpus/$name" "$kept" >"$said" 2>&1; then
        echo "$name: $(tail -n 1 "$said")"
    else
        cat "$said"
        echo "$name: FAILED"
        return 1
    fi
}

if [ $# -eq 1 ]; then
    fuzz "$1"
else
    export BUILD FUZZ_SECONDS
    printf '%s\n' "$@" | xargs -P "$FUZZ_JOBS" -n 1 "$0"
fi
