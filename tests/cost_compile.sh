#!/bin/sh
# cost_compile.sh: modes that are baked in cost nothing: a call takes exactly the instructions that it takes without them.
set -u
program=${BUILD:-build}/bench/compiled
command -v valgrind >/dev/null || { echo "valgrind is not installed (package valgrind)" && exit 77; }

# count WHAT: instructions of one call, by the difference between two numbers of calls.
count() {
    for calls in 1000 2000; do
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" count "$1" $calls 2>&1 |
            sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
    done | xargs | awk '{ printf "%.0f\n", ($2 - $1) / 1000 }'
}
without=$(count 0) baked=$(count 1)
echo "without modes $without instructions, with add->mul baked in $baked"
[ "$without" -gt 0 ] && [ "$without" -eq "$baked" ]
