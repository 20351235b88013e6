"""Lets the suite, which speaks HTTP/1.1, meet flare over HTTP/2 (RFC 8441).

In between is nghttpx, which turns a WebSocket of one protocol into one of the
other.
"""

import contextlib
import subprocess

from loopback.peers import Peer
from loopback.programs import await_port, find_program, free_ports


@contextlib.contextmanager
def bridge(backend_port, backend_protocol):
    """Forwards from a port, which it gives, to a server of a protocol."""
    port = free_ports(1)[0]
    peer = Peer(
        find_program("nghttpx"),
        "--conf=/dev/null",
        "--workers=1",
        # The suite insists on its own port in Host.
        "--host-rewrite",
        f"--frontend=127.0.0.1,{port};no-tls",
        f"--backend=127.0.0.1,{backend_port};;proto={backend_protocol}",
        stderr=subprocess.DEVNULL,
    )
    try:
        await_port(port, peer.process)
        yield port
    finally:
        peer.stop()
