"""Finds the programs of other makers that flare is tested with, and hides the
libraries that flare loads."""

import itertools
import os
import random
import shutil
import socket
import tempfile
import time
from pathlib import Path

START_SECONDS_MAX = 20.0
HIDDEN = (
    "libssl.so.3",
    "libcrypto.so.3",
    "libz.so.1",
    "libbrotlienc.so.1",
    "libbrotlidec.so.1",
    "libzstd.so.1",
)


def find_program(*names):
    """Gives the path of the first program that is installed.

    A test that needs one fails without it: to pass it over would hide that
    nothing was tried."""
    for name in names:
        # A shell of no administrator may lack the folder of servers.
        path = shutil.which(name) or shutil.which(name, path="/usr/sbin")
        if path:
            return path
    raise AssertionError(
        f"{' or '.join(names)} is not installed: run `make setup-peers`"
    )


def why_no_suite(name, folder, program):
    """Gives why a suite of another maker is not in its folder, where setup leaves
    the reason; an empty text if its program is there."""
    if (folder / program).exists():
        return ""
    reason = folder / "why_not.txt"
    if reason.exists():
        return f"no {name}: {reason.read_text().strip()}"
    return f"no {name}: run `make setup-peers`"


def free_ports(count):
    """Gives free ports for servers that take no listener over. The kernel gives
    them to no program that does not ask for their numbers."""
    file = Path("/proc/sys/net/ipv4/ip_local_port_range")
    lowest = int(file.read_text().split()[0])
    candidates = random.sample(range(min(lowest, 32_768) // 2, lowest), 500)
    free = (port for port in candidates if _is_free(port))
    return list(itertools.islice(free, count))


def await_port(port, process):
    """Waits until a process accepts connections at a port."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"no server accepts connections at port {port}")


def _is_free(port):
    with socket.socket() as probe:
        # Connections that have ended stand in nobody's way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def has_no_browser_package():
    """Tells whether this system has no package of the browser: Ubuntu's is an
    image that needs a service."""
    release = Path("/etc/os-release")
    return (
        release.exists()
        and "ID=ubuntu" in release.read_text().splitlines()
        and not shutil.which("chromium-headless-shell")
        and not shutil.which("chromium")
    )


def without_libraries(test, names=HIDDEN):
    """Gives an environment for programs, in which they find no OpenSSL, or
    none of other libraries."""
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    for name in names:
        # The loader gives up at a file that is none of its own.
        (Path(folder.name) / name).touch()
    return {**os.environ, "LD_LIBRARY_PATH": folder.name}
