#!/bin/sh
# test.sh PROGRAM...: run each, TEST_JOBS at a time, show in their order what failed, end with "N passed, N failed".
#
# How a program's result is read: Criterion's runner by its Synthesis line; an example by its standard output,
# which must be that of examples/NAME.out where there is one; any other by a last line "N passed, N failed"
# when it prints one, else it is one test and its exit code tells (77: skipped).
set -u
: "${BUILD:=build}" "${TEST_TIMEOUT:=900}" "${TEST_JOBS:=$(nproc)}"
SHUNT=$(pwd)/$BUILD/shunt
export BUILD SHUNT
# Each test is a process of its own: unless the sanitizer aborts, Criterion doesn't see that it found something.
# (gcc 12 misaligns 64-byte vectors on the fake stack that detect_stack_use_after_return uses.)
# An allocation that can't be is NULL, as without a sanitizer.
export ASAN_OPTIONS="abort_on_error=1:detect_leaks=1:detect_stack_use_after_return=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"
export TSAN_OPTIONS="allocator_may_return_null=1:halt_on_error=1:second_deadlock_stack=1:${TSAN_OPTIONS:-}"

passed=0 failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# gcc 12's TSan can't start where the kernel randomises more address bits than it knows.
fixed_addresses=
case $BUILD in */tsan) setarch -R true 2>/dev/null && fixed_addresses='setarch -R' ;; esac

run() {
    # shellcheck disable=SC2086 # no word or two
    timeout "$TEST_TIMEOUT" $fixed_addresses "$@" >"$scratch/out" 2>"$scratch/err"
}

# judge NAME STATUS: one program is one test.
judge() {
    case $2 in
    0) passed=$((passed + 1)) && echo "ok      $1" ;;
    77) echo "skipped $1: $(tail -n 1 "$scratch/out")" ;;
    *)
        failed=$((failed + 1))
        echo "FAILED  $1 (status $2)"
        cat "$scratch/out" "$scratch/err"
        ;;
    esac
}

# add NAME STATUS PASSED FAILED: a program that counts; one that dies on the way has failed once more.
add() {
    passed=$((passed + $3)) failed=$((failed + $4))
    if [ "$2" -eq 0 ] && [ "$4" -eq 0 ]; then
        echo "ok      $1 ($3)"
        return
    fi
    [ "$4" -ne 0 ] || failed=$((failed + 1))
    echo "FAILED  $1 (status $2, $3 passed, $4 failed)"
    cat "$scratch/out" "$scratch/err"
}

counting() {
    name=$1
    run "$@"
    status=$?
    counts=$(tail -n 1 "$scratch/out" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    # shellcheck disable=SC2086 # two numbers
    if [ -n "$counts" ]; then add "$name" $status $counts; else judge "$name" $status; fi
}

criterion() {
    run "$1" --timeout 300 ${FILTER:+--filter "$FILTER"}
    status=$?
    # Criterion takes no notice of what a test's process finds when it ends.
    if grep -q 'ERROR: LeakSanitizer' "$scratch/err" "$scratch/out"; then status=1; fi
    synthesis=$(sed 's/\x1b\[[0-9;]*m//g' "$scratch/err" "$scratch/out" | grep 'Synthesis:' | tail -n 1)
    echo "$synthesis"
    counts=$(echo "$synthesis" |
        sed -n 's/.*Tested: \([0-9]*\) | Passing: \([0-9]*\) | .*/\1 \2/p' | awk '{ print $2, $1 - $2 }')
    # shellcheck disable=SC2086 # two numbers
    if [ -n "$counts" ]; then add "$1" $status $counts; else judge "$1" $status; fi
}

# python FILE: with Debian's Python, which has Debian's NumPy, against the staged library.
python() {
    if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
        run env LD_LIBRARY_PATH="$BUILD/stage/lib" /usr/bin/python3 "$1"
    else
        echo 'no /usr/bin/python3 with NumPy' >"$scratch/out"
        return 77
    fi
}

example() {
    expected=examples/$(basename "$1" .py).out
    case $1 in *.py) python "$1" ;; *) run "$1" ;; esac
    status=$?
    if [ $status -eq 0 ] && [ -e "$expected" ]; then
        diff -u "$expected" "$scratch/out" >"$scratch/err" 2>&1 || status=1
    fi
    judge "$1" $status
}

replay() {
    name=$(basename "$1")
    counting "$1" "tests/fuzz/corpus/${name#fuzz_}"/*
}

run_here() {
    case $1 in
    */tests/runner) criterion "$1" ;;
    */examples/* | examples/*) example "$1" ;;
    */replay/*) replay "$1" ;;
    *) counting "$1" ;;
    esac
}

# several PROGRAM...: each by a test.sh of its own, which says how it went into a file named by its place.
several() {
    place=0
    for program in "$@"; do
        place=$((place + 1))
        echo "$scratch/said.$place $program"
    done | xargs -r -P "$TEST_JOBS" -n 2 sh -c '"$0" "$2" >"$1" 2>&1' "$0"
    for program in "$@"; do
        place=$((place + 1))
        sum "$program" "$scratch/said.$place"
    done
}

# sum PROGRAM FILE: what was said of it counts, and having said nothing does too.
sum() {
    counts=$(tail -n 1 "$2" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    if [ -n "$counts" ]; then
        passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
        sed '$d' "$2"
    else
        failed=$((failed + 1))
        echo "FAILED  $1 (could not be run)"
        cat "$2"
    fi
}

if [ $# -eq 1 ]; then run_here "$1"; else several "$@"; fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
