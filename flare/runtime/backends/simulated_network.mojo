"""Holds a network in memory: sockets, what is on its way, and a clock.

A connection is two sockets that are linked. Either may belong to a reactor,
which reaches it through operations, or to a test, which reaches it through
`Peer`. Descriptors are numbers that no kernel knows, the lowest free one first.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.runtime.operation import Operation
from flare.sys.socket_address import SocketAddressStorage

from .simulated_faults import Draws, SimulatedFaultCounts, SimulatedFaults

comptime FIRST_DESCRIPTOR = 1_000_000
"""The lowest descriptor; a kernel call on one fails, it hits nothing real."""
comptime WINDOW_OCTETS = 64 * 1024
"""How much a socket holds that nobody has received yet."""
comptime FIRST_WALL_SECONDS = 784_111_777
"""The wall clock at the start: Sun, 06 Nov 1994 08:49:37 GMT."""


struct SimulatedSocket(Movable):
    """Holds one end of a connection, or a listener."""

    var is_open: Bool
    """Somebody owns the descriptor."""
    var is_listener: Bool
    """It accepts connections."""
    var holds_back: Bool
    """It takes no new connections for now."""
    var generation: Int
    """Grows each time the descriptor is used again."""
    var other: Int
    """The index of the other end, or -1 if it is closed."""
    var inbound: Buffer
    """What has arrived and was not received."""
    var arrivals: Int
    """Grows with all that a poll would report."""
    var has_ended: Bool
    """Nothing more will arrive."""
    var sending_ended: Bool
    """Nothing more may be sent."""
    var is_reset: Bool
    """The connection broke."""
    var backlog: List[Int]
    """The ends that wait to be accepted."""

    def __init__(out self):
        """Makes an unused socket."""
        self.is_open = False
        self.is_listener = False
        self.holds_back = False
        self.generation = 0
        self.other = -1
        self.inbound = Buffer()
        self.arrivals = 0
        self.has_ended = False
        self.sending_ended = False
        self.is_reset = False
        self.backlog = []

    def begin(mut self):
        """Forgets the last user of the descriptor."""
        self.is_open = True
        self.is_listener = False
        self.holds_back = False
        self.generation += 1
        self.other = -1
        self.inbound.clear()
        self.has_ended = False
        self.sending_ended = False
        self.is_reset = False
        self.backlog.clear()


@fieldwise_init
struct PendingOperation(ImplicitlyCopyable):
    """Remembers an operation in flight."""

    var operation: Operation
    """The operation."""
    var sequence: UInt32
    """Its submission."""
    var cancelled: Bool
    """Its end was asked for."""
    var is_delay_drawn: Bool
    """Chance has decided whether its next completion is delayed."""
    var not_before_ms: Int
    """When the next completion may come."""
    var seen: Int
    """The arrivals that a poll has reported."""


struct SimulatedNetworkState(Movable):
    """Holds the network. Only `SimulatedNetwork` and its backend touch it."""

    var sockets: List[PointerTo[SimulatedSocket]]
    """All descriptors, from `FIRST_DESCRIPTOR` on."""
    var pending: List[PendingOperation]
    """What is in flight, in the order of submission."""
    var faults: SimulatedFaults
    """What goes wrong."""
    var counts: SimulatedFaultCounts
    """What went wrong."""
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

    def __init__(out self, seed: Int, faults: SimulatedFaults):
        """Makes a network without sockets.

        Args:
            seed: Decides everything that chance decides.
            faults: What goes wrong.
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


