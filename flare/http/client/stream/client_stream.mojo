"""Writes the content of a request, and reads that of its response, piece by
piece.
"""

from flare.core import PointerTo
from flare.io import Reader, Writer
from flare.message import HeaderMap
from flare.sys.driver import mut_octet_view, octet_view, text_view

from ...client_error import raise_for_status
from ...timings import ExchangeTimings
from ...version import HttpVersion
from . import streaming
from .stream_state import ClientStreamState


struct ClientStream(Movable, Reader, Writer):
    """One exchange, from `HttpClient.open` or `HttpClient.stream`.

    Write the content and call `end`, then read the response with `status`,
    `headers` and `read`. One fiber may write while another reads. Each wait has
    the limit of the client's configuration. Contents may have any length.

    After the response was read to its end, the connection returns to the
    client's pool. If the stream is dropped earlier, the connection is closed.
    """

    var _state: PointerTo[ClientStreamState]

    def __init__(out self, *, unsafe_state: PointerTo[ClientStreamState]):
        """Takes ownership of an exchange.

        Args:
            unsafe_state: The exchange.

        Safety:
            No other code frees it.
        """
        self._state = unsafe_state

    def __deinit__(deinit self):
        """Closes the connection, unless the whole response was read."""
        streaming.drop(self._state)

    def close(self):
        """Abandons the exchange. Further calls have no effect."""
        streaming.close(self._state)

    def give_up(self, cause: Error):
        """Abandons the exchange, and reports the cause to the client's
        `CallLog`.

        Args:
            cause: The program's error.
        """
        streaming.give_up(self._state, cause)

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Sends octets of the content; waits while the kernel has no room.

        Args:
            octets: The octets.

        Returns:
            The number of octets written, always all.

        Raises:
            Error: `client.closed send` and others. If the server has answered
                already, `status` returns its status.
        """
        streaming.write(self._state, octet_view(octets))
        return len(octets)

    def begin_content(self) raises -> Bool:
        """Sends the head, and waits for 100 (Continue) if it was requested.

        Returns:
            True if the server wants the content; False if it has answered
            without it.

        Raises:
            Error: `client.closed send` and others.
        """
        return streaming.begin_content(self._state)

    def set_trailer(self, name: StringSlice, value: StringSlice) raises:
        """Sets a trailer field, which follows the content if that is chunked.

        Args:
            name: The name.
            value: The value.

        Raises:
            An error `message.bad_header_name` or `message.bad_header_value`.
        """
        streaming.set_trailer(self._state, text_view(name), text_view(value))

    def end(self) raises:
        """Ends the content. Further calls have no effect.

        Raises:
            Error: `client.bad_request send` if the content is shorter than
                announced, and the errors of `write`.
        """
        streaming.end(self._state)

    def status(self) raises -> Int:
        """Waits for the head of the response, and returns the status.

        Returns:
            The status.

        Raises:
            Error: `client.timeout head`, `client.protocol head` and others.
        """
        streaming.receive_head(self._state)
        return self._state[].response.status

    def raise_for_status(self) raises:
        """Waits for the head of the response, and raises an error if the
        status is 400 or above.

        Raises:
            An error `client.status answer status=404: Not Found` or similar,
            and the errors of `status`.
        """
        raise_for_status(self.status())

    def version(self) raises -> HttpVersion:
        """Waits for the head of the response, and returns the server's version
        of HTTP.

        Returns:
            The version.

        Raises:
            Error: As `status` does.
        """
        streaming.receive_head(self._state)
        return self._state[].response.version

    def headers(self) raises -> ref[origin_of(self)] HeaderMap:
        """Waits for the head of the response, and returns its fields.

        Returns:
            The fields, which live as long as the stream.

        Raises:
            Error: As `status` does.
        """
        streaming.receive_head(self._state)
        return (
            Pointer(to=self._state[].response.headers)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin_of(self)]()[]
        )

    def url(self) -> String:
        """Returns the URL of the present request, after the redirections that
        were followed.

        Returns:
            The URL.
        """
        return self._state[].owner.call[].url_text()

    def timings(self) -> ExchangeTimings:
        """Returns the durations of the phases.

        Returns:
            The durations of the phases that have ended.
        """
        return self._state[].owner.call[].timings

    def decoded_from(self) raises -> String:
        """Returns the content codings that are removed while the content is
        read.

        The `headers` then contain neither Content-Encoding nor Content-Length.

        Returns:
            The value of Content-Encoding; empty if the content is read
            unchanged.

        Raises:
            Error: As `status` does.
        """
        streaming.receive_head(self._state)
        return self._state[].response.codings

    def trailers(self) -> HeaderMap:
        """Returns the trailer section of the response.

        Returns:
            The fields; none before all was read.
        """
        return self._state[].response.trailers.copy()

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads content of the response; waits for its first octet.

        Args:
            into: The destination.

        Returns:
            The number of octets; 0 at the end, or if `into` is empty.

        Raises:
            Error: `client.closed content`, `client.timeout content`,
                `client.encoding content` and others: the content read before is
                then incomplete. `client.over content` if the exchange was
                abandoned or has failed before.
        """
        return streaming.read(self._state, mut_octet_view(into))

    def has_received(self) -> Bool:
        """Returns whether octets after the head have arrived.

        Returns:
            True if `read` would find content, its end, a failure or framing
            octets at once. False before the head was read.
        """
        return streaming.has_received(self._state)

    def read_all(self, octets_max: Int) raises -> List[UInt8]:
        """Reads the rest of the content.

        Args:
            octets_max: The maximum number of octets.

        Returns:
            The octets.

        Raises:
            Error: `client.too_large content`, and the errors of `read`.
        """
        return streaming.read_all(self._state, octets_max)

    def unsafe_state(self) -> PointerTo[ClientStreamState]:
        """Returns the state of the exchange, for code of this package.

        Returns:
            The state.

        Safety:
            It lives as long as this stream.
        """
        return self._state
