"""Provides a socket on which several fibers may wait.

One fiber may receive while another sends, even on different threads; a second
one in the same direction is refused. Descriptor and state are
reference-counted, so that neither disappears during an operation. Closing ends
the operations in flight, and the last user closes the descriptor. Its number
cannot refer to another socket before that.

While no fiber waits on it, no reactor knows the socket: it may change threads.
"""

from std.atomic import Atomic
from std.memory import unsafe_memcpy

from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy
from flare.net import NetError, SocketAddr
from flare.net.error import checked
from flare.sys.errno import EAGAIN, EBADF, EBUSY, ECONNABORTED, EINTR
from flare.sys.file import close_descriptor
from flare.sys.socket import set_non_blocking, shut_down_socket
from flare.sys.socket_address import AF_UNIX, SocketAddressStorage
from flare.sys.socket_constants import SHUT_RDWR, SHUT_WR

from .backend import BackendKind
from .current import current_reactor
from .fiber import NO_DEADLINE, Fiber
from .operation import (
    CANCELLED,
    POLL_IN,
    POLL_OUT,
    TIMED_OUT,
    Operation,
    OperationKind,
)
from .reactor import LARGE_BUFFER_OCTETS, RECEIVE_BUFFER_OCTETS
from .wait import waiting_fiber

comptime OPERATION_TIMEOUT_MS = 30_000
"""The default limit of one read, write or connect."""

comptime UNWAITED_MAX = 64
"""How many attempts in a row may succeed without waiting, before other ready
fibers run.
"""
comptime PAUSE_MS = 2
"""How long a fiber parks before it retries a call whose readiness is not
announced.
"""
comptime NOT_WAITED = Int.MIN
"""The deadline of an operation that has not waited yet."""

# The lower half counts who uses the descriptor, the upper half who uses the
# state.
comptime _DESCRIPTOR_USER: Int64 = 1
comptime _STATE_USER: Int64 = 1 << 32
comptime _DESCRIPTOR_USERS_MASK: Int64 = (1 << 32) - 1


struct SocketDirection(Movable):
    """The waiting fiber of one direction. Only the runtime uses it."""

    var reactor: Int64
    """The address of the reactor on which a fiber waits, 0 if none; atomic."""
    var operation: Optional[Operation]
    """The operation for which the fiber waits; only the reactor's thread reads
    it.
    """
    var timeout_ms: Int
    """The longest wait of one operation."""
    var unwaited: Int
    """Attempts since other ready fibers ran."""

    def __init__(out self):
        """Creates a direction without a waiting fiber."""
        self.reactor = 0
        self.operation = None
        self.timeout_ms = OPERATION_TIMEOUT_MS
        self.unwaited = 0


struct FiberSocketState(Movable):
    """The state of one socket. Only `FiberSocket` uses it."""

    var descriptor: Int32
    """The socket, in blocking mode, as io_uring needs it."""
    var users: Int64
    """Reference counts of both kinds of users; atomic."""
    var closed: Int64
    """1 after `close`; atomic."""
    var receiving: SocketDirection
    """The direction of receiving and accepting."""
    var sending: SocketDirection
    """The direction of sending and connecting."""
    var address: Optional[SocketAddr]
    """The address in errors: the peer's, or the listener's own."""

    def __init__(out self, descriptor: Int32, address: Optional[SocketAddr]):
        """Creates the state of an open socket.

        Args:
            descriptor: The socket.
            address: The address for errors.
        """
        self.descriptor = descriptor
        self.users = _DESCRIPTOR_USER + _STATE_USER
        self.closed = 0
        self.receiving = SocketDirection()
        self.sending = SocketDirection()
        self.address = address


