"""Builds the programs of tests/interop, and knows what each can do."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from loopback.programs import has_no_browser_package
from loopback.secure_socket import certificates
from loopback.subject import ROOT

SOURCES = ROOT / "tests" / "interop"
BUILT = ROOT / "build" / "interop"
# Where `make setup-peers` puts the packages of tests/interop/node.
NODE = ROOT / ".venv" / "node"
BUILD_SECONDS_MAX = 1800
ROLES = ("client", "server")


class BuildError(Exception):
    """Says why a peer cannot be built here."""


class Talker:
    """Is a peer. `compresses` tells in which roles it agrees to compression,
    `deflates` in which it compresses what it sends; `without` is what its
    library lets no program do as a client."""

    def __init__(
        self, name, build, roles=ROLES, compresses=ROLES, deflates=ROLES,
        without="",
    ):
        self.name = name
        self.roles = roles
        self.compresses = compresses
        self.deflates = deflates
        # What it prints as a client when all is well.
        self.says = f"ok without {without}" if without else "ok"
        # Gives its command; raises BuildError.
        self.command = functools.lru_cache(build)


def environment():
    """Gives the variables that programs of Node need."""
    return {
        **os.environ,
        "NODE_PATH": str(NODE / "node_modules"),
        "NODE_EXTRA_CA_CERTS": str(certificates() / "ca.pem"),
    }


def _tool(name, *folders):
    for folder in (None, *folders):
        found = shutil.which(name, path=folder)
        if found:
            return found
    raise BuildError(f"{name} is not installed")


def _run(command, folder):
    finished = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=BUILD_SECONDS_MAX,
    )
    if finished.returncode != 0:
        lines = finished.stdout.strip().splitlines() or ["no output"]
        raise BuildError(f"{command[0]}: {lines[-1]}")


def _node(script, *options):
    def build():
        node = _tool("node")
        why_not = NODE / "why_not.txt"
        if why_not.exists():
            raise BuildError(why_not.read_text().strip())
        if not (NODE / "node_modules").exists():
            raise BuildError("run `make setup-peers`")
        return [node, SOURCES / "node" / script, *options]

    return build


def _built_in():
    """Node's own interface is behind an option in older versions."""
    node = _tool("node")
    for options in ([], ["--experimental-websocket"]):
        asked = [node, *options, "-p", "typeof WebSocket"]
        answer = subprocess.run(asked, capture_output=True, text=True)
        if answer.stdout.strip() == "function":
            script = SOURCES / "node" / "standard.js"
            return [node, *options, script, "--built-in"]
    raise BuildError("this Node has no WebSocket")


def _go(name):
    def build():
        go = _tool("go", "/usr/local/go/bin")
        BUILT.mkdir(parents=True, exist_ok=True)
        _run([go, "build", "-o", BUILT / name, f"./{name}"], SOURCES / "go")
        return [BUILT / name]

    return build


def _rust():
    cargo = _tool("cargo", Path.home() / ".cargo" / "bin")
    folder = SOURCES / "rust"
    _pin(cargo, folder)
    target = BUILT / "cargo"
    _run(
        [cargo, "build", "--quiet", "--locked", "--release", "--jobs", "1",
         "--target-dir", target],
        folder,
    )
    return [target / "release" / "tungstenite_peer"]


def _pin(cargo, folder):
    """Makes Cargo.lock of Cargo.pins, which lacks the lines that tell where
    packages come from; cargo itself knows what they say here."""
    pins, lock = folder / "Cargo.pins", folder / "Cargo.lock"
    if lock.exists() and lock.stat().st_mtime > pins.stat().st_mtime:
        return
    lock.unlink(missing_ok=True)
    _run([cargo, "generate-lockfile", "--quiet"], folder)
    source = next(
        line for line in lock.read_text().splitlines()
        if line.startswith("source = ")
    )
    lock.write_text(
        pins.read_text().replace("\nchecksum = ", f"\n{source}\nchecksum = ")
    )


def _browser():
    if has_no_browser_package():
        raise BuildError("this system has no package of the browser")
    return []


def _wsproto():
    return [sys.executable, SOURCES / "python" / "wsproto_peer.py"]


# It has no command, but a page.
CHROMIUM = Talker(
    "Chromium", _browser, roles=("client",), without="fragments, ping"
)
QUICK = (
    Talker("wsproto 1.3.2", _wsproto),
    Talker("Node ws 8.23.0", _node("ws.js")),
    Talker(
        "Node undici 7.30.2", _node("standard.js"), roles=("client",),
        deflates=(), without="fragments, ping",
    ),
    Talker(
        "Node, its own", _built_in, roles=("client",), deflates=(),
        without="fragments, ping",
    ),
    CHROMIUM,
)
COMPILED = (
    # It cuts its messages where its buffer ends.
    Talker("Go gorilla 1.5.3", _go("gorilla"), without="fragments"),
    Talker("Go coder 1.8.15", _go("coder")),
    Talker("Rust tokio-tungstenite 0.30.0", _rust, compresses=(), deflates=()),
)
