"""Writes a response piece by piece, at the pace of the client."""

from flare.core import OctetPointer
from flare.io import Writer
from flare.message import Status
from flare.runtime.operation import FileRange

from .exchange import CUT_OFF, Exchange
from .stream_task import TaskStream


@fieldwise_init
struct ResponseStream(TaskStream, Writer):
    """Writes the content of a response while it is sent.

    The head is sent with the first octets. Written octets are sent when the
    function next waits or returns, or after the send in progress. When 64 KiB
    have collected, a write parks the fiber until the peer has taken some
    octets. The stream ends when its
    function returns. Later writes raise.

    When the server stops, it waits up to `shutdown_timeout_ms` for streams to
    end. An endless stream ends at once: its function is cancelled, its writes
    raise `http.stopping`, and the response ends properly. Event streams
    (`text/event-stream`) count as endless; `set_endless` changes that.
    """

    var _exchange: Exchange
    var _request_id: Int

    def __init__(out self, *, unsafe_exchange: Exchange):
        """Creates a handle to the stream of an exchange.

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
            An error `http.bad_content` if the status is 101.
        """
        if exchange[].stream.status == Status.SWITCHING_PROTOCOLS:
            raise Error("http.bad_content a 101 has none")
        return Self(unsafe_exchange=exchange)

    @no_inline
    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes as many octets as there is room for; waits for room for the
        first one.

        Args:
            octets: Octets of the content; dropped in the answer to HEAD.

        Returns:
            The number of octets taken, at least 1 unless `octets` is empty.

        Raises:
            An error `http.content cut off` if the peer left or does not read.
            An error `http.stream_over` after the function has returned. An
            error `http.stopping` if the stream is endless and the server
            stops. An error `http.bad_content` if the content exceeds its
            Content-Length.
        """
        self._check()
        if len(octets) == 0:
            return 0
        return self._write(
            octets.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin](),
            len(octets),
        )

    def write_text(self, text: StringSlice) raises:
        """Writes a whole text.

        Args:
            text: The text.

        Raises:
            The errors of `write`.
        """
        self.write_all(text.as_bytes())

    def flush(self) raises:
        """Sends the head if no octets were written yet.

        Head and octets are sent when the function next waits or returns;
        written octets need no flush.

        Raises:
            The errors of `write`.
        """
        self._check()
        _ = self._write(OctetPointer(unsafe_from_address=64), 0)

    def is_stopping(self) raises -> Bool:
        """Returns whether the server is stopping.

        Returns:
            True from the start of the shutdown.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        return self._exchange[].stream.stop.is_stopping

    def set_endless(self, endless: Bool) raises:
        """Sets whether the stream is endless, so that a stopping server ends
        it at once.

        Args:
            endless: True for a feed without an end. The default is True for
                `text/event-stream`, otherwise False.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        self._exchange[].stream.stop.is_endless = endless

    def set_trailer(self, name: StringSlice, value: StringSlice) raises:
        """Sets a trailer field, which follows the content (RFC 9110 section
        6.5).

        In HTTP/1.1, only chunked content can have trailers: they are dropped
        for an HTTP/1.0 client, or if the length was given. A field that belongs
        to the header section, such as Content-Type or Set-Cookie, breaks the
        response off.

        Args:
            name: The name, a token that is allowed in trailers.
            value: The value.

        Raises:
            An error `message.bad_header_name` or `message.bad_header_value`,
            and `http.stream_over`.
        """
        self._check()
        self._exchange[].stream.trailers.set(name, value)

    def _write(self, octets: OctetPointer, count: Int) raises -> Int:
        var filter = self._exchange[].stream.filter
        if filter:
            return filter.value().write(
                filter.value().owner,
                self._exchange.unsafe_bitcast[NoneType](),
                octets,
                count,
            )
        return carry(self._exchange, octets, count)

    def _check(self) raises:
        # The block may serve another request by now.
        if (
            self._exchange[].request_id != self._request_id
            or not self._exchange[].stream.is_open
        ):
            raise Error("http.stream_over the response has ended")


def carry_file(exchange: Exchange, file: FileRange) raises -> Int:
    """Sends octets of a file as content of a streamed response, by the carrier
    of the exchange.

    Args:
        exchange: The exchange.
        file: The octets; the file stays open until the function returns.

    Returns:
        The number of octets sent. After 0, write these octets: a filter or TLS
        needs them, or the kernel cannot send them.

    Raises:
        The errors of `carry`.
    """
    if not exchange[].carrier or exchange[].stream.filter:
        return 0
    return (
        exchange[]
        .host.functions[]
        .write_file(exchange.unsafe_bitcast[NoneType](), file)
    )


def carry(exchange: Exchange, octets: OctetPointer, count: Int) raises -> Int:
    """Passes octets of a streamed response to the exchange's carrier.

    Args:
        exchange: The exchange.
        octets: The octets; not in a local variable.
        count: Their number; 0 sends only the head.

    Returns:
        The number of octets taken.

    Raises:
        An error `http.content cut off` if the peer left or does not read, and
        `http.bad_content` if the content exceeds its Content-Length.
    """
    if not exchange[].carrier:
        raise Error(CUT_OFF, ": there is no connection")
    return (
        exchange[]
        .host.functions[]
        .write(exchange.unsafe_bitcast[NoneType](), octets, count)
    )
