#!/bin/sh
# exec_blas.sh: programs that call BLAS, alone and with the preload library: the same bits, and what modes see of them.
# Runs where a BLAS with CBLAS's header is installed (libblas-dev or libopenblas-dev).
set -u
build=${BUILD:-build}
case $build in */asan | */ubsan | */tsan | */fuzz)
    echo "a program that is not linked with the sanitizer can't preload one that is"
    exit 77
    ;;
esac
stage=$(realpath "$build/stage")
interpose=$stage/lib/shunt/libshunt-interpose.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
unset SHUNT_MODES SHUNT_OUT SHUNT_NESTED LD_PRELOAD
export OPENBLAS_NUM_THREADS=1

holds() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >/dev/null 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $name"; fi
}
# under MODES PROGRAM...: into out and err
under() {
    modes=$1
    shift
    SHUNT_MODES=$modes LD_PRELOAD=$interpose "$@" >"$work/out" 2>"$work/err"
}

cc -w -O1 -g -o "$work/blas" tests/exec/blas.c -lblas -lm 2>"$work/err" || {
    echo "no BLAS to link with: $(tail -n 1 "$work/err")"
    exit 77
}
"$work/blas" >"$work/alone" 2>"$work/calls"
calls=$(sed -n 's/ calls$//p' "$work/calls")
holds 'the program makes its calls' [ "$calls" -gt 300 ]

for modes in '' log nancheck:stop=warn profile 'log;nancheck:inf=1,stop=warn;profile'; do
    under "$modes" "$work/blas"
    holds "same bits under '$modes'" cmp "$work/alone" "$work/out"
done
under log "$work/blas"
holds 'each call is one op, but scal by a negative increment, which does nothing' \
    sh -c "[ \$(grep -c ^blas:: $work/err) -eq $((calls - 4)) ]"
holds 'a call tells where it was made, and of what' grep -q 'blas::trsm(c128\[6, 6\]:lower, c128' "$work/err"
under nancheck:stop=warn "$work/blas"
holds 'what is not read is no finding: other triangles, C where beta is 0, gaps between columns' \
    [ "$(grep -c nancheck "$work/err")" -eq 0 ]
under profile "$work/blas"
holds 'a profile has a line for each routine' [ "$(grep -c '^blas::' "$work/err")" -ge 47 ]

cat >"$work/nan.c" <<'END'
#include <cblas.h>
#include <math.h>
int main(void) {
    double a[4] = {1, NAN, 3, 4}, b[4] = {1, 0, 0, 1}, c[4], big[4] = {1e300, 1e300, 1e300, 1e300};
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, big, 2, big, 2, 0, c, 2);
    return 0;
}
END
cc -g -o "$work/nan" "$work/nan.c" -lblas -lm
under nancheck:inf=1,stop=warn "$work/nan"
holds 'a planted NaN is told with its place' grep -q 'NaN arrived in input a of blas::gemm at \[0, 1\]' "$work/err"
holds 'and the line that called' grep -q 'nan.c:5' "$work/err"
holds 'an overflow was born' grep -q 'Inf born in blas::gemm' "$work/err"
under nancheck "$work/nan"
holds 'a finding does not stop a program that can not be told' [ $? -eq 0 ]
under log sh -c "'$work/nan' 2>&-"
holds 'nor does a closed stderr' [ $? -eq 0 ]

