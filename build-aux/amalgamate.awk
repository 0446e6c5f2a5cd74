# amalgamate.awk: print a header with every `#include "..."` inlined, a .h once, a .def wherever it stands.
#
#   awk -v path=.:build/gen -f build-aux/amalgamate.awk shunt.h            one self-contained header
#   awk -v path=.:build/gen -v list=1 -f build-aux/amalgamate.awk shunt.h  the names of what it is made of
#
# A header is inlined at its first include, so one that is needed everywhere must not be included first inside an #if.

function locate(name,    count, folders, i, line) {
    count = split(path, folders, ":")
    for (i = 1; i <= count; i++)
        if ((getline line < (folders[i] "/" name)) >= 0) {
            close(folders[i] "/" name)
            return folders[i] "/" name
        }
    print "amalgamate: " name " is in none of " path > "/dev/stderr"
    failed = 1
    exit 1
}

function inline(name,    file, line, parts) {
    if (name ~ /\.h$/ && seen[name]++) return
    file = locate(name)
    if (list) print file
    else print "/* ---- " name " ---- */"
    while ((getline line < file) > 0) {
        if (line ~ /^[ \t]*#[ \t]*include[ \t]*"/) {
            split(line, parts, "\"")
            inline(parts[2])
        } else if (!list && line !~ /^[ \t]*#[ \t]*pragma[ \t]+once/) print line
    }
    close(file)
}

BEGIN {
    if (!list) {
        print "/* shunt.h: made from the sources' headers by `make install`; change those, not this. */"
        print "#ifndef SHUNT_AMALGAMATED_H\n#define SHUNT_AMALGAMATED_H"
    }
    for (i = 1; i < ARGC; i++) inline(ARGV[i])
    if (!list) print "#endif"
    exit failed
}
