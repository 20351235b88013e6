"""Simulates a network in memory: sockets, octets on their way, and a clock.

A connection is two linked sockets. Each belongs either to a reactor, which
uses it through operations, or to a test, which uses it through `Peer`.
Descriptors are numbers that no kernel knows; the lowest free one is used
first.
"""

from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy
from flare.sys.socket_address import SocketAddressStorage

from .simulated_faults import Draws, SimulatedFaultCounts, SimulatedFaults
from .simulated_socket import (
    PendingOperation,
    SimulatedSocket,
    address_of,
    descriptor_of,
    index_of,
)
from .simulated_trace import Trace, TraceEvent

comptime WINDOW_OCTETS = 64 * 1024
"""How many octets a socket can hold before they are received."""
comptime FIRST_WALL_SECONDS = 784_111_777
"""The wall clock at the start: Sun, 06 Nov 1994 08:49:37 GMT."""


struct SimulatedNetworkState(Movable):
    """The state of the network. Only `SimulatedNetwork` and its backend use
    it.
    """

    var sockets: List[PointerTo[SimulatedSocket]]
    """All descriptors, from `FIRST_DESCRIPTOR` on."""
    var pending: List[PendingOperation]
    """The operations in flight, in the order of submission."""
    var faults: SimulatedFaults
    """The faults to simulate."""
    var counts: SimulatedFaultCounts
    """The faults that have occurred."""
    var draws: Draws
    """Decides everything."""
    var now_ms: Int
    """The clock."""
    var clock_limit_ms: Int
    """The clock does not go beyond; a wait then ends at once."""
    var working_turns: Int
    """Turns that neither waited nor completed anything."""
    var completions: Int
    """How many completions there were."""
    var misuses: Int
    """How often a descriptor was closed with an operation in flight, or was
    used without being open."""
    var withheld: List[OctetPointer]
    """Receive buffers that a drought has taken away."""
    var drought_until_ms: Int
    """When they are given back."""
    var trace: Trace
    """The latest events."""

    def __init__(out self, seed: Int, faults: SimulatedFaults):
        """Creates a network without sockets.

        Args:
            seed: Decides all random events.
            faults: The faults to simulate.
        """
        self.sockets = []
        self.pending = []
        self.faults = faults.copy()
        self.counts = SimulatedFaultCounts()
        self.draws = Draws(seed)
        self.now_ms = 1000
        self.clock_limit_ms = Int.MAX
        self.working_turns = 0
        self.completions = 0
        self.misuses = 0
        self.withheld = []
        self.drought_until_ms = 0
        self.trace = Trace()


