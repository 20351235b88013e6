#!/bin/sh
# Builds the client of gRPC in tests/interop/grpc as .venv/grpc/client. Where it
# cannot be built, .venv/grpc holds why_not.txt instead, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."

source=tests/interop/grpc
stamp=$(cat "$source/go.mod" "$source/go.sum" "$source/main.go" \
    tools/setup_grpc.sh | cksum)
[ "$stamp" != "$(cat .venv/grpc/stamp 2>/dev/null)" ] || exit 0
rm -rf .venv/grpc
mkdir -p .venv/grpc
folder=$(cd .venv/grpc && pwd)

give_up() {
    echo "setup: no client of gRPC: $1" >&2
    [ ! -s "$folder/log" ] || tail -n 20 "$folder/log" >&2
    echo "$1" >"$folder/why_not.txt"
    exit 1
}

PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null 2>&1 || give_up "Go is not installed"
echo "setup: building a client of gRPC"
(cd "$source" && go build -o "$folder/client" .) >"$folder/log" 2>&1 ||
    give_up "its modules could not be built"
rm -f "$folder/log"
echo "$stamp" >"$folder/stamp"