@fieldwise_init
struct SimulatedNetwork(TrivialRegisterPassable):
    """Names a network; it serves one reactor, on one thread."""

    var state: PointerTo[SimulatedNetworkState]
    """The heap state."""

    @staticmethod
    def create(
        seed: Int = 1, faults: SimulatedFaults = SimulatedFaults()
    ) -> Self:
        """Makes a network without sockets.

        Args:
            seed: Decides everything that chance decides.
            faults: What goes wrong; nothing by default.

        Returns:
            A handle; call `destroy` after the reactor's end.
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
        """Begins a connection whose other end the reactor will accept.

        Args:
            listener: An open listener.

        Returns:
            The end that belongs to the test.
        """
        var near = self.open()
        self.join(near, listener)
        return Peer(self, near, self.socket(near)[].generation)

    def pair(self) -> Tuple[Int32, Peer]:
        """Makes a connection that nobody has to accept.

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
        """Opens a socket that is not connected yet, for `CONNECT`.

        Returns:
            Its descriptor.
        """
        return descriptor_of(self.open())

    def address(self, descriptor: Int32) -> SocketAddressStorage:
        """Tells the address at which `CONNECT` finds a listener.

        Args:
            descriptor: A listener.

        Returns:
            An address of 10.0.0.0/8 that holds the descriptor.
        """
        return address_of(index_of(descriptor))

    def faults(self) -> SimulatedFaultCounts:
        """Counts the faults that struck.

        Returns:
            The counts.
        """
        return self.state[].counts

    def in_flight(self) -> Int:
        """Counts the operations that have not completed.

        Returns:
            The count.
        """
        return len(self.state[].pending)

    def misuses(self) -> Int:
        """Counts what a reactor may not do to descriptors.

        Returns:
            How often one was closed with an operation in flight, or was used
            without being open.
        """
        return self.state[].misuses

    def open_count(self) -> Int:
        """Counts the open descriptors, those of the test included.

        Returns:
            The count.
        """
        var count = 0
        for socket in self.state[].sockets:
            if socket[].is_open:
                count += 1
        return count

    def now_ms(self) -> Int:
        """Reads the clock.

        Returns:
            Milliseconds.
        """
        return self.state[].now_ms

    def next_delay_ms(self) -> Optional[Int]:
        """Tells when the earliest delay is over.

        Returns:
            A time, or none if no completion is delayed.
        """
        var next = Optional[Int](None)
        for pending in self.state[].pending:
            if pending.not_before_ms > self.state[].now_ms and (
                not next or pending.not_before_ms < next.value()
            ):
                next = pending.not_before_ms
        return next

    def completions(self) -> Int:
        """Counts the completions so far.

        Returns:
            The count.
        """
        return self.state[].completions

    def limit_clock(self, limit_ms: Int):
        """Keeps the clock from going further, until the next call.

        Args:
            limit_ms: The last time there is; now, to make time stand still.
        """
        self.state[].clock_limit_ms = limit_ms

    @always_inline
    def socket(self, index: Int) -> PointerTo[SimulatedSocket]:
        """Finds a socket.

        Args:
            index: Its index, which exists.

        Returns:
            The socket.
        """
        return self.state[].sockets[index]

    def find(self, descriptor: Int32) -> Int:
        """Finds an open socket.

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
        """Takes the lowest free descriptor.

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
        """Lets the other end read the end.

        Args:
            index: An open socket.
        """
        self.socket(index)[].sending_ended = True
        var other = self.socket(index)[].other
        if other >= 0:
            self.socket(other)[].has_ended = True
            self.socket(other)[].arrivals += 1

    def reset(self, index: Int):
        """Breaks a connection; what was on its way is lost.

        Args:
            index: Either end.
        """
        self._break(index)
        var other = self.socket(index)[].other
        if other >= 0:
            self._break(other)

    def close(self, index: Int):
        """Frees a descriptor.

        As in TCP, octets that nobody has received break the connection, and
        what the other end has not read is lost (RFC 9112 section 9.6).

        Args:
            index: An open socket.
        """
        for waiting in self.socket(index)[].backlog:
            self.reset(waiting)
            self._end(waiting)
        self._end(index)

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
    """Names the end of a connection that belongs to a test."""

    var network: SimulatedNetwork
    """The network."""
    var index: Int
    """Which socket."""
    var generation: Int
    """Which user of it."""

    def send(self, octets: Span[UInt8, _]):
        """Sends octets at once, however many the other end has not read.

        Args:
            octets: The octets; lost where the connection is broken or closed.
        """
        var other = self._other()
        if other < 0 or self._socket()[].sending_ended:
            return
        self.network.socket(other)[].inbound.append(octets)
        self.network.socket(other)[].arrivals += 1

    def send(self, text: StringSlice):
        """Sends text at once.

        Args:
            text: The text.
        """
        self.send(text.as_bytes())

    def received(self, octets_max: Int = Int.MAX) -> List[UInt8]:
        """Takes what has arrived.

        Args:
            octets_max: How much to take; the rest stays in the way of more.

        Returns:
            The octets since the last call.
        """
        var octets = List[UInt8]()
        if self._is_mine():
            ref inbound = self._socket()[].inbound
            var count = min(len(inbound), octets_max)
            octets.extend(inbound.span()[:count])
            inbound.consume(count)
        return octets^

    def room(self) -> Int:
        """Tells how much may be on its way before a sender is held back.

        Returns:
            Octets; 0 if the other end must receive first.
        """
        var other = self._socket()[].other if self._is_mine() else -1
        if other < 0:
            return 0
        return max(WINDOW_OCTETS - len(self.network.socket(other)[].inbound), 0)

    def end_sending(self):
        """Sends no more; receiving goes on."""
        if self._is_mine():
            self.network.end_sending(self.index)

    def reset(self):
        """Breaks the connection."""
        if self._is_mine():
            self.network.reset(self.index)

    def close(self):
        """Closes this end; nothing happens the second time."""
        if self._is_mine():
            self.network.close(self.index)

    def is_closed(self) -> Bool:
        """Tells whether nothing more will arrive.

        Returns:
            True if the other end has ended or broken the connection and what
            had arrived was taken.
        """
        if not self._is_mine():
            return True
        ref socket = self._socket()[]
        return (socket.has_ended or socket.is_reset) and len(
            socket.inbound
        ) == 0

    def is_reset(self) -> Bool:
        """Tells whether the connection broke.

        Returns:
            True after a reset by either end or by the network.
        """
        return self._is_mine() and self._socket()[].is_reset

    def _is_mine(self) -> Bool:
        ref socket = self._socket()[]
        return socket.is_open and socket.generation == self.generation

    def _socket(self) -> PointerTo[SimulatedSocket]:
        return self.network.socket(self.index)

    def _other(self) -> Int:
        if not self._is_mine() or self._socket()[].is_reset:
            return -1
        return self._socket()[].other


def descriptor_of(index: Int) -> Int32:
    """Tells the descriptor of a socket.

    Args:
        index: The socket.

    Returns:
        Its descriptor.
    """
    return Int32(FIRST_DESCRIPTOR + index)


def index_of(descriptor: Int32) -> Int:
    """Tells the index of a descriptor.

    Args:
        descriptor: Any number.

    Returns:
        The index, which need not exist.
    """
    return Int(descriptor) - FIRST_DESCRIPTOR


def address_of(index: Int) -> SocketAddressStorage:
    """Makes the address of a socket.

    Args:
        index: The socket.

    Returns:
        An address of 10.0.0.0/8 and port 80.
    """
    var octets = Array[UInt8, 4](fill=10)
    for i in range(3):
        octets[3 - i] = UInt8((index >> (8 * i)) & 255)
    return SocketAddressStorage.v4(octets, 80)
