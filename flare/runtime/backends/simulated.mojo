"""Carries operations over a simulated network, for tests.

It completes operations in the form of io_uring. Multishot operations continue
until a final completion, a cancelled operation still gets one, and the backend
chooses receive buffers. The network's seed decides the rest: how many octets,
in which order, and when. Time stands still while any operation can complete,
and then jumps.
"""

from flare.core import OctetPointer
from flare.runtime.backend import Backend, Completions
from flare.runtime.buffer_pool import BufferPool
from flare.runtime.operation import (
    CANCELLED,
    NO_BUFFERS,
    Completion,
    Operation,
    OperationKind,
)
from flare.sys.errno import (
    EAGAIN,
    EBADF,
    ECONNREFUSED,
    ECONNRESET,
    ENOTCONN,
    EOPNOTSUPP,
    EPIPE,
)
from flare.sys.socket_address import SocketAddressStorage
from std.memory import unsafe_memcpy, unsafe_memset

from .simulated_calls import (
    accept_error,
    receive_at_once,
    send_at_once,
    turn_away,
)
from .simulated_drought import begin_drought, end_drought
from .simulated_network import (
    FIRST_WALL_SECONDS,
    WINDOW_OCTETS,
    SimulatedNetwork,
)
from .simulated_readiness import can_complete, poll_events
from .simulated_sending import append_sent, octets_to_send
from .simulated_socket import (
    PendingOperation,
    address_of,
    descriptor_of,
    index_of,
)
from .simulated_trace import kind_name

comptime _TURNS_PER_MS = 100
# The content of unused octets after the received ones: a reader that uses them
# becomes visible.
comptime _GARBAGE: UInt8 = 0xA5


