"""Puts a distance between two network namespaces, without `netem`.

Each has a TUN device. A process of its own holds each packet back for half of the
round trip, and lets no more octets through than the rate allows. It needs the
rights of root.
"""

import collections
import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import time

SERVER_ADDRESS = "10.77.0.2"
CLIENT_ADDRESS = "10.77.0.1"
_TUNSETIFF = 0x400454CA
_TUN_WITHOUT_HEADER = 0x0001 | 0x1000
# Large packets, so that a process in Python keeps up.
_PACKET_OCTETS = 9000
# As many packets wait for the process at most.
_QUEUE_PACKETS = 10_000


def open_device(address):
    """Makes a device in the namespace of this thread; gives its descriptor."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    name = f"flare{os.getpid() % 100_000}"
    request = struct.pack("16sH22x", name.encode(), _TUN_WITHOUT_HEADER)
    fcntl.ioctl(descriptor, _TUNSETIFF, request)
    for words in (
        ["address", "add", f"{address}/24", "dev", name],
        ["link", "set", name, "mtu", str(_PACKET_OCTETS), "txqueuelen",
         str(_QUEUE_PACKETS), "up"],
    ):
        subprocess.run(["ip", *words], check=True)
    return descriptor


@contextlib.contextmanager
def delay_between(one, other, delay_ms, octets_per_second=float("inf")):
    """Carries packets between two devices while a `with` block runs."""
    process = os.fork()
    if process == 0:
        try:
            _carry((one, other), delay_ms / 1000, octets_per_second)
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _carry(devices, seconds, octets_per_second):
    waiting = [_Line(seconds, octets_per_second) for _ in devices]
    while True:
        dues = [each.packets[0][0] for each in waiting if each.packets]
        left = max(0.0, min(dues) - time.monotonic()) if dues else None
        # The clock of select is too coarse for what is left of a wait.
        readable, _, _ = select.select(devices, [], [], left)
        now = time.monotonic()
        for i, device in enumerate(devices):
            if device in readable:
                _receive(device, waiting[i], now)
            queue = waiting[i].packets
            while queue and queue[0][0] <= now:
                with contextlib.suppress(OSError):
                    os.write(devices[1 - i], queue[0][1])
                queue.popleft()


class _Line:
    """Is one direction: the packets, each with the time when it is due."""

    def __init__(self, seconds, octets_per_second):
        self.packets = collections.deque()
        self._seconds = seconds
        self._octets_per_second = octets_per_second
        self._free_at = 0.0

    def add(self, packet, now):
        """Takes a packet, which follows those before it."""
        begun = max(now, self._free_at)
        self._free_at = begun + len(packet) / self._octets_per_second
        self.packets.append((self._free_at + self._seconds, packet))


def _receive(device, line, now):
    for _ in range(200):
        try:
            line.add(os.read(device, _PACKET_OCTETS + 100), now)
        except BlockingIOError:
            return
        except OSError as problem:
            sys.exit(f"the delay line ends: {problem}")
