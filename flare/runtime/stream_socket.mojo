"""Gives every type that owns a socket of a stream the same methods."""

from flare.io import Reader, Writer
from flare.net import SocketOptions

from .socket import FiberSocket


trait StreamSocket(Reader, SocketOptions, Writer):
    """Reads, writes and closes a stream that fibers wait on."""

    def unsafe_socket(self) -> FiberSocket:
        """Lends what fibers wait on.

        Returns:
            The socket.

        Safety:
            It lives as long as its owner, and only the owner destroys it.
        """
        ...

    def close(self):
        """Closes the connection; a second time nothing happens.

        Octets already written still go out, unless `set_linger` said
        otherwise. A fiber that reads or writes gets `net.closed`; the
        descriptor stays until it has gone on.
        """
        self.unsafe_socket().close()

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads what has come, and waits only while nothing has.

        Args:
            into: Where to put the octets; one call fills at most 64 KiB.

        Returns:
            How many came; 0 at the end, or if `into` is empty.

        Raises:
            Error: `net.timeout read`, `net.reset read`, `net.closed read`,
                `net.cancelled read` and the like.
        """
        return self.unsafe_socket().receive(into)

    def read[
        origin: Origin[mut=True]
    ](self, into: Pointer[UInt8, origin], count: Int) raises -> Int:
        """Reads what has come, and waits only while nothing has.

        Parameters:
            origin: Whose memory it is.

        Args:
            into: Where to put the octets.
            count: The most octets that may come.

        Returns:
            How many came; 0 at the end, or if `count` is 0 or less.

        Raises:
            Error: As the other `read` does.

        Safety:
            There is room for `count` octets.
        """
        return self.unsafe_socket().receive(
            Span(unsafe_ptr=into, length=max(count, 0))
        )

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes what the kernel has room for; waits only while it has none.

        Args:
            octets: What to write.

        Returns:
            How many were taken; `write_all` goes on until all are.

        Raises:
            Error: `net.timeout write`, `net.closed write`, `net.reset write`,
                `net.cancelled write` and the like.
        """
        return self.unsafe_socket().send(octets)

    def end_sending(self) raises:
        """Lets the peer read the end of the stream; reading goes on.

        Raises:
            Error: `net.closed shut_down`.
        """
        self.unsafe_socket().end_sending()

    def set_read_timeout_ms(self, timeout_ms: Optional[Int]):
        """Bounds each wait of `read`; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; none leaves it to `deadline_in`.
        """
        self.unsafe_socket().set_receive_timeout_ms(timeout_ms)

    def set_write_timeout_ms(self, timeout_ms: Optional[Int]):
        """Bounds each wait of `write`; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; none leaves it to `deadline_in`.
        """
        self.unsafe_socket().set_send_timeout_ms(timeout_ms)

    def is_open(self) -> Bool:
        """Returns whether `close` was not called yet.

        Returns:
            True also if only the peer has closed.
        """
        return self.unsafe_socket().is_open()

    def descriptor(self) -> Int32:
        """Lends the descriptor, for options.

        Returns:
            The descriptor, valid until the stream is closed; -1 if it is.
        """
        return self.unsafe_socket().descriptor()
