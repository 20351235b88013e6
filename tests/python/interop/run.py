"""Lets flare talk with WebSocket peers of other makers: `make interop`.

    python3 -m interop.run [--only PATTERN] [--quick]

Each peer holds the conversation of tests/interop/README.md, as client and as
server, plainly, inside of TLS and through flare's ReverseProxy, with each kind
of compression and on each kernel interface. Prints a line for each row of the
table; ends with 1 if a row is not OK, or a peer cannot be built.
"""

import argparse
import contextlib
import itertools
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from interop.page import talk  # noqa: E402
from interop.peers import (  # noqa: E402
    CHROMIUM,
    COMPILED,
    QUICK,
    BuildError,
    environment,
)
from interop.tap import Tap  # noqa: E402
from loopback.peers import PROGRAMS, Peer  # noqa: E402
from loopback.secure_socket import certificates  # noqa: E402
from loopback.subject import BACKENDS, build  # noqa: E402

FLARE = PROGRAMS / "ws_talk.mojo"
SECONDS_MAX = 60
CLOSED_SECONDS_MAX = 10
# With TLS, it is inside of each connection, those of the proxy too.
TRANSPORTS = ("plain", "TLS", "proxy", "proxy, TLS")
KINDS = ("off", "shared", "dedicated")
QUICK_WAYS = (
    *(("plain", kind) for kind in KINDS),
    ("TLS", "dedicated"),
    ("proxy", "shared"),
    ("proxy, TLS", "dedicated"),
)
# A conversation has 2.3 MB of content each way, which compresses well.
PLAIN_OCTETS_MIN = 2_300_000
DEFLATED_OCTETS_MAX = 500_000
# What servers print; some makers answer a Close without its reason.
CLOSED = (r"closed 4321 enough", r"closed 4567( done)?")


class Wrong(Exception):
    """Says what was not as it must be."""


def _read_lines(server, lines):
    # The pipe is closed where the server is stopped early.
    with contextlib.suppress(ValueError):
        for line in server.process.stdout:
            lines.put(line.strip())


