"""Writes bodies: with a length, chunked, or until the connection closes.

If a body contradicts its announced length, the message on the wire is broken.
So an error here ends the sending side, and the connection must close (RFC 9112
section 6.3).
"""

from flare.core import Buffer, PointerTo
from flare.message import HeaderMap

from ..head import BodyKind
from ..trailer_fields import may_be_trailers
from .connection import H1State, Role
from .error import H1Error
from .state import SideInput, SideState


def count_data(state: PointerTo[H1State], count: Int) raises H1Error -> Bool:
    """Counts octets of a body that the caller sends itself.

    Args:
        state: The connection.
        count: The number of octets; not negative.

    Returns:
        False if the message has no body: the octets do not count.

    Raises:
        H1Error: If the body is chunked or has no length, or becomes too long.
    """
    _require_body(state)
    ref s = state[]
    if s.is_bodiless:
        return False
    if s.send_body == BodyKind.LENGTH:
        if count > s.send_left:
            raise _break(state, "body exceeds its Content-Length")
        s.send_left -= count
    elif s.send_body != BodyKind.UNTIL_CLOSE and count > 0:
        raise _break(state, "octets without a body to belong to")
    return True


def write_data(
    state: PointerTo[H1State],
    octets: Span[UInt8, _],
    output: PointerTo[Buffer],
) raises H1Error:
    """Writes octets of a body; drops them if the message has none.

    Args:
        state: The connection.
        octets: The octets.
        output: The destination.

    Raises:
        H1Error: If no body may be sent now, or it becomes too long.
    """
    _require_body(state)
    ref s = state[]
    var n = len(octets)
    # An empty chunk would end the body.
    if n == 0 or s.is_bodiless:
        return
    if s.send_body == BodyKind.CHUNKED:
        output[].append_hexadecimal(n)
        output[].append("\r\n")
        output[].append(octets)
        output[].append("\r\n")
        return
    _ = count_data(state, n)
    output[].append(octets)


def write_trailers(
    state: PointerTo[H1State], fields: HeaderMap, output: PointerTo[Buffer]
) raises H1Error:
    """Writes the trailer section; drops it if the body is not chunked.

    Args:
        state: The connection.
        fields: The trailers.
        output: The destination.

    Raises:
        H1Error: If no body may be sent now, or a field may not be a trailer.
    """
    _require_body(state)
    if not may_be_trailers(fields):
        raise H1Error.local("a field that may not be a trailer")
    ref s = state[]
    if s.is_bodiless or s.send_body != BodyKind.CHUNKED:
        return
    output[].append("0\r\n")
    output[].append(fields.wire())
    output[].append("\r\n")
    s.send_body = BodyKind.NONE


def write_end(
    state: PointerTo[H1State], output: PointerTo[Buffer]
) raises H1Error:
    """Ends the message.

    Args:
        state: The connection.
        output: The destination of the last chunk.

    Raises:
        H1Error: If no message is being sent or its body is too short.
    """
    _require_body(state)
    ref s = state[]
    if not s.is_bodiless:
        if s.send_body == BodyKind.LENGTH and s.send_left > 0:
            raise _break(state, "body falls short of its Content-Length")
        if s.send_body == BodyKind.CHUNKED:
            output[].append("0\r\n\r\n")
    if s.role == Role.SERVER:
        s.advance_response(SideInput.END)
    else:
        s.advance_request(SideInput.END)
    s.finish_exchange()


@always_inline
def _require_body(state: PointerTo[H1State]) raises H1Error:
    ref s = state[]
    var side = s.response if s.role == Role.SERVER else s.request
    if side != SideState.BODY:
        raise H1Error.local("no message is being sent")


def _break(state: PointerTo[H1State], reason: StaticString) -> H1Error:
    ref s = state[]
    s.keep_alive = False
    if s.role == Role.SERVER:
        s.advance_response(SideInput.FAIL)
    else:
        s.advance_request(SideInput.FAIL)
    return H1Error.local(reason)
