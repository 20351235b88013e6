"""Forwards requests to another server, and its responses back, piece by piece.
"""

from std.memory import ArcPointer

from flare.core import (
    OctetBlock,
    equals,
    equals_ignoring_case,
    find_octet,
    write_hexadecimal,
)
from flare.io import copy
from flare.message import (
    FieldName,
    FieldSection,
    HeaderMap,
    Method,
    Status,
    escaped_percents,
    known_field,
)
from flare.message.list_grammar import lists_member
from flare.proto.head import BodyKind
from flare.proto.ws import accept_value, client_key, is_key
from flare.proto.ws.handshake_error import only_value
from flare.runtime.task import spawn
from flare.sys.random import fill_random

from .client import (
    ClientConfig,
    ClientError,
    ClientStream,
    HttpClient,
    PoolLimits,
)
from .client.requests import take_upgrade
from .client_error import Phase, raised
from .field_guard import FieldGuard
from .forwarding import ConnectionFields, forwarded_fields
from .handler import Handler
from .proxy_tunnel import TUNNEL_IDLE_TIMEOUT_MS, Tunnel, carry_tunnel
from .request import Request
from .response import Response
from .response_stream import ResponseStream
from .spans.current_trace import trace_fields
from .upgraded_stream import UpgradedStream
from .version import HttpVersion

comptime _UNBOUNDED = 1 << 62
comptime _PIECE_OCTETS = 64 * 1024
# As many as a worker has requests in flight by default.
comptime _CONNECTIONS_MAX = 8_192
comptime _IDLE_CONNECTIONS_MAX = 256

comptime _BAD_REQUEST = 400
comptime _NOT_IMPLEMENTED = 501
comptime _MS_MAX = 1 << 40
comptime _FORWARDS_MAX = 1_000_000
comptime _BAD_GATEWAY = 502
comptime _GATEWAY_TIMEOUT = 504
comptime _LOOP_DETECTED = 508

comptime _WEBSOCKET: StaticString = "websocket"
comptime _NONCE_OCTETS = 16

comptime _STATUS_MAX = 599

comptime _DOT: UInt8 = 46
comptime _PERCENT: UInt8 = 37

comptime _NAME_OCTETS = 8


