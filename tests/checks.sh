# checks.sh: what the scripts share that look at a program from outside. `work` is a folder that goes with the script.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

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

finish() {
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
}
