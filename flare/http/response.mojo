"""Defines responses: those that a handler builds, and those that a client
receives.

A response is small and moves for free: its header map is two pointers, and its
content is moved, not copied, if possible.
"""

from flare.json import Value, loads
from flare.message import Cookie, CookiePrefix, HeaderMap, Status

from .body import Body
from .client_error import raise_for_status
from .request import Request
from .response_stream import ResponseStream
from .stream_function import StreamFunction
from .stream_task import StreamTask
from .timings import ExchangeTimings
from .version import HttpVersion
from .upgraded_stream import UpgradedStream


struct Response(Movable):
    """A response: status, header fields and content."""

    var status: Int
    """The status code (RFC 9110 section 15)."""
    var headers: HeaderMap
    """The header fields. Framing fields are added when the response is sent."""
    var body: Body
    """The content."""

    def __init__(out self, status: Int = Status.OK, var body: Body = Body()):
        """Creates a response without header fields.

        Args:
            status: The status code, 200 to 599.
            body: The content.
        """
        self.status = status
        self.headers = HeaderMap()
        self.body = body^

    @staticmethod
    def stream[
        F: def(Request, ResponseStream) raises -> None
    ](
        var function: F,
        *,
        status: Int = Status.OK,
        length: Optional[Int] = None,
        content_type: StringSlice = "application/octet-stream",
    ) raises -> Self:
        """Creates a response whose content a function writes while it is sent.

        The function runs on the handler's fiber after the handler and its
        middleware have returned. It writes at the pace of the client. The
        request is still alive. The handler's deadline no longer applies; each
        write has its own. If the function raises before its first octet, the
        answer is 500. If it raises later, flare resets the connection, so that
        the client notices the truncation. For HEAD, flare does not call the
        function.

        Parameters:
            F: The type of the function.

        Args:
            function: The function that writes the content; a closure owns its
                captures.
            status: The status code, 200 to 599.
            length: The length of the content, if known: it becomes the
                Content-Length. Otherwise, the content is chunked.
            content_type: The value of Content-Type.

        Returns:
            The response.

        Raises:
            An error `message.bad_header_value` if the type is not a field
            value.
        """
        var response = Self(
            status,
            Body(
                stream=StreamFunction(StreamTask[ResponseStream, F](function^))
            ),
        )
        response.headers.set("Content-Type", content_type)
        if length:
            response.headers.set("Content-Length", String(length.value()))
        return response^

    @staticmethod
    def upgrade[
        F: def(Request, UpgradedStream) raises -> None
    ](protocol: StringSlice, var function: F) raises -> Self:
        """Creates a response that hands the connection over to another
        protocol.

        If the request does not offer the protocol, or has content, it is
        answered 426 instead. After the 101, the function runs on the handler's
        fiber. Only its reads and writes have deadlines.

        In HTTP/2, an extended CONNECT offers a protocol (RFC 8441), and the
        function gets its stream. Then 200 stands for 101. The answer is 400
        without an offer, and 501 to an offer of another protocol.

        Parameters:
            F: The type of the function.

        Args:
            protocol: The protocol's name in the field Upgrade.
            function: The function that implements the protocol; a closure owns
                its captures.

        Returns:
            The response.

        Raises:
            An error `message.bad_header_value` if the name is not a field
            value.
        """
        var response = Self(
            Status.SWITCHING_PROTOCOLS,
            Body(
                stream=StreamFunction(StreamTask[UpgradedStream, F](function^))
            ),
        )
        response.headers.set("Upgrade", protocol)
        return response^

    def ok(self) -> Bool:
        """Returns whether the status is a success.

        Returns:
            True for 200 to 299.
        """
        return Status.is_successful(self.status)

    def raise_for_status(self) raises:
        """Raises an error if the status is 400 or above.

        Raises:
            An error `client.status answer status=404: Not Found` or similar
            (`ClientError.of`).
        """
        raise_for_status(self.status)

    def url(self) -> StringSlice[origin_of(self)]:
        """Returns the URL that was answered, after all redirects.

        Returns:
            A view that lives as long as the response; empty if the response
            was not received by a client.
        """
        var received = self.body.received()
        if not received:
            return StringSlice[origin_of(self)](
                unsafe_from_utf8=Span[UInt8, origin_of(self)]()
            )
        return rebind[StringSlice[origin_of(self)]](
            StringSlice(unsafe_from_utf8=received.value()[].url.span())
        )

    def decoded_from(self) -> StringSlice[origin_of(self)]:
        """Returns the content codings that the client has decoded.

        If it has decoded the content, it removes Content-Encoding and
        Content-Length, which described the encoded content.

        Returns:
            The value of Content-Encoding, such as `gzip`, as a view that lives
            as long as the response; empty if the content was not decoded.
        """
        var received = self.body.received()
        if not received:
            return StringSlice[origin_of(self)](
                unsafe_from_utf8=Span[UInt8, origin_of(self)]()
            )
        return rebind[StringSlice[origin_of(self)]](
            StringSlice(unsafe_from_utf8=received.value()[].codings.span())
        )

    def trailers(self) -> HeaderMap:
        """Returns the trailer fields, which followed the content.

        Returns:
            The fields; none if the response was not received by a client.
        """
        var received = self.body.received()
        return received.value()[].trailers.copy() if received else HeaderMap()

    def version(self) -> HttpVersion:
        """Returns the version of HTTP in which the response was received.

        Returns:
            The version; HTTP/1.1 if the response was not received by a client.
        """
        var received = self.body.received()
        return received.value()[].version if received else HttpVersion.HTTP_1_1

    def redirects(self) -> Int:
        """Returns how many redirects were followed.

        Returns:
            The number.
        """
        var received = self.body.received()
        return received.value()[].redirects if received else 0

    def timings(self) -> ExchangeTimings:
        """Returns the duration of each phase of the call.

        Returns:
            The timings; all 0 if the response was not received by a client.
        """
        var received = self.body.received()
        if not received:
            return ExchangeTimings()
        return received.value()[].timings

    def text(self) raises -> StringSlice[origin_of(self.body)]:
        """Returns a view of the content as text.

        Returns:
            A view that lives as long as the response.

        Raises:
            An error `http.not_utf8 …` if the content is not UTF-8.
        """
        return self.body.text()

    def json(self) raises -> Value:
        """Parses the content as JSON. The Content-Type is not checked.

        Returns:
            The value, which may outlive the response.

        Raises:
            The text of a `JsonError` if the content is not JSON.
        """
        return loads(self.body.octets())

    def with_header(
        var self, name: StringSlice, value: StringSlice
    ) raises -> Self:
        """Returns the response with one more header field.

        Args:
            name: The name, a token.
            value: The value.

        Returns:
            The response.

        Raises:
            An error `message.bad_header_name`, `message.bad_header_value` or
            `message.headers_too_large`.
        """
        self.headers.set(name, value)
        return self^

    def with_status(var self, status: Int) -> Self:
        """Returns the response with another status.

        Args:
            status: The status code, 200 to 599.

        Returns:
            The response: `ok_json(text).with_status(404)`.
        """
        self.status = status
        return self^

    def set_cookie(mut self, cookie: Cookie) raises:
        """Adds a Set-Cookie field.

        Args:
            cookie: The cookie.

        Raises:
            An error `message.bad_cookie …` if the cookie cannot be sent or
            clients would ignore it, and `message.headers_too_large`.
        """
        self.headers.append("Set-Cookie", cookie.to_set_cookie())

    def remove_cookie(
        mut self,
        name: StringSlice,
        *,
        path: StringSlice = "/",
        domain: StringSlice = "",
    ) raises:
        """Adds a Set-Cookie field that makes the client delete a cookie.

        Args:
            name: The cookie's name.
            path: The path with which it was set.
            domain: The domain with which it was set.

        Raises:
            An error `message.bad_cookie …`, and `message.headers_too_large`.
        """
        var cookie = Cookie(
            String(name),
            String(),
            path=String(path),
            domain=String(domain),
            max_age=0,
            # A prefix of the name wants it, and elsewhere it takes nothing.
            secure=CookiePrefix.of(name.as_bytes()) != CookiePrefix.NO_PREFIX,
        )
        self.set_cookie(cookie)

    def into_body(deinit self) -> Body:
        """Returns the content and its ownership.

        Returns:
            The content.
        """
        return self.body^
