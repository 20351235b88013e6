"""Holds what the epoll backend knows of one descriptor."""

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
"""What a descriptor is watched for at first. A new socket has room for octets,
which the kernel would report before there is anything to do."""
comptime ALL_EVENTS = READ_EVENTS | EPOLLOUT
"""What it is watched for as soon as something has to wait for room."""
comptime ACCEPT_EVENTS = EPOLLIN | EPOLLET | EPOLLEXCLUSIVE
"""What a listening socket is watched for while one accept waits. Several
workers may have one socket: the kernel tells one that is not busy, and who
begins to watch again afterwards stands behind the others."""
comptime _READ_EVENTS = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR
comptime _WRITE_EVENTS = EPOLLOUT | EPOLLHUP | EPOLLERR


@fieldwise_init
struct Interest(ImplicitlyCopyable):
    """Knows one descriptor: who waits for what, and what is ready."""

    var reader: Optional[Operation]
    """Receives, reads or accepts."""
    var writer: Optional[Operation]
    """Sends or connects, or waits until a send can be tried."""
    var poller: Optional[Operation]
    """Waits for readiness alone."""
    var registered: Bool
    """Epoll knows the descriptor."""
    var watches_room: Bool
    """It is registered for `ALL_EVENTS`."""
    var transient: Bool
    """The registration ends with the last operation."""
    var readable: Bool
    """Reading may succeed."""
    var writable: Bool
    """Writing may succeed."""
    var ended: Bool
    """The peer has ended its side: the end is still to be read after the
    octets, though no further edge will say so."""
    var urgent: Bool
    """The peer has sent an urgent octet: a receive ends before it, though more
    lies behind it that no further edge will announce."""
    var broken: Bool
    """Neither side can go on: polls report it whatever they ask for."""
    var peekable: Bool
    """Whether octets wait can be asked, which a poll needs where it finds some
    that no edge announces any more."""
    var queued: Bool
    """It stands in the list of what can go on without an event."""
    var listens: Bool
    """Connections are accepted from it: another process may have it open."""
    var registration: UInt32
    """Counts the registrations of the number; what the kernel reports carries
    it, and is nobody's where it is an earlier one."""

    def __init__(out self):
        """Knows that nobody waits, and that a send can be tried."""
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
        """Forgets all but what belongs to the number of the descriptor."""
        var queued = self.queued
        var registration = self.registration
        self = Self()
        self.queued = queued
        self.registration = registration

    @always_inline
    def tag(self, descriptor: Int32) -> UInt64:
        """Says what events of the present registration carry.

        Args:
            descriptor: The descriptor.

        Returns:
            The number, and above it the registration.
        """
        return UInt64(Int(descriptor)) | UInt64(self.registration) << 32

    @always_inline
    def is_used(self) -> Bool:
        """Returns whether an operation is in flight.

        Returns:
            True if one waits.
        """
        return Bool(self.reader) or Bool(self.writer) or Bool(self.poller)

    @always_inline
    def note(mut self, events: UInt32):
        """Remembers what the kernel has reported.

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
        """Tells which of the events that a poll asks for have come.

        Args:
            wanted: A set of epoll events.

        Returns:
            Those of them that are known, and always that the socket is broken.
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

    def wait_for_news(mut self, poll: Operation):
        """Lets a transient poll wait until the kernel reports anew.

        A poll for room stands where a send would: another fiber may poll for
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
