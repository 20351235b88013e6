"""Says what a kernel interface must do for a reactor.

A backend completes operations; a readiness kernel does the system call when the
descriptor is ready and reports the same completion. Nothing above the reactor's
turn knows which backend runs.
"""

from flare.core import PointerTo
from flare.sys.socket_address import SocketAddressStorage

from .operation import Completion, Operation


@fieldwise_init
struct BackendKind(Equatable, TrivialRegisterPassable, Writable):
    """Names the kernel interfaces."""

    comptime AUTOMATIC = Self(0)
    """Rings (io_uring) where the kernel allows them, else epoll."""
    comptime IO_URING = Self(1)
    """Completions by shared rings (Linux 6.0 and newer)."""
    comptime EPOLL = Self(2)
    """Readiness by epoll (any Linux)."""
    comptime SIMULATED = Self(3)
    """No kernel: a network in memory whose faults a seed decides."""

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
"""Where backends put completions; the reactor dispatches them afterwards."""


trait Backend(TrivialRegisterPassable):
    """Carries operations to a kernel and back; a handle to heap state."""

    def submit(self, operation: Operation, completions: Completions):
        """Begins an operation.

        Args:
            operation: Marked as in flight; its block stays where it is until
                the final completion.
            completions: For what is complete at once.
        """
        ...

    def flush(self):
        """Hands the kernel what was submitted, without waiting."""
        ...

    def cancel(self, operation: Operation, completions: Completions):
        """Asks for the end of an operation in flight.

        Its final completion still comes: `CANCELLED`, or the result if it was
        faster.

        Args:
            operation: The operation.
            completions: For what is complete at once.
        """
        ...

    def collect(self, timeout_ms: Int, completions: Completions):
        """Waits for completions and appends them.

        Args:
            timeout_ms: The longest wait; 0 only looks, -1 waits for ever.
            completions: Where to put them.
        """
        ...

    def end_sending(self, descriptor: Int32):
        """Tells the peer that nothing more is sent; receiving goes on.

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

    def accept_now(self, listener: Int32) -> Int:
        """Accepts one connection that waits already; never waits for one.

        Args:
            listener: A listening socket that no operation uses.

        Returns:
            The descriptor; EAGAIN if nobody waits, however few descriptors are
            left, or another negated errno.
        """
        ...

    def hold_back(self, listener: Int32, held: Bool):
        """Decides whether new connections may enter a listen queue.

        What waits in it stays, and peers that are held back try again later.

        Args:
            listener: A listening socket.
            held: True to keep new connections off, False to let them come.
        """
        ...

    def turn_away(
        self,
        listener: Int32,
        mut spare: Int32,
        answer: Span[UInt8, ImmStaticOrigin],
    ) -> Int:
        """Accepts one connection, sends a short answer and closes it at once.

        What has arrived is read before, because closing with octets unread
        would take the answer from the peer.

        Args:
            listener: A listening socket that no operation uses.
            spare: A descriptor to close and open again for it, because no other
                may be left; -1 where there is none.
            answer: All that the peer gets.

        Returns:
            0 if somebody was answered, EAGAIN if nobody waits, or another
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
        """Closes a descriptor that no operation uses, so that the peer reads a
        reset instead of an end.

        Args:
            descriptor: A connected socket.
        """
        ...

    def now_ns(self) -> Int:
        """Reads the backend's clock.

        Returns:
            Nanoseconds of a clock that never goes back.
        """
        ...

    def wall_seconds(self) -> Int:
        """Reads the wall clock.

        Returns:
            Seconds since 1970-01-01 00:00:00 UTC.
        """
        ...

    def destroy(self):
        """Frees the backend; no operation is in flight."""
        ...
