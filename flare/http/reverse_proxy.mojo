"""Hands requests on to another server, and its responses back, bit by bit."""

from std.memory import ArcPointer

from flare.core import find_octet
from flare.io import copy
from flare.message import HeaderMap, Method, escaped_percents
from flare.runtime.task import spawn

from .client import ClientConfig, ClientError, ClientStream, HttpClient
from .forwarding import forwarded_fields
from .handler import Handler
from .request import Request
from .response import Response
from .response_stream import ResponseStream
from .version import HttpVersion

comptime _UNBOUNDED = 1 << 62

comptime _BAD_REQUEST = 400
comptime _NOT_IMPLEMENTED = 501
comptime _FORWARDS_MAX = 1_000_000
comptime _BAD_GATEWAY = 502
comptime _GATEWAY_TIMEOUT = 504

comptime _STATUS_MAX = 599

comptime _DOT: UInt8 = 46
comptime _PERCENT: UInt8 = 37


struct ReverseProxy(Handler):
    """Stands before another server as its gateway (RFC 9110 section 3.7).

    Contents go through in constant memory while they come, coded as they are,
    and redirections go back to whoever asked. What concerns one connection
    stays there (`forwarded_fields`), trailers among it; what the request does
    not say of itself, such as User-Agent, stays unsaid. The server behind is
    told whom it answers by Forwarded (RFC 7239) and three fields of the
    X-Forwarded kind, in place of what the request says there or in X-Real-IP:
    anybody can write that.

    A path with a segment `.` or `..` is answered 400, also where its dots or
    the slashes beside it are escaped: it could lead out of what the URL shows.
    `OPTIONS *` means the proxy, and is answered 501.

    Where the server behind cannot be reached, or fails before its head, the
    answer is 502, and 504 where it is late. Fails it later, the connection is
    broken off, so that no part is taken for the whole. Content of a request
    goes on before the handler has an answer: whoever takes long uploads raises
    `ServerConfig.handler_timeout_ms`, whose default bounds them.
    """

    var client: HttpClient
    """What asks the server behind."""

    def __init__(
        out self,
        url: StringSlice,
        *,
        var config: ClientConfig = ClientConfig(),
    ) raises:
        """Stands before a server.

        Args:
            url: What the request targets are put behind.
            config: What is decided about the way there. Redirections, contents
                and cookies go through untouched, whatever it says of them.

        Raises:
            Error: `client.bad_url prepare` or `client.bad_config prepare`.
        """
        config.redirects_max = 0
        config.default_fields = False
        config.decoding = None
        # A jar would show the cookies of one client to the next.
        config.cookies = None
        self.client = HttpClient(url, config=config^)

    def serve(self, req: Request) raises -> Response:
        """Asks the server behind.

        Args:
            req: The request.

        Returns:
            Its response, or 400, 501, 502 or 504.

        Raises:
            ClientError: `client.cancelled` where the request is over.
        """
        # Both mean the whole server (RFC 9112 section 3.2.4).
        if req.url == "*" or (
            req.method == Method.OPTIONS
            and req.path.byte_length() + req.query.byte_length() == 0
        ):
            return Response(_NOT_IMPLEMENTED)
        var forwards_left = _forwards_left(req)
        if forwards_left and forwards_left.value() < 0:
            # It is for us, who have nothing to say of the way.
            return Response(_NOT_IMPLEMENTED)
        if _climbs(req.path.as_bytes()):
            return Response(_BAD_REQUEST)
        try:
            return _answer(_ask(self.client, req, forwards_left))
        except e:
            var error = ClientError.of(e)
            if not error or error.value().kind == ClientError.CANCELLED:
                raise e^
            if error.value().kind == ClientError.BAD_URL:
                return Response(_BAD_REQUEST)
            if error.value().kind == ClientError.TIMEOUT:
                return Response(_GATEWAY_TIMEOUT)
            return Response(_BAD_GATEWAY)


def _climbs(path: Span[UInt8, _]) -> Bool:
    # Servers undo escapes before they look for segments, some take a backslash
    # for a slash, and some leave out what follows a semicolon.
    if find_octet(path, _DOT) == len(path) and (
        find_octet(path, _PERCENT) == len(path)
    ):
        return False
    var text = String(StringSlice(unsafe_from_utf8=path)).lower()
    text = text.replace("%2f", "/").replace("%5c", "/").replace("%2e", ".")
    text = text.replace("\\", "/").replace("%3b", ";")
    for whole in text.split("/"):
        var segment = whole.split(";")[0]
        if segment == "." or segment == "..":
            return True
    return False


