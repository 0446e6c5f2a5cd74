# checks.sh: what the scripts that run programs under shunt exec share.
set -u
build=${BUILD:-build}
case $build in */asan | */ubsan | */tsan | */fuzz)
    echo "a program that is not linked with the sanitizer can't preload one that is"
    exit 77
    ;;
esac
shunt=$(realpath "$build/shunt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
unset SHUNT_MODES SHUNT_OUT SHUNT_JSON SHUNT_HOOK SHUNT_FAIL_ON LD_PRELOAD
export OPENBLAS_NUM_THREADS=1

# check NAME STATUS WORDS COMMAND...: the status, and the words somewhere in stdout or stderr.
check() {
    name=$1 status=$2 words=$3
    shift 3
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [ $got -eq "$status" ] && { [ -z "$words" ] || cat "$work/out" "$work/err" | grep -qF -- "$words"; }; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name: status $got, expected $status and '$words'"
        sed 's/^/    /' "$work/out" "$work/err"
    fi
}
holds() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >/dev/null 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $name"; fi
}

# same NAME COMMAND...: the program's standard output and status under no mode, profile, log and nancheck are those it has alone.
same() {
    name=$1
    shift
    "$@" >"$work/alone" 2>/dev/null
    alone=$?
    for mode in '' profile log nancheck:inf=1,stop=warn; do
        "$shunt" exec ${mode:+--mode "$mode"} --out "$work/report" -- "$@" >"$work/out" 2>"$work/err"
        got=$?
        if [ $got -eq $alone ] && cmp -s "$work/alone" "$work/out"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAILED: $name under '$mode': status $got, alone $alone"
            diff "$work/alone" "$work/out" | head -n 5 | sed 's/^/    /'
        fi
    done
}

# have PROGRAM WHAT: or says that it is skipped.
have() {
    command -v "$1" >/dev/null && return
    echo "skipped: $2 ($1 is not installed)"
    return 1
}
python=/usr/bin/python3
have_numpy() {
    "$python" -c "import numpy${1:+, $1}" 2>/dev/null && return
    echo "skipped: NumPy${1:+ with $1} (not installed)"
    return 1
}

finish() {
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
}