struct ReverseProxy(Handler):
    """A handler that forwards requests to an upstream server, as its gateway
    (RFC 9110 section 3.7).

    The proxy forwards contents as they arrive, in constant memory, without
    decoding. It returns redirects to the client. It does not forward fields of
    one connection (`forwarded_fields`). Trailers of the response go to clients
    that accept them (`TE: trailers`). The proxy adds no field
    that the request lacks, such as User-Agent.

    Forwarded (RFC 7239) and three X-Forwarded fields report the client to the
    upstream server. They replace those of the request. Fields that other
    proxies use for the same purpose are dropped, because any client can send
    them: see `FIELDS_DROPPED`. Fields of `ClientConfig.headers` replace those
    of the request too.

    A path with a segment `.` or `..`, even if escaped, is answered 400: it
    could lead out of the forwarded URL. So is a path with an escaped control
    octet, which could end a name or a line in the upstream server. TRACE and
    `OPTIONS *` are answered 501: a TRACE would show the client the fields that
    the proxy adds. A request that passed this proxy before is answered 508.

    If the upstream server cannot be reached or fails before content, the answer
    is 502; if it is late, 504. If it fails later, or if the end of its content
    is uncertain, the proxy resets the client's connection, so that the client
    notices. Request content is forwarded before there is an answer, so
    `ServerConfig.handler_timeout_ms` limits long uploads.

    WebSockets pass through: if a request asks for one and the upstream server
    answers 101, the proxy carries the frames both ways, unchanged. No other
    protocol of an Upgrade field is forwarded. The client gets a Close 1001 when
    the server of the proxy stops, and when both ends are silent for too long.
    """

    var client: HttpClient
    """The client that sends requests to the upstream server."""
    var _guard: FieldGuard
    # A random name, so that no other proxy has it. Only the upstream server
    # sees it: a client cannot make requests of others look like a loop.
    var _name: String
    var _tunnel_idle_timeout_ms: Int

    def __init__(
        out self,
        url: StringSlice,
        *,
        var config: ClientConfig = _config(),
        fields_dropped: List[String] = List[String](),
        fields_kept: List[String] = List[String](),
        tunnel_idle_timeout_ms: Int = TUNNEL_IDLE_TIMEOUT_MS,
    ) raises:
        """Creates a proxy for an upstream server.

        Args:
            url: The URL to which request targets are appended.
            config: The configuration of the connections to the upstream
                server. Its settings for redirects, decoding and cookies have
                no effect. By default, up to 8,192 connections are opened. A
                client that reads slowly occupies one; if there were fewer,
                some slow clients could lock out all others.
            fields_dropped: Further fields that no client may send to the
                upstream server, besides `FIELDS_DROPPED`. A star at the end of
                a name stands for any octets. List the fields by which your
                program informs the upstream server, such as `Remote-User`.
            fields_kept: Names of `FIELDS_DROPPED` to forward, for example
                because a network in front of the proxy sets them.
            tunnel_idle_timeout_ms: How long both ends of a WebSocket may be
                silent, 1 to 2^40. By default five minutes: endpoints that
                probe each other do so several times a minute.

        Raises:
            Error: `client.bad_url prepare` or `client.bad_config prepare`.
        """
        if not 1 <= tunnel_idle_timeout_ms <= _MS_MAX:
            raise raised(
                ClientError.BAD_CONFIG,
                Phase.PREPARE,
                "tunnel_idle_timeout_ms not in 1..2^40",
            )
        self._tunnel_idle_timeout_ms = tunnel_idle_timeout_ms
        config.redirects_max = 0
        config.default_fields = False
        config.decoding = None
        # A jar would show the cookies of one client to the next.
        config.cookies = None
        self._guard = FieldGuard(fields_dropped, fields_kept, config.headers)
        self._name = _draw_name()
        self.client = HttpClient(url, config=config^)

    def serve(self, req: Request) raises -> Response:
        """Forwards a request and returns the upstream server's response.

        Args:
            req: The request.

        Returns:
            The response, or 400, 501, 502, 504 or 508.

        Raises:
            ClientError: `client.cancelled` if the request is over.
        """
        # The upstream server would show the fields that the proxy has added,
        # and the client's cookies and credentials (RFC 9110 section 9.3.8).
        if req.method == Method.TRACE:
            return Response(_NOT_IMPLEMENTED)
        # Both mean the whole server (RFC 9112 section 3.2.4).
        if req.url == "*" or (
            req.method == Method.OPTIONS
            and req.path.byte_length() + req.query.byte_length() == 0
        ):
            return Response(_NOT_IMPLEMENTED)
        var forwards_left = _forwards_left(req)
        if forwards_left and forwards_left.value() < 0:
            # This hop is the final recipient, and has no information to give.
            return Response(_NOT_IMPLEMENTED)
        var path = req.path.as_bytes()
        if _climbs(path) or _escapes_control(path):
            return Response(_BAD_REQUEST)
        for value in req.headers.values("Via"):
            if value.find(self._name) >= 0:
                return Response(_LOOP_DETECTED)
        var fields: HeaderMap
        try:
            fields = self._request_fields(req)
            if forwards_left:
                fields.set("Max-Forwards", String(forwards_left.value()))
        except:
            return Response(_BAD_REQUEST)
        try:
            if not _asks_for_websocket(req):
                return _answer(_ask(self.client, req, fields))
            fields.append("Upgrade", _WEBSOCKET)
            fields.append("Connection", "Upgrade")
            if req.version == HttpVersion.HTTP_2:
                # An extended CONNECT needs none (RFC 8441 section 5).
                fields.set("Sec-WebSocket-Key", _draw_key())
            var key = _key_of(fields)
            if not key:
                return Response(_BAD_REQUEST)
            return _answer_upgrade(
                _ask(self.client, req, fields),
                _UpgradeOffer(
                    key.take(),
                    req.version == HttpVersion.HTTP_2,
                    self._tunnel_idle_timeout_ms,
                ),
            )
        except e:
            var error = ClientError.of(e)
            if not error or error.value().kind == ClientError.CANCELLED:
                raise e^
            var kind = error.value().kind
            if kind == ClientError.BAD_URL or kind == ClientError.BAD_REQUEST:
                return Response(_BAD_REQUEST)
            if kind == ClientError.TIMEOUT:
                return Response(_GATEWAY_TIMEOUT)
            return Response(_BAD_GATEWAY)

    def _request_fields(self, req: Request) raises -> HeaderMap:
        var connection = ConnectionFields(req.headers)
        var fields = HeaderMap()
        for line in req.headers:
            if not connection.has(line.name) and not self._guard.has(line.name):
                fields.append(line.name, line.value)
        fields.append("Via", _via(req.version, self._name))
        # With `Tracing` around the proxy, its own span is the parent.
        trace_fields(fields)
        if req.version == HttpVersion.HTTP_2 and _accepts_trailers(req):
            # gRPC asks for it. In HTTP/1.1, it is a field of one connection.
            fields.append("TE", "trailers")
            fields.append("Connection", "TE")
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


