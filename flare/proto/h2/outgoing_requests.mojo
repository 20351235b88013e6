"""Writes heads of requests (RFC 9113 section 8.3.1)."""

from flare.core import Buffer, PointerTo, is_token
from flare.message import FieldName, HeaderMap, Method, valid_host
from flare.message.list_grammar import lists_member

from ..h1.body_length import BodyLength
from .content_length import stated_length
from .frame import H2Flag
from .h2_error import H2Error
from .h2_state import H2State
from .outgoing_blocks import append_fields, begin_block, finish_block
from .settings import WINDOW_MAX
from .stream_state import H2StreamState
from .stream_table import StreamReceiving

# Lines of one connection of HTTP/1.1, those that become pseudo-header fields,
# and those that this module writes itself.
comptime _DROPPED = (
    FieldName.bit(FieldName.CONNECTION)
    | FieldName.bit(FieldName.KEEP_ALIVE)
    | FieldName.bit(FieldName.PROXY_CONNECTION)
    | FieldName.bit(FieldName.UPGRADE)
    | FieldName.bit(FieldName.HTTP2_SETTINGS)
    | FieldName.bit(FieldName.CONTENT_LENGTH)
    | FieldName.bit(FieldName.HOST)
    | FieldName.bit(FieldName.TE)
)


struct RequestStart(TrivialRegisterPassable):
    """The parts of a request besides its fields and its content. It is a view,
    for one call.
    """

    var method: Span[UInt8, ImmUntrackedOrigin]
    """The method."""
    var path: Span[UInt8, ImmUntrackedOrigin]
    """The request target: a path with or without a query, or `*`."""
    var is_secure: Bool
    """Whether the scheme is https."""
    var length: BodyLength
    """The length of the content."""
    var protocol: Span[UInt8, ImmUntrackedOrigin]
    """The protocol that an extended CONNECT asks for (RFC 8441); empty in other
    requests."""

    def __init__(
        out self,
        method: Span[mut=False, UInt8, _],
        path: Span[mut=False, UInt8, _],
        is_secure: Bool,
        length: BodyLength,
    ):
        """Creates a view, which the caller uses while it keeps the texts.

        Args:
            method: The method.
            path: The request target.
            is_secure: Whether the scheme is https.
            length: The length of the content.
        """
        self = Self(method, path, is_secure, length, protocol="".as_bytes())

    def __init__(
        out self,
        method: Span[mut=False, UInt8, _],
        path: Span[mut=False, UInt8, _],
        is_secure: Bool,
        length: BodyLength,
        *,
        protocol: Span[mut=False, UInt8, _],
    ):
        """Creates a view, which the caller uses while it keeps the texts.

        Args:
            method: The method.
            path: The request target.
            is_secure: Whether the scheme is https.
            length: The length of the content.
            protocol: The protocol of an extended CONNECT, or empty. The method
                is then GET, as in HTTP/1.1, and there is no content.
        """
        self.protocol = _view(protocol)
        self.method = _view(method)
        self.path = _view(path)
        self.is_secure = is_secure
        self.length = length


def may_begin(state: PointerTo[H2State]) -> Bool:
    """Returns whether the peer and this end allow another stream now.

    Args:
        state: A client's connection.

    Returns:
        False at either limit, and if no number is left.
    """
    ref s = state[]
    return (
        not s.streams.is_full()
        and len(s.streams) < s.peer.streams_max
        and s.ids.last_begun <= WINDOW_MAX - 2
    )


