#!/bin/sh
# cli_hook.sh: plug-ins by --hook and SHUNT_HOOK, in the tool and in programs. Prints "N passed, N failed".
set -u
: "${BUILD:=build}" "${SHUNT:=$PWD/$BUILD/shunt}" "${SANITIZE:=}"
shunt=$SHUNT plugins=$PWD/$BUILD/tests/plugins examples=$PWD/$BUILD/examples/plugins
. tests/checks.sh

lacks() { # NAME WORDS: nowhere in stdout and stderr
    if cat "$work/out" "$work/err" | grep -qF -e "$2"; then
        failed=$((failed + 1))
        echo "FAILED: $1: '$2' in"
        cat "$work/out" "$work/err"
    else
        passed=$((passed + 1))
    fi
}

"$PWD/$BUILD/make_onnx" relu "$work/relu.onnx" || exit 1

check 'an op of a plug-in is listed' 0 'mine::clipped(Tensor self, float limit=6)' \
    "$shunt" ops --hook "$examples/relu6_hook.so" 'mine::*'
check 'with its kernel' 0 'cpu: relu6 hook' "$shunt" ops --hook "$examples/relu6_hook.so" 'mine::*'
check 'a kernel of a plug-in is listed' 0 'cpu: relu6 hook, ref: built-in' "$shunt" ops relu6 --hook "$examples/relu6_hook.so"
check 'a mode of a plug-in is listed' 0 'tally' "$shunt" modes --hook "$examples/relu6_hook.so"
check 'a mode of a plug-in is explained' 0 'the op to count' \
    "$shunt" modes --hook "$examples/relu6_hook.so" --explain tally:ops=relu
check 'a mode of a plug-in runs' 0 'tally: 1 calls of relu' \
    "$shunt" run --hook "$examples/relu6_hook.so" --mode tally:ops=relu "$work/relu.onnx"
check 'a plug-in and a graph' 0 'relu' "$shunt" graph --hook "$examples/relu6_hook.so" "$work/relu.onnx"
check 'a backend of a plug-in' 0 'output' sh -c "'$shunt' run '$work/relu.onnx' --hook '$plugins/good.so' --backend goodback; echo output"
check 'two plug-ins' 0 'logged device' \
    env SHUNT_HOOK="$examples/relu6_hook.so:$examples/logged_device.so" "$shunt" doctor
check 'a device of a plug-in is told' 0 'on logged' env SHUNT_HOOK="$examples/logged_device.so" "$shunt" doctor
check 'modes of the environment may be a plug-in'"'"'s' 0 'tally: ' \
    env SHUNT_HOOK="$examples/relu6_hook.so" SHUNT_MODES=tally "$shunt" run "$work/relu.onnx"

for hook in bad_abi small no_entry null_entry init_fails nowhere; do
    check "the tool stops at $hook" 2 "$hook.so" "$shunt" run --hook "$plugins/$hook.so" "$work/relu.onnx"
    check "also from the environment: $hook" 2 "SHUNT_HOOK: plug-in $plugins/$hook.so" \
        env SHUNT_HOOK="$plugins/$hook.so" "$shunt" run "$work/relu.onnx"
    check "a program goes on without $hook" 0 "SHUNT_HOOK: plug-in $plugins/$hook.so" \
        env SHUNT_HOOK="$plugins/$hook.so" "$BUILD/examples/01_add_to_mul"
    check "or stops when strict: $hook" 2 "SHUNT_HOOK: plug-in $plugins/$hook.so" \
        env SHUNT_STRICT=1 SHUNT_HOOK="$plugins/$hook.so" "$BUILD/examples/01_add_to_mul"
done
check 'both ABI numbers are told' 2 'has ABI 77, this library has ABI 1' \
    "$shunt" run --hook "$plugins/bad_abi.so" "$work/relu.onnx"
check 'one bad hook keeps no other away' 0 'relu6 hook replaces built-in' \
    env SHUNT_HOOK="$plugins/bad_abi.so:$examples/relu6_hook.so" "$BUILD/examples/01_add_to_mul"
check 'empty entries are nothing' 0 '' env SHUNT_HOOK="::" "$BUILD/examples/01_add_to_mul"
check '--hook needs a value' 2 'needs a value' "$shunt" run --hook
(cd "$examples" && check 'a file in the current folder' 0 'mine::clipped' "$shunt" ops --hook relu6_hook.so 'mine::*'; exit "$failed") || failed=$((failed + 1))

# ---- conditions and policies
relu() { "$shunt" run "$@" "$work/relu.onnx" 2>"$work/err"; }
status() { relu "$@" >"$work/out"; echo $?; }
relu >"$work/right"
right() { cmp -s "$work/out" "$work/right"; }
broken=$plugins/broken.so
holds 'a broken kernel that is trusted' [ "$(status --hook "$broken")" -eq 0 ]
lacks 'gives what it gives' "$(tail -n 1 "$work/right")"
holds 'a condition that the call does not meet' [ "$(status --hook "$broken,numel=1000000..")" -eq 0 ]
holds 'leaves it to the built-in kernel' right
holds 'one that is verified is a finding' [ "$(status --hook "$broken,dtype=f32,policy=[verify:first=5]")" -eq 1 ]
holds 'and gives the right numbers' right
holds 'and is told' grep -q '^shunt: verify: relu(.*kernel broken.*it is taken out' "$work/err"
relu --hook "$broken,policy=[verify:first=5]" --json - >"$work/out"
holds 'in JSON too' grep -q '"mode": *"verify"' "$work/out"
check 'in the environment brackets hold a colon' 0 'numel 6 is too small' sh -c \
    "SHUNT_VERBOSE=dispatch SHUNT_HOOK='$broken,policy=[verify:first=5],numel=100..:$examples/relu6_hook.so' '$shunt' run '$work/relu.onnx'"
