"""Lets a handler read the request that it answers.

A request is one handle. Every member reads through it, and every view carries
the request's origin, so that none outlives it.
"""

from flare.core import heap_create, heap_destroy
from flare.message import FieldSection, HeaderMap, Method, QueryParameters
from flare.net import NetError, SocketAddr

from .content import Content
from .exchange import Exchange
from .extract import Extractor
from .outgoing_request import OutgoingRequest, refresh
from .request_body import RequestBody, text_of


@fieldwise_init
struct HttpVersion(Comparable, ImplicitlyCopyable, Writable):
    """Names a version of HTTP."""

    comptime HTTP_1_0 = Self(1, 0)
    """HTTP/1.0 (RFC 1945)."""
    comptime HTTP_1_1 = Self(1, 1)
    """HTTP/1.1 (RFC 9112)."""

    var major: Int
    """The digit before the dot."""
    var minor: Int
    """The digit behind the dot."""

    def __lt__(self, other: Self) -> Bool:
        """Tells which version is older.

        Args:
            other: Another version.

        Returns:
            True if this one is older.
        """
        return (self.major, self.minor) < (other.major, other.minor)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the version as a request line has it.

        Args:
            writer: The destination.
        """
        writer.write("HTTP/", self.major, ".", self.minor)


struct Request(Extractor, Movable):
    """Is the request that a handler answers, or one that a client sends.

    Members are read like fields: `req.method`, `req.url`, `req.path`,
    `req.query`, `req.version`, `req.headers`, `req.body`.
    """

    comptime PATH_PARAMETERS: Int = 0
    """It takes no parameter of the route from other extractors."""

    var _exchange: Exchange
    var _is_own: Bool

    def __init__(
        out self,
        method: StringSlice,
        url: StringSlice,
        var content: Content = Content(),
    ) raises:
        """Makes a request that a client can send.

        Args:
            method: The method, a token.
            url: An absolute URL, or what the client joins to its base URL.
            content: A text, which is sent as JSON, or octets, or
                `Content(text, type)`.

        Raises:
            An error `message.bad_header_value` if the type is none.
        """
        self._exchange = OutgoingRequest.create(
            String(method), String(url), content^
        )
        self._is_own = True

    def __init__(out self, *, unsafe_exchange: Exchange):
        """Views an exchange.

        Args:
            unsafe_exchange: The exchange.

        Safety:
            The exchange outlives the request.
        """
        self._exchange = unsafe_exchange
        self._is_own = False

    @always_inline
    def __deinit__(deinit self):
        """Frees a request that was made to be sent."""
        if self._is_own:
            heap_destroy(self._exchange.unsafe_bitcast[OutgoingRequest]())

    @always_inline
    def __getattr__(self, member: type_of("method")) -> Method:
        """Gives the method; `method_text` has the text of an extension.

        Args:
            member: The name `method`.

        Returns:
            The method; it compares with text: `req.method == "GET"`.
        """
        return self._exchange[].head.method

    @always_inline
    def __getattr__(self, member: type_of("version")) -> HttpVersion:
        """Gives the version of HTTP that the peer speaks.

        Args:
            member: The name `version`.

        Returns:
            1.0 or 1.1.
        """
        return HttpVersion(1, self._exchange[].head.version_minor)

    @always_inline
    def __getattr__(
        self, member: type_of("headers")
    ) -> FieldSection[origin_of(self)]:
        """Gives the header section.

        Args:
            member: The name `headers`.

        Returns:
            A view that lives as long as the request.
        """
        return rebind[FieldSection[origin_of(self)]](
            self._exchange[].head.fields(self._exchange[].window())
        )

    @always_inline
    def __getattr__(
        self, member: type_of("body")
    ) -> RequestBody[origin_of(self)]:
        """Gives the content, which may still be on its way.

        Args:
            member: The name `body`.

        Returns:
            A view that lives as long as the request.
        """
        return RequestBody[origin_of(self)](
            self._exchange, self._exchange[].request_id
        )

    @always_inline
    def __getattr__(
        self, member: type_of("url")
    ) -> StringSlice[origin_of(self)]:
        """Gives the request target as received.

        Args:
            member: The name `url`.

        Returns:
            A view that lives as long as the request: visible ASCII.
        """
        return rebind[StringSlice[origin_of(self)]](
            self._exchange[].head.target_text(self._exchange[].window())
        )

    @always_inline
    def __getattr__(
        self, member: type_of("path")
    ) -> StringSlice[origin_of(self)]:
        """Gives the path of the request target, escapes included.

        Args:
            member: The name `path`.

        Returns:
            A view that lives as long as the request.
        """
        return StringSlice(
            unsafe_from_utf8=self._exchange[].head.target.path(
                self.url.as_bytes()
            )
        )

    @always_inline
    def __getattr__(
        self, member: type_of("query")
    ) -> StringSlice[origin_of(self)]:
        """Gives what follows the `?` in the request target.

        Args:
            member: The name `query`.

        Returns:
            A view that lives as long as the request; escapes are included.
        """
        return StringSlice(
            unsafe_from_utf8=self._exchange[].head.target.query(
                self.url.as_bytes()
            )
        )

    def method_text(self) -> StringSlice[origin_of(self)]:
        """Gives the method as received, also where it is an extension.

        Returns:
            A token.
        """
        return rebind[StringSlice[origin_of(self)]](
            self._exchange[].head.method_text(self._exchange[].window())
        )

    def param(self, name: StringSlice) raises -> StringSlice[origin_of(self)]:
        """Gives what a parameter of the route matched, escapes decoded.

        Args:
            name: The name in the route's pattern.

        Returns:
            A view that lives as long as the request.

        Raises:
            An error `http.no_such_parameter` if the route has no parameter of
            that name, and `http.not_utf8 …`, answered 400 where nobody catches
            it, if the value is not UTF-8.
        """
        return text_of(
            self._exchange, self.param_octets(name), "a parameter of the path"
        )

    def param_octets(
        self, name: StringSlice
    ) raises -> Span[UInt8, origin_of(self)]:
        """Gives what a parameter of the route matched, text or not.

        Args:
            name: The name in the route's pattern.

        Returns:
            A view that lives as long as the request; escapes are decoded.

        Raises:
            An error `http.no_such_parameter` if the route has no parameter of
            that name.
        """
        var found = self._exchange[].parameters.find(name.as_bytes())
        if not found:
            raise Error("http.no_such_parameter ", name)
        return rebind[Span[UInt8, origin_of(self)]](found.value())

    def query_parameters(self) -> QueryParameters[origin_of(self)]:
        """Reads the query as `name=value` pairs.

        Returns:
            A view: `req.query_parameters().get("page")`.
        """
        return QueryParameters[origin_of(self)](self.query)

    def text(self) raises -> StringSlice[origin_of(self)]:
        """Waits for the whole content.

        Returns:
            A view of it as text.

        Raises:
            An error `http.content …` if the peer leaves, sends bad octets or
            sends more than the limit, and `http.not_utf8 …`, answered 400
            where nobody catches it, if the content is not UTF-8.
        """
        return self.body.text()

    def set_header(self, name: StringSlice, value: StringSlice) raises:
        """Replaces all header fields of a name by one.

        Views of the request that were taken before are void.

        Args:
            name: The name, a token.
            value: The value.

        Raises:
            An error `http.read_only` if the request was received, and
            `message.bad_header_name`, `message.bad_header_value` or
            `message.headers_too_large`.
        """
        if not self._is_own:
            raise Error("http.read_only the request was received")
        var own = self._exchange.unsafe_bitcast[OutgoingRequest]()
        own[].fields.set(name, value)
        refresh(own)

    def peer(self) raises -> SocketAddr:
        """Finds the address of the peer; asks the kernel at each call.

        Returns:
            The address.

        Raises:
            NetError: If the connection is gone, or the request did not come
                over a network.
        """
        var carrier = self._exchange[].carrier
        if not carrier:
            raise Error(NetError(NetError.CLOSED, "peer_address"))
        return carrier.value().functions[].peer_address(carrier.value().owner)

    def inform(self, status: Int, headers: HeaderMap = HeaderMap()) raises:
        """Sends an interim response, such as 103 (Early Hints) with Link
        fields; an HTTP/1.0 client gets nothing.

        Args:
            status: 102 to 199. A 100 goes out by itself when content is read.
            headers: Its fields.

        Raises:
            An error `http.bad_inform …` if it is none or comes too late, and
            `http.content cut off` if the peer left.
        """
        var carrier = self._exchange[].carrier
        if not carrier:
            return
        # A call through a pointer may not see what lies on this stack.
        var fields = heap_create(headers.copy())
        try:
            carrier.value().functions[].inform(
                carrier.value().owner, status, fields
            )
        finally:
            heap_destroy(fields)

    def id(self) -> Int:
        """Tells the number under which the log knows the request.

        Returns:
            A number that is unique in its worker.
        """
        return self._exchange[].request_id

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Hands the whole request to a function that has other parameters too.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            The same request.

        Raises:
            Nothing.
        """
        return Self(unsafe_exchange=req._exchange)

    def unsafe_exchange(self) -> Exchange:
        """Names the block behind the request.

        Returns:
            The block.

        Safety:
            It is used again when the response has been sent.
        """
        return self._exchange