def send_request_head(
    state: PointerTo[H2State],
    start: RequestStart,
    fields: HeaderMap,
    output: PointerTo[Buffer],
) raises H2Error -> Int:
    """Begins a stream with the head of a request.

    Args:
        state: A client's connection.
        start: Method, path, scheme and length.
        fields: The fields of the caller, with one Host. Those of a connection
            of HTTP/1.1 are left out.
        output: The destination.

    Returns:
        The slot of the stream.

    Raises:
        H2Error: If no stream may begin now, or a part would be invalid. The
            output is then unchanged.
    """
    ref s = state[]
    if not may_begin(state):
        raise H2Error.local("no further stream may begin")
    var method = Method.from_octets(start.method)
    if not is_token(start.method) or method == Method.CONNECT:
        raise H2Error.local("the method is not valid")
    var is_connect = len(start.protocol) > 0
    if is_connect:
        _check_protocol(s.peer.has_connect_protocol, start, method)
    _check_path(start.path)
    if fields.has_known(FieldName.TRANSFER_ENCODING):
        raise H2Error.local("Transfer-Encoding among the fields")
    var authority = fields.view().find("host")
    var count = len(fields)
    if (
        authority == count
        or fields.view().find("host", authority + 1) != count
        or not valid_host(fields.view().value(authority).as_bytes())
    ):
        raise H2Error.local("a request needs one valid Host")
    var stated = _stated_length(start.length, method, fields)
    var ends = not is_connect and (
        start.length.octets == BodyLength.NONE.octets or stated == 0
    )
    s.ids.last_begun += 1 if s.ids.last_begun == 0 else 2
    var slot = s.streams.insert(s.ids.last_begun)
    ref stream = s.streams[slot]
    stream.state = (
        H2StreamState.HALF_CLOSED_LOCAL if ends else H2StreamState.OPEN
    )
    stream.send_window = Int32(s.peer.window_octets)
    stream.receiving = StreamReceiving(s.limits.stream_window_octets)
    stream.send_left = stated
    stream.response.is_head_request = method == Method.HEAD
    stream.response.is_tunnel = is_connect
    var at = begin_block(output)
    ref encoder = s.encoder
    encoder.begin_block(output)
    if is_connect:
        encoder.append_method("CONNECT".as_bytes(), Method.CONNECT, output)
        encoder.append_line(
            ":protocol".as_bytes(), start.protocol, FieldName.UNKNOWN, output
        )
    else:
        encoder.append_method(start.method, method, output)
    encoder.append_scheme(start.is_secure, output)
    encoder.append_authority(fields.view().value(authority).as_bytes(), output)
    encoder.append_path(start.path, output)
    if stated >= 0:
        encoder.append_length(stated, output)
    append_fields[_DROPPED](state, fields, output)
    if fields.has_known(FieldName.TE) and _accepts_trailers(fields):
        encoder.append_line(
            "te".as_bytes(), "trailers".as_bytes(), FieldName.TE, output
        )
    finish_block(state, slot, at, H2Flag.END_STREAM if ends else 0, output)
    return slot


@always_inline
def _view(text: Span[mut=False, UInt8, _]) -> Span[UInt8, ImmUntrackedOrigin]:
    return Span[UInt8, ImmUntrackedOrigin](
        unsafe_ptr=text.unsafe_ptr().unsafe_origin_cast[ImmUntrackedOrigin](),
        length=len(text),
    )


def _check_protocol(
    is_understood: Bool, start: RequestStart, method: Method
) raises H2Error:
    if not is_understood:
        raise H2Error.local("the server accepts no extended CONNECT")
    if not is_token(start.protocol):
        raise H2Error.local("the protocol is not a token")
    if method != Method.GET or start.length.octets != BodyLength.NONE.octets:
        raise H2Error.local("an upgrade with content")


def _check_path(path: Span[UInt8, _]) raises H2Error:
    var is_visible = len(path) > 0
    for octet in path:
        if octet <= 32 or octet >= 127:
            is_visible = False
    if not is_visible:
        raise H2Error.local("the path holds a forbidden octet")
    comptime STAR: UInt8 = 42
    comptime SLASH: UInt8 = 47
    if path[0] != SLASH and (path[0] != STAR or len(path) > 1):
        raise H2Error.local("the path is not in origin form")


def _stated_length(
    length: BodyLength, method: Method, fields: HeaderMap
) raises H2Error -> Int:
    if length.octets != BodyLength.NONE.octets:
        return stated_length(fields, length.octets if length.is_known() else -1)
    if fields.has_known(FieldName.CONTENT_LENGTH):
        return stated_length(fields, 0)
    # Said where the method expects content (RFC 9110 section 8.6).
    if method == Method.POST or method == Method.PUT or method == Method.PATCH:
        return 0
    return -1


def _accepts_trailers(fields: HeaderMap) -> Bool:
    for value in fields.values("te"):
        if lists_member(value.as_bytes(), "trailers".as_bytes()):
            return True
    return False
