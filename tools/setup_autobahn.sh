#!/bin/sh
# Lays the Autobahn test suite out in .venv/autobahn; wstest in it runs the suite.
#
# The suite needs Python 2.7, which newer systems lack. Packages of Debian 11 are
# unpacked in the folder, and the system stays as it is. Where the suite cannot be
# had, .venv/autobahn holds why_not.txt instead, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."

# What `apt-get download` is asked for; libssl1.1 and libffi7 are those of that
# system. The headers are for wsaccel.
DEBS="python2.7-minimal=2.7.18-8+deb11u1 python2.7=2.7.18-8+deb11u1
    libpython2.7-minimal=2.7.18-8+deb11u1 libpython2.7-stdlib=2.7.18-8+deb11u1
    libpython2.7-dev=2.7.18-8+deb11u1 libssl1.1=1.1.1w-0+deb11u1 libffi7=3.3-6"
KEYS=/usr/share/keyrings/debian-archive-keyring.gpg
INSTALLERS="pip==20.3.4 setuptools==44.1.1 wheel==0.37.1"

stamp=$(cat tools/autobahn.txt tools/setup_autobahn.sh | cksum)
[ "$stamp" != "$(cat .venv/autobahn/stamp 2>/dev/null)" ] || exit 0
rm -rf .venv/autobahn .venv/autobahn.part
mkdir -p .venv/autobahn.part
part=$(cd .venv/autobahn.part && pwd)
log=$part/log

give_up() {
    echo "setup: no Autobahn test suite: $1" >&2
    [ ! -s "$log" ] || tail -n 20 "$log" >&2
    mkdir .venv/autobahn
    echo "$1" >.venv/autobahn/why_not.txt
    rm -rf "$part"
    exit 1
}

unpack_python() {
    mkdir -p apt/lists/partial apt/cache/archives/partial debs
    echo "deb [signed-by=$KEYS] $mirror bullseye main" >apt/sources.list
    for step in update "download $DEBS"; do
        # shellcheck disable=SC2086
        (cd debs && apt-get -qq -o Dir::Etc::sourcelist="$part/apt/sources.list" \
            -o Dir::Etc::sourceparts=- -o Dir::State="$part/apt" \
            -o Dir::Cache="$part/apt/cache" -o APT::Sandbox::User=root $step) ||
            return 1
    done
    for deb in debs/*.deb; do
        dpkg -x "$deb" python || return 1
    done
    rm -rf apt debs
    cat >python2.7 <<'END'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH=$here/python/usr/lib/x86_64-linux-gnu
PYTHONHOME=$here/python/usr
PYTHONPATH=$here/site
PYTHONDONTWRITEBYTECODE=1
PYTHONWARNINGS=ignore
export LD_LIBRARY_PATH PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE PYTHONWARNINGS
exec "$here/python/usr/bin/python2.7" "$@"
END
    cat >wstest <<'END'
#!/bin/sh
exec "$(dirname "$0")/python2.7" -c \
    'from autobahntestsuite.wstest import run; run()' "$@"
END
    chmod +x python2.7 wstest
}

install_suite() {
    # shellcheck disable=SC2086
    "$venv/bin/python3" -m pip install --quiet --disable-pip-version-check \
        --no-deps --python-version 2.7 --only-binary :all: --target site \
        $INSTALLERS || return 1
    headers=$part/python/usr/include
    CC=cc CFLAGS="-O2 -I$headers -I$headers/python2.7" ./python2.7 -m pip install \
        --quiet --disable-pip-version-check --no-deps --no-build-isolation \
        --target site --requirement "$tools/autobahn.txt" || return 1
    # A package in several parts, which only the site folder of a system joins.
    touch site/zope/__init__.py
    ./python2.7 -m compileall -q python/usr/lib/python2.7 || return 1
    ./wstest -a
}

tools=$(cd tools && pwd)
venv=$(cd .venv && pwd)
command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 &&
    [ -e "$KEYS" ] || give_up "this system is not Debian"
[ "$(dpkg --print-architecture)" = amd64 ] ||
    give_up "its packages are for x86-64 alone"
mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -E '/debian/?$' |
    head -n 1)
[ -n "$mirror" ] || give_up "no source of Debian packages is configured"
echo "setup: unpacking the Autobahn test suite"
(cd "$part" && unpack_python) >"$log" 2>&1 || give_up "no Python 2.7 could be had"
(cd "$part" && install_suite) >"$log" 2>&1 ||
    give_up "its packages could not be installed"
rm -f "$log"
echo "$stamp" >"$part/stamp"
mv "$part" .venv/autobahn
