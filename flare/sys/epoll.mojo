"""Waits for readiness with epoll.

Each function returns the kernel's result, or the negated errno.
"""

from std.ffi import c_int, external_call
from std.sys.info import CompilationTarget

from flare.core import PointerTo

from .file import result_or_errno

comptime EPOLLIN: UInt32 = 1
"""Octets, a connection or the end can be read."""
comptime EPOLLPRI: UInt32 = 2
"""An urgent octet lies among those that can be read."""
comptime EPOLLOUT: UInt32 = 4
"""Octets can be written."""
comptime EPOLLERR: UInt32 = 8
"""The descriptor has an error."""
comptime EPOLLHUP: UInt32 = 0x10
"""Both directions have ended."""
comptime EPOLLRDHUP: UInt32 = 0x2000
"""The peer will send no more."""
comptime EPOLLEXCLUSIVE: UInt32 = 1 << 28
"""Report to one of those who watch, not to all; with `EPOLLIN` and `EPOLLOUT`
only."""
comptime EPOLLET: UInt32 = 1 << 31
"""Report changes only, not states."""

# The kernel packs the struct to 12 octets on x86-64 only.
comptime _PAD = 1 if CompilationTarget.has_neon() else 0


struct EpollEvent(Copyable, Movable):
    """The `struct epoll_event`: events and the tag of their registration."""

    var words: Array[UInt32, 3 + _PAD]
    """The events, then (padding and) the 64-bit tag."""

    def __init__(out self, events: UInt32, tag: UInt64):
        """Creates an interest.

        Args:
            events: The events to watch for.
            tag: Returned with each event.
        """
        self.words = Array[UInt32, 3 + _PAD](fill=0)
        self.words[0] = events
        self.words[1 + _PAD] = UInt32(tag & 0xFFFFFFFF)
        self.words[2 + _PAD] = UInt32(tag >> 32)

    @always_inline
    def events(self) -> UInt32:
        """Returns the events that occurred.

        Returns:
            A set of event bits.
        """
        return self.words[0]

    @always_inline
    def tag(self) -> UInt64:
        """Returns the tag of the registration.

        Returns:
            The tag.
        """
        return (UInt64(self.words[2 + _PAD]) << 32) | UInt64(
            self.words[1 + _PAD]
        )


def open_epoll() -> Int:
    """Opens an epoll descriptor.

    Returns:
        The descriptor (close-on-exec), or the negated errno.
    """
    return result_or_errno(
        Int(external_call["epoll_create1", c_int](c_int(0x80000)))
    )


def epoll_add(
    epoll: Int32, descriptor: Int32, events: UInt32, tag: UInt64
) -> Int:
    """Starts to watch a descriptor.

    Args:
        epoll: The epoll descriptor.
        descriptor: The descriptor to watch.
        events: The events to watch for.
        tag: Returned with each event.

    Returns:
        0, or the negated errno.
    """
    return _control(epoll, 1, descriptor, events, tag)


def epoll_modify(
    epoll: Int32, descriptor: Int32, events: UInt32, tag: UInt64
) -> Int:
    """Changes the events of a watched descriptor.

    Args:
        epoll: The epoll descriptor.
        descriptor: The watched descriptor.
        events: The events to watch for.
        tag: Returned with each event.

    Returns:
        0, or the negated errno.
    """
    return _control(epoll, 3, descriptor, events, tag)


def epoll_remove(epoll: Int32, descriptor: Int32) -> Int:
    """Stops watching a descriptor.

    Args:
        epoll: The epoll descriptor.
        descriptor: The watched descriptor.

    Returns:
        0, or the negated errno.
    """
    return _control(epoll, 2, descriptor, 0, 0)


def epoll_wait(
    epoll: Int32, events: PointerTo[EpollEvent], count: Int, timeout_ms: Int
) -> Int:
    """Waits for events.

    Args:
        epoll: The epoll descriptor.
        events: The memory for the events.
        count: How many fit.
        timeout_ms: The longest wait, limited to 31 bits; -1 waits without
            limit.

    Returns:
        The number of events, or the negated errno.
    """
    return result_or_errno(
        Int(
            external_call["epoll_wait", c_int](
                epoll,
                events,
                c_int(count),
                c_int(min(timeout_ms, Int(c_int.MAX))),
            )
        )
    )


def _control(
    epoll: Int32, what: Int, descriptor: Int32, events: UInt32, tag: UInt64
) -> Int:
    var event = EpollEvent(events, tag)
    return result_or_errno(
        Int(
            external_call["epoll_ctl", c_int](
                epoll, c_int(what), descriptor, Pointer(to=event)
            )
        )
    )
