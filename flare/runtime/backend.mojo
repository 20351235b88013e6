"""Defines the operations of a kernel interface for a reactor.

A backend completes operations. A readiness backend makes the system call when
the descriptor is ready, and reports the same completion. Only the reactor's
turn knows which backend runs.
"""

from flare.core import PointerTo
from flare.sys.socket_address import SocketAddressStorage

from .operation import Completion, Operation


@fieldwise_init
struct BackendKind(Equatable, TrivialRegisterPassable, Writable):
    """The kernel interfaces."""

    comptime AUTOMATIC = Self(0)
    """The best one: io_uring if the kernel allows it, otherwise epoll."""
    comptime IO_URING = Self(1)
    """Completions by shared rings (Linux 6.0 and newer)."""
    comptime EPOLL = Self(2)
    """Readiness by epoll (any Linux)."""
    comptime SIMULATED = Self(3)
    """No kernel: a network in memory with faults chosen by a seed."""

    var value: UInt8
    """The number of the kind."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: The destination.
        """
        if self == Self.IO_URING:
            writer.write("io_uring")
        elif self == Self.EPOLL:
            writer.write("epoll")
        elif self == Self.SIMULATED:
            writer.write("simulated")
        else:
            writer.write("automatic")


comptime Completions = PointerTo[List[Completion]]
"""The list in which backends collect completions; the reactor dispatches them
later.
"""


trait Backend(TrivialRegisterPassable):
    """Passes operations to a kernel interface; a handle to heap state."""

    def submit(self, operation: Operation, completions: Completions):
        """Starts an operation.

        Args:
            operation: The operation, marked as in flight. Its block stays in
                place until the final completion.
            completions: The list for operations that complete at once.
        """
        ...

    def flush(self):
        """Passes submitted operations to the kernel, without waiting."""
        ...

    def cancel(self, operation: Operation, completions: Completions):
        """Cancels an operation in flight.

        Its final completion still arrives: `CANCELLED`, or the result if that
        was faster.

        Args:
            operation: The operation.
            completions: The list for operations that complete at once.
        """
        ...

    def collect(self, timeout_ms: Int, completions: Completions):
        """Waits for completions and appends them.

        Args:
            timeout_ms: The longest wait; 0 does not wait, -1 waits without
                limit.
            completions: The list to append to.
        """
        ...

    def end_sending(self, descriptor: Int32):
        """Ends the stream to the peer (half-close); receiving continues.

        Args:
            descriptor: A connected socket without a send in flight.
        """
        ...

    def peer_address(
        self, descriptor: Int32, mut address: SocketAddressStorage
    ) -> Int:
        """Reads the address of the peer.

        Args:
            descriptor: A connected socket.
            address: Set to the address.

        Returns:
            0, or a negated errno.
        """
        ...

    def open_socket(self, family: Int) -> Int:
        """Opens a stream socket that is to be connected.

        Args:
            family: `AF_INET` or `AF_INET6`.

        Returns:
            The descriptor, or a negated errno.
        """
        ...

    def is_silent(self, descriptor: Int32) -> Bool:
        """Returns whether the peer has sent no octets that were not received, and
        no end.

        Args:
            descriptor: A connected socket.

        Returns:
            True if a receive would wait.
        """
        ...

    def send_at_once(self, descriptor: Int32, octets: Span[UInt8, _]) -> Int:
        """Sends as many octets as there is room for, without waiting.

        Args:
            descriptor: A connected socket without a send in flight.
            octets: The octets.

        Returns:
            The number of octets taken; EAGAIN without room, or another negated
            errno.
        """
        ...

    def receive_at_once(
        self, descriptor: Int32, into: Span[mut=True, UInt8, _]
    ) -> Int:
        """Receives octets that have arrived, without waiting.

        Args:
            descriptor: A connected socket without a receive in flight.
            into: The destination, not empty.

        Returns:
            The number of octets; 0 at the end of the peer's stream; EAGAIN if
            none has arrived, or another negated errno.
        """
        ...

    def accept_now(self, listener: Int32) -> Int:
        """Accepts a connection that is already waiting; never waits for one.

        Args:
            listener: A listening socket that no operation uses.

        Returns:
            The descriptor; EAGAIN if no client is waiting, even if no
            descriptor is left; or another negated errno.
        """
        ...

    def hold_back(self, listener: Int32, held: Bool):
        """Sets whether new connections may enter a listen queue.

        Connections in the queue stay. Clients that are held back try again
        later.

        Args:
            listener: A listening socket.
            held: Whether to hold new connections back.
        """
        ...

    def turn_away(
        self,
        listener: Int32,
        mut spare: Int32,
        answer: Span[UInt8, ImmStaticOrigin],
    ) -> Int:
        """Accepts a connection, sends a short answer and closes at once.

        It first reads octets that have arrived. Otherwise closing would reset
        the connection, and the client would lose the answer.

        Args:
            listener: A listening socket that no operation uses.
            spare: A reserved descriptor to close and reopen if no other is
                left; -1 for none.
            answer: The answer.

        Returns:
            0 if a client was answered, EAGAIN if none is waiting, or another
            negated errno.
        """
        ...

    def close(self, descriptor: Int32):
        """Closes a descriptor that no operation uses.

        Args:
            descriptor: The descriptor.
        """
        ...

    def reset(self, descriptor: Int32):
        """Closes a descriptor that no operation uses, and resets the
        connection.

        Args:
            descriptor: A connected socket.
        """
        ...

    def now_ns(self) -> Int:
        """Returns the time of the backend's clock.

        Returns:
            Nanoseconds of a clock that never goes back.
        """
        ...

    def wall_seconds(self) -> Int:
        """Returns the time of the wall clock.

        Returns:
            Seconds since 1970-01-01 00:00:00 UTC.
        """
        ...

    def destroy(self):
        """Frees the backend; no operation is in flight."""
        ...


@always_inline
def complete(
    operation: Operation, result: Int, more: Bool, completions: Completions
):
    """Appends the completion of an operation without a buffer.

    Args:
        operation: The operation, in flight.
        result: A number, a descriptor or a negated errno.
        more: Whether further completions of the submission follow.
        completions: The list.
    """
    completions[].append(
        Completion(
            operation, operation.state[].sequence, Int32(result), more, None
        )
    )
