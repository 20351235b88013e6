"""Begins exchanges whose contents go bit by bit."""

from flare.core import OctetBlock, PointerTo, heap_create
from flare.io import Reader
from flare.message import FieldName, FormFields, HeaderMap
from flare.proto.h1 import BodyLength
from flare.runtime.fiber import NO_DEADLINE

from ..body import Body
from ..received import Received
from ..response import Response
from .call import Call
from .client_state import ClientState
from .clock import Clock
from .error import ClientError, Phase
from .exchange import ClientExchange, exceeds_limit
from .lending import lent
from .perform import (
    answered,
    decoding_of,
    fields_of,
    goes_on,
    put_head,
)
from .reference import aim
from .stream import ClientStream
from .stream_state import ClientStreamState, RequestSide

comptime _UNBOUNDED = 1 << 62
comptime _PIECE_OCTETS = 64 * 1024
comptime _READ_OCTETS = 16 * 1024


def opened(
    state: PointerTo[ClientState],
    method: StringSlice,
    url: StringSlice,
    headers: HeaderMap,
    query: FormFields,
    length: BodyLength,
    expects_continue: Bool,
) raises -> ClientStream:
    """Begins a request whose content is written bit by bit.

    Args:
        state: The client.
        method: The method.
        url: What is asked for.
        headers: Fields of the request.
        query: Parameters of the URL.
        length: How long the content is.
        expects_continue: Whether the server is asked first.

    Returns:
        The stream; nothing is sent yet.

    Raises:
        ClientError: If there is no connection, or this is no request.
    """
    var call = ClientState.begin_call(state, method, None)
    try:
        aim(state, call, url, query)
        call[].headers = headers.copy()
        if expects_continue:
            call[].headers.set("Expect", "100-continue")
        var exchange = lent(state, call)
        # The connection stands: from here on each wait counts for itself.
        exchange.state[].clock = Clock(NO_DEADLINE)
        return _begun(state, call, exchange, length)
    except e:
        raise _given_up(state, call, e)


def streamed(
    state: PointerTo[ClientState],
    method: StringSlice,
    url: StringSlice,
    headers: HeaderMap,
    query: FormFields,
    timeout_ms: Optional[Int],
) raises -> ClientStream:
    """Asks for a content that is read bit by bit.

    Args:
        state: The client.
        method: The method.
        url: What is asked for.
        headers: Fields of the request.
        query: Parameters of the URL.
        timeout_ms: How long it may take until the head has come, if not as
            configured.

    Returns:
        The stream; the head of the response has come.

    Raises:
        ClientError: Whatever this fails with.
    """
    var call = ClientState.begin_call(state, method, timeout_ms)
    try:
        aim(state, call, url, query)
        call[].headers = headers.copy()
        while True:
            var exchange = answered(state, call, _UNBOUNDED)
            if not goes_on(state, call):
                return ClientStream(
                    unsafe_state=heap_create(_answered(state, call, exchange))
                )
    except e:
        raise _given_up(state, call, e)


def sent_from[
    R: Reader
](
    state: PointerTo[ClientState], stream: ClientStream, reader: R
) raises -> Response:
    """Sends what a reader gives, and receives the response.

    Parameters:
        R: The type of the reader.

    Args:
        state: The client.
        stream: The stream; nothing was sent.
        reader: What is read to its end.

    Returns:
        The response, also where it came before all was sent.

    Raises:
        ClientError: If there is none; and what the reader raises.
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
    try:
        stream.end()
    except e:
        var error = ClientError.of(e)
        if not error or error.value().kind == ClientError.BAD_REQUEST:
            raise e^
    return whole_response(stream, state[].config.limits.body_octets_max)


def whole_response(stream: ClientStream, octets_max: Int) raises -> Response:
    """Reads what is left of a stream into a response.

    Args:
        stream: The stream; its content was sent.
        octets_max: The longest content.

    Returns:
        The response.

    Raises:
        ClientError: If it does not come whole.
    """
    var response = Response(stream.status())
    response.headers = stream.headers().copy()
    var received = Received()
    var r = received.state
    r[].url.append(stream.url().as_bytes())
    r[].codings.append(stream.decoded_from().as_bytes())
    var piece = OctetBlock(length=_READ_OCTETS)
    while True:
        var count = stream.read(piece.span())
        if count == 0:
            break
        r[].content.append(piece.span()[0:count])
        if len(r[].content) > octets_max:
            var failure = exceeds_limit()
            stream.give_up(failure)
            raise failure^
    r[].trailers = stream.trailers()
    r[].timings = stream.timings()
    response.body = Body(received=received^)
    return response^


def _given_up(state: PointerTo[ClientState], call: Call, cause: Error) -> Error:
    call[].fail(cause, Phase.PREPARE)
    ClientState.end_call(state, call)
    return Error(ClientError.because(Phase.PREPARE, cause))


def _answered(
    state: PointerTo[ClientState], call: Call, exchange: ClientExchange
) raises -> ClientStreamState:
    try:
        return ClientStreamState.answered(
            state, call, exchange, decoding_of(state, call)
        )
    except e:
        var pool = ClientState.pool_of(state)
        pool.discard(call[].origin.value(), exchange)
        raise e^


def _begun(
    state: PointerTo[ClientState],
    call: Call,
    exchange: ClientExchange,
    length: BodyLength,
) raises -> ClientStream:
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
    var is_asked = (
        length.octets != BodyLength.NONE.octets
        and fields[].has_known(FieldName.EXPECT)
    )
    return ClientStream(
        unsafe_state=heap_create(
            ClientStreamState(
                state,
                call,
                exchange,
                RequestSide.EXPECTING if is_asked else RequestSide.HEAD,
                decoding_of(state, call),
            )
        )
    )
