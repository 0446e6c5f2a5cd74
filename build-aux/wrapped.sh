#!/bin/sh
# wrapped.sh LIBRARY: the preload library stands in for functions of BLAS and LAPACK, and a few of the C library by which
# objects come and go. Any other name would change the programs that it is loaded into.
set -eu
nm -D --defined-only "$1" | awk '
    $2 !~ /[TW]/ { next }
    $3 ~ /^(scipy_)?cblas_[a-z0-9_]+(64_)?$/ || $3 ~ /^(scipy_)?i?[sdcz]+[a-z0-9]+_(64_)?$/ { wrapped++; next }
    $3 == "wr_shadow_library" { next } # the tests ask for it
    $3 ~ /^(dlclose|_?exit|_Exit|quick_exit|abort|f?exec[a-z]+|fork|vfork|posix_spawnp?)$/ { next }
    { print $3; bad = 1 }
    END { exit bad || wrapped < 1000 }'