@fieldwise_init
struct SimulatedNetwork(TrivialRegisterPassable):
    """A handle to a network. It serves one reactor, on one thread."""

    var state: PointerTo[SimulatedNetworkState]
    """The heap state."""

    @staticmethod
    def create(
        seed: Int = 1, faults: SimulatedFaults = SimulatedFaults()
    ) -> Self:
        """Creates a network without sockets.

        Args:
            seed: Decides all random events.
            faults: The faults to simulate; none by default.

        Returns:
            A handle. Call `destroy` after the reactor's end.
        """
        return Self(heap_create(SimulatedNetworkState(seed, faults)))

    def destroy(self):
        """Frees the network."""
        for socket in self.state[].sockets:
            heap_destroy(socket)
        heap_destroy(self.state)

    def listen(self) -> Int32:
        """Opens a listener.

        Returns:
            Its descriptor.
        """
        var index = self.open()
        self.socket(index)[].is_listener = True
        return descriptor_of(index)

    def connect(self, listener: Int32) -> Peer:
        """Starts a connection whose other end the reactor will accept.

        Args:
            listener: An open listener.

        Returns:
            The end that belongs to the test.
        """
        var near = self.open()
        self.join(near, listener)
        return Peer(self, near, self.socket(near)[].generation)

    def accept(self, listener: Int32) -> Optional[Peer]:
        """Accepts a connection that a reactor has begun.

        Args:
            listener: An open listener that no reactor uses.

        Returns:
            The end that belongs to the test; `None` if none waits.
        """
        ref backlog = self.socket(self.find(listener))[].backlog
        if len(backlog) == 0:
            return None
        var index = backlog.pop(0)
        self.note("test accepts", "", index)
        return Peer(self, index, self.socket(index)[].generation)

    def is_silent(self, descriptor: Int32) -> Bool:
        """Returns whether a receive would wait.

        Args:
            descriptor: A socket.

        Returns:
            False if octets or an end have arrived, or if it is not open.
        """
        var index = self.find(descriptor)
        if index < 0:
            return False
        ref socket = self.socket(index)[]
        return not (
            socket.has_ended or socket.is_reset or len(socket.inbound) > 0
        )

    def pair(self) -> Tuple[Int32, Peer]:
        """Creates a connection that needs no accept.

        Returns:
            The reactor's end, and the test's.
        """
        var far = self.open()
        var near = self.open()
        self.link(near, far)
        return (
            descriptor_of(far),
            Peer(self, near, self.socket(near)[].generation),
        )

    def open_socket(self) -> Int32:
        """Returns a new socket for `CONNECT`.

        Returns:
            Its descriptor.
        """
        return descriptor_of(self.open())

    def address(self, descriptor: Int32) -> SocketAddressStorage:
        """Returns the address at which `CONNECT` finds a listener.

        Args:
            descriptor: A listener.

        Returns:
            An address of 10.0.0.0/8 that contains the descriptor.
        """
        return address_of(index_of(descriptor))

    def faults(self) -> SimulatedFaultCounts:
        """Returns the faults that have occurred.

        Returns:
            The counts.
        """
        return self.state[].counts

    def in_flight(self) -> Int:
        """Returns the number of operations in flight.

        Returns:
            The number.
        """
        return len(self.state[].pending)

    def misuses(self) -> Int:
        """Returns how often a reactor misused a descriptor.

        Returns:
            How often one was closed with an operation in flight, or used
            without being open.
        """
        return self.state[].misuses

    def open_count(self) -> Int:
        """Returns the number of open descriptors, including those of the test.

        Returns:
            The count.
        """
        var count = 0
        for socket in self.state[].sockets:
            if socket[].is_open:
                count += 1
        return count

    def now_ms(self) -> Int:
        """Returns the time of the network's clock.

        Returns:
            Milliseconds.
        """
        return self.state[].now_ms

    def next_delay_ms(self) -> Optional[Int]:
        """Returns when the earliest delay or drought is over.

        Returns:
            The time; `None` if there is no delay.
        """
        var next = Optional[Int](None)
        if len(self.state[].withheld) > 0:
            next = self.state[].drought_until_ms
        for pending in self.state[].pending:
            if pending.not_before_ms > self.state[].now_ms and (
                not next or pending.not_before_ms < next.value()
            ):
                next = pending.not_before_ms
        return next

    def completions(self) -> Int:
        """Returns the number of completions so far.

        Returns:
            The number.
        """
        return self.state[].completions

    def withheld_buffers(self) -> Int:
        """Returns how many receive buffers a drought has taken away.

        Returns:
            The number.
        """
        return len(self.state[].withheld)

    @always_inline
    def note(
        self,
        what: StaticString,
        which: StaticString = "",
        socket: Int = -1,
        value: Int = 0,
    ):
        """Adds an event to the trace, if tracing is on.

        Args:
            what: The event.
            which: The kind of operation.
            socket: The socket.
            value: A number: a length, a result and so on.
        """
        if self.state[].trace.is_on:
            self.state[].trace.note(
                TraceEvent(self.state[].now_ms, what, which, socket, value)
            )

    def limit_clock(self, limit_ms: Int):
        """Limits the clock until the next call.

        Args:
            limit_ms: The latest time; the present time stops the clock.
        """
        self.state[].clock_limit_ms = limit_ms

    @always_inline
    def socket(self, index: Int) -> PointerTo[SimulatedSocket]:
        """Returns the index of a socket.

        Args:
            index: Its index, which exists.

        Returns:
            The socket.
        """
        return self.state[].sockets[index]

    def find(self, descriptor: Int32) -> Int:
        """Returns the index of an open socket.

        Args:
            descriptor: Any number.

        Returns:
            Its index, or -1.
        """
        var index = index_of(descriptor)
        if index < 0 or index >= len(self.state[].sockets):
            return -1
        return index if self.socket(index)[].is_open else -1

    def open(self) -> Int:
        """Returns the lowest free descriptor.

        Returns:
            Its index.
        """
        var index = 0
        while index < len(self.state[].sockets):
            if not self.socket(index)[].is_open:
                break
            index += 1
        if index == len(self.state[].sockets):
            self.state[].sockets.append(heap_create(SimulatedSocket()))
        self.socket(index)[].begin()
        return index

    def link(self, one: Int, other: Int):
        """Connects two sockets.

        Args:
            one: An open socket.
            other: Another one.
        """
        self.socket(one)[].other = other
        self.socket(other)[].other = one

    def join(self, near: Int, listener: Int32):
        """Connects a socket to a new one in a listener's queue.

        Args:
            near: An open socket.
            listener: The listener; without one, or while it holds back, the
                connection is broken.
        """
        var at = self.find(listener)
        if at < 0 or self.socket(at)[].holds_back:
            self.socket(near)[].is_reset = True
            return
        var far = self.open()
        self.link(near, far)
        self.socket(at)[].backlog.append(far)
        self.socket(at)[].arrivals += 1

    def end_sending(self, index: Int):
        """Ends the stream to the other end.

        Args:
            index: An open socket.
        """
        self.socket(index)[].sending_ended = True
        var other = self.socket(index)[].other
        if other >= 0:
            self.socket(other)[].has_ended = True
            self.socket(other)[].arrivals += 1

    def reset(self, index: Int):
        """Resets a connection; octets on their way are lost.

        Args:
            index: Either end.
        """
        self._break(index)
        var other = self.socket(index)[].other
        if other >= 0:
            self._break(other)

    def strike(self, index: Int):
        """Resets a connection by chance.

        Args:
            index: Either end.
        """
        self.state[].counts.resets += 1
        self.note("chance resets", "", index)
        self.socket(index)[].is_struck = True
        var other = self.socket(index)[].other
        if other >= 0:
            self.socket(other)[].is_struck = True
        self.reset(index)

    def close(self, index: Int):
        """Closes a descriptor.

        As in TCP, closing with unread octets resets the connection, and the
        other end loses octets that it has not read (RFC 9112 section 9.6).

        Args:
            index: An open socket.
        """
        self.break_waiting(descriptor_of(index))
        self._end(index)

    def break_waiting(self, listener: Int32):
        """Resets the connections that were not accepted.

        Args:
            listener: An open socket.
        """
        ref backlog = self.socket(self.find(listener))[].backlog
        while len(backlog) > 0:
            var waiting = backlog.pop()
            self.reset(waiting)
            self._end(waiting)

    def _end(self, index: Int):
        ref socket = self.socket(index)[]
        if len(socket.inbound) > 0:
            self.reset(index)
        else:
            self.end_sending(index)
        if socket.other >= 0:
            self.socket(socket.other)[].other = -1
        socket.is_open = False
        socket.other = -1

    def _break(self, index: Int):
        ref socket = self.socket(index)[]
        socket.is_reset = True
        socket.inbound.clear()
        socket.arrivals += 1


