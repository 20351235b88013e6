"""Asks a server for something small again and again, until standard input ends.

    python3 bystander.py PROTOCOL PID PORT

The protocol is `h2` or `ws`. It prints a line when it begins, and at the end how
often it was answered, and the 99th percentile of what the server's busiest
thread worked meanwhile, in milliseconds. That is the wait which the server
itself causes: a machine that does something else adds nothing. The slowest one
never counts: where the machine itself stands still, that meets one trip, and
who holds others up meets many.
"""

import contextlib
import select
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loopback.h2_client import H2Client  # noqa: E402
from loopback.ws_client import TEXT, WsClient  # noqa: E402

# What a bystander may wait; the times on a quiet machine are in
# docs/performance.md.
P99_MILLISECONDS_MAX = 50
PAUSE_SECONDS = 0.002
# An attack may be over at once.
TRIPS_MIN = 20


class Bystander:
    """Is a client in a process of its own that behaves well, and measures how
    long the server lets it wait."""

    def __init__(self, subject, protocol):
        self._process = subprocess.Popen(
            [sys.executable, __file__, protocol,
             str(subject.process.pid), str(subject.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._process.stdout.readline()

    def end(self):
        """Gives the number of answers, and the p99 in milliseconds."""
        output, _ = self._process.communicate(timeout=30)
        if self._process.returncode != 0:
            raise AssertionError("the bystander's connection was lost")
        count, p99 = output.split()
        return int(count), float(p99)


def worked_seconds(pid):
    """Reads the processor time of each thread of a process."""
    times = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread may have ended meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = (task / "schedstat").read_text()
            times[task.name] = int(text.split()[0]) / 1e9
    return times


def trip_seconds(pid, ask):
    """Asks once; gives the wait that the server caused."""
    before = worked_seconds(pid)
    began = time.monotonic()
    ask()
    passed = time.monotonic() - began
    now = worked_seconds(pid)
    busiest = max(now[name] - before.get(name, 0.0) for name in now)
    return min(passed, busiest)


def percentile_99(trips):
    """Gives the 99th percentile of sorted trips, and never the last of them."""
    return trips[min(len(trips) * 99 // 100, len(trips) - 2)]


def ask_over_ws(client):
    """Sends a message, and awaits its echo."""
    client.send_frame(TEXT, b"hello")
    client.expect(TEXT, b"hello")


def ask_over_h2(client):
    """Makes a request, and awaits its response."""
    if client.ask("GET", "/").body != b"hello":
        raise AssertionError("another answer")


class H2Subject:
    """Is what H2Client needs to know of a server."""

    secure = False

    def __init__(self, port):
        self.place = self.port = port


def has_ended():
    """Pauses, and tells whether standard input has ended."""
    return bool(select.select([sys.stdin], [], [], PAUSE_SECONDS)[0])


def main(protocol, pid, port):
    if protocol == "h2":
        client, ask = H2Client(H2Subject(port)), ask_over_h2
    else:
        client, ask = WsClient(port, "/echo"), ask_over_ws
    print("ready", flush=True)
    trips = []
    while len(trips) < TRIPS_MIN or not has_ended():
        trips.append(trip_seconds(pid, lambda: ask(client)))
    client.close()
    trips.sort()
    print(len(trips), 1000 * percentile_99(trips))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