check 'and the next one is loaded' 0 'mine::clipped' \
    env SHUNT_HOOK="$broken,policy=[verify:first=5]:$examples/relu6_hook.so" "$shunt" ops 'mine::*'
check 'a key that there is not' 2 'did you mean dtype' "$shunt" run --hook "$broken,dtyp=f32" "$work/relu.onnx"
check 'is shown at its place' 2 '        ^' "$shunt" run --hook "$broken,call=1,dtyp=f32" "$work/relu.onnx"
check 'a bad value' 2 'a range A..B' "$shunt" run --hook "$broken,numel=many" "$work/relu.onnx"
check 'a bad dtype' 2 'there is no such dtype' "$shunt" run --hook "$broken,dtype=f33" "$work/relu.onnx"
check 'a bad policy' 2 'did you mean verify' "$shunt" run --hook "$broken,policy=verfy" "$work/relu.onnx"
check 'a bracket that is left open' 2 'no ] closes this' "$shunt" run --hook "$broken,policy=[verify" "$work/relu.onnx"
check 'in the environment too' 2 "SHUNT_HOOK: plug-in $broken: there is no option 'dtyp'" \
    env SHUNT_HOOK="$broken,dtyp=f32" "$shunt" run "$work/relu.onnx"
check 'options for a plug-in without kernels' 2 'no kernel in its table' \
    "$shunt" run --hook "$plugins/sizes.so,dtype=f32" "$work/relu.onnx"
for command in graph ops modes; do
    check "a bad option: $command" 2 'did you mean numel' "$shunt" $command --hook "$broken,numl=1" "$work/relu.onnx"
done

# ---- SHUNT_VERBOSE
check 'SHUNT_VERBOSE=dispatch' 0 'dispatch: relu(' env SHUNT_VERBOSE=dispatch "$shunt" run "$work/relu.onnx"
check 'a word that it does not know' 2 'did you mean dispatch' env SHUNT_VERBOSE=dispach "$shunt" run "$work/relu.onnx"
BROKEN=crash SHUNT_VERBOSE=crash "$shunt" run --hook "$broken" --mode "trace:out=$work/trace" "$work/relu.onnx" \
    >"$work/out" 2>"$work/err"
holds 'a crash in a hooked kernel is one' [ $? -ne 0 ]
# A shell may add its own words.
last_word() { grep '^shunt: ' "$work/err" | tail -n 1 | grep -q '^shunt: crashed in relu(.*kernel broken (cpu)$'; }
case $SANITIZE in *address*) ;; *) holds 'its call is the last word' last_word ;; esac
last_event() { tail -n 1 "$work/trace" | grep -q '"name":"relu".*"ph":"B"'; }
holds 'and the last of the trace' last_event

# A tool that shows its symbols serves a plug-in that was linked with the library, too.
check 'a plug-in with a copy of the library, in the tool' 0 'second copy' \
    env SHUNT_HOOK="$plugins/second_copy.so" "$shunt" doctor

# A program with libshunt.a that hides them can't serve any.
cat >"$work/static.c" <<'END'
#include <shunt.h>
int main(void) { return sh_plugin_load(getenv("PLUGIN"), NULL) < 0 ? puts(sh_error()->message), 1 : 0; }
END
sed -i '1i #include <stdio.h>\n#include <stdlib.h>' "$work/static.c"
# shellcheck disable=SC2086 # flags
if ${CC:-cc} $SANITIZE -fopenmp -I"$BUILD/stage/include" "$work/static.c" -o "$work/static" -Wl,--whole-archive "$BUILD/libshunt.a" \
    -Wl,--no-whole-archive -lffi -ldnnl -lmvec -lm 2>"$work/err"; then
    check 'a program that hides the library says what to do' 1 '-rdynamic' env PLUGIN="$plugins/good.so" "$work/static"
    check 'and tells a second copy' 1 'linked with a second copy of the library' \
        env PLUGIN="$plugins/second_copy.so" "$work/static"
else
    echo "no static program: $(tail -n 1 "$work/err")"
fi

# In a program with other rights than its caller's SHUNT_HOOK is nothing.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && mkdir "$work/setuid" && chmod 755 "$work" "$work/setuid" &&
    cp "$shunt" "$work/setuid/shunt" && chmod 4755 "$work/setuid/shunt" && cp "$plugins/bad_abi.so" "$work/setuid/" &&
    [ "$(setpriv --reuid=65534 --clear-groups "$work/setuid/shunt" --version 2>/dev/null)" ]; then
    as_nobody="setpriv --reuid=65534 --clear-groups env SHUNT_HOOK=$work/setuid/bad_abi.so SHUNT_MODES=nonsense"
    # shellcheck disable=SC2086 # a command
    check 'SHUNT_HOOK is ignored in a setuid program' 0 'shunt' $as_nobody "$work/setuid/shunt" doctor
    lacks 'it says nothing of the plug-in' 'SHUNT_HOOK: plug-in'
    chmod 755 "$work/setuid/shunt"
    # shellcheck disable=SC2086 # a command
    check 'and obeyed by the same user in a plain one' 2 'SHUNT_HOOK: plug-in' $as_nobody "$work/setuid/shunt" doctor
else
    echo 'not tried: a setuid program'
fi

finish