@fieldwise_init
struct SimulatedBackend(Backend):
    """Performs operations over a network in memory."""

    var network: SimulatedNetwork
    """The network; it outlives the backend."""
    var buffers: BufferPool
    """The pool of receive buffers."""

    def submit(self, operation: Operation, completions: Completions):
        """Queues an operation; a later `collect` completes it.

        Args:
            operation: The operation.
            completions: The list for a late answer to an earlier submission.
        """
        ref s = self.network.state[]
        if self.network.find(operation.state[].descriptor) < 0:
            s.misuses += 1
        self._note("submits", operation, Int(operation.state[].sequence))
        if s.draws.strikes(s.faults.stale_completions):
            self._append_stale(operation, completions)
        s.pending.append(
            PendingOperation(
                operation, operation.state[].sequence, False, False, 0, -1
            )
        )

    def flush(self):
        """Does nothing: `collect` completes the operations in an order that the
        seed decides.
        """
        pass

    def cancel(self, operation: Operation, completions: Completions):
        """Makes the next completion of an operation its last.

        Args:
            operation: The operation.
            completions: Not used.
        """
        for i in range(len(self.network.state[].pending)):
            ref pending = self.network.state[].pending[i]
            if pending.operation == operation and not pending.cancelled:
                self._note("cancels", operation)
                self.network.state[].counts.cancels += 1
                pending.cancelled = True

    def collect(self, timeout_ms: Int, completions: Completions):
        """Completes operations chosen by chance, or advances the time.

        Args:
            timeout_ms: The longest wait; 0 does not wait, -1 waits until an
                operation completes, and returns at once if none ever will.
            completions: The list to append to.
        """
        ref s = self.network.state[]
        _ = end_drought(self.network, self.buffers)
        var limit = s.clock_limit_ms
        if timeout_ms >= 0:
            limit = min(limit, s.now_ms + timeout_ms)
        var ready = self._ready()
        while len(ready) == 0:
            if len(completions[]) > 0:
                return
            if timeout_ms == 0:
                self._work()
                return
            var next = min(self.network.next_delay_ms().or_else(Int.MAX), limit)
            if next == Int.MAX or next <= s.now_ms:
                return
            s.now_ms = next
            ready = self._ready()
            # The turn, not a completion, serves receives that wait for a
            # buffer.
            if next == limit or end_drought(self.network, self.buffers):
                break
        self._complete_some(ready, completions)

    def end_sending(self, descriptor: Int32):
        """Ends the stream to the peer (half-close).

        Args:
            descriptor: The socket.
        """
        var index = self.network.find(descriptor)
        if index < 0:
            self.network.state[].misuses += 1
            return
        self.network.note("ends sending", "", index)
        self.network.end_sending(index)

    def peer_address(
        self, descriptor: Int32, mut address: SocketAddressStorage
    ) -> Int:
        """Returns an invented address for the peer.

        Args:
            descriptor: The socket.
            address: Set to the address.

        Returns:
            0, or a negated errno.
        """
        var index = self.network.find(descriptor)
        if index < 0:
            return -EBADF
        var other = self.network.socket(index)[].other
        if other < 0:
            return -ENOTCONN
        address = address_of(other)
        return 0

    def open_socket(self, family: Int) -> Int:
        """Opens a socket of the network.

        Args:
            family: Not used: every address leads to a listener.

        Returns:
            The descriptor.
        """
        return Int(self.network.open_socket())

    def is_silent(self, descriptor: Int32) -> Bool:
        """Returns whether no octets and no end have arrived.

        Args:
            descriptor: The socket.

        Returns:
            True if a receive would wait.
        """
        return self.network.is_silent(descriptor)

    def send_at_once(self, descriptor: Int32, octets: Span[UInt8, _]) -> Int:
        """Sends as many octets as the other end has room for.

        Args:
            descriptor: A connected socket without a send in flight.
            octets: The octets.

        Returns:
            The number of octets taken; EAGAIN without room, or another negated
            errno.
        """
        return send_at_once(self.network, descriptor, octets)

    def receive_at_once(
        self, descriptor: Int32, into: Span[mut=True, UInt8, _]
    ) -> Int:
        """Receives octets that have arrived at this end.

        Args:
            descriptor: A connected socket without a receive in flight.
            into: The destination, not empty.

        Returns:
            The number of octets; 0 at the end of the peer's stream; EAGAIN if
            none has arrived, or another negated errno.
        """
        return receive_at_once(self.network, descriptor, into)

    def accept_now(self, listener: Int32) -> Int:
        """Accepts one connection that waits already.

        Args:
            listener: A listening socket.

        Returns:
            The descriptor, or a negated errno.
        """
        var index = self.network.find(listener)
        if index < 0:
            return -EBADF
        ref backlog = self.network.socket(index)[].backlog
        if len(backlog) == 0:
            return -EAGAIN
        ref s = self.network.state[]
        if s.draws.strikes(s.faults.accept_errors):
            return accept_error(self.network)
        var accepted = backlog.pop(0)
        self.network.note("accepts now", "", accepted)
        return Int(descriptor_of(accepted))

    def hold_back(self, listener: Int32, held: Bool):
        """Refuses new connections, or accepts them again.

        Args:
            listener: A listening socket.
            held: Whether to refuse them.
        """
        var index = self.network.find(listener)
        if index >= 0:
            self.network.socket(index)[].holds_back = held

    def turn_away(
        self,
        listener: Int32,
        mut spare: Int32,
        answer: Span[UInt8, ImmStaticOrigin],
    ) -> Int:
        """Accepts, answers and closes; no fault strikes.

        Args:
            listener: A listening socket.
            spare: Not used: only faults use descriptors up.
            answer: The only octets that the peer gets.

        Returns:
            0, or a negated errno.
        """
        return turn_away(self.network, listener, answer)

    def close(self, descriptor: Int32):
        """Closes a descriptor. An operation in flight counts as a misuse.

        Args:
            descriptor: The descriptor.
        """
        var index = self.network.find(descriptor)
        if index < 0:
            self.network.state[].misuses += 1
            return
        for pending in self.network.state[].pending:
            if pending.operation.state[].descriptor == descriptor:
                self.network.state[].misuses += 1
        self.network.note("closes", "", index)
        self.network.close(index)

    def reset(self, descriptor: Int32):
        """Closes a descriptor with a reset.

        Args:
            descriptor: The socket.
        """
        var index = self.network.find(descriptor)
        if index >= 0:
            self.network.reset(index)
        self.close(descriptor)

    def now_ns(self) -> Int:
        """Returns the time of the network's clock.

        Returns:
            The time in nanoseconds, in whole milliseconds.
        """
        return self.network.state[].now_ms * 1_000_000

    def wall_seconds(self) -> Int:
        """Returns the time of the wall clock.

        Returns:
            Seconds since 1970; the same at the start of every run.
        """
        return FIRST_WALL_SECONDS + self.network.state[].now_ms // 1000

    def destroy(self):
        """Does nothing: the test owns the network."""
        pass

    def _ready(self) -> List[Int]:
        # Indices of what can complete now; draws the delays of what has
        # become able to.
        ref s = self.network.state[]
        var ready = List[Int]()
        for i in range(len(s.pending)):
            ref pending = s.pending[i]
            if not pending.cancelled and not can_complete(
                self.network, pending
            ):
                continue
            if not pending.is_delay_drawn:
                pending.is_delay_drawn = True
                if s.draws.strikes(s.faults.delays):
                    s.counts.delays += 1
                    pending.not_before_ms = (
                        s.now_ms + 1 + s.draws.below(s.faults.delay_ms_max)
                    )
            if pending.not_before_ms <= s.now_ms:
                ready.append(i)
        return ready^

    def _work(self):
        # Turns that need not wait take time too, or a fiber that yields until
        # something happens would keep it from ever happening.
        ref s = self.network.state[]
        s.working_turns += 1
        if s.working_turns % _TURNS_PER_MS == 0:
            s.now_ms = min(s.now_ms + 1, max(s.clock_limit_ms, s.now_ms))

    def _complete_some(self, ready: List[Int], completions: Completions):
        ref s = self.network.state[]
        var order = ready.copy()
        var count = len(order)
        if count > 1 and s.draws.strikes(s.faults.reordered):
            s.counts.reordered += 1
            self.network.note("chance reorders", "", -1, count)
            for i in range(count - 1, 0, -1):
                order.swap_elements(i, s.draws.below(i + 1))
            count = 1 + s.draws.below(count)
        var ended = List[Int]()
        for i in range(count):
            # An earlier completion may have broken this one's connection.
            if not self._complete(order[i], completions):
                ended.append(order[i])
        sort(ended)
        for i in range(len(ended) - 1, -1, -1):
            _ = s.pending.pop(ended[i])

    def _complete(self, at: Int, completions: Completions) -> Bool:
        # True while the operation stays in flight.
        ref s = self.network.state[]
        ref pending = s.pending[at]
        pending.is_delay_drawn = False
        pending.not_before_ms = 0
        ref o = pending.operation.state[]
        if pending.cancelled:
            if not can_complete(self.network, pending) or not s.draws.strikes(
                s.faults.late_cancels
            ):
                return self._finish(pending, CANCELLED, completions)
            s.counts.late_cancels += 1
        elif not can_complete(self.network, pending):
            # An earlier completion of this turn took what was there.
            return True
        var index = self.network.find(o.descriptor)
        if index < 0:
            return self._finish(pending, -EBADF, completions)
        if o.kind == OperationKind.RECEIVE or o.kind == OperationKind.READ:
            return self._receive(pending, index, completions)
        if o.kind == OperationKind.SEND:
            return self._send(pending, index, completions)
        if o.kind == OperationKind.ACCEPT:
            return self._accept(pending, index, completions)
        if o.kind == OperationKind.CONNECT:
            return self._connect(pending, index, completions)
        if o.kind == OperationKind.POLL:
            pending.seen = self.network.socket(index)[].arrivals
            return self._report(
                pending, poll_events(self.network, pending, index), completions
            )
        return self._finish(pending, -EOPNOTSUPP, completions)

    def _receive(
        self,
        pending: PendingOperation,
        index: Int,
        completions: Completions,
    ) -> Bool:
        ref s = self.network.state[]
        ref o = pending.operation.state[]
        if s.draws.strikes(s.faults.resets):
            self.network.strike(index)
        ref socket = self.network.socket(index)[]
        if socket.is_reset:
            return self._finish(pending, -ECONNRESET, completions)
        var count = len(socket.inbound)
        if count == 0:
            return self._finish(pending, 0, completions)
        var buffer = Optional[OctetPointer](None)
        var room = o.length
        if o.kind == OperationKind.RECEIVE:
            if s.draws.strikes(s.faults.droughts):
                begin_drought(self.network, self.buffers)
            if s.draws.strikes(s.faults.missing_buffers):
                s.counts.missing_buffers += 1
            else:
                buffer = self.buffers.take()
            if not buffer:
                return self._finish(pending, NO_BUFFERS, completions)
            room = self.buffers.buffer_octets()
            if o.length > 0:
                room = min(room, o.length)
        count = min(count, room)
        if count > 1 and s.draws.strikes(s.faults.short_receives):
            s.counts.short_receives += 1
            count = 1 + s.draws.below(count - 1)
        var target = buffer.value() if buffer else o.address.value()
        unsafe_memcpy(
            dest=target, src=socket.inbound.span().unsafe_ptr(), count=count
        )
        socket.inbound.consume(count)
        if buffer and count < room:
            unsafe_memset(target.unsafe_offset(count), _GARBAGE, room - count)
        return self._report(pending, count, completions, buffer)

    def _send(
        self,
        pending: PendingOperation,
        index: Int,
        completions: Completions,
    ) -> Bool:
        ref s = self.network.state[]
        if s.draws.strikes(s.faults.resets):
            self.network.strike(index)
        ref socket = self.network.socket(index)[]
        if socket.is_reset or socket.sending_ended:
            return self._finish(
                pending,
                -ECONNRESET if socket.is_reset else -EPIPE,
                completions,
            )
        var count = octets_to_send(pending.operation)
        if socket.other >= 0:
            ref inbound = self.network.socket(socket.other)[].inbound
            count = min(count, WINDOW_OCTETS - len(inbound))
        if count > 1 and s.draws.strikes(s.faults.short_sends):
            s.counts.short_sends += 1
            count = 1 + s.draws.below(count - 1)
        if socket.other < 0:
            # The kernel takes the octets, and learns only later that the peer
            # is gone.
            self.network.reset(index)
            return self._finish(pending, count, completions)
        ref other = self.network.socket(socket.other)[]
        if count > 0:
            count = append_sent(pending.operation, count, other.inbound)
            other.arrivals += 1
        return self._finish(pending, count, completions)

    def _accept(
        self,
        pending: PendingOperation,
        index: Int,
        completions: Completions,
    ) -> Bool:
        ref s = self.network.state[]
        if s.draws.strikes(s.faults.accept_errors):
            return self._finish(
                pending, accept_error(self.network), completions
            )
        var accepted = self.network.socket(index)[].backlog.pop(0)
        return self._report(pending, Int(descriptor_of(accepted)), completions)

    def _connect(
        self,
        pending: PendingOperation,
        index: Int,
        completions: Completions,
    ) -> Bool:
        ref o = pending.operation.state[]
        var octets = (
            o.address.value()
            .unsafe_bitcast[SocketAddressStorage]()[]
            .v4_octets()
        )
        var at = (Int(octets[1]) << 16) | (Int(octets[2]) << 8) | Int(octets[3])
        var listener = self.network.find(descriptor_of(at))
        if listener < 0 or not self.network.socket(listener)[].is_listener:
            return self._finish(pending, -ECONNREFUSED, completions)
        self.network.join(index, descriptor_of(at))
        return self._finish(pending, 0, completions)

    def _report(
        self,
        pending: PendingOperation,
        result: Int,
        completions: Completions,
        buffer: Optional[OctetPointer] = None,
    ) -> Bool:
        # A cancelled multishot operation may still report something; its
        # final completion follows.
        ref s = self.network.state[]
        var more = pending.operation.state[].multishot
        if more and s.draws.strikes(s.faults.early_finals):
            s.counts.early_finals += 1
            more = False
        s.completions += 1
        self._note("completes", pending.operation, result)
        completions[].append(
            Completion(
                pending.operation,
                pending.sequence,
                Int32(result),
                more,
                buffer,
            )
        )
        return more

    def _finish(
        self,
        pending: PendingOperation,
        result: Int,
        completions: Completions,
    ) -> Bool:
        self.network.state[].completions += 1
        self._note("finishes", pending.operation, result)
        completions[].append(
            Completion(
                pending.operation,
                pending.sequence,
                Int32(result),
                False,
                None,
            )
        )
        return False

    def _append_stale(self, operation: Operation, completions: Completions):
        # An answer to an earlier submission of the operation, or of the
        # block's previous user.
        ref s = self.network.state[]
        var sequence = Int(operation.state[].sequence)
        s.counts.stale_completions += 1
        if sequence > 1 and s.draws.strikes(500):
            sequence -= 1 + s.draws.below(min(sequence - 1, 3))
        else:
            s.counts.stale_to_new_users += 1
            sequence += 1 + s.draws.below(5)
        var buffer = Optional[OctetPointer](None)
        if operation.state[].kind == OperationKind.RECEIVE:
            buffer = self.buffers.take()
        self._note("chance answers again", operation, sequence)
        completions[].append(
            Completion(
                operation,
                UInt32(sequence),
                Int32(s.draws.below(64)),
                s.draws.strikes(500),
                buffer,
            )
        )

    @always_inline
    def _note(self, what: StaticString, operation: Operation, value: Int = 0):
        if self.network.state[].trace.is_on:
            self.network.note(
                what,
                kind_name(operation.state[].kind),
                index_of(operation.state[].descriptor),
                value,
            )
