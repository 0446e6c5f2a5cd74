#!/bin/sh
# instructions.sh PROGRAM: instructions of one call by callgrind, the difference between runs of 2000 and 1000 calls.
set -eu
program=$1
command -v valgrind >/dev/null || { echo "instructions: valgrind is not installed (package valgrind)"; exit 0; }
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" count "$1" "$2" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
printf '%-34s %10s\n' "instructions of one call" "count"
i=0
"$program" names | while read -r name; do
    printf '%-34s %10s\n' "$name" $((($(count $i 2000) - $(count $i 1000)) / 1000))
    i=$((i + 1))
done
