#!/bin/sh
# Makes .venv with the pinned Mojo compiler and brings what linking needs, and the
# libraries that flare loads. With the word `postgres` it also brings the library
# of PostgreSQL, with `site` the generator of the site, and with `peers` all of
# this and the clients and servers of other makers that the tests let flare talk
# to.
# Does nothing where everything is there already.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "setup: $*" >&2
    exit 1
}

# The compiler links through a C compiler driver and needs the libc headers.
can_link() {
    for driver in cc gcc clang; do
        if command -v "$driver" >/dev/null 2>&1; then
            object=$(mktemp)
            if printf '#include <stdio.h>\nint main(void){return puts("");}\n' |
                "$driver" -x c -o "$object" - >/dev/null 2>&1; then
                rm -f "$object"
                return 0
            fi
            rm -f "$object"
        fi
    done
    return 1
}

find_python() {
    for candidate in python3 python3.13 python3.12 python3.11 python3.10; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))'
        then
            echo "$candidate"
            return
        fi
    done
}

has_venv() {
    "$1" -c 'import ensurepip, venv' >/dev/null 2>&1
}

# The loader knows best where it looks.
has_library() {
    [ -n "$python" ] && "$python" -c 'import ctypes, sys
ctypes.CDLL(sys.argv[1])' "$1" >/dev/null 2>&1
}

install_packages() {
    root=""
    if [ "$(id -u)" != 0 ]; then
        root="sudo -n"
        sudo -n true >/dev/null 2>&1 || root=none
    fi
    if ! command -v apt-get >/dev/null 2>&1 || [ "$root" = none ]; then
        fail "install these packages, then run it again: $*"
    fi
    echo "setup: installing $*"
    log=$(mktemp)
    if ! {
        $root apt-get update -qq &&
            $root env DEBIAN_FRONTEND=noninteractive apt-get install \
                -y -qq --no-install-recommends "$@"
    } >"$log" 2>&1; then
        cat "$log" >&2
        fail "apt-get could not install $*"
    fi
    rm -f "$log"
}

python=$(find_python)
missing=""
command -v make >/dev/null 2>&1 || missing="$missing make"
command -v curl >/dev/null 2>&1 || missing="$missing curl"
command -v openssl >/dev/null 2>&1 || missing="$missing openssl"
can_link || missing="$missing gcc libc6-dev"
has_library libz.so.1 || missing="$missing zlib1g"
{ has_library libbrotlidec.so.1 && has_library libbrotlienc.so.1; } ||
    missing="$missing libbrotli1"
has_library libzstd.so.1 || missing="$missing libzstd1"
has_library libsqlite3.so.0 || missing="$missing libsqlite3-0"
[ "${1:-}" != postgres ] || has_library libpq.so.5 || missing="$missing libpq5"
if [ -z "$python" ]; then
    missing="$missing python3 python3-venv"
elif [ ! -x .venv/bin/pip ] && ! has_venv "$python"; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(command -v "$python")" = /usr/bin/python3 ]; then
        missing="$missing python3-venv"
    else
        missing="$missing python$version-venv"
    fi
fi

if [ -n "$missing" ]; then
    # shellcheck disable=SC2086
    install_packages $missing
    python=$(find_python)
    [ -n "$python" ] || fail "no Python 3.10 or newer"
fi

# A virtual environment that was moved or whose Python is gone is made anew.
if ! .venv/bin/python3 -m pip --version >/dev/null 2>&1; then
    rm -rf .venv
    "$python" -m venv .venv
fi
if ! cmp -s tools/requirements.txt .venv/requirements.txt; then
    echo "setup: installing the compiler"
    .venv/bin/python3 -m pip install --quiet --disable-pip-version-check \
        --requirement tools/requirements.txt
    cp tools/requirements.txt .venv/requirements.txt
fi
touch .venv/setup.stamp

# Installs the packages that a list in tools/ pins into a folder of their own.
install_apart() {
    cmp -s "tools/$1.txt" ".venv/$1/$1.txt" && return 0
    echo "setup: installing the $1"
    rm -rf ".venv/$1"
    .venv/bin/python3 -m pip install --quiet --disable-pip-version-check \
        --target ".venv/$1" --requirement "tools/$1.txt"
    cp "tools/$1.txt" ".venv/$1/$1.txt"
}

[ "${1:-}" != site ] || install_apart site
[ "${1:-}" = peers ] || exit 0
install_apart site
missing=""
# The folder of servers is not on the path of everybody.
PATH=$PATH:/usr/sbin
# Ubuntu has no package of the browser, but only an image that needs a service.
grep -qx 'ID=ubuntu' /etc/os-release 2>/dev/null ||
    command -v chromium-headless-shell >/dev/null 2>&1 ||
    command -v chromium >/dev/null 2>&1 ||
    missing="$missing chromium-headless-shell"
command -v h2o >/dev/null 2>&1 || missing="$missing h2o"
command -v nghttp >/dev/null 2>&1 || missing="$missing nghttp2-client"
command -v nghttpd >/dev/null 2>&1 || missing="$missing nghttp2-server"
command -v nghttpx >/dev/null 2>&1 || missing="$missing nghttp2-proxy"
command -v nginx >/dev/null 2>&1 || missing="$missing nginx"
command -v haproxy >/dev/null 2>&1 || missing="$missing haproxy"
# It checks units and passes sockets on; it need not run the machine.
command -v systemd-analyze >/dev/null 2>&1 || missing="$missing systemd"
command -v node >/dev/null 2>&1 || missing="$missing nodejs"
command -v go >/dev/null 2>&1 || missing="$missing golang-go"
command -v gdb >/dev/null 2>&1 || missing="$missing gdb"
# Its programs are not on the path of anybody.
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ||
    missing="$missing postgresql"
has_library libpq.so.5 || missing="$missing libpq5"
command -v prometheus >/dev/null 2>&1 || missing="$missing prometheus"
command -v pgbouncer >/dev/null 2>&1 || missing="$missing pgbouncer"
profiler=linux-perf
grep -qx 'ID=ubuntu' /etc/os-release 2>/dev/null && profiler=linux-tools-generic
command -v perf >/dev/null 2>&1 || missing="$missing $profiler"
# shellcheck disable=SC2086
[ -z "$missing" ] || install_packages $missing
install_apart scanner
install_apart sockets
install_apart http2
install_apart openapi
install_apart ffmpeg
install_apart libpq
install_apart telemetry
# Without one, its tests are skipped and say so; the next call tries again.
is_complete=yes
sh tools/setup_node.sh || is_complete=no
sh tools/setup_autobahn.sh || is_complete=no
sh tools/setup_go.sh h2spec h2spec github.com/summerwind/h2spec/cmd/h2spec ||
    is_complete=no
sh tools/setup_go.sh grpc client . || is_complete=no
[ "$is_complete" = no ] || touch .venv/peers.stamp
