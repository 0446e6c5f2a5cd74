#!/bin/sh
# install.sh: put the built libraries, header, tool and page under $DESTDIR$prefix (`make install` sets the rest).
set -eu
: "${BUILD:=build}" "${DESTDIR:=}" "${prefix:=/usr/local}"
: "${libdir:=$prefix/lib}" "${includedir:=$prefix/include}" "${bindir:=$prefix/bin}" "${mandir:=$prefix/share/man}"

lib=$DESTDIR$libdir
install -d "$lib/pkgconfig" "$lib/shunt" "$DESTDIR$includedir" "$DESTDIR$bindir"

for name in shunt shunt-io; do
    install -m 644 "$BUILD/lib$name.a" "$lib"
    install -m 755 "$BUILD/lib$name.so" "$lib/lib$name.so.$VERSION"
    ln -sf "lib$name.so.$VERSION" "$lib/lib$name.so.$SOVERSION"
    ln -sf "lib$name.so.$SOVERSION" "$lib/lib$name.so"
    sed -e "s|@prefix@|$prefix|" -e "s|@libdir@|$libdir|" -e "s|@includedir@|$includedir|" \
        -e "s|@VERSION@|$VERSION|" "$name.pc.in" >"$lib/pkgconfig/$name.pc"
done

awk -v path=".:$BUILD/gen" -f build-aux/amalgamate.awk shunt.h >"$DESTDIR$includedir/shunt.h"
install -m 755 "$BUILD/shunt" "$DESTDIR$bindir"
install -m 755 "$BUILD/libshunt-interpose.so" "$lib/shunt"
if [ -e doc/shunt.1 ]; then
    install -d "$DESTDIR$mandir/man1"
    install -m 644 doc/shunt.1 "$DESTDIR$mandir/man1"
fi