# Plain names of a library with 64-bit integers, known by its name; the reference BLAS under a real program.
cat >"$work/wide.c" <<'END'
#include <stdint.h>
double ddot_(const int64_t *n, const double *x, const int64_t *incx, const double *y, const int64_t *incy) {
    double s = 0;
    for (int64_t i = 0; i < *n; i++) s += x[i * *incx] * y[i * *incy];
    return s;
}
double ddot_64_(const int64_t *n, const double *x, const int64_t *incx, const double *y, const int64_t *incy) {
    return ddot_(n, x, incx, y, incy);
}
double scipy_ddot_64_(const int64_t *n, const double *x, const int64_t *incx, const double *y, const int64_t *incy) {
    return ddot_(n, x, incx, y, incy);
}
END
cat >"$work/user.c" <<'END'
#include <stdint.h>
double ddot_(), ddot_64_(), scipy_ddot_64_();
int main(void) {
    struct { int64_t n, after; } n = {3, -1};
    int64_t one[2] = {1, 77};
    double x[3] = {1, 2, 3};
    return ddot_(&n, x, one, x, one) + ddot_64_(&n, x, one, x, one) + scipy_ddot_64_(&n, x, one, x, one) != 42;
}
END
cc -shared -fPIC -o "$work/libblas64.so" "$work/wide.c"
cc -w -o "$work/user" "$work/user.c" -L"$work" -lblas64 -Wl,-rpath,"$work"
under log "$work/user"
holds 'plain, suffixed and prefixed names of 64-bit integers' [ $? -eq 0 ]
holds 'are all seen' [ "$(grep -c 'blas::dot(f64\[3\], f64\[3\])' "$work/err")" -eq 3 ]

# A library that comes in by dlopen brings its own BLAS, which the program's scope doesn't have.
cat >"$work/plugin.c" <<'END'
double ddot_();
double twice(const double *x) { const long n[2] = {2}, one[2] = {1}; return 2 * ddot_(n, x, one, x, one); }
END
cat >"$work/host.c" <<'END'
#include <dlfcn.h>
int main(int argc, char **argv) {
    double x[2] = {1, 2};
    for (int i = 0; i < 3; i++) {
        void *p = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        double (*twice)(const double *) = (double (*)(const double *))dlsym(p, "twice");
        if (!p || !twice || twice(x) != 10) return 1;
        dlclose(p);
    }
    return argc != 2;
}
END
cc -w -shared -fPIC -o "$work/plugin.so" "$work/plugin.c" -L"$work" -lblas64 -Wl,-rpath,"$work"
cc -w -o "$work/host" "$work/host.c"
under log "$work/host" "$work/plugin.so"
holds 'a plug-in finds the BLAS it was linked with, each time that it is opened' [ $? -eq 0 ]
holds 'and its calls are seen' [ "$(grep -c 'blas::dot' "$work/err")" -eq 3 ]

cc -w -shared -fPIC -o "$work/orphan.so" "$work/plugin.c"
cat >"$work/lonely.c" <<'END'
#include <dlfcn.h>
int main(int argc, char **argv) {
    double x[2] = {1, 2};
    void *p = dlopen(argv[1], RTLD_LAZY);
    double (*twice)(const double *) = (double (*)(const double *))dlsym(p, "twice");
    return twice(x) != argc;
}
END
cc -w -o "$work/lonely" "$work/lonely.c"
"$work/lonely" "$work/orphan.so" >"$work/out" 2>"$work/alone.err"
alone=$?
under '' "$work/lonely" "$work/orphan.so"
holds 'a function that is nowhere ends the program as the loader would' [ $? -eq $alone ]
holds 'in its words' sh -c "grep -q 'symbol lookup error: .*orphan.so: undefined symbol: ddot_' '$work/err'"

# Again by what the tensors say.
cc -std=c11 -D_GNU_SOURCE -shared -fPIC -o "$work/recompute.so" tests/exec/recompute.c -I"$stage/include" -L"$stage/lib" \
    -lshunt -lm -Wl,-rpath,"$stage/lib" || exit 1
LD_PRELOAD="$interpose $work/recompute.so" "$work/blas" >"$work/out" 2>"$work/err"
holds 'recomputing changes nothing' cmp "$work/alone" "$work/out"
holds 'all but bands and packed matrices by rows of Hermitian matrices can be run by what tensors say' \
    grep -q '^27[0-9] agreed, 0 differed, 6 refused' "$work/err"
[ $failed -eq 0 ] || tail -n 8 "$work/err"

cc -std=c11 -D_GNU_SOURCE -o "$work/modes" tests/exec/blas_modes.c -I"$stage/include" -L"$stage/lib" -lshunt -lblas -lm \
    -Wl,-rpath,"$stage/lib" || exit 1
under '' "$work/modes"
cat "$work/out"
counts=$(tail -n 1 "$work/out" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
# shellcheck disable=SC2086 # two numbers
set -- ${counts:-0 1}
passed=$((passed + $1)) failed=$((failed + $2))

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
