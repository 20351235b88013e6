#!/bin/sh
# Builds the suite h2spec as .venv/h2spec/h2spec, from the modules that
# tests/interop/h2spec pins. Where it cannot be built, .venv/h2spec holds
# why_not.txt instead, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."

stamp=$(cat tests/interop/h2spec/go.mod tests/interop/h2spec/go.sum \
    tools/setup_h2spec.sh | cksum)
[ "$stamp" != "$(cat .venv/h2spec/stamp 2>/dev/null)" ] || exit 0
rm -rf .venv/h2spec
mkdir -p .venv/h2spec
folder=$(cd .venv/h2spec && pwd)

give_up() {
    echo "setup: no h2spec: $1" >&2
    [ ! -s "$folder/log" ] || tail -n 20 "$folder/log" >&2
    echo "$1" >"$folder/why_not.txt"
    exit 1
}

PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null 2>&1 || give_up "Go is not installed"
echo "setup: building h2spec"
(cd tests/interop/h2spec &&
    go build -o "$folder/h2spec" github.com/summerwind/h2spec/cmd/h2spec) \
    >"$folder/log" 2>&1 || give_up "its modules could not be built"
rm -f "$folder/log"
echo "$stamp" >"$folder/stamp"
