#!/bin/sh
# Builds and runs every micro benchmark, one after another.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/benchmark
for source in benchmark/micro/bench_*.mojo; do
    [ -e "$source" ] || continue
    name=$(basename "$source" .mojo)
    "$1" build -I . -o "build/benchmark/$name" "$source"
    echo "== $name"
    "build/benchmark/$name"
done
