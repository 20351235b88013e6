"""Does what all kernel interfaces do alike: the steps that are not operations.

They are system calls that do not wait.
"""

from flare.runtime.backend import Backend
from flare.sys.clock import monotonic_ns, unix_seconds
from flare.sys.errno import EAGAIN
from flare.sys.listener import hold_connections_back
from flare.sys.socket import (
    open_socket,
    peer_socket_address,
    receive_octets,
    send_octets,
    set_socket_linger,
    shut_down_socket,
)
from flare.sys.socket_address import SocketAddressStorage
from flare.sys.socket_constants import (
    IPPROTO_TCP,
    MSG_DONTWAIT,
    MSG_PEEK,
    SHUT_WR,
    SOCK_STREAM,
)

from .kernel_listener import accept_and_answer, accept_waiting


trait KernelBackend(Backend):
    """A backend whose descriptors are those of the kernel."""

    def end_sending(self, descriptor: Int32):
        """Ends the stream to the peer (half-close).

        Args:
            descriptor: The socket.
        """
        _ = shut_down_socket(descriptor, SHUT_WR)

    def peer_address(
        self, descriptor: Int32, mut address: SocketAddressStorage
    ) -> Int:
        """Returns the address of the peer, from the kernel.

        Args:
            descriptor: The socket.
            address: Set to the address.

        Returns:
            0, or a negated errno.
        """
        return peer_socket_address(descriptor, address)

    def open_socket(self, family: Int) -> Int:
        """Opens a stream socket of the kernel.

        Args:
            family: `AF_INET` or `AF_INET6`.

        Returns:
            The descriptor, or a negated errno.
        """
        return open_socket(family, SOCK_STREAM, IPPROTO_TCP, non_blocking=False)

    def is_silent(self, descriptor: Int32) -> Bool:
        """Returns whether no octets and no end wait in the kernel.

        Args:
            descriptor: The socket.

        Returns:
            True if a receive would wait.
        """
        var octet = Array[UInt8, 1](fill=0)
        return (
            receive_octets(descriptor, Span(octet), MSG_PEEK | MSG_DONTWAIT)
            == -EAGAIN
        )

    def send_at_once(self, descriptor: Int32, octets: Span[UInt8, _]) -> Int:
        """Sends as many octets as the kernel takes.

        Args:
            descriptor: A connected socket without a send in flight.
            octets: The octets.

        Returns:
            The number of octets taken; EAGAIN without room, or another negated
            errno.
        """
        return send_octets(descriptor, octets, MSG_DONTWAIT)

    def receive_at_once(
        self, descriptor: Int32, into: Span[mut=True, UInt8, _]
    ) -> Int:
        """Receives octets that the kernel has.

        Args:
            descriptor: A connected socket without a receive in flight.
            into: The destination, not empty.

        Returns:
            The number of octets; 0 at the end of the peer's stream; EAGAIN if
            none has arrived, or another negated errno.
        """
        return receive_octets(descriptor, into, MSG_DONTWAIT)

    def accept_now(self, listener: Int32) -> Int:
        """Accepts one connection that waits already.

        Args:
            listener: A listening socket.

        Returns:
            The descriptor, or a negated errno.
        """
        return accept_waiting(listener)

    def hold_back(self, listener: Int32, held: Bool):
        """Drops segments that open a connection, or stops dropping them.

        Args:
            listener: A listening socket.
            held: Whether to hold new connections back.
        """
        # If the kernel has no socket filters, the queue still takes
        # connections.
        _ = hold_connections_back(listener, held)

    def turn_away(
        self,
        listener: Int32,
        mut spare: Int32,
        answer: Span[UInt8, ImmStaticOrigin],
    ) -> Int:
        """Accepts, answers and closes without waiting.

        Args:
            listener: A listening socket.
            spare: A descriptor to close and open again for it.
            answer: The only octets that the peer gets.

        Returns:
            0, or a negated errno.
        """
        return accept_and_answer(listener, spare, answer)

    def reset(self, descriptor: Int32):
        """Closes a descriptor with a reset.

        Args:
            descriptor: A connected socket.
        """
        # Closing without lingering drops what is unsent and sends the reset.
        _ = set_socket_linger(descriptor, 0)
        self.close(descriptor)

    def now_ns(self) -> Int:
        """Returns the time of the monotonic clock.

        Returns:
            The time in nanoseconds.
        """
        return monotonic_ns()

    def wall_seconds(self) -> Int:
        """Returns the time of the wall clock.

        Returns:
            Seconds since 1970-01-01 00:00:00 UTC.
        """
        return unix_seconds()