@fieldwise_init
struct Peer(TrivialRegisterPassable):
    """A test's end of a connection."""

    var network: SimulatedNetwork
    """The network."""
    var index: Int
    """The descriptor of the socket."""
    var generation: Int
    """The number of its user."""

    def send(self, octets: Span[UInt8, _]):
        """Sends octets at once, even if the other end has many unread ones.

        Args:
            octets: The octets; dropped if the connection is broken or closed.
        """
        var other = self._other()
        if other < 0 or self._socket()[].sending_ended:
            return
        self.network.note("client sends", "", self.index, len(octets))
        self.network.socket(other)[].inbound.append(octets)
        self.network.socket(other)[].arrivals += 1

    def send(self, text: StringSlice):
        """Sends text at once.

        Args:
            text: The text.
        """
        self.send(text.as_bytes())

    def received(self, octets_max: Int = Int.MAX) -> List[UInt8]:
        """Returns the octets that have arrived.

        Args:
            octets_max: The maximum number of octets; the rest still occupies
                the sender's room.

        Returns:
            The octets since the last call.
        """
        var octets = List[UInt8]()
        if self._is_mine():
            ref inbound = self._socket()[].inbound
            var count = min(len(inbound), octets_max)
            octets.extend(inbound.span()[:count])
            inbound.consume(count)
            if count > 0:
                self.network.note("client reads", "", self.index, count)
        return octets^

    def has_arrivals(self) -> Bool:
        """Returns whether `received` would return octets.

        Returns:
            True if it would return at least one octet.
        """
        return self._is_mine() and len(self._socket()[].inbound) > 0

    def room(self) -> Int:
        """Returns how many more octets may be on their way before a sender
        must wait.

        Returns:
            The number of octets; 0 if the other end must receive first.
        """
        var other = self._socket()[].other if self._is_mine() else -1
        if other < 0:
            return 0
        return max(WINDOW_OCTETS - len(self.network.socket(other)[].inbound), 0)

    def end_sending(self):
        """Ends sending; receiving continues."""
        if self._is_mine():
            self.network.note("client ends", "", self.index)
            self.network.end_sending(self.index)

    def reset(self):
        """Breaks the connection."""
        if self._is_mine():
            self.network.note("client resets", "", self.index)
            self.network.reset(self.index)

    def close(self):
        """Closes this end. Further calls have no effect."""
        if self._is_mine():
            self.network.note("client closes", "", self.index)
            self.network.close(self.index)

    def is_closed(self) -> Bool:
        """Returns whether no more octets will arrive.

        Returns:
            True if the other end has ended or broken the connection, and the
            caller has taken all octets that arrived.
        """
        if not self._is_mine():
            return True
        ref socket = self._socket()[]
        return (socket.has_ended or socket.is_reset) and len(
            socket.inbound
        ) == 0

    def has_ended(self) -> Bool:
        """Returns whether the other end has finished sending, even if octets
        are unread.

        Returns:
            True if the other end has closed, half-closed or reset the
            connection.
        """
        if not self._is_mine():
            return True
        ref socket = self._socket()[]
        return socket.has_ended or socket.is_reset

    def is_reset(self) -> Bool:
        """Returns whether the connection broke.

        Returns:
            True after a reset by either end or by the network.
        """
        return self._is_mine() and self._socket()[].is_reset

    def is_struck(self) -> Bool:
        """Returns whether chance broke the connection.

        Returns:
            False if it holds, or if either end broke it.
        """
        return self._is_mine() and self._socket()[].is_struck

    def _is_mine(self) -> Bool:
        ref socket = self._socket()[]
        return socket.is_open and socket.generation == self.generation

    def _socket(self) -> PointerTo[SimulatedSocket]:
        return self.network.socket(self.index)

    def _other(self) -> Int:
        if not self._is_mine() or self._socket()[].is_reset:
            return -1
        return self._socket()[].other
