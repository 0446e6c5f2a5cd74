#!/bin/sh
# exec_tool.sh: what `shunt exec` does with its words, and what becomes of reports and statuses however a program ends.
. tests/exec/checks.sh

# ---- words and environment
check 'the program is missing' 2 'the program is missing' "$shunt" exec
check 'and after --' 2 'the program is missing' "$shunt" exec --
check 'a misspelt option' 2 'did you mean --mode' "$shunt" exec --moed log true
check 'a bad mode points at its place' 2 '  ^' "$shunt" exec --mode lgo true
check 'and is told before the program starts' 2 'did you mean log' "$shunt" exec --mode lgo sh -c 'echo started'
holds 'indeed' [ ! -s "$work/out" ]
check 'values are checked as by shunt run' 2 "there is no op 'relus'" "$shunt" exec --swap relus=sin true
check 'a bad swap' 2 'expected A=B' "$shunt" exec --swap relu true
check 'a bad kind of finding' 2 'did you mean nan' "$shunt" exec --fail-on inf,nam true
check 'an empty kind' 2 'is none of' "$shunt" exec --fail-on nan, true
check 'a bad backend' 2 'did you mean ref' "$shunt" exec --backend reff true
check 'a bad verbosity' 2 'did you mean crash' "$shunt" exec --verbose dispatch,crsh true
check 'a plug-in that is not there' 2 'No such file' "$shunt" exec --hook /no/such.so true
check 'no such program' 127 'No such file' "$shunt" exec -- /no/such/program
check 'nor in PATH' 127 'no-such-program' "$shunt" exec no-such-program
check 'one that can not be run' 126 'Permission denied' "$shunt" exec /etc
check 'an unwritable report' 4 "can't write" "$shunt" exec --out /no/such/folder/x true
check 'an unwritable report of a mode' 4 "can't write" "$shunt" exec --mode log:out=/no/such/folder/x true
check 'no library to preload' 4 'SHUNT_INTERPOSE' env SHUNT_INTERPOSE=/no/such.so "$shunt" exec true
check 'its help' 0 'usage: shunt exec' "$shunt" exec --help
check 'options after the program are its own' 0 'Usage: env' "$shunt" exec env --help
check 'its status is its own' 7 '' "$shunt" exec sh -c 'exit 7'
check 'so are signals' 143 '' "$shunt" exec sh -c 'kill -TERM $$'
check 'and standard input' 0 'from stdin' sh -c "echo from stdin | '$shunt' exec cat"
check 'and its name and words' 0 'a b|--mode' "$shunt" exec -- sh -c 'IFS="|"; echo "$*"' x 'a b' --mode
"$shunt" exec sh -c 'echo out' >"$work/out" 2>"$work/err"
holds 'with no mode nothing is said' [ ! -s "$work/err" ]
check 'modes add to those of the environment' 0 'log;nancheck:inf=1' env SHUNT_MODES=log "$shunt" exec --mode nancheck:inf=1 sh -c 'echo $SHUNT_MODES'
check 'what was preloaded stays' 0 ':libm.so.6' env LD_PRELOAD=libm.so.6 "$shunt" exec sh -c 'echo $LD_PRELOAD'
check 'other options are passed on' 0 'f nan 1 dispatch,crash' "$shunt" exec --out "$work/f" --fail-on nan --nested --verbose dispatch,crash \
    sh -c 'echo ${SHUNT_OUT##*/} $SHUNT_FAIL_ON $SHUNT_NESTED $SHUNT_VERBOSE'

# ---- programs that nothing can be preloaded into
printf 'int main(void) { return 0; }\n' >"$work/plain.c"
if cc -static -o "$work/static" "$work/plain.c" 2>/dev/null; then
    check 'a static program is told of' 0 'is linked statically' "$shunt" exec "$work/static"
    check 'and refused if strict' 2 'is linked statically' "$shunt" exec --strict "$work/static"
    printf '#!%s\n' "$work/static" >"$work/script" && chmod +x "$work/script"
    check 'a script is followed to it' 0 'is linked statically' "$shunt" exec "$work/script"
fi

# ---- ends
cc -std=c11 -D_GNU_SOURCE -o "$work/ends" tests/exec/ends.c -lblas || { echo "FAILED: ends.c"; exit 1; }
warn=nancheck:stop=warn
exec_ends() { # END OPTION...: under nancheck and profile
    end=$1
    shift
    set -- "$shunt" exec --mode "$warn" --mode profile "$@" -- "$work/ends" $end
    "$@"
}
count() { grep -c "$1" "$work/err"; }

for end in '' _exit quick_exit abort exec exec-fails fork vfork; do
    status=0
    [ "$end" != abort ] || status=134
    check "a finding is reported: ${end:-return}" $status 'nancheck: NaN' exec_ends "$end"
    expected=1
    [ "$end" != exec-fails ] || expected=2 # what was counted before, and after
    holds "the table is printed: ${end:-return}" [ "$(count '^total')" -eq $expected ]
    holds "output once: ${end:-return}" [ "$(grep -o 'printed before' "$work/out" | wc -l)" -eq 1 ]
done
check 'a child that calls has a report of its own' 0 'child 0' exec_ends fork-calls
holds 'beside its parent' [ "$(count '^total')" -eq 2 ]
holds 'of its own calls' grep -q '^blas::dot *2 ' "$work/err"
holds 'and of the parent' grep -q '^blas::dot *1 ' "$work/err"
check 'its files have its pid' 0 '' exec_ends fork-calls --out "$work/report-%p"
holds 'one each' [ "$(ls "$work"/report-* | wc -l)" -eq 2 ]
rm "$work"/report-*
check 'a child without calls has none' 0 '' exec_ends fork --out "$work/report-%p"
holds 'so there is one' [ "$(ls "$work"/report-* | wc -l)" -eq 1 ]
check 'processes share a file' 0 '' exec_ends fork-calls --out "$work/shared"
holds 'and do not write over each other' [ "$(grep -c '^total' "$work/shared")" -eq 2 ]
check 'the next program goes on in it' 0 '' "$shunt" exec --mode profile --out "$work/shared" sh -c "'$work/ends'; '$work/ends'"
holds 'behind the first' [ "$(grep -c '^total' "$work/shared")" -eq 2 ]

# ---- statuses
for end in '' _exit quick_exit fork vfork; do
    check "a finding changes the status: ${end:-return}" 1 '' exec_ends "$end" --fail-on nan
done
check 'of the right kind' 0 '' exec_ends '' --fail-on inf,mismatch
check 'a status of its own stays' 3 '' exec_ends 3 --fail-on nan
check 'in _Exit too' 3 '' exec_ends _Exit3 --fail-on nan
check 'a child keeps its status' 1 'child 0' exec_ends fork-calls --fail-on nan
check 'one that ends early as well' 1 'child 4' exec_ends vfork --fail-on nan
check 'findings as JSON' 0 '' exec_ends fork-calls --json "$work/json"
holds 'a line for each process' [ "$(wc -l <"$work/json")" -eq 2 ]
if command -v python3 >/dev/null; then
    holds 'each well-formed' python3 -c 'import json, sys; print([json.loads(line)["findings"][0]["mode"] for line in open(sys.argv[1])])' "$work/json"
fi
holds 'which names the op' grep -q 'blas::dot' "$work/json"

finish
