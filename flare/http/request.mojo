"""Lets a handler read the request that it answers.

A request is one handle. Every member reads through it, and every view carries
the request's origin, so that none outlives it.
"""

from flare.core import PointerTo, equals_lower, heap_create, heap_destroy
from flare.json import Value
from flare.message import (
    FORM_CONTENT_TYPE,
    FieldSection,
    FormFields,
    FormLimits,
    HeaderMap,
    Method,
    QueryParameters,
    RequestCookies,
)
from flare.message.parameters import FieldParameters
from flare.net import NetError
from flare.proto.multipart import MultipartLimits, boundary_in
from flare.tls import TlsMachine
from flare.unix import PeerCredentials

from .content import Content
from .exchange import Exchange
from .extract import Extractor
from .multipart_reader import MultipartReader, form_error
from .outgoing_request import OutgoingRequest, refresh
from .rejected_text import expected_type
from .request_body import RequestBody, json_of, text_of
from .stream_address import StreamAddr
from .tls_details import TlsDetails
from .version import HttpVersion


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
        """Returns the method; `method_text` has the text of an extension.

        Args:
            member: The name `method`.

        Returns:
            The method; it compares with text: `req.method == "GET"`.
        """
        return self._exchange[].head.method

    @always_inline
    def __getattr__(self, member: type_of("version")) -> HttpVersion:
        """Returns the version of HTTP that the peer speaks.

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
        """Returns the content, which may still be on its way.

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
        """Returns the request target as received, but with an escape for each
        octet over 127.

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
        """Returns the path of the request target, escapes included.

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

    @always_inline
    def __getattr__(
        self, member: type_of("authority")
    ) -> StringSlice[origin_of(self)]:
        """Returns host and port that the request is for.

        They are those of the request target if it is an absolute URL, and else
        those of Host (RFC 9112 section 3.2.2). The client chooses them: compare
        them with the names that the server knows before you build a link.

        Args:
            member: The name `authority`.

        Returns:
            A view that lives as long as the request, such as `a.example:8080`;
            empty if an HTTP/1.0 request names no host.
        """
        return rebind[StringSlice[origin_of(self)]](
            self._exchange[].head.authority(self._exchange[].window())
        )

    def method_text(self) -> StringSlice[origin_of(self)]:
        """Returns the method as received, also where it is an extension.

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

    def cookies(self) -> RequestCookies[origin_of(self)]:
        """Reads the cookies of the request.

        Returns:
            A view to walk over: `for cookie in req.cookies()`.
        """
        return RequestCookies[origin_of(self)](self.headers)

    def cookie(
        self, name: StringSlice
    ) -> Optional[StringSlice[origin_of(self)]]:
        """Finds the first cookie of a name.

        Whoever sends a request chooses its cookies: a value proves nothing
        unless it is signed, or names a session that the server knows.

        Args:
            name: The name; its case counts.

        Returns:
            A view of the value as it was sent, or none.
        """
        return self.cookies().get(name)

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

    def json(self) raises -> Value:
        """Waits for the whole content and reads it as JSON.

        Returns:
            Its value, which outlives the request; the type that the request
            says it has is not asked for.

        Raises:
            What `body.octets` raises, and the text of a `JsonError`, answered
            400 where nobody catches it, if the content is no JSON.
        """
        return json_of(self._exchange, self.body.octets())

    def form(self, limits: FormLimits = FormLimits()) raises -> FormFields:
        """Waits for the content and reads it as the fields of a form.

        Args:
            limits: What is read at most.

        Returns:
            The fields of an `application/x-www-form-urlencoded` content.

        Raises:
            What `req.body.octets` raises, and an error `http.bad_form …`,
            answered 415 where the content is of another type, and 413 where it
            passes a limit, if nobody catches it.
        """
        var type = self.headers.get("Content-Type")
        if not type or not equals_lower(
            FieldParameters(type.value().as_bytes()).first(),
            FORM_CONTENT_TYPE.as_bytes(),
        ):
            raise form_error(
                self._exchange, 415, expected_type(FORM_CONTENT_TYPE, type)
            )
        if self.body.declared_octets().or_else(0) > limits.octets_max:
            raise form_error(self._exchange, 413, "the form is too large")
        try:
            return FormFields.parse(self.body.octets(), limits)
        except e:
            if not String(e).startswith("message.bad_form"):
                raise e^
            raise form_error(self._exchange, 413, "the form is too large")

    def multipart(
        self, limits: MultipartLimits = MultipartLimits()
    ) raises -> MultipartReader[RequestBody[origin_of(self)]]:
        """Reads the content as the parts of a form, as they come.

        Args:
            limits: What is read at most; `req.body.set_octets_max` bounds the
                whole.

        Returns:
            A reader: `next_part`, then `read`, `octets` or `text`.

        Raises:
            An error `http.bad_form …`, answered 415 where the content is not
            `multipart/form-data`, and 400 where it has no boundary, if nobody
            catches it.
        """
        var type = self.headers.get("Content-Type")
        var boundary = Optional[List[UInt8]](None)
        try:
            if type:
                boundary = boundary_in(type.value().as_bytes())
        except e:
            raise form_error(self._exchange, 400, e.reason)
        if not boundary:
            raise form_error(
                self._exchange, 415, expected_type("multipart/form-data", type)
            )
        return MultipartReader(
            self.body,
            Span(boundary.value()),
            limits,
            exchange=self._exchange,
        )

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

    def peer(self) raises -> StreamAddr:
        """Finds the address of the peer; asks the kernel at each call.

        Returns:
            The address: that of the client which a trusted proxy has named, if
            it has. Mostly one without a name where the peer came to a Unix
            socket.

        Raises:
            NetError: If the connection is gone, or the request did not come
                over a network.
        """
        var carrier = self._exchange[].carrier
        if not carrier:
            raise Error(NetError(NetError.CLOSED, "peer_address"))
        return carrier.value().functions[].peer_address(carrier.value().owner)

    def tls(self) -> Optional[TlsDetails]:
        """Tells what TLS knows of the connection; read anew at each call.

        Returns:
            Protocol version, names and the like, also whom the certificate of
            the client is for; none if the request came without TLS.
        """
        var machine = self._tls_machine()
        if not machine:
            return None
        return TlsDetails(machine.value()[])

    def is_secure(self) -> Bool:
        """Returns whether the request came inside of TLS.

        Returns:
            True if it did.
        """
        return Bool(self._tls_machine())

    def _tls_machine(self) -> Optional[PointerTo[TlsMachine]]:
        var carrier = self._exchange[].carrier
        if not carrier:
            return None
        return carrier.value().functions[].tls(carrier.value().owner)

    def peer_credentials(self) raises -> PeerCredentials:
        """Finds which process is at the other end of a Unix socket; asks the
        kernel at each call.

        Returns:
            Its number, user and group.

        Raises:
            NetError: `net.unsupported peer_credentials` where the peer came
                over TCP, or as `peer` does.
        """
        var carrier = self._exchange[].carrier
        if not carrier:
            raise Error(NetError(NetError.CLOSED, "peer_credentials"))
        return (
            carrier.value().functions[].peer_credentials(carrier.value().owner)
        )

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

    def error_headers(self) -> ref[MutUntrackedOrigin] HeaderMap:
        """Returns the fields of the answer that the server makes if the handler
        raises: middleware adds its own here before it passes an error on.

        Returns:
            The fields, at first none.
        """
        return self._exchange[].error_headers

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
