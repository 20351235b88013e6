"""Lets a function write a response bit by bit, at the pace of its reader."""

from flare.core import OctetPointer
from flare.core import PointerTo
from flare.io import Writer
from flare.message import Status

from .exchange import CUT_OFF, Exchange
from .request import Request
from .stream_function import ExchangeTask


@fieldwise_init
struct ResponseStream(TrivialRegisterPassable, Writer):
    """Takes the content of a response while it is sent.

    The head goes out with the first octets. What is written goes out at once
    if nothing else is on its way, else together with what gathers meanwhile;
    when 64 KiB have gathered, a write parks the fiber until the peer has taken
    some. A stream ends when its function returns: used later, it raises.

    A server that stops lets a stream come to its end for
    `shutdown_timeout_ms`. A stream without an end of its own ends at once: its
    function is cancelled, its writes raise `http.stopping`, and the response
    ends in order. Event streams (`text/event-stream`) are taken for such, and
    `set_endless` says so of others.
    """

    var _exchange: Exchange
    var _request_id: Int

    def __init__(out self, *, unsafe_exchange: Exchange):
        """Names the stream of an exchange whose response is streamed.

        Args:
            unsafe_exchange: The exchange.

        Safety:
            The block of the exchange outlives the stream.
        """
        self._exchange = unsafe_exchange
        self._request_id = unsafe_exchange[].request_id

    @no_inline
    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes what there is room for, and waits only while there is none.

        Args:
            octets: Octets of the content; dropped in the answer to HEAD.

        Returns:
            How many were taken, at least 1 unless `octets` is empty.

        Raises:
            An error `http.content cut off` if the peer left or does not read,
            `http.stream_over` if the function has returned, `http.stopping` if
            the stream is endless and the server stops, and `http.bad_content`
            if there is more than Content-Length says.
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
            What `write` raises.
        """
        self.write_all(text.as_bytes())

    def flush(self) raises:
        """Lets the head go where nothing was written yet.

        Octets need no flush: they are never held back.

        Raises:
            What `write` raises.
        """
        self._check()
        _ = self._write(OctetPointer(unsafe_from_address=64), 0)

    def is_stopping(self) raises -> Bool:
        """Returns whether the server stops.

        Returns:
            True from the beginning of the shutdown on.

        Raises:
            An error `http.stream_over` if the function has returned.
        """
        self._check()
        return self._exchange[].stream.is_stopping

    def set_endless(self, endless: Bool) raises:
        """Says whether the stream has no end of its own, so that a server which
        stops ends it at once.

        Args:
            endless: True for a feed that goes on for ever; at first True for
                `text/event-stream` and False for everything else.

        Raises:
            An error `http.stream_over` if the function has returned.
        """
        self._check()
        self._exchange[].stream.is_endless = endless

    def set_trailer(self, name: StringSlice, value: StringSlice) raises:
        """Sets a field that follows the content (RFC 9110 section 6.5).

        It is sent where the content is chunked: not to an HTTP/1.0 client, and
        not where the length was given.

        Args:
            name: The name, a token that may stand in a trailer section.
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


def carry(exchange: Exchange, octets: OctetPointer, count: Int) raises -> Int:
    """Hands octets of a streamed response to whoever carries them.

    Args:
        exchange: The exchange.
        octets: The octets, not in a local.
        count: How many; 0 only lets the head go.

    Returns:
        How many were taken.

    Raises:
        An error `http.content cut off` if the peer left or does not read, and
        `http.bad_content` if there is more than Content-Length says.
    """
    var carrier = exchange[].carrier
    if not carrier:
        raise Error(CUT_OFF, ": there is no connection")
    return (
        carrier.value().functions[].write(carrier.value().owner, octets, count)
    )


struct StreamedResponse[F: def(Request, ResponseStream) raises -> None](
    ExchangeTask
):
    """Calls the function that writes a response.

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
            What the function raises, and an error `http.bad_content` if the
            status is 101.
        """
        if exchange[].stream.status == Status.SWITCHING_PROTOCOLS:
            raise Error("http.bad_content a 101 has none")
        task[].function(
            Request(unsafe_exchange=exchange),
            ResponseStream(unsafe_exchange=exchange),
        )
