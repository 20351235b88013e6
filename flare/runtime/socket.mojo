"""Lets fibers wait on a socket that several of them may hold.

One fiber may receive while another sends, also on different threads; a second
one in the same direction is refused. The descriptor and the state are counted
by their users, so that neither goes away under an operation: closing ends the
operations in flight, and whoever ends last closes the descriptor. Its number
cannot name another socket before that.

No reactor knows the socket while nothing waits on it (operations of fibers are
transient), so it may be used on one thread now and on another later.
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
"""The longest wait of one read, write or connect unless the program chooses
another."""

comptime UNWAITED_MAX = 64
"""Attempts in a row that need no wait, before everything else that is ready
runs."""
comptime PAUSE_MS = 2
"""How long a fiber parks before it tries again what nothing announces."""
comptime NOT_WAITED = Int.MIN
"""The deadline of an operation that has not waited yet."""

# The lower half counts who uses the descriptor, the upper half who uses the
# state.
comptime _DESCRIPTOR_USER: Int64 = 1
comptime _STATE_USER: Int64 = 1 << 32
comptime _DESCRIPTOR_USERS_MASK: Int64 = (1 << 32) - 1


struct SocketDirection(Movable):
    """Holds who waits in one direction. Only the runtime touches it."""

    var reactor: Int64
    """The address of the reactor on which a fiber waits, 0 if none; atomic."""
    var operation: Optional[Operation]
    """What the fiber waits for; only the reactor's thread reads it."""
    var timeout_ms: Int
    """The longest wait of one operation."""
    var unwaited: Int
    """Attempts since everything else that was ready ran."""

    def __init__(out self):
        """Knows nobody who waits."""
        self.reactor = 0
        self.operation = None
        self.timeout_ms = OPERATION_TIMEOUT_MS
        self.unwaited = 0


struct FiberSocketState(Movable):
    """Holds one socket. Only `FiberSocket` touches it."""

    var descriptor: Int32
    """The socket, in blocking mode: io_uring wants it so."""
    var users: Int64
    """Counts of both kinds of users; atomic."""
    var closed: Int64
    """1 after `close`; atomic."""
    var receiving: SocketDirection
    """Who receives or accepts."""
    var sending: SocketDirection
    """Who sends or connects."""
    var address: Optional[SocketAddr]
    """The peer, or the address of a listener: what errors name."""

    def __init__(out self, descriptor: Int32, address: Optional[SocketAddr]):
        """Makes the state of an open socket.

        Args:
            descriptor: The socket.
            address: What errors name.
        """
        self.descriptor = descriptor
        self.users = _DESCRIPTOR_USER + _STATE_USER
        self.closed = 0
        self.receiving = SocketDirection()
        self.sending = SocketDirection()
        self.address = address