class Row:
    """Is one conversation."""

    def __init__(self, peer, role, transport, kind, backend):
        self.peer = peer
        self.role = role
        self.transport = transport
        self.kind = kind
        self.backend = backend
        self._is_secure = "TLS" in transport
        self._folder = [certificates()] if self._is_secure else []
        agrees = kind != "off" and role in peer.compresses
        self._agreed = "deflate" if agrees else "off"

    def title(self):
        """Gives what distinguishes it."""
        return (
            f"{self.peer.name:30}{self.role:8}{self.transport:12}"
            f"{self.kind:11}{self.backend}"
        )

    def run(self):
        """Holds the conversation; raises Wrong or BuildError."""
        with contextlib.ExitStack() as stack:
            errors = stack.enter_context(tempfile.TemporaryFile("w+"))
            server = self._start(stack, errors, self._server())
            target = server.read_port()
            if "proxy" in self.transport:
                scheme = "https" if self._is_secure else "http"
                command = [
                    build(FLARE), "proxy", self.backend,
                    f"{scheme}://{self._host()}:{target}",
                ]
                target = self._start(stack, errors, command).read_port()
            tap = Tap(target)
            stack.callback(tap.close)
            lines = queue.SimpleQueue()
            threading.Thread(
                target=_read_lines, args=(server, lines), daemon=True
            ).start()
            try:
                self._talk(tap.port)
                self._check_ends(lines)
                self._check_octets(tap)
            except Wrong as wrong:
                errors.seek(0)
                raise Wrong(f"{wrong}; server: {errors.read()[-500:]}") from None

    def _start(self, stack, errors, command):
        server = Peer(
            *command, *self._folder, stderr=errors, env=environment()
        )
        stack.callback(server.stop)
        return server

    def _server(self):
        if self.role == "client":
            return [build(FLARE), "server", self.backend, self.kind]
        wanted = "off" if self.kind == "off" else "deflate"
        return [*self.peer.command(), "server", wanted]

    def _host(self):
        return "localhost" if self._is_secure else "127.0.0.1"

    def _talk(self, port):
        scheme = "wss" if self._is_secure else "ws"
        url = f"{scheme}://{self._host()}:{port}/"
        if self.peer is CHROMIUM:
            return self._expect(talk(url, self._agreed), self.peer.says)
        if self.role == "client":
            command = [*self.peer.command(), "client", url, self._agreed]
            command += [folder / "ca.pem" for folder in self._folder]
            wanted = self.peer.says
        else:
            command = [build(FLARE), "client", self.backend, self.kind, url]
            command += self._folder
            wanted = "ok"
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS_MAX,
                env=environment(),
            )
        except subprocess.TimeoutExpired as error:
            raise Wrong(f"the client still waits: {error.stderr}") from None
        self._expect(done.stdout.strip(), wanted, done.stderr)

    def _expect(self, said, wanted, errors=""):
        if said != wanted:
            raise Wrong(f"the client said {said!r}; {errors.strip()[-500:]}")

    def _check_ends(self, lines):
        """Compares how the server saw its two connections end."""
        found = []
        with contextlib.suppress(queue.Empty):
            for _ in CLOSED:
                found.append(lines.get(True, CLOSED_SECONDS_MAX))
        found.sort()
        if len(found) != len(CLOSED) or not all(map(re.fullmatch, CLOSED, found)):
            raise Wrong(f"the server said {found}")

    def _check_octets(self, tap):
        compresses = self._agreed == "deflate"
        found = sum("permessage-deflate" in head for head in tap.heads)
        # Inside of TLS, only the octets tell.
        if not self._is_secure and found != 2 * compresses:
            raise Wrong(f"compression in {found} of the answers")
        theirs, ours = tap.octets_up, tap.octets_down
        if self.role == "server":
            theirs, ours = ours, theirs
        deflates = self.role in self.peer.deflates
        for octets, is_small in (
            (theirs, compresses and deflates), (ours, compresses),
        ):
            if is_small and octets > DEFLATED_OCTETS_MAX:
                raise Wrong(f"{octets} octets although compressed")
            if not is_small and octets < PLAIN_OCTETS_MIN:
                raise Wrong(f"{octets} octets although not compressed")


def rows(peer):
    """Gives the conversations of a peer."""
    ways = itertools.product(peer.roles, TRANSPORTS, KINDS, BACKENDS)
    return [Row(peer, *way) for way in ways]


def quick_rows(peer):
    """Gives some of them; each transport, kind and kernel interface occurs."""
    backends = itertools.cycle(BACKENDS)
    found = []
    for role in peer.roles:
        for way in QUICK_WAYS:
            found.append(Row(peer, role, *way, next(backends)))
        # The other role gets the other ones.
        next(backends)
    return found


def run(row):
    """Holds a conversation, and prints a line; tells whether all was well."""
    started = time.monotonic()
    verdict = "OK"
    try:
        row.run()
    except Wrong as wrong:
        verdict = str(wrong)
    seconds = time.monotonic() - started
    print(f"{row.title():71}{seconds:6.1f} s  {verdict}", flush=True)
    return verdict == "OK"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows that match a pattern")
    parser.add_argument(
        "--quick", action="store_true", help="only peers without a compiler"
    )
    return parser.parse_args()


def main():
    options = parse()
    verdicts = []
    for peer in QUICK if options.quick else (*QUICK, *COMPILED):
        chosen = [x for x in rows(peer) if re.search(options.only, x.title())]
        try:
            if chosen:
                peer.command()
        except BuildError as error:
            print(f"{peer.name}: {error}")
            verdicts += [False] * len(chosen)
        else:
            verdicts += map(run, chosen)
    print(f"{sum(verdicts)} of {len(verdicts)} rows are OK")
    return 0 if verdicts and all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
