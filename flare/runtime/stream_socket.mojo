"""Defines the common methods of all stream sockets."""

from flare.io import Reader, Writer

from .socket_owner import SocketOwner


trait StreamSocket(Reader, SocketOwner, Writer):
    """A stream on which fibers wait: read, write, close."""

    def close(self):
        """Closes the connection. Further calls have no effect.

        The kernel still sends written octets, unless `set_linger` changes that.
        A fiber that reads or writes gets `net.closed`, and the descriptor is
        closed afterwards.
        """
        self.unsafe_socket().close()

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads octets that have arrived; waits for the first one.

        Args:
            into: The destination; one call fills at most 64 KiB.

        Returns:
            The number of octets; 0 at the end, or if `into` is empty.

        Raises:
            Error: `net.timeout read`, `net.reset read`, `net.closed read`,
                `net.cancelled read` and others.
        """
        return self.unsafe_socket().receive(into)

    def read[
        origin: Origin[mut=True]
    ](self, into: Pointer[UInt8, origin], count: Int) raises -> Int:
        """Reads octets that have arrived; waits for the first one.

        Parameters:
            origin: The origin of the memory.

        Args:
            into: The destination.
            count: The most octets to read.

        Returns:
            The number of octets; 0 at the end, or if `count` is 0 or less.

        Raises:
            Error: As the other `read` does.

        Safety:
            There is room for `count` octets.
        """
        return self.unsafe_socket().receive(
            Span(unsafe_ptr=into, length=max(count, 0))
        )

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes as many octets as the kernel has room for; waits for room for
        the first one.

        Args:
            octets: The octets.

        Returns:
            The number of octets taken; `write_all` repeats until all are.

        Raises:
            Error: `net.timeout write`, `net.closed write`, `net.reset write`,
                `net.cancelled write` and others.
        """
        return self.unsafe_socket().send(octets)

    def end_sending(self) raises:
        """Ends the stream to the peer (half-close); reading continues.

        Raises:
            Error: `net.closed shut_down`.
        """
        self.unsafe_socket().end_sending()

    def set_read_timeout_ms(self, timeout_ms: Optional[Int]):
        """Sets the longest wait of a `read`; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; `None` applies only `deadline_in`.
        """
        self.unsafe_socket().set_receive_timeout_ms(timeout_ms)

    def set_write_timeout_ms(self, timeout_ms: Optional[Int]):
        """Sets the longest wait of a `write`; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; `None` applies only `deadline_in`.
        """
        self.unsafe_socket().set_send_timeout_ms(timeout_ms)
