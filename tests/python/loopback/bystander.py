"""Sends a message on a WebSocket again and again, until standard input ends.

    python3 bystander.py PORT

It prints a line when it begins, and at the end how many messages came back, and
the 99th percentile of their round trips in milliseconds. The slowest one never
counts: where the machine itself stands still, that meets one trip, and who
holds others up meets many.
"""

import select
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loopback.ws_client import TEXT, WsClient  # noqa: E402

PAUSE_SECONDS = 0.002
# An attack may be over at once.
TRIPS_MIN = 20


def has_ended():
    """Pauses, and tells whether standard input has ended."""
    return bool(select.select([sys.stdin], [], [], PAUSE_SECONDS)[0])


def percentile_99(trips):
    """Gives the 99th percentile of sorted trips, and never the last of them."""
    return trips[min(len(trips) * 99 // 100, len(trips) - 2)]


def main(port):
    trips = []
    with WsClient(port, "/echo") as client:
        print("ready", flush=True)
        while len(trips) < TRIPS_MIN or not has_ended():
            began = time.monotonic()
            client.send_frame(TEXT, b"hello")
            client.expect(TEXT, b"hello")
            trips.append(time.monotonic() - began)
    trips.sort()
    print(len(trips), 1000 * percentile_99(trips))


if __name__ == "__main__":
    main(int(sys.argv[1]))
