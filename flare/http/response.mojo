"""Holds a response that is being built, or that was received.

A response is small and moves for free: its header map is two pointers, and its
content is taken over, not copied, where it can be.
"""

from flare.json import Value, loads
from flare.message import Cookie, CookiePrefix, HeaderMap, Status, reason_phrase

from .body import Body
from .client.error import ClientError, Phase, raised
from .request import Request
from .response_stream import ResponseStream, StreamedResponse
from .stream_function import StreamFunction
from .timings import ExchangeTimings
from .upgraded_stream import UpgradedConnection, UpgradedStream


struct Response(Movable):
    """Answers a request: status, header fields and content."""

    var status: Int
    """The status code (RFC 9110 section 15)."""
    var headers: HeaderMap
    """The header fields; framing fields are added when it is sent."""
    var body: Body
    """The content."""

    def __init__(out self, status: Int = Status.OK, var body: Body = Body()):
        """Makes a response without header fields.

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
        """Makes a response whose content a function writes while it is sent.

        The function runs on the handler's fiber after handler and middleware
        have returned, with the request still alive, and at the pace of its
        reader. The handler's deadline ends with the handler: from then on each
        write has one. If it raises before the first octet, the answer is 500;
        later it breaks the connection off, so that no peer takes what came for
        the whole. It is not called in the answer to HEAD.

        Parameters:
            F: The type of the function.

        Args:
            function: Writes the content; a closure owns what it captures.
            status: The status code, 200 to 599.
            length: How much it will write, if that is known: it becomes the
                Content-Length. Else the content is chunked.
            content_type: The value of Content-Type.

        Returns:
            The response.

        Raises:
            An error `message.bad_header_value` if the type is none.
        """
        var response = Self(
            status,
            Body(stream=StreamFunction(StreamedResponse[F](function^))),
        )
        response.headers.set("Content-Type", content_type)
        if length:
            response.headers.set("Content-Length", String(length.value()))
        return response^

    @staticmethod
    def upgrade[
        F: def(Request, UpgradedStream) raises -> None
    ](protocol: StringSlice, var function: F) raises -> Self:
        """Makes a response that turns the connection over to another protocol.

        A request that does not offer the protocol, or carries content, is
        answered 426 instead. The function runs on the handler's fiber after
        the 101 and has no deadline but that of each read and write.

        Parameters:
            F: The type of the function.

        Args:
            protocol: The name in the field Upgrade.
            function: Speaks the protocol; a closure owns what it captures.

        Returns:
            The response.

        Raises:
            An error `message.bad_header_value` if the name is none.
        """
        var response = Self(
            Status.SWITCHING_PROTOCOLS,
            Body(stream=StreamFunction(UpgradedConnection[F](function^))),
        )
        response.headers.set("Upgrade", protocol)
        return response^

    def ok(self) -> Bool:
        """Returns whether the status stands for success.

        Returns:
            True for 200 to 299.
        """
        return Status.is_successful(self.status)

    def raise_for_status(self) raises:
        """Does nothing if the status stands for success or a redirection.

        Raises:
            An error `client.status answer status=404: Not Found` and the like
            (`ClientError.of`) for 400 and above.
        """
        if self.status >= 400:
            raise raised(
                ClientError.STATUS,
                Phase.ANSWER,
                reason_phrase(self.status),
                status=self.status,
            )

    def url(self) -> StringSlice[origin_of(self)]:
        """Tells which URL was answered, behind all redirections.

        Returns:
            A view that lives as long as the response; empty where it was not
            received.
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
        """Tells which content codings the client has undone.

        The fields Content-Encoding and Content-Length are gone then, because
        they spoke of the coded content. Where the client undid nothing they
        stand as they came.

        Returns:
            What Content-Encoding said, `gzip` for one, as a view that lives as
            long as the response; empty if the content is as it came.
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
        """Tells which fields came behind the content.

        Returns:
            The fields; none where the response was not received.
        """
        var received = self.body.received()
        return received.value()[].trailers.copy() if received else HeaderMap()

    def redirects(self) -> Int:
        """Tells how many redirections led here.

        Returns:
            The count.
        """
        var received = self.body.received()
        return received.value()[].redirects if received else 0

    def timings(self) -> ExchangeTimings:
        """Tells how long the phases of the call took.

        Returns:
            The timings; all 0 where the response was not received.
        """
        var received = self.body.received()
        if not received:
            return ExchangeTimings()
        return received.value()[].timings

    def text(self) raises -> StringSlice[origin_of(self.body)]:
        """Views the content as text.

        Returns:
            A view that lives as long as the response.

        Raises:
            An error `http.not_utf8 …` if the content is not UTF-8.
        """
        return self.body.text()

    def json(self) raises -> Value:
        """Reads the content as JSON, whatever type the response says it has.

        Returns:
            Its value, which outlives the response.

        Raises:
            The text of a `JsonError` if the content is no JSON.
        """
        return loads(self.body.octets())

    def with_header(
        var self, name: StringSlice, value: StringSlice
    ) raises -> Self:
        """Adds a header field, for use in an expression.

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
        """Changes the status, for use in an expression.

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
            An error `message.bad_cookie …` if it cannot be sent, or clients
            would drop it, and `message.headers_too_large`.
        """
        self.headers.append("Set-Cookie", cookie.to_set_cookie())

    def remove_cookie(
        mut self,
        name: StringSlice,
        *,
        path: StringSlice = "/",
        domain: StringSlice = "",
    ) raises:
        """Adds a Set-Cookie field that lets the client drop a cookie.

        Args:
            name: Its name.
            path: The path that it was set with.
            domain: The domain that it was set with.

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
        """Takes the content out.

        Returns:
            The content.
        """
        return self.body^
