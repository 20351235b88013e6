#!/bin/sh
# Builds a Go program as .venv/NAME/PROGRAM, from the modules that
# tests/interop/NAME pins: setup_go.sh NAME PROGRAM PACKAGE. Where it cannot be
# built, .venv/NAME holds why_not.txt instead, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."

name=$1
stamp=$(cat "tests/interop/$name"/* tools/setup_go.sh | cksum)
[ "$stamp" != "$(cat ".venv/$name/stamp" 2>/dev/null)" ] || exit 0
rm -rf ".venv/$name"
mkdir -p ".venv/$name"
folder=$(cd ".venv/$name" && pwd)

give_up() {
    echo "setup: no $name: $1" >&2
    [ ! -s "$folder/log" ] || tail -n 20 "$folder/log" >&2
    echo "$1" >"$folder/why_not.txt"
    exit 1
}

PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null 2>&1 || give_up "Go is not installed"
echo "setup: building $name"
(cd "tests/interop/$name" && go build -o "$folder/$2" "$3") \
    >"$folder/log" 2>&1 || give_up "its modules could not be built"
rm -f "$folder/log"
echo "$stamp" >"$folder/stamp"
