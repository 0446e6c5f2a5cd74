# checks.sh: what the scripts that run programs under shunt exec share.
set -u
build=${BUILD:-build}
case $build in */asan | */ubsan | */tsan | */fuzz)
    echo "a program that is not linked with the sanitizer can't preload one that is"
    exit 77
    ;;
esac
shunt=$(realpath "$build/shunt")
. tests/checks.sh
unset SHUNT_MODES SHUNT_OUT SHUNT_JSON SHUNT_HOOK SHUNT_FAIL_ON LD_PRELOAD
export OPENBLAS_NUM_THREADS=1

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