@fieldwise_init
struct FiberSocket(TrivialRegisterPassable):
    """A handle to a socket on which fibers wait."""

    var state: PointerTo[FiberSocketState]
    """The heap state."""

    @staticmethod
    def create(descriptor: Int32, address: Optional[SocketAddr] = None) -> Self:
        """Takes ownership of a descriptor.

        Args:
            descriptor: A socket in blocking mode.
            address: The address for errors.

        Returns:
            A handle. Call `destroy` once when its owner is destroyed.
        """
        return Self(heap_create(FiberSocketState(descriptor, address)))

    def destroy(self):
        """Closes the socket and releases the owner's reference to the state."""
        self.close()
        self._release(_STATE_USER)

    def close(self):
        """Ends the operations in flight and closes. Further calls have no
        effect.

        A fiber that waits gets the error `net.closed`. Callable on any thread.
        """
        if Atomic.fetch_add(Pointer(to=self.state[].closed), 1) != 0:
            return
        self._interrupt(self.receiving())
        self._interrupt(self.sending())
        self._release(_DESCRIPTOR_USER)

    def interrupt_receive(self):
        """Ends the wait of a fiber of this thread: it gets `net.cancelled`, and
        no octet is lost."""
        _ = self._cancel_here(self.receiving())

    def end_sending(self) raises:
        """Ends the stream to the peer (half-close); receiving continues.

        Raises:
            NetError: `net.closed shut_down`.
        """
        var descriptor = self.descriptor()
        if descriptor >= 0 and is_simulated():
            current_reactor().value().end_sending(descriptor)
            return
        _ = checked(
            "shut_down",
            shut_down_socket(descriptor, SHUT_WR),
            self.state[].address,
        )

    def is_open(self) -> Bool:
        """Returns whether the socket is open.

        Returns:
            True from the creation to the first `close`.
        """
        return Atomic.load(Pointer(to=self.state[].closed)) == 0

    def descriptor(self) -> Int32:
        """Returns the descriptor, which the socket still owns.

        Returns:
            The descriptor, or -1 after `close`.
        """
        return self.state[].descriptor if self.is_open() else Int32(-1)

    def address(self) -> Optional[SocketAddr]:
        """Returns the address for errors.

        Returns:
            The address, if known.
        """
        return self.state[].address

    def set_receive_timeout_ms(self, timeout_ms: Optional[Int]):
        """Sets the longest wait of `receive`.

        Args:
            timeout_ms: The longest wait; `None` applies only the fiber's
                deadline.
        """
        self.state[].receiving.timeout_ms = timeout_ms.or_else(NO_DEADLINE)

    def set_send_timeout_ms(self, timeout_ms: Optional[Int]):
        """Sets the longest wait of `send`.

        Args:
            timeout_ms: The longest wait; `None` applies only the fiber's
                deadline.
        """
        self.state[].sending.timeout_ms = timeout_ms.or_else(NO_DEADLINE)

    @no_inline
    def receive(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Receives octets, and parks while there are none.

        The kernel writes only into the worker's memory. The octets are copied
        from there, at most 4 KiB or 64 KiB at once.

        Args:
            into: The destination.

        Returns:
            The number of octets; 0 at the end, or if `into` is empty.

        Raises:
            NetError: `net.timeout read`, `net.reset read` and others.
        """
        var fiber = self._begin(self.receiving(), "read")
        if len(into) == 0:
            self._end(self.receiving())
            return 0
        var operation = fiber.operation()
        operation.state[].kind = OperationKind.RECEIVE
        operation.state[].address = None
        operation.state[].length = len(into)
        var large = Optional[OctetPointer](None)
        if len(into) > RECEIVE_BUFFER_OCTETS:
            large = fiber.reactor().large_buffers().take()
            if large:
                operation.state[].kind = OperationKind.READ
                operation.state[].address = large
                operation.state[].length = min(len(into), LARGE_BUFFER_OCTETS)
        var result = fiber.perform(self.state[].receiving.timeout_ms)
        var source = large if large else operation.state[].buffer
        if result > 0 and source:
            unsafe_memcpy(
                dest=into.unsafe_ptr(),
                src=source.value(),
                count=min(result, len(into)),
            )
        if large:
            fiber.reactor().large_buffers().give(large.value())
        elif operation.state[].buffer:
            fiber.reactor().buffers().give(operation.state[].buffer.value())
        # Another thread shuts the socket down, which looks like its end.
        if result == 0 and not self.is_open():
            result = -EBADF
        return self.finish(self.receiving(), "read", result)

    @no_inline
    def send(self, octets: Span[UInt8, _]) raises -> Int:
        """Sends octets, and parks while the kernel has no room.

        Args:
            octets: The octets; the kernel reads them until this returns.

        Returns:
            The number of octets taken.

        Raises:
            NetError: `net.timeout write`, `net.closed write`, `net.reset
                write` and others.
        """
        var fiber = self._begin(self.sending(), "write")
        if len(octets) == 0:
            self._end(self.sending())
            return 0
        var operation = fiber.operation()
        operation.state[].kind = OperationKind.SEND
        operation.state[].address = (
            octets.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        operation.state[].length = len(octets)
        var result = fiber.perform(self.state[].sending.timeout_ms)
        operation.state[].address = None
        return self.finish(self.sending(), "write", result)

    def connect(self, peer: SocketAddr, timeout_ms: Int) raises:
        """Connects, and parks until the peer has answered.

        Args:
            peer: The peer's address; errors name it from now on.
            timeout_ms: The longest wait, or `NO_DEADLINE`.

        Raises:
            NetError: `net.refused connect`, `net.timeout connect` and others.
        """
        self.state[].address = peer
        self.connect(peer.to_storage(), timeout_ms)

    def connect(self, peer: SocketAddressStorage, timeout_ms: Int) raises:
        """Connects, and parks until the peer has answered.

        Args:
            peer: The peer's address, of any family.
            timeout_ms: The longest wait, or `NO_DEADLINE`.

        Raises:
            NetError: `net.refused connect`, `net.timeout connect` and others.
        """
        var fiber = self._begin(self.sending(), "connect")
        var is_unix = peer.family() == AF_UNIX
        var storage = heap_create(peer.copy())
        var operation = fiber.operation()
        var left_ms = timeout_ms
        var result: Int
        while True:
            operation.state[].kind = OperationKind.CONNECT
            operation.state[].address = storage.unsafe_bitcast[UInt8]()
            operation.state[].length = storage[].octet_count()
            result = fiber.perform(left_ms)
            if result == -EINTR:
                # io_uring waits for a Unix socket in a thread of the kernel,
                # which a cancel interrupts.
                if fiber.state[].present.expired:
                    result = TIMED_OUT
                if fiber.is_cancelled():
                    result = CANCELLED
            if result != -EAGAIN or not is_unix:
                break
            # The queue of the listener is full, and nothing tells when it no
            # longer is.
            result = self.pause(fiber, left_ms)
            if result < 0:
                break
        operation.state[].address = None
        heap_destroy(storage)
        _ = self.finish(self.sending(), "connect", result)

    def accept(self, timeout_ms: Int) raises -> Self:
        """Accepts a connection, and parks while there is none.

        Args:
            timeout_ms: The longest wait, or `NO_DEADLINE`.

        Returns:
            The connection.

        Raises:
            NetError: `net.timeout accept`, `net.no_descriptors accept` and
                others.
        """
        var fiber = self._begin(self.receiving(), "accept")
        var operation = fiber.operation()
        var result: Int
        while True:
            operation.state[].kind = OperationKind.ACCEPT
            operation.state[].address = None
            operation.state[].length = 0
            result = fiber.perform(timeout_ms)
            if result == -EAGAIN:
                # epoll left the listener in non-blocking mode.
                _ = set_non_blocking(self.state[].descriptor, False)
            elif result != -ECONNABORTED:
                break
        var accepted = self.finish(self.receiving(), "accept", result)
        var peer = SocketAddressStorage()
        var found = fiber.reactor().peer_address(Int32(accepted), peer)
        return Self.create(
            Int32(accepted),
            SocketAddr.from_storage(peer) if found
            == 0 else Optional[SocketAddr](None),
        )

    def begin_attempts(
        self, direction: PointerTo[SocketDirection], name: StaticString
    ) raises -> Fiber:
        """Occupies a direction, for calls that fail instead of waiting.

        Such a call needs no turn of the loop. So a fiber that makes many of
        them yields from time to time, and notices here its cancellation or its
        deadline.

        Args:
            direction: `receiving` or `sending`.
            name: The operation, for errors.

        Returns:
            The calling fiber. Call `finish` once.

        Raises:
            NetError: `net.closed`, `net.cancelled`, `net.timeout` and others;
                the direction is then free.
        """
        var fiber = self._begin(direction, name)
        if direction[].unwaited >= UNWAITED_MAX:
            direction[].unwaited = 0
            if not fiber.is_cancelled():
                fiber.yield_turn()
        var problem = 0
        if (
            fiber.is_cancelled()
            or fiber.state[].deadline_ms <= fiber.reactor().now_ms()
        ):
            problem = fiber.wait(0)
        elif not self.is_open():
            problem = -EBADF
        if problem < 0:
            _ = self.finish(direction, name, problem)
        direction[].unwaited += 1
        return fiber

    def wait_ready(
        self,
        direction: PointerTo[SocketDirection],
        fiber: Fiber,
        mut deadline_ms: Int,
    ) -> Int:
        """Parks until a call that failed instead of waiting may be tried
        again.

        Args:
            direction: The direction that `begin_attempts` occupied.
            fiber: The result of `begin_attempts`.
            deadline_ms: `NOT_WAITED` at the first wait of an operation; set to
                the operation's deadline.

        Returns:
            0, or a negated errno.
        """
        direction[].unwaited = 0
        var left_ms = direction[].timeout_ms
        if deadline_ms == NOT_WAITED:
            deadline_ms = max(
                fiber.reactor().deadline_after(left_ms), NOT_WAITED + 1
            )
        elif deadline_ms != NO_DEADLINE:
            left_ms = deadline_ms - fiber.reactor().refresh_now_ms()
        var operation = fiber.operation()
        operation.state[].kind = OperationKind.POLL
        operation.state[].address = None
        operation.state[].length = (
            POLL_IN if direction == self.receiving() else POLL_OUT
        )
        var result = fiber.perform(left_ms)
        return min(result, 0) if self.is_open() else -EBADF

    def pause(self, fiber: Fiber, mut left_ms: Int) -> Int:
        """Parks for a moment, if the kernel does not announce when to retry.

        Args:
            fiber: The calling fiber.
            left_ms: The remaining time of the operation.

        Returns:
            0, or a negated errno.
        """
        if left_ms <= 0:
            return TIMED_OUT
        if left_ms != NO_DEADLINE:
            left_ms -= PAUSE_MS
        if fiber.wait(PAUSE_MS) == CANCELLED:
            return CANCELLED
        return 0 if self.is_open() else -EBADF

    def finish(
        self,
        direction: PointerTo[SocketDirection],
        name: StaticString,
        result: Int,
        about: Optional[SocketAddr] = None,
    ) raises -> Int:
        """Frees a direction, and returns the result of its operation.

        Args:
            direction: The direction.
            name: The operation, for errors.
            result: The result of the operation.
            about: The address for its error; by default the socket's own.

        Returns:
            The result, not negative.

        Raises:
            NetError: The error for a negative result.
        """
        var address = about if about else self.state[].address
        var closed = not self.is_open()
        self._end(direction)
        if result < 0:
            raise NetError.from_errno(
                name, -EBADF if closed else result, address
            )
        return result

    @always_inline
    def receiving(self) -> PointerTo[SocketDirection]:
        """Returns the direction of receiving and accepting.

        Returns:
            The direction.
        """
        return Pointer(to=self.state[].receiving).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    @always_inline
    def sending(self) -> PointerTo[SocketDirection]:
        """Returns the direction of sending and connecting.

        Returns:
            The direction.
        """
        return Pointer(to=self.state[].sending).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def _begin(
        self, direction: PointerTo[SocketDirection], name: StaticString
    ) raises -> Fiber:
        if not self.is_open():
            raise NetError.from_errno(name, EBADF, self.state[].address)
        var fiber = waiting_fiber(name)
        _ = Atomic.fetch_add(
            Pointer(to=self.state[].users), _DESCRIPTOR_USER + _STATE_USER
        )
        var nobody = Int64(0)
        if not Atomic.compare_exchange(
            Pointer(to=direction[].reactor),
            nobody,
            Int64(Int(fiber.reactor().state)),
        ):
            var address = self.state[].address
            self._release(_DESCRIPTOR_USER + _STATE_USER)
            raise NetError.from_errno(name, EBUSY, address)
        var operation = fiber.operation()
        direction[].operation = operation
        operation.state[].descriptor = self.state[].descriptor
        operation.state[].multishot = False
        operation.state[].second = None
        operation.state[].buffer = None
        # The closing thread sets its mark first and looks for waiters then, so
        # one of the two sees the other.
        if not self.is_open():
            _ = self.finish(direction, name, -EBADF)
        return fiber

    def _end(self, direction: PointerTo[SocketDirection]):
        direction[].operation = None
        Atomic.store(Pointer(to=direction[].reactor), Int64(0))
        self._release(_DESCRIPTOR_USER + _STATE_USER)

    def _interrupt(self, direction: PointerTo[SocketDirection]):
        if not self._cancel_here(direction):
            _ = shut_down_socket(self.state[].descriptor, SHUT_RDWR)

    def _cancel_here(self, direction: PointerTo[SocketDirection]) -> Bool:
        var waiting_on = Atomic.load(Pointer(to=direction[].reactor))
        var reactor = current_reactor()
        if not reactor or Int64(Int(reactor.value().state)) != waiting_on:
            return waiting_on == 0
        reactor.value().cancel(direction[].operation.value())
        return True

    def _release(self, users: Int64):
        var descriptor = self.state[].descriptor
        var left = (
            Atomic.fetch_add(Pointer(to=self.state[].users), -users) - users
        )
        if (
            users & _DESCRIPTOR_USERS_MASK != 0
            and left & _DESCRIPTOR_USERS_MASK == 0
        ):
            _close(descriptor)
        if left >> 32 == 0:
            heap_destroy(self.state)


def _close(descriptor: Int32):
    # At once, not with the next turn: a script that has closed may never turn
    # its loop again, and the peer waits for the end.
    if is_simulated():
        current_reactor().value().close(descriptor)
    else:
        _ = close_descriptor(descriptor)


def is_simulated() -> Bool:
    """Returns whether the calling thread's loop runs on a simulated network.

    Returns:
        True if it does, and sockets are not the kernel's.
    """
    var reactor = current_reactor()
    return (
        Bool(reactor)
        and reactor.value().backend_kind() == BackendKind.SIMULATED
    )