@fieldwise_init
struct FiberSocket(TrivialRegisterPassable):
    """Names a socket that fibers wait on."""

    var state: PointerTo[FiberSocketState]
    """The heap state."""

    @staticmethod
    def create(descriptor: Int32, address: Optional[SocketAddr] = None) -> Self:
        """Takes over a descriptor.

        Args:
            descriptor: A socket in blocking mode.
            address: The address that errors name.

        Returns:
            A handle; call `destroy` once when its owner goes away.
        """
        return Self(heap_create(FiberSocketState(descriptor, address)))

    def destroy(self):
        """Closes the socket and gives the owner's hold on the state up."""
        self.close()
        self._release(_STATE_USER)

    def close(self):
        """Ends the operations in flight and closes; a second time does nothing.

        A fiber that waits gets the error `net.closed`. May be called on any
        thread.
        """
        if Atomic.fetch_add(Pointer(to=self.state[].closed), 1) != 0:
            return
        self._interrupt(self.receiving())
        self._interrupt(self.sending())
        self._release(_DESCRIPTOR_USER)

    def end_sending(self) raises:
        """Lets the peer read the end of the stream; receiving goes on.

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
        """Returns whether `close` was not called yet.

        Returns:
            True from the creation to the first `close`.
        """
        return Atomic.load(Pointer(to=self.state[].closed)) == 0

    def descriptor(self) -> Int32:
        """Lends the descriptor.

        Returns:
            The descriptor, or -1 after `close`.
        """
        return self.state[].descriptor if self.is_open() else Int32(-1)

    def address(self) -> Optional[SocketAddr]:
        """Tells which address errors name.

        Returns:
            The address, if one is known.
        """
        return self.state[].address

    def set_receive_timeout_ms(self, timeout_ms: Optional[Int]):
        """Bounds each wait of `receive`.

        Args:
            timeout_ms: The longest wait; none leaves it to the fiber's
                deadline.
        """
        self.state[].receiving.timeout_ms = timeout_ms.or_else(NO_DEADLINE)

    def set_send_timeout_ms(self, timeout_ms: Optional[Int]):
        """Bounds each wait of `send`.

        Args:
            timeout_ms: The longest wait; none leaves it to the fiber's
                deadline.
        """
        self.state[].sending.timeout_ms = timeout_ms.or_else(NO_DEADLINE)

    @no_inline
    def receive(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Receives octets, and parks while there are none.

        The kernel writes only into memory of the worker: the octets are copied
        from there, at most 4 KiB or 64 KiB at once.

        Args:
            into: Where to put them.

        Returns:
            How many came; 0 at the end, or if `into` is empty.

        Raises:
            NetError: `net.timeout read`, `net.reset read` and the like.
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
        # Another thread ends a wait by shutting the socket down, which looks
        # like the end of the stream.
        if result == 0 and not self.is_open():
            result = -EBADF
        return self.finish(self.receiving(), "read", result)

    @no_inline
    def send(self, octets: Span[UInt8, _]) raises -> Int:
        """Sends octets, and parks while the kernel has no room for any.

        Args:
            octets: What to send; the kernel reads it until this returns.

        Returns:
            How many were taken.

        Raises:
            NetError: `net.timeout write`, `net.closed write`, `net.reset write`
                and the like.
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
            peer: The address; errors name it from now on.
            timeout_ms: The longest wait, or `NO_DEADLINE`.

        Raises:
            NetError: `net.refused connect`, `net.timeout connect` and the like.
        """
        self.state[].address = peer
        self.connect(peer.to_storage(), timeout_ms)

    def connect(self, peer: SocketAddressStorage, timeout_ms: Int) raises:
        """Connects, and parks until the peer has answered.

        Args:
            peer: The address, of any family.
            timeout_ms: The longest wait, or `NO_DEADLINE`.

        Raises:
            NetError: `net.refused connect`, `net.timeout connect` and the like.
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
            NetError: `net.timeout accept`, `net.no_descriptors accept` and the
                like.
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
        """Takes a direction for calls that fail where they would wait.

        Such a call needs no turn of the loop, so a fiber that makes one after
        another yields from time to time, and notices here that it is cancelled
        or that its deadline has passed.

        Args:
            direction: `receiving` or `sending`.
            name: The operation, for errors.

        Returns:
            The calling fiber; call `finish` once.

        Raises:
            NetError: `net.closed`, `net.cancelled`, `net.timeout` and the like;
                then the direction is free.
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
        """Parks until a call that would have waited may be tried again.

        Args:
            direction: What `begin_attempts` took.
            fiber: What it returned.
            deadline_ms: `NOT_WAITED` at the first wait of an operation; the end
                of its time from then on.

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
        """Parks for a moment where the kernel does not tell when a call may be
        tried again.

        Args:
            fiber: The calling fiber.
            left_ms: The time of the operation that is left.

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
        """Returns a direction back.

        Args:
            direction: What was taken.
            name: The operation, for errors.
            result: What it reported.
            about: The address that its error names; the socket's own by
                default.

        Returns:
            The result, not negative.

        Raises:
            NetError: What a negative result stands for.
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
        """Names the direction of who receives or accepts.

        Returns:
            The direction.
        """
        return Pointer(to=self.state[].receiving).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    @always_inline
    def sending(self) -> PointerTo[SocketDirection]:
        """Names the direction of who sends or connects.

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
        var waiting_on = Atomic.load(Pointer(to=direction[].reactor))
        if waiting_on == 0:
            return
        var reactor = current_reactor()
        if reactor and Int64(Int(reactor.value().state)) == waiting_on:
            reactor.value().cancel(direction[].operation.value())
        else:
            _ = shut_down_socket(self.state[].descriptor, SHUT_RDWR)

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
    """Returns whether the sockets of the calling thread's loop are not those
    of the kernel.

    Returns:
        True on a simulated network.
    """
    var reactor = current_reactor()
    return (
        Bool(reactor)
        and reactor.value().backend_kind() == BackendKind.SIMULATED
    )
