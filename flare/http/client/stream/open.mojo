"""Begins exchanges whose contents go bit by bit."""

from flare.core import OctetBlock, PointerTo, heap_create
from flare.io import Reader
from flare.message import FieldName, HeaderMap
from flare.proto.h1 import BodyLength
from flare.runtime.fiber import NO_DEADLINE

from ...response import Response
from ..call.call import Call
from ..call.client_state import CallOwner, ClientState
from ..call.lending import lent
from ..call.perform import (
    answered,
    decoding_of,
    fields_of,
    goes_on,
    put_head,
)
from ...client_error import ClientError, Phase
from ..transport.clock import Clock
from .client_stream import ClientStream
from .stream_state import ClientStreamState, RequestSide, StreamSides
from .streaming import drop, finish

comptime _UNBOUNDED = 1 << 62
comptime _PIECE_OCTETS = 64 * 1024


def opened(
    var owner: CallOwner, length: BodyLength, expects_continue: Bool
) raises -> PointerTo[ClientStreamState]:
    """Starts a request whose content is written piece by piece.

    Args:
        owner: The call; its target is set.
        length: The length of the content.
        expects_continue: Whether to ask the server first (100 Continue).

    Returns:
        The stream; no octet is sent yet.

    Raises:
        ClientError: If there is no connection, or the request is invalid.
    """
    var request: UInt8
    try:
        if expects_continue:
            owner.call[].headers.set("Expect", "100-continue")
        request = _begun(owner.state, owner.call, length)
    except e:
        raise _given_up(owner, e)
    return _stream_state(owner^, request)


def streamed(var owner: CallOwner) raises -> PointerTo[ClientStreamState]:
    """Starts a request whose response is read piece by piece.

    Args:
        owner: The call; its target is set.

    Returns:
        The stream; the head of the response has arrived.

    Raises:
        ClientError: The failure of the call.
    """
    try:
        while True:
            _ = answered(owner.state, owner.call, _UNBOUNDED)
            if not goes_on(owner.state, owner.call):
                break
    except e:
        raise _given_up(owner, e)
    var stream = _stream_state(owner^, RequestSide.ENDED)
    try:
        StreamSides(stream).begin_response()
    except e:
        drop(stream)
        raise e^
    return stream


def sent_from[R: Reader](stream: ClientStream, reader: R) raises -> Response:
    """Sends the octets of a reader, and receives the response.

    Parameters:
        R: The type of the reader.

    Args:
        stream: The stream, before any octet was sent.
        reader: The reader, which is read to its end.

    Returns:
        The response, even if it arrived before the whole request was sent.

    Raises:
        ClientError: If no response arrives; and the errors of the reader.
    """
    if stream.begin_content():
        var piece = OctetBlock(length=_PIECE_OCTETS)
        while True:
            var count: Int
            try:
                count = reader.read(piece.span())
            except e:
                stream.give_up(e)
                raise e^
            if count == 0:
                break
            try:
                stream.write_all(piece.span()[0:count])
            except:
                # The server may have answered what it will not read.
                break
    return finish(stream._state)


def _given_up(owner: CallOwner, cause: Error) -> Error:
    owner.call[].fail(cause, Phase.PREPARE)
    return Error(ClientError.because(Phase.PREPARE, cause))


def _begun(
    state: PointerTo[ClientState], call: Call, length: BodyLength
) raises -> UInt8:
    # Writes the head, and records the progress of the request.
    var exchange = lent(state, call)
    # The connection stands: from here on each wait counts for itself.
    exchange.state[].clock = Clock(NO_DEADLINE)
    exchange.begin(_UNBOUNDED)
    call[].attempts = 1
    _ = call[].next_phase_us()
    var fields: PointerTo[HeaderMap]
    try:
        fields = fields_of(state, call, length)
        put_head(call, fields, length)
    except e:
        var pool = ClientState.pool_of(state)
        pool.discard(call[].origin.value(), exchange)
        raise e^
    if length.octets != BodyLength.NONE.octets and fields[].has_known(
        FieldName.EXPECT
    ):
        return RequestSide.EXPECTING
    return RequestSide.HEAD


def _stream_state(
    var owner: CallOwner, request: UInt8
) -> PointerTo[ClientStreamState]:
    var decoding = decoding_of(owner.state, owner.call)
    return heap_create(ClientStreamState(owner^, request, decoding))
