"""Measures in a network namespace of its own, with congestion control fixed.

Some machines pace what they send by timers of the kernel (`bbr`). With long
answers these cost more than servers differ by, and loopback needs no pacing.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator

# A namespace belongs to a thread. What this one starts inherits its own.
NAMESPACE = Path("/proc/thread-self/ns/net")
# Neither paces. Some kernels let only their own network use the first.
CONGESTION_CONTROLS = ("cubic", "reno")
_SETTINGS = Path("/proc/sys/net")
_CONGESTION = "ipv4/tcp_congestion_control"
_AVAILABLE = "ipv4/tcp_available_congestion_control"
# A new namespace has the kernel's defaults here, or those of the machine, not
# what the namespace around it was given. Ports, queues and buffers decide
# what a server and a load generator can do.
_KEPT = (
    "core/somaxconn",
    "ipv4/ip_local_port_range",
    "ipv4/tcp_max_syn_backlog",
    "ipv4/tcp_max_tw_buckets",
    "ipv4/tcp_rmem",
    "ipv4/tcp_tw_reuse",
    "ipv4/tcp_wmem",
)
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
# The name, the flags, and what else the kernel's structure has room for.
_INTERFACE = struct.Struct("16sH22x")


def unshare_network() -> None:
    """Moves the calling thread into a new network namespace."""
    _call("unshare", _CLONE_NEWNET)


@contextmanager
def own_network(
    unshare: Callable[[], None] = unshare_network,
    congestion_controls: tuple[str, ...] = (),
) -> Iterator[bool]:
    """Keeps the calling thread, and what it starts, in a network namespace of
    its own while a `with` block runs, with the first congestion control that
    it may use; gives whether it could. Where it may not, nothing changes."""
    outside = _enter(unshare, congestion_controls or CONGESTION_CONTROLS)
    try:
        yield outside is not None
    finally:
        if outside is not None:
            _return_to(outside)


def congestion_control() -> str:
    """Names what new connections of the calling thread use; nothing where
    the kernel does not tell."""
    return _setting(_CONGESTION) or ""


def _enter(
    unshare: Callable[[], None], congestion_controls: tuple[str, ...]
) -> int | None:
    """Gives a descriptor of the namespace that was left; none if it was not."""
    try:
        outside = os.open(NAMESPACE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    kept = {name: _setting(name) for name in _KEPT}
    try:
        unshare()
    except OSError:
        os.close(outside)
        return None
    try:
        _raise_loopback()
        _adjust(kept, congestion_controls)
    except OSError:
        _return_to(outside)
        return None
    except BaseException:
        # Nobody else would lead back, for nobody was given the descriptor.
        _return_to(outside)
        raise
    return outside


def _return_to(outside: int) -> None:
    try:
        _call("setns", outside, _CLONE_NEWNET)
    finally:
        os.close(outside)


def _raise_loopback() -> None:
    request = _INTERFACE.pack(b"lo", 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        found = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request)
        name, flags = _INTERFACE.unpack(found)
        raised = _INTERFACE.pack(name, flags | _IFF_UP)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, raised)


def _adjust(
    kept: dict[str, str | None], congestion_controls: tuple[str, ...]
) -> None:
    for name, value in kept.items():
        inside = _setting(name)
        # What cannot be read in here holds for the whole machine.
        if None not in (value, inside) and value != inside:
            (_SETTINGS / name).write_text(value)
    available = (_setting(_AVAILABLE) or "").split()
    for name in congestion_controls:
        if name in available and _set_congestion(name):
            return


def _set_congestion(congestion: str) -> bool:
    """Gives whether the kernel permits it."""
    try:
        (_SETTINGS / _CONGESTION).write_text(congestion)
    except PermissionError:
        return False
    return True


def _setting(name: str) -> str | None:
    try:
        return (_SETTINGS / name).read_text().strip()
    except OSError:
        return None


def _call(name: str, *arguments: int) -> None:
    """Calls the C library, whose names Python has only since 3.12."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
