#!/bin/sh
# Checks format, docstrings, compiler warnings and house rules, and that
# each planted fault still fits its source; changes nothing.
set -u
cd "$(dirname "$0")/.."
export MODULAR_CRASH_REPORTING_ENABLED=false MODULAR_TELEMETRY_ENABLED=false
mojo=${MOJO:-.venv/bin/mojo}
python=${PYTHON:-.venv/bin/python3}
failed=""
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

# These take a minute each, on one thread.
# The document and the package stay, for what is built next.
"$python" tools/api_document.py >"$copy/doc.log" 2>&1 &
docstrings=$!
"$python" tools/library_package.py >"$copy/precompile.log" 2>&1 &
warnings=$!

# The formatter has no check mode: it works on a copy, and diff tells.
folders=$(ls -d flare tests fuzz examples benchmark 2>/dev/null)
# shellcheck disable=SC2086
find $folders -name '*.mojo' | while read -r file; do
    mkdir -p "$copy/was/$(dirname "$file")" "$copy/is/$(dirname "$file")"
    cp "$file" "$copy/was/$file"
    cp "$file" "$copy/is/$file"
done
"$mojo" format -q -l 80 "$copy/is" >"$copy/format.log" 2>&1 || {
    cat "$copy/format.log"
    failed="$failed format"
}
if ! (cd "$copy" && diff -ru was is); then
    echo "check: 'make format' changes the lines above"
    failed="$failed format"
fi

"$python" tools/tidy.py || failed="$failed tidy"

"$python" tools/planted.py --list || failed="$failed planted"
"$python" tools/planted_rules.py --list || failed="$failed planted_rules"

wait "$docstrings" || failed="$failed docstrings"
wait "$warnings" || failed="$failed warnings"
cat "$copy/doc.log" "$copy/precompile.log"

if [ -n "$failed" ]; then
    echo "check: failed:$failed"
    exit 1
fi
echo "check: passed"
