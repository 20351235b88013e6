"""Speaks another protocol on the connection of a request."""

from flare.io import Reader, Writer
from flare.message import Status

from .exchange import Exchange, MutOctets
from .stream_task import TaskStream


@fieldwise_init
struct UpgradedStream(Reader, TaskStream, Writer):
    """A connection after a 101 response (RFC 9110 section 7.8).

    Reads first return octets that followed the request. When the function
    returns, its output is sent and the connection ends. One fiber may read
    while another writes.

    When the server stops, `http.stopping` is raised once: by the read or write
    that waits, otherwise by the next one that has to wait. If the function has
    never read, the next write raises it. Reads and writes then work until
    `shutdown_timeout_ms` has passed, so that the function can end its protocol
    properly. If it does not catch the error of a read, the connection closes
    cleanly.
    """

    var _exchange: Exchange
    var _request_id: Int

    def __init__(out self, *, unsafe_exchange: Exchange):
        """Creates a handle to the upgraded connection of an exchange.

        Args:
            unsafe_exchange: The exchange.

        Safety:
            The exchange's memory outlives the stream.
        """
        self._exchange = unsafe_exchange
        self._request_id = unsafe_exchange[].request_id

    @staticmethod
    def begin(exchange: Exchange) raises -> Self:
        """Returns the stream of an exchange whose function is about to run.

        Args:
            exchange: The exchange.

        Returns:
            The stream.

        Raises:
            An error `http.bad_upgrade` if the status was changed.
        """
        if exchange[].stream.status != Status.SWITCHING_PROTOCOLS:
            # A middleware has changed the status, so there is no 101 to write
            # after.
            raise Error("http.bad_upgrade the status is not 101")
        return Self(unsafe_exchange=exchange)

    @no_inline
    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads the octets that are available; waits for the first one.

        Args:
            into: The destination.

        Returns:
            The number of octets, at most the length of `into`; 0 at the end of
            the peer's stream, or if `into` is empty.

        Raises:
            An error `net.timeout read` after the read timeout; `http.stopping`
            once when the server stops; `http.content cut off` if the
            connection broke; `http.stream_over` after the function has
            returned.
        """
        if len(into) == 0:
            self._check()
            return 0
        var octets = self.unsafe_await_octets()
        var taken = min(len(octets), len(into))
        into[:taken].copy_from(octets[:taken])
        self.consume_octets(taken)
        return taken

    def unsafe_await_octets(self, *, more_than: Int = 0) raises -> MutOctets:
        """Returns the received octets that are not consumed yet; waits until
        there are more than a number of them.

        A protocol reads them in place, and can unmask or decode them there.

        Args:
            more_than: The number of octets that do not suffice, at most 4,096:
                the receiver stores only a bounded number.

        Returns:
            The octets. At the end of the peer's stream, they may be no more
            than `more_than`.

        Raises:
            The errors of `read`.

        Safety:
            The view is used only until the next call of a method of this
            stream, and until the fiber next waits.
        """
        self._check()
        return (
            self._exchange[]
            .host.functions[]
            .await_octets(self._exchange.unsafe_bitcast[NoneType](), more_than)
        )

    def consume_octets(self, count: Int) raises:
        """Drops octets from the front of the unconsumed ones.

        Args:
            count: The number, at most as many as `unsafe_await_octets` last
                returned.

        Raises:
            An error `http.not_received` if the number is negative, or larger;
            `http.stream_over` after the function has returned.
        """
        self._check()
        (
            self._exchange[]
            .host.functions[]
            .consume_octets(self._exchange.unsafe_bitcast[NoneType](), count)
        )

    @no_inline
    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes as many octets as there is room for; waits for room for the
        first one.

        Args:
            octets: The octets.

        Returns:
            The number of octets taken, at least 1 unless `octets` is empty.

        Raises:
            An error `http.content cut off` if the peer left or does not read;
            `http.stopping` once when the server stops; `http.stream_over`
            after the function has returned.
        """
        self._check()
        if len(octets) == 0:
            return 0
        return (
            self._exchange[]
            .host.functions[]
            .write_upgraded(
                self._exchange.unsafe_bitcast[NoneType](),
                octets.unsafe_ptr()
                .unsafe_mut_cast[True]()
                .unsafe_origin_cast[MutUntrackedOrigin](),
                len(octets),
            )
        )

    def is_stopping(self) raises -> Bool:
        """Returns whether the server is stopping.

        Returns:
            True from the start of the shutdown.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        return self._exchange[].stream.is_stopping

    def set_read_timeout_ms(self, timeout_ms: Optional[Int]) raises:
        """Sets the longest wait of a `read`; the server's `idle_timeout_ms` by
        default.

        Args:
            timeout_ms: The longest wait; `None` for no limit, if the protocol
                itself probes its peer.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        self._exchange[].stream.read_timeout_ms = timeout_ms.or_else(Int.MAX)

    def _check(self) raises:
        # The block may serve another request by now.
        if (
            self._exchange[].request_id != self._request_id
            or not self._exchange[].stream.is_open
            or not self._exchange[].carrier
        ):
            raise Error("http.stream_over the connection has ended")
