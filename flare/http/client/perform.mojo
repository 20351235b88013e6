"""Carries out a call: attempts on connections, and redirections.
"""

from flare.core import PointerTo
from flare.message import FieldName, HeaderMap
from flare.proto.h1 import BodyLength
from flare.sys.clock import monotonic_ns
from flare.tls import TlsContext

from ..body import Body
from ..content import Content
from ..received import Received
from ..response import Response
from .call import Call
from .client_state import ClientState
from .connect import open_connection
from .connection import ClientConnection
from .error import ClientError, Phase, raised
from .exchange import ClientExchange
from .pool import Origin
from .redirect import drop_fields, is_redirection, redirection
from .reference import aim_at


def perform(state: PointerTo[ClientState], call: Call) raises -> Response:
    """Carries out a call whose content lies in memory.

    Args:
        state: The client.
        call: The call; it has an aim.

    Returns:
        The response behind all redirections.

    Raises:
        ClientError: Whatever it fails with.
    """
    while True:
        var response = _answered(state, call)
        if not is_redirection(response.status) or (
            state[].config.redirects_max == 0
        ):
            return response^
        var location = response.headers.get("Location")
        if not location:
            return response^
        _follow(state, call, response.status, location.value())


def fields_of(call: Call, length: BodyLength) raises -> PointerTo[HeaderMap]:
    """Puts the fields of the present request together.

    Args:
        call: The call; it has an aim.
        length: How long the content is.

    Returns:
        The fields, in place until the call ends or is aimed elsewhere.

    Raises:
        ClientError: `client.bad_request prepare`.
    """
    var origin = call[].origin.value()
    var common = Pointer(to=origin[].fields).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    if call[].shows_credentials:
        common = Pointer(to=origin[].own_fields).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
    var names_type = (
        length.octets != BodyLength.NONE.octets
        and call[].content.media_type.byte_length() > 0
        and not call[].headers.has_known(FieldName.CONTENT_TYPE)
    )
    if len(call[].headers) == 0 and not names_type:
        return common
    try:
        var fields = common[].copy()
        for line in call[].headers:
            _ = fields.remove(line.name)
        fields.append_all(call[].headers.view())
        if names_type:
            fields.set("Content-Type", call[].content.media_type)
        call[].fields = fields^
    except e:
        raise Error(
            ClientError(ClientError.BAD_REQUEST, Phase.PREPARE, String(e))
        )
    return Pointer(to=call[].fields).unsafe_origin_cast[MutUntrackedOrigin]()


def connected(
    state: PointerTo[ClientState], call: Call
) raises -> ClientConnection:
    """Takes or opens a connection for the present request.

    Args:
        state: The client.
        call: The call; it has an aim.

    Returns:
        The connection; it goes back to the pool.

    Raises:
        ClientError: If there is none to be had.
    """
    var origin = call[].origin.value()
    var pool = ClientState.pool_of(state)
    var began_ns = monotonic_ns()
    var kept = pool.acquire(origin, call[].clock)
    var now_ns = monotonic_ns()
    call[].timings.queue_us += (now_ns - began_ns) // 1000
    call[].timings.reused = Bool(kept)
    if kept:
        return kept.value()
    try:
        if origin[].is_secure and not state[].tls:
            state[].tls = _context(state)
        var connection = open_connection(
            Pointer(to=state[].config).unsafe_origin_cast[MutUntrackedOrigin](),
            state[].tls,
            origin,
            call[].clock,
        )
        call[].timings.connect_us += (monotonic_ns() - now_ns) // 1000
        return connection
    except e:
        pool.give_room_up(origin)
        raise e^


def _answered(state: PointerTo[ClientState], call: Call) raises -> Response:
    var origin = call[].origin.value()
    var pool = ClientState.pool_of(state)
    call[].attempts = 0
    while True:
        var connection = connected(state, call)
        call[].attempts += 1
        var exchange = ClientExchange(
            connection, call[].clock, state[].config.timeouts
        )
        exchange.begin(state[].config.limits.body_octets_max)
        try:
            var response = _exchanged(call, exchange)
            _keep_session(origin, connection)
            pool.release(origin, connection)
            return response^
        except e:
            var failure = ClientError.because(Phase.CONTENT, e)
            var was_stale = (
                connection.state[].exchanges > 1
                and not connection.state[].has_heard
                and (
                    failure.kind == ClientError.RESET
                    or failure.kind == ClientError.CLOSED
                )
            )
            if connection.can_carry_another():
                # Nothing of the request was sent.
                pool.release(origin, connection)
            else:
                pool.discard(origin, connection)
            # The server has closed a connection that idled, before it saw the
            # request: RFC 9112 section 9.3.1.
            if not was_stale or not call[].method.is_idempotent():
                raise Error(failure)


def _exchanged(call: Call, exchange: ClientExchange) raises -> Response:
    var length = BodyLength.NONE
    var octets = call[].content.body.octets()
    if len(octets) > 0:
        length = BodyLength.known(len(octets))
    var fields = fields_of(call, length)
    var began_ns = monotonic_ns()
    exchange.write_head(
        StringSlice(unsafe_from_utf8=call[].method_text.span()),
        StringSlice(unsafe_from_utf8=call[].target.span()),
        fields[],
        length,
    )
    exchange.send(
        octets, len(octets) > 0 and fields[].has_known(FieldName.EXPECT)
    )
    var sent_ns = monotonic_ns()
    call[].timings.send_us += (sent_ns - began_ns) // 1000
    var response = Response(exchange.receive_head())
    var head_ns = monotonic_ns()
    call[].timings.head_us += (head_ns - sent_ns) // 1000
    var connection = exchange.connection
    _ = response.headers.unsafe_append_parsed(
        connection.head()[].fields(connection.window())
    )
    var received = Received()
    received.state[].version_minor = connection.head()[].version_minor
    exchange.consume_head()
    exchange.receive_content(received.state)
    call[].timings.content_us += (monotonic_ns() - head_ns) // 1000
    call[].write_url(
        Pointer(to=received.state[].url).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
    )
    received.state[].redirects = call[].redirects
    received.state[].attempts = call[].attempts
    received.state[].timings = call[].timings
    response.body = Body(received=received^)
    return response^


def _follow(
    state: PointerTo[ClientState],
    call: Call,
    status: Int,
    location: StringSlice,
) raises:
    call[].redirects += 1
    if call[].redirects > state[].config.redirects_max:
        raise raised(
            ClientError.TOO_MANY_REDIRECTS,
            Phase.REDIRECT,
            "the limit of redirections was passed",
            status=status,
        )
    var next = redirection(call[].url(), call[].method, status, location)
    if next.leaves_origin:
        call[].shows_credentials = False
    drop_fields(
        call[].headers,
        leaves_origin=next.leaves_origin,
        becomes_get=next.becomes_get,
    )
    if next.becomes_get:
        call[].set_method("GET")
        call[].content = Content()
    aim_at(state, call, next.url)


def _keep_session(origin: Origin, connection: ClientConnection):
    if not connection.state[].tls:
        return
    var session = connection.state[].tls.value().take_session()
    if session:
        origin[].session = session^


def _context(state: PointerTo[ClientState]) raises -> TlsContext:
    try:
        var config = state[].config.tls.copy()
        if len(config.application_protocols) == 0:
            config.application_protocols = ["http/1.1"]
        return TlsContext.for_clients(config)
    except e:
        raise Error(ClientError.because(Phase.HANDSHAKE, e))
