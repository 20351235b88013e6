"""Lets a function speak another protocol on the connection of a request."""

from flare.core import PointerTo
from flare.io import Reader, Writer
from flare.message import Status

from .exchange import Exchange
from .request import Request
from .stream_function import ExchangeTask


@fieldwise_init
struct UpgradedStream(Reader, TrivialRegisterPassable, Writer):
    """Is the connection behind a 101 (RFC 9110 section 7.8).

    Octets that came right behind the request are read first. The connection
    ends when the function returns: what it wrote is sent before. One fiber may
    read while another one writes.

    When the server stops, the read or the write that waits raises
    `http.stopping`, once, or else the next one that would have to wait; of a
    function that has never read, the next write.
    From then on both work as before until `shutdown_timeout_ms` has passed, so
    that the function can say goodbye in its protocol. Where it lets the error
    of a read out, the connection ends in order.
    """

    var _exchange: Exchange
    var _request_id: Int

    def __init__(out self, *, unsafe_exchange: Exchange):
        """Names the stream of an exchange whose connection was upgraded.

        Args:
            unsafe_exchange: The exchange.

        Safety:
            The block of the exchange outlives the stream.
        """
        self._exchange = unsafe_exchange
        self._request_id = unsafe_exchange[].request_id

    @no_inline
    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads what is there, and waits only while nothing is.

        Args:
            into: Where to put the octets.

        Returns:
            How many came, at most the length of `into`; 0 when the peer has
            ended its side, or if `into` is empty.

        Raises:
            An error `net.timeout read` after the read timeout,
            `http.stopping` once when the server stops, `http.content cut off`
            if the connection broke, and `http.stream_over` if the function has
            returned.
        """
        self._check()
        if len(into) == 0:
            return 0
        var carrier = self._exchange[].carrier.value()
        return carrier.functions[].read_upgraded(
            carrier.owner,
            into.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
            len(into),
        )

    @no_inline
    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes what there is room for, and waits only while there is none.

        Args:
            octets: What to write.

        Returns:
            How many were taken, at least 1 unless `octets` is empty.

        Raises:
            An error `http.content cut off` if the peer left or does not read,
            `http.stopping` once when the server stops, and `http.stream_over`
            if the function has returned.
        """
        self._check()
        if len(octets) == 0:
            return 0
        var carrier = self._exchange[].carrier.value()
        return carrier.functions[].write_upgraded(
            carrier.owner,
            octets.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin](),
            len(octets),
        )

    def is_stopping(self) raises -> Bool:
        """Returns whether the server stops.

        Returns:
            True from the beginning of the shutdown on.

        Raises:
            An error `http.stream_over` if the function has returned.
        """
        self._check()
        return self._exchange[].stream.is_stopping

    def set_read_timeout_ms(self, timeout_ms: Optional[Int]) raises:
        """Bounds each wait of `read`; the server's `idle_timeout_ms` at first.

        Args:
            timeout_ms: The longest wait; none waits for ever, for a protocol
                that asks its peer itself whether it is there.

        Raises:
            An error `http.stream_over` if the function has returned.
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


struct UpgradedConnection[F: def(Request, UpgradedStream) raises -> None](
    ExchangeTask
):
    """Calls the function that speaks another protocol.

    Parameters:
        F: The type of the function.
    """

    var function: Self.F
    """The function."""

    def __init__(out self, var function: Self.F):
        """Takes a function over.

        Args:
            function: The function.
        """
        self.function = function^

    @staticmethod
    def run(task: PointerTo[Self], exchange: Exchange) raises capturing:
        """Calls the function.

        Args:
            task: What to call.
            exchange: The exchange.

        Raises:
            What the function raises, and an error `http.bad_upgrade` if the
            status was changed.
        """
        if exchange[].stream.status != Status.SWITCHING_PROTOCOLS:
            # A middleware has changed it: there is no 101 to write behind.
            raise Error("http.bad_upgrade the status is not 101")
        task[].function(
            Request(unsafe_exchange=exchange),
            UpgradedStream(unsafe_exchange=exchange),
        )
