"""Defines requests: those that a handler answers, and those that a client
sends.

A request is one handle. All members read through it. Every view carries the
request's origin, so that no view outlives the request.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.json import Value
from flare.message import (
    FieldSection,
    FormFields,
    FormLimits,
    HeaderMap,
    Method,
    QueryParameters,
    RequestCookies,
)
from flare.net import NetError
from flare.proto.multipart import MultipartLimits
from flare.tls import TlsMachine
from flare.unix import PeerCredentials

from .content import Content
from .exchange import Exchange
from .form_content import form_of
from .multipart_reader import MultipartReader, boundary_of
from .never_refuses import NeverRefuses
from .outgoing_request import OutgoingRequest, refresh
from .request_body import RequestBody, json_of, text_of
from .request_values import set_value
from .stream_address import StreamAddr
from .tls_details import TlsDetails
from .version import HttpVersion


trait Extractor(Deinitable, Movable):
    """A type that a handler function's parameter can have."""

    comptime PATH_PARAMETERS: Int
    """How many route parameters it uses."""

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Returns the value for a parameter, from a request.

        Parameters:
            RouterState: The state type of the router.
            first_parameter: The index of the first route parameter that no
                parameter to the left uses.

        Args:
            req: The request.

        Returns:
            The value.

        Raises:
            A `Rejection`, which becomes the answer. Any other error becomes a
            500.
        """
        ...


struct Request(Extractor, Movable, NeverRefuses):
    """A request that a handler answers, or that a client sends.

    Read its members like fields: `req.method`, `req.url`, `req.path`,
    `req.query`, `req.version`, `req.headers`, `req.body`.
    """

    comptime PATH_PARAMETERS: Int = 0
    """A request as a handler's parameter uses no parameter of the route."""

    var _exchange: Exchange
    var _is_own: Bool

    def __init__(
        out self,
        method: StringSlice,
        url: StringSlice,
        var content: Content = Content(),
    ) raises:
        """Creates a request for a client to send.

        Args:
            method: The method (RFC 9110 section 9).
            url: An absolute URL, or a reference that the client joins to its
                base URL.
            content: A text, which is sent as JSON; or octets; or
                `Content(text, type)`.

        Raises:
            An error `message.bad_header_value` if the type is not a field
            value.
        """
        self._exchange = OutgoingRequest.create(
            String(method), String(url), content^
        )
        self._is_own = True

    def __init__(out self, *, unsafe_exchange: Exchange):
        """Creates a view of an exchange.

        Args:
            unsafe_exchange: The exchange.

        Safety:
            The exchange outlives the request.
        """
        self._exchange = unsafe_exchange
        self._is_own = False

    @always_inline
    def __deinit__(deinit self):
        """Frees a request that was created for sending."""
        if self._is_own:
            heap_destroy(self._exchange.unsafe_bitcast[OutgoingRequest]())

    @always_inline
    def __getattr__(self, member: type_of("method")) -> Method:
        """Returns the method. `method_text` returns the text of an extension
        method.

        Args:
            member: The name `method`.

        Returns:
            The method, comparable with text: `req.method == "GET"`.
        """
        return self._exchange[].head.method

    @always_inline
    def __getattr__(self, member: type_of("version")) -> HttpVersion:
        """Returns the peer's version of HTTP.

        Args:
            member: The name `version`.

        Returns:
            The version, 1.0 or 1.1.
        """
        ref head = self._exchange[].head
        return HttpVersion(head.version.major, head.version.minor)

    @always_inline
    def __getattr__(
        self, member: type_of("headers")
    ) -> FieldSection[origin_of(self)]:
        """Returns the header section.

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
        """Returns the content, which may still be arriving.

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
        """Returns the request target as received, with octets over 127
        escaped.

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
        """Returns the path of the request target, with its escapes.

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
        """Returns the query: the part of the request target after the `?`.

        Args:
            member: The name `query`.

        Returns:
            A view that lives as long as the request, with its escapes.
        """
        return StringSlice(
            unsafe_from_utf8=self._exchange[].head.target.query(
                self.url.as_bytes()
            )
        )

    @always_inline
    def __getattr__(
        self, member: type_of("authority")
    ) -> StringSlice[origin_of(self)]:
        """Returns the host and port that the request is for.

        They come from the request target if it is an absolute URL, otherwise
        from Host (RFC 9112 section 3.2.2). The client chooses them. Before you
        build a link, compare them with the server's own names.

        Args:
            member: The name `authority`.

        Returns:
            A view that lives as long as the request, such as `a.example:8080`;
            empty if an HTTP/1.0 request names no host.
        """
        return rebind[StringSlice[origin_of(self)]](
            self._exchange[].head.authority(self._exchange[].window())
        )

    @unavailable(
        "a request has method, path, query, url, authority, version, headers"
        " and body, and functions such as param(name), query_parameters(),"
        " text(), json(), form(), cookie(name) and peer()"
    )
    def __getattr__[T: AnyType](self, member: T):
        """Fails the build for a member that no request has.

        Parameters:
            T: The type of the name.

        Args:
            member: The name.
        """
        ...

    def method_text(self) -> StringSlice[origin_of(self)]:
        """Returns the method as received, including extension methods.

        Returns:
            The method's text.
        """
        return rebind[StringSlice[origin_of(self)]](
            self._exchange[].head.method_text(self._exchange[].window())
        )

    def param(self, name: StringSlice) raises -> StringSlice[origin_of(self)]:
        """Returns the value of a route parameter, decoded.

        Args:
            name: The parameter's name in the route's pattern.

        Returns:
            A view that lives as long as the request.

        Raises:
            An error `http.no_such_parameter` if the route has no parameter of
            that name. An error `http.not_utf8 …` if the value is not UTF-8.
            Unless the handler catches it, flare answers 400.
        """
        return text_of(
            self._exchange, self.param_octets(name), "a parameter of the path"
        )

    def param_octets(
        self, name: StringSlice
    ) raises -> Span[UInt8, origin_of(self)]:
        """Returns the octets of a route parameter, decoded, UTF-8 or not.

        Args:
            name: The parameter's name in the route's pattern.

        Returns:
            A view that lives as long as the request.

        Raises:
            An error `http.no_such_parameter` if the route has no parameter of
            that name.
        """
        var found = self._exchange[].parameters.find(name.as_bytes())
        if not found:
            raise Error("http.no_such_parameter ", name)
        return rebind[Span[UInt8, origin_of(self)]](found.value())

    def query_parameters(self) -> QueryParameters[origin_of(self)]:
        """Returns the query as `name=value` pairs.

        Returns:
            A view: `req.query_parameters().get("page")`.
        """
        return QueryParameters[origin_of(self)](self.query)

    def cookies(self) -> RequestCookies[origin_of(self)]:
        """Returns the cookies of the request.

        Returns:
            A view to iterate over: `for cookie in req.cookies()`.
        """
        return RequestCookies[origin_of(self)](self.headers)

    def cookie(
        self, name: StringSlice
    ) -> Optional[StringSlice[origin_of(self)]]:
        """Returns the first cookie of a name.

        A client can send any cookie. Trust a value only if it is signed, or if
        it identifies a session that the server knows.

        Args:
            name: The name; case-sensitive.

        Returns:
            A view of the value as sent; `None` without such a cookie.
        """
        return self.cookies().get(name)

    def text(self) raises -> StringSlice[origin_of(self)]:
        """Waits for the whole content and returns it as text.

        Returns:
            A view of the text.

        Raises:
            An error `http.content …` if the peer leaves, sends malformed octets
            or exceeds the limit. An error `http.not_utf8 …` if the content is
            not UTF-8. Unless the handler catches it, flare answers 400.
        """
        return self.body.text()

    def json(self) raises -> Value:
        """Waits for the whole content and parses it as JSON.

        Returns:
            The value, which may outlive the request. The Content-Type is not
            checked.

        Raises:
            The errors of `body.octets`, and the text of a `JsonError` if the
            content is not JSON. Unless the handler catches it, flare answers
            400.
        """
        return json_of(self._exchange, self.body.octets())

    def form(self, limits: FormLimits = FormLimits()) raises -> FormFields:
        """Waits for the whole content and parses it as the fields of a form.

        Args:
            limits: Bounds on the form.

        Returns:
            The fields of an `application/x-www-form-urlencoded` content.

        Raises:
            The errors of `req.body.octets`, and an error `http.bad_form …`.
            Unless the handler catches it, flare answers 415 for another content
            type, and 413 if the form exceeds a limit.
        """
        return form_of(
            self._exchange,
            self.body,
            self.headers.get("Content-Type"),
            limits,
        )

    def multipart(
        self, limits: MultipartLimits = MultipartLimits()
    ) raises -> MultipartReader[RequestBody[origin_of(self)]]:
        """Returns a reader of the parts of a form, as they arrive.

        Args:
            limits: Bounds on the form; `req.body.set_octets_max` bounds the
                whole content.

        Returns:
            The reader: call `next_part`, then `read`, `octets` or `text`.

        Raises:
            An error `http.bad_form …`. Unless the handler catches it, flare
            answers 415 if the content is not `multipart/form-data`, and 400 if
            it has no boundary.
        """
        var boundary = boundary_of(
            self._exchange, self.headers.get("Content-Type")
        )
        return MultipartReader(
            self.body, Span(boundary), limits, exchange=self._exchange
        )

    def set_header(self, name: StringSlice, value: StringSlice) raises:
        """Replaces all header fields of a name by one.

        Earlier views of the request become invalid.

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

    def peer(self) raises -> StreamAddr:
        """Returns the address of the peer. Each call asks the kernel.

        Returns:
            The address of the peer, or of the client that a trusted proxy
            reported. At a Unix socket, it usually has no name.

        Raises:
            NetError: If the connection has ended, or the request did not arrive
                over a network.
        """
        if not self._exchange[].carrier:
            raise Error(NetError(NetError.CLOSED, "peer_address"))
        return (
            self._exchange[]
            .host.functions[]
            .peer_address(self._exchange.unsafe_bitcast[NoneType]())
        )

    def tls(self) -> Optional[TlsDetails]:
        """Returns the details of the TLS connection. Each call reads them
        anew.

        Returns:
            The protocol version, names, the subject of the client's
            certificate and so on; `None` if the request came without TLS.
        """
        var machine = self._tls_machine()
        if not machine:
            return None
        return TlsDetails(machine.value()[])

    def is_secure(self) -> Bool:
        """Returns whether the request came over TLS.

        Returns:
            True if the connection uses TLS.
        """
        return Bool(self._tls_machine())

    def _tls_machine(self) -> Optional[PointerTo[TlsMachine]]:
        if not self._exchange[].carrier:
            return None
        return (
            self._exchange[]
            .host.functions[]
            .tls(self._exchange.unsafe_bitcast[NoneType]())
        )

    def peer_credentials(self) raises -> PeerCredentials:
        """Returns the process at the other end of a Unix socket. Each call
        asks the kernel.

        Returns:
            The process number, the user and the group.

        Raises:
            NetError: `net.unsupported peer_credentials` for a TCP connection,
                or as `peer` does.
        """
        if not self._exchange[].carrier:
            raise Error(NetError(NetError.CLOSED, "peer_credentials"))
        return (
            self._exchange[]
            .host.functions[]
            .peer_credentials(self._exchange.unsafe_bitcast[NoneType]())
        )

    def inform(self, status: Int, headers: HeaderMap = HeaderMap()) raises:
        """Sends an interim response, such as 103 (Early Hints). HTTP/1.0
        clients get none.

        Args:
            status: The status, 102 to 199. A 100 is sent automatically when
                content is read.
            headers: The header fields.

        Raises:
            An error `http.bad_inform …` if the status is not interim or the
            response has begun, and `http.content cut off` if the peer left.
        """
        if not self._exchange[].carrier:
            return
        # A call through a pointer may not see what lies on this stack.
        var fields = heap_create(headers.copy())
        try:
            self._exchange[].host.functions[].inform(
                self._exchange.unsafe_bitcast[NoneType](), status, fields
            )
        finally:
            heap_destroy(fields)

    def set[T: Deinitable & Movable](self, var value: T) raises:
        """Sets a value that handlers read with `RequestValue[T]`. It is
        destroyed after the response was sent. One of a word allocates nothing.

        Parameters:
            T: The type, by which handlers find the value. A further value of
                the same type replaces it.

        Args:
            value: The value.

        Raises:
            An error `http.read_only` if the request was created for sending.
        """
        if self._is_own:
            raise Error("http.read_only a request to send has no values")
        set_value(self._exchange[].app.values, value^)

    def error_headers(self) -> ref[MutUntrackedOrigin] HeaderMap:
        """Returns header fields for the answer that the server makes if the
        handler raises. Middleware adds its fields here before it passes an
        error on.

        Returns:
            The fields, initially none.
        """
        return self._exchange[].error_headers

    def id(self) -> Int:
        """Returns the number by which the log identifies the request.

        Returns:
            The number, unique in its worker.
        """
        return self._exchange[].request_id

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Passes the whole request to a handler function.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            The same request.

        Raises:
            Never.
        """
        return Self(unsafe_exchange=req._exchange)

    def unsafe_exchange(self) -> Exchange:
        """Returns the exchange of the request.

        Returns:
            The exchange.

        Safety:
            Its memory is reused after the response is sent.
        """
        return self._exchange