def _target_of(req: Request) -> String:
    # An absolute form names a host, which is not the one to ask. A path has only
    # whole escapes, a query may have others: they go on as what they mean.
    if req.url.startswith("/"):
        return escaped_percents(req.url)
    var target = String(req.path) if req.path.byte_length() > 0 else String("/")
    if req.query.byte_length() > 0:
        target.write("?", escaped_percents(req.query))
    return target^


def _forwards_left(req: Request) -> Optional[Int]:
    # Of requests that look for who is on the way (RFC 9110 section 7.6.2).
    var said = req.headers.get("Max-Forwards")
    if (
        not said
        or said.value() == ""
        or (req.method != Method.OPTIONS and req.method != Method.TRACE)
    ):
        return None
    var number = 0
    for octet in said.value().as_bytes():
        if octet - UInt8(ord("0")) > 9:
            return None
        number = min(
            number * 10 + Int(octet - UInt8(ord("0"))), _FORWARDS_MAX + 1
        )
    return number - 1


def _ask(
    client: HttpClient, req: Request, forwards_left: Optional[Int]
) raises -> ArcPointer[ClientStream]:
    var fields = _request_fields(req)
    if forwards_left:
        fields.set("Max-Forwards", String(forwards_left.value()))
    var length = req.body.declared_octets()
    var method = req.method_text()
    var target = _target_of(req)
    var is_chunked = "Transfer-Encoding" in req.headers
    if not is_chunked and length.or_else(0) == 0:
        return ArcPointer(client.stream(target, method=method, headers=fields))
    var upstream = ArcPointer(
        client.open(method, target, length=length, headers=fields)
    )
    if upstream[].begin_content():
        # What bounds the content is decided behind.
        req.body.set_octets_max(_UNBOUNDED)
        var body = req.body

        def carry() raises {var body, var upstream}:
            try:
                _ = copy(body, upstream[], _UNBOUNDED)
                upstream[].end()
            except e:
                var failure = ClientError.of(e)
                # A server that has closed may have answered before. To any
                # other one, half a content has no end that it could wait for.
                if not failure or not failure.value().is_broken_off():
                    upstream[].close()
                raise e^

        # The response may come while the content still goes.
        var carrying = spawn(carry^)
        carrying^.detach()
    return upstream^


def _answer(upstream: ArcPointer[ClientStream]) raises -> Response:
    var status = upstream[].status()
    if status > _STATUS_MAX:
        return Response(_BAD_GATEWAY)
    ref received = upstream[].headers()
    var length = Optional[Int](None)
    var announced = received.get("Content-Length")
    if announced:
        length = Int(String(announced.value()))

    def write(req: Request, stream: ResponseStream) raises {var upstream}:
        _ = copy(upstream[], stream, _UNBOUNDED)

    var response = Response.stream(write^, status=status, length=length)
    _ = response.headers.remove("Content-Type")
    var fields = forwarded_fields(received.view())
    fields.append("Via", _via(upstream[].version()))
    response.headers.append_all(fields.view())
    return response^


def _via(version: HttpVersion) -> String:
    # The version is that of the message that was received.
    return String(version.major, ".", version.minor, " flare")


def _is_said_by_proxies(name: StringSlice) -> Bool:
    var first = name.as_bytes()[0] | 32
    if first != UInt8(ord("f")) and first != UInt8(ord("x")):
        return False
    # Programs that see fields as variables take an underscore for a hyphen.
    var plain = String(name).lower().replace("_", "-")
    return (
        plain == "forwarded"
        or plain == "x-real-ip"
        or plain.startswith("x-forwarded-")
    )


def _request_fields(req: Request) raises -> HeaderMap:
    var fields = forwarded_fields(req.headers)
    for line in req.headers:
        if _is_said_by_proxies(line.name):
            _ = fields.remove(line.name)
    fields.append("Via", _via(req.version))
    var peer = req.peer()
    var scheme: StaticString = "https" if req.is_secure() else "http"
    var forwarded = String("for=unknown")
    var ip = peer.ip_address()
    if ip:
        forwarded = String('for="', peer, '"')
        fields.append("X-Forwarded-For", String(ip.value()))
    forwarded.write(";proto=", scheme)
    fields.append("X-Forwarded-Proto", scheme)
    var host = req.authority
    if host.byte_length() > 0:
        forwarded.write(';host="', host, '"')
        fields.append("X-Forwarded-Host", host)
    fields.append("Forwarded", forwarded)
    return fields^
