# layers.awk: check that no file includes a header of a layer that it must not know.
#
# A file's layer is the longest folder of the table that its name begins with; so is an include's. Names outside
# the table (tests, examples, system headers) are free. shunt.h is made of all public headers and belongs above them.

BEGIN {
    core = "dispatch ops"
    may["dispatch"]      = "dispatch"
    may["ops"]           = core
    may["ops/io"]        = core " ops/io"
    may["graph"]         = core " graph"
    may["graph/compile"] = core " graph graph/compile"
    may["graph/io"]      = core " ops/io graph graph/io"
    may["graph/onnx"]    = core " ops/io graph graph/onnx"
    may["modes"]         = core " graph graph/compile modes"
    may["cli"]           = core " ops/io graph graph/compile graph/io graph/onnx modes cli shunt.h"
    may["interpose"]     = core " graph graph/compile modes interpose shunt.h"
    may["shunt.h"]       = core " ops/io graph graph/compile graph/io graph/onnx modes"
}

function layer(name,    folder) {
    if (name == "shunt.h") return name
    folder = name
    while (sub(/\/[^\/]*$/, "", folder))
        if (folder in may) return folder
    return ""
}

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    split($0, parts, /["<>]/)
    from = layer(FILENAME)
    to = layer(parts[2])
    if (from == "" || to == "" || index(" " may[from] " ", " " to " ")) next
    printf "%s:%d: %s must not include %s (%s)\n", FILENAME, FNR, from, to, parts[2]
    wrong++
}

END { exit wrong > 0 }
