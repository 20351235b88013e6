"""Defines the state of the epoll backend for one descriptor."""

from flare.runtime.operation import POLL_OUT, Operation
from flare.sys.epoll import (
    EPOLLERR,
    EPOLLET,
    EPOLLEXCLUSIVE,
    EPOLLHUP,
    EPOLLIN,
    EPOLLOUT,
    EPOLLPRI,
    EPOLLRDHUP,
)

comptime READ_EVENTS = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET
"""The events for which a descriptor is first watched. A new socket has room
for octets; the kernel would report that before it is needed.
"""
comptime ALL_EVENTS = READ_EVENTS | EPOLLOUT
"""The events for which it is watched once an operation waits for room."""
comptime ACCEPT_EVENTS = EPOLLIN | EPOLLET | EPOLLEXCLUSIVE
"""The events for which a listening socket is watched while one accept waits.
Several workers may share one socket. The kernel informs one that is not busy,
and a worker that starts to watch again comes after the others.
"""
comptime _READ_EVENTS = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR
comptime _WRITE_EVENTS = EPOLLOUT | EPOLLHUP | EPOLLERR


@fieldwise_init
struct Interest(ImplicitlyCopyable):
    """One descriptor: its waiting operations and its readiness."""

    var reader: Optional[Operation]
    """Receives, reads or accepts."""
    var writer: Optional[Operation]
    """Sends or connects, or waits until a send can be tried."""
    var poller: Optional[Operation]
    """Waits for readiness alone."""
    var registered: Bool
    """Whether the descriptor is registered with epoll."""
    var watches_room: Bool
    """Whether it is registered for `ALL_EVENTS`."""
    var transient: Bool
    """Whether the registration ends with the last operation."""
    var readable: Bool
    """Whether reading may succeed."""
    var writable: Bool
    """Whether writing may succeed."""
    var ended: Bool
    """Whether the peer has ended its stream: the end must still be read after
    the octets, although no further edge will announce it.
    """
    var urgent: Bool
    """Whether the peer has sent an urgent octet: a receive ends before it,
    although more octets follow that no further edge will announce.
    """
    var broken: Bool
    """Whether neither direction can continue: polls report it for any events.
    """
    var peekable: Bool
    """Whether octets wait can be asked, which a poll needs where it finds some
    that no edge announces any more."""
    var queued: Bool
    """Whether it is in the list of descriptors that can continue without an
    event.
    """
    var listens: Bool
    """Whether it is a listening socket, which another process may have open."""
    var registration: UInt32
    """Counts the registrations of the descriptor's number. Events carry the
    count, so that those of an earlier registration are ignored.
    """

    def __init__(out self):
        """Creates the state without waiting operations; a send may be tried."""
        self = Self(
            reader=None,
            writer=None,
            poller=None,
            registered=False,
            watches_room=False,
            transient=False,
            readable=False,
            writable=True,
            ended=False,
            urgent=False,
            broken=False,
            peekable=False,
            queued=False,
            listens=False,
            registration=0,
        )

    def begin_again(mut self):
        """Resets all state except that of the descriptor's number."""
        var queued = self.queued
        var registration = self.registration
        self = Self()
        self.queued = queued
        self.registration = registration

    @always_inline
    def tag(self, descriptor: Int32) -> UInt64:
        """Returns the tag of events of the present registration.

        Args:
            descriptor: The descriptor.

        Returns:
            The descriptor, with the registration in the upper bits.
        """
        return UInt64(Int(descriptor)) | UInt64(self.registration) << 32

    @always_inline
    def is_used(self) -> Bool:
        """Returns whether an operation is in flight.

        Returns:
            True if an operation is in flight.
        """
        return Bool(self.reader) or Bool(self.writer) or Bool(self.poller)

    @always_inline
    def note(mut self, events: UInt32):
        """Stores the events that the kernel has reported.

        Args:
            events: A set of epoll events.
        """
        if events & _READ_EVENTS != 0:
            self.readable = True
        if events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR) != 0:
            self.ended = True
        if events & EPOLLPRI != 0:
            self.urgent = True
        if events & (EPOLLHUP | EPOLLERR) != 0:
            self.broken = True
        if events & _WRITE_EVENTS != 0:
            self.writable = True

    @always_inline
    def ready(self, wanted: UInt32) -> UInt32:
        """Returns the requested events that have occurred.

        Args:
            wanted: A set of epoll events.

        Returns:
            Those that are known; always that the socket is broken.
        """
        var events = UInt32(0)
        if self.readable:
            events |= EPOLLIN
        if self.writable:
            events |= EPOLLOUT
        if self.ended:
            events |= EPOLLRDHUP
        events &= wanted
        if self.broken:
            events |= EPOLLHUP
        return events

    @always_inline
    def has_place_for(self, poll: Operation) -> Bool:
        """Returns whether no other operation is in the place of a poll.

        Args:
            poll: The operation.

        Returns:
            False if the operation there would never complete.
        """
        if poll.state[].length == POLL_OUT:
            return not self.writer
        return not self.poller

    def wait_for_news(mut self, poll: Operation):
        """Makes a transient poll wait for the kernel's next report.

        A poll for room takes the place of a send: another fiber may poll for
        octets on the same descriptor meanwhile.

        Args:
            poll: The operation.
        """
        self.readable = False
        self.writable = False
        self.ended = False
        self.broken = False
        if poll.state[].length == POLL_OUT:
            self.writer = poll
        else:
            self.poller = poll