def _config() -> ClientConfig:
    return ClientConfig(
        pool=PoolLimits(
            connections_per_origin_max=_CONNECTIONS_MAX,
            idle_connections_max=_IDLE_CONNECTIONS_MAX,
        )
    )


struct _Content(Movable):
    """The content of a response on its way from one stream to another."""

    var upstream: ArcPointer[ClientStream]
    var piece: OctetBlock
    var count: Int

    def __init__(out self, upstream: ArcPointer[ClientStream]):
        self.upstream = upstream
        self.piece = OctetBlock(length=_PIECE_OCTETS)
        self.count = 0

    def read(mut self) raises:
        self.count = self.upstream[].read(self.piece.span())

    def write_to(mut self, stream: ResponseStream) raises:
        stream.write_all(self.piece.span()[0 : self.count])


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


def _escapes_control(path: Span[UInt8, _]) -> Bool:
    var at = find_octet(path, _PERCENT)
    while at + 2 < len(path):
        var high = path[at + 1]
        if high == UInt8(ord("0")) or high == UInt8(ord("1")):
            return True
        if high == UInt8(ord("7")) and path[at + 2] | 32 == UInt8(ord("f")):
            return True
        at = find_octet(path, _PERCENT, at + 1)
    return False


def _target_of(req: Request) -> String:
    # An absolute form names a host, which is not the one to ask. A path has
    # only whole escapes. A query may have others, which are forwarded by their
    # meaning.
    if req.url.startswith("/"):
        return escaped_percents(req.url)
    var target = String(req.path) if req.path.byte_length() > 0 else String("/")
    if req.query.byte_length() > 0:
        target.write("?", escaped_percents(req.query))
    return target^


def _forwards_left(req: Request) -> Optional[Int]:
    # For requests that trace the intermediaries (RFC 9110 section 7.6.2).
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
    client: HttpClient, req: Request, fields: HeaderMap
) raises -> ArcPointer[ClientStream]:
    var length = req.body.declared_octets()
    var method = req.method_text()
    var target = _target_of(req)
    if req.unsafe_exchange()[].head.body == BodyKind.NONE:
        return ArcPointer(client.stream(target, method=method, headers=fields))
    var upstream = ArcPointer(
        client.open(method, target, length=length, headers=fields)
    )
    if upstream[].begin_content():
        # The limit of the content is checked later.
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
        # The content itself knows when its request is over.
        var carrying = spawn[unsafe_borrows=True](carry^)
        carrying^.detach()
    return upstream^


def _asks_for_websocket(req: Request) -> Bool:
    # RFC 6455 section 4.2.1. A 101 may only answer a request without content.
    ref head = req.unsafe_exchange()[].head
    if (
        not head.wants_upgrade
        or head.method != Method.GET
        or head.body != BodyKind.NONE
    ):
        return False
    for offered in req.headers.values("Upgrade"):
        if lists_member(offered.as_bytes(), _WEBSOCKET.as_bytes()):
            return True
    return False


def _draw_key() raises -> String:
    var random = Array[UInt8, _NONCE_OCTETS](fill=0)
    if fill_random(Span(random)) != _NONCE_OCTETS:
        raise Error("http.no_random the kernel has no random octets")
    return client_key(Span(random))


def _key_of(fields: HeaderMap) -> Optional[String]:
    var key = only_value(fields.view(), "Sec-WebSocket-Key")
    if not is_key(key):
        return None
    return String(unsafe_from_utf8=key)


@fieldwise_init
struct _UpgradeOffer(Copyable, Movable):
    var key: String
    # Whether the client is one of HTTP/2, which knows no key.
    var is_stream: Bool
    var idle_timeout_ms: Int


