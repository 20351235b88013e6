#!/bin/sh
# Installs the packages that tests/interop/node pins into .venv/node. Where they
# cannot be had, it holds why_not.txt instead, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."

stamp=$(cat tests/interop/node/package-lock.json | cksum)
[ "$stamp" != "$(cat .venv/node/stamp 2>/dev/null)" ] || exit 0
rm -rf .venv/node
mkdir -p .venv/node

give_up() {
    echo "setup: no packages of Node: $1" >&2
    echo "$1" >.venv/node/why_not.txt
    exit 1
}

command -v npm >/dev/null 2>&1 || give_up "npm is not installed"
cp tests/interop/node/package.json tests/interop/node/package-lock.json .venv/node
(cd .venv/node && npm ci --ignore-scripts --no-audit --no-fund >log 2>&1) ||
    give_up "npm: $(tail -n 1 .venv/node/log)"
echo "$stamp" >.venv/node/stamp
