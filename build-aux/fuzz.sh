#!/bin/sh
# fuzz.sh TARGET...: fuzz each for FUZZ_SECONDS, from the kept corpus, with its words in tests/fuzz/NAME.dict if there are
# any; what is new and what crashes stays under BUILD.
set -eu
: "${BUILD:=build/fuzz}" "${FUZZ_SECONDS:=60}"
for target in "$@"; do
    name=$(basename "$target")
    kept=tests/fuzz/corpus/${name#fuzz_}
    words=tests/fuzz/${name#fuzz_}.dict
    mkdir -p "$BUILD/corpus/$name" "$BUILD/crashes"
    echo "$name: $FUZZ_SECONDS s"
    "$target" -max_total_time="$FUZZ_SECONDS" -timeout=5 $(test ! -f "$words" || echo "-dict=$words") \
        -artifact_prefix="$BUILD/crashes/$name-" \
        "$BUILD/corpus/$name" "$kept"
done
