#!/bin/sh
# run.sh: what `make run` shows.
set -eu
"${BUILD:-build}/shunt" --version
