"""Lets the suite, which speaks HTTP/1.1, meet flare over HTTP/2 (RFC 8441).

In between is nghttpx, which turns a WebSocket of one protocol into one of the
other.
"""

import contextlib
import shutil
import socket
import subprocess
import time

_START_SECONDS_MAX = 10.0


def why_no_bridge():
    """Gives why there is none; an empty text if there is one."""
    return "" if shutil.which("nghttpx") else "no nghttpx: run `make setup-peers`"


@contextlib.contextmanager
def bridge(backend_port, backend_protocol):
    """Forwards from a port, which it gives, to a server of a protocol."""
    port = _free_port()
    process = subprocess.Popen(
        [
            "nghttpx",
            "--conf=/dev/null",
            "--workers=1",
            # The suite insists on its own port in Host.
            "--host-rewrite",
            f"--frontend=127.0.0.1,{port};no-tls",
            f"--backend=127.0.0.1,{backend_port};;proto={backend_protocol}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await_port(port)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _await_port(port):
    deadline = time.monotonic() + _START_SECONDS_MAX
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