def _answer_upgrade(
    upstream: ArcPointer[ClientStream], offer: _UpgradeOffer
) raises -> Response:
    if upstream[].status() != Status.SWITCHING_PROTOCOLS:
        # The refusal is a response like any other.
        return _answer(upstream)
    ref received = upstream[].headers()
    if not _has_upgraded(upstream[].version(), received.view(), offer.key):
        return Response(_BAD_GATEWAY)
    var fields: HeaderMap
    try:
        fields = forwarded_fields(received.view())
        fields.append("Via", _via(upstream[].version(), "flare"))
        # It is that of the server, or takes its place.
        _ = fields.remove("Sec-WebSocket-Accept")
        if not offer.is_stream:
            fields.append(
                "Sec-WebSocket-Accept", accept_value(offer.key.as_bytes())
            )
    except:
        return Response(_BAD_GATEWAY)
    var tunnel = ArcPointer(
        Tunnel(
            take_upgrade(upstream[].unsafe_state()),
            idle_timeout_ms=offer.idle_timeout_ms,
        )
    )

    def carry(req: Request, client: UpgradedStream) raises {var tunnel}:
        carry_tunnel(tunnel, client)

    var response = Response.upgrade(_WEBSOCKET, carry^)
    response.headers.append_all(fields.view())
    return response^


def _has_upgraded(
    version: HttpVersion, fields: FieldSection, key: String
) -> Bool:
    """Returns whether a server has accepted a WebSocket with its 101."""
    if version == HttpVersion.HTTP_2:
        # The status says it all (RFC 8441 section 5).
        return True
    if version.minor == 0:
        # HTTP/1.0 knows no 101.
        return False
    var chosen = 0
    for protocol in fields.values("Upgrade"):
        if not equals_ignoring_case(protocol.as_bytes(), _WEBSOCKET.as_bytes()):
            return False
        chosen += 1
    return chosen == 1 and equals(
        only_value(fields, "Sec-WebSocket-Accept"),
        accept_value(key.as_bytes()).as_bytes(),
    )


def _answer(upstream: ArcPointer[ClientStream]) raises -> Response:
    var status = upstream[].status()
    if status > _STATUS_MAX:
        return Response(_BAD_GATEWAY)
    ref received = upstream[].headers()
    var length = Optional[Int](None)
    var announced = received.get("Content-Length")
    if announced:
        length = Int(String(announced.value()))
    var fields: HeaderMap
    try:
        fields = forwarded_fields(received.view())
        fields.append("Via", _via(upstream[].version(), "flare"))
    except:
        return Response(_BAD_GATEWAY)
    var content = ArcPointer(_Content(upstream))
    # While the head has not gone, a failure still has an answer of its own. A
    # content of unknown length may be made while it is read: events perhaps,
    # of which the first one comes later.
    var begins = Bool(length) or upstream[].has_received()
    if begins:
        content[].read()

    def write(
        req: Request, stream: ResponseStream
    ) raises {var content, var begins}:
        req.unsafe_exchange()[].stream.held_octets = _PIECE_OCTETS
        if not begins:
            stream.flush()
            content[].read()
        while content[].count > 0:
            content[].write_to(stream)
            content[].read()
        if _accepts_trailers(req):
            _forward_trailers(content[].upstream[].trailers(), stream)

    var response = Response.stream(write^, status=status, length=length)
    _ = response.headers.remove("Content-Type")
    response.headers.append_all(fields.view())
    return response^


def _forward_trailers(fields: HeaderMap, stream: ResponseStream) raises:
    for line in fields:
        # A client could merge others into the head (RFC 9110 section 6.5.1).
        if known_field(line.name.as_bytes()) == FieldName.UNKNOWN:
            stream.set_trailer(line.name, line.value)


def _accepts_trailers(req: Request) -> Bool:
    for value in req.headers.values("TE"):
        if lists_member(value.as_bytes(), "trailers".as_bytes()):
            return True
    return False


def _via(version: HttpVersion, name: StringSlice) -> String:
    # The version is that of the message that was received.
    return String(version.major, ".", version.minor, " ", name)


def _draw_name() raises -> String:
    var octets = List[UInt8](length=_NAME_OCTETS, fill=0)
    if fill_random(Span(octets)) != _NAME_OCTETS:
        raise raised(
            ClientError.OTHER, Phase.PREPARE, "the kernel has no random octets"
        )
    var name = String("flare-")
    write_hexadecimal(Span(octets), name)
    return name^
