"""Defines the common methods of all types that own a socket of fibers."""

from flare.net import SocketOptions

from .socket import FiberSocket


trait SocketOwner(SocketOptions):
    """A type that owns a socket on which fibers wait."""

    def unsafe_socket(self) -> FiberSocket:
        """Returns the socket that fibers wait on, which this value still owns.

        Returns:
            The socket.

        Safety:
            Do not use it after this value is destroyed, and do not destroy it.
        """
        ...

    def is_open(self) -> Bool:
        """Returns whether the socket is open.

        Returns:
            True until `close`, even if the peer has closed.
        """
        return self.unsafe_socket().is_open()

    def descriptor(self) -> Int32:
        """Returns the descriptor, for options.

        Returns:
            The descriptor, valid until the socket is closed; -1 afterwards.
        """
        return self.unsafe_socket().descriptor()


trait DatagramOwner(SocketOwner):
    """A type that owns a datagram socket."""

    def set_receive_timeout_ms(self, timeout_ms: Optional[Int]):
        """Sets the longest wait for a datagram; 30 seconds by default.

        Args:
            timeout_ms: The longest wait. 0 receives only datagrams that have
                arrived; `None` applies only `deadline_in`.
        """
        self.unsafe_socket().set_receive_timeout_ms(timeout_ms)

    def set_send_timeout_ms(self, timeout_ms: Optional[Int]):
        """Sets the longest wait for room to send; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; `None` applies only `deadline_in`.
        """
        self.unsafe_socket().set_send_timeout_ms(timeout_ms)
