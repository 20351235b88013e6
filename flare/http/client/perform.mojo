"""Carries out a call: attempts on connections, and redirections."""

from flare.core import PointerTo
from flare.message import FieldName, HeaderMap
from flare.proto.h1 import BodyKind, BodyLength
from flare.runtime.wait import sleep
from flare.sys.clock import monotonic_ns, unix_seconds
from flare.tls import TlsContext

from ..body import Body
from ..content import Content
from ..encoding.limits import DecodingLimits
from ..received import Received
from ..response import Response
from .call import Call
from .challenges import proof_for, takes_challenge
from .client_state import ClientState
from .connect import open_connection
from .connection import ClientConnection
from .cookies import cookies_for, keep_cookies
from .decoding import (
    decode_whole,
    decoder_for,
    octets_max_of,
    take_codings_out,
)
from .error import ClientError, Phase, raised
from .exchange import ClientExchange
from .pool import Origin
from .redirect import drop_fields, is_redirection, redirection
from .reference import aim_at
from .retry import retry_delay, seconds_to_wait, status_delay

comptime _UNAUTHORIZED = 401
comptime _EXPECTATION_FAILED = 417
comptime _DROPPED_OCTETS_MAX = 64 * 1024


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
    try:
        while True:
            var exchange = answered(
                state, call, state[].config.limits.body_octets_max
            )
            if not goes_on(state, call, exchange):
                return _received(state, call, exchange)
    except e:
        call[].fail(e, Phase.PREPARE)
        raise e^


def answered(
    state: PointerTo[ClientState], call: Call, octets_max: Int
) raises -> ClientExchange:
    """Sends the present request, and waits for the head of its response.

    Args:
        state: The client.
        call: The call; it has an aim.
        octets_max: The longest content that may come.

    Returns:
        The exchange; the head lies at the front of its window.

    Raises:
        ClientError: Whatever it fails with.
    """
    var origin = call[].origin.value()
    var pool = ClientState.pool_of(state)
    # A server may close on this very request: other connections that are kept
    # would end as this one did, each with the request repeated.
    var wants_new = False
    while True:
        var failure: ClientError
        try:
            var can_repeat = (
                call[].method.is_idempotent()
                and len(call[].content.body.octets()) == 0
            )
            var connection = connected(state, call, can_repeat, wants_new)
            call[].attempts += 1
            state[].statistics.requests += 1
            var exchange = ClientExchange(
                connection, call[].clock, state[].config.timeouts
            )
            exchange.begin(octets_max)
            try:
                _exchange_heads(state, call, exchange)
                return exchange
            except e:
                failure = ClientError.because(Phase.HEAD, e)
            var is_stale = (
                connection.state[].exchanges > 1
                and not connection.state[].has_heard
                and failure.is_broken_off()
            )
            if connection.can_carry_another():
                # Nothing of the request was sent.
                pool.release(origin, connection)
            else:
                pool.discard(origin, connection)
            # The server has closed a connection that idled, before it saw the
            # request: RFC 9112 section 9.3.1.
            if is_stale and call[].method.is_idempotent():
                state[].statistics.stale += 1
                wants_new = True
                continue
        except e:
            failure = ClientError.because(Phase.CONNECT, e)
        var delay_ms = retry_delay(
            state[].config.retry,
            call[].retries,
            failure,
            call[].method.is_idempotent(),
        )
        if not delay_ms or not _fits(call, delay_ms.value()):
            state[].statistics.failures += 1
            raise Error(failure)
        call[].retries += 1
        state[].statistics.retries += 1
        sleep(delay_ms.value())


def goes_on(
    state: PointerTo[ClientState], call: Call, exchange: ClientExchange
) raises -> Bool:
    """Follows a redirection, and waits before a request is repeated.

    Args:
        state: The client.
        call: The call.
        exchange: The head of a response.

    Returns:
        True if the content was dropped, and another request is due; the call
        has its aim.

    Raises:
        ClientError: `client.bad_redirect redirect`, `client.too_many_redirects
            redirect` and the like.
    """
    keep_cookies(state, call, exchange)
    var connection = exchange.connection
    var status = connection.head()[].status
    call[].status = status
    var fields = connection.head()[].fields(connection.window())
    if status == _UNAUTHORIZED and takes_challenge(call, fields):
        drop_content(state, call, exchange)
        return True
    if status == _EXPECTATION_FAILED and call[].headers.remove("Expect") > 0:
        # Who does not know the expectation may take the request without it
        # (RFC 9110 section 10.1.1).
        drop_content(state, call, exchange)
        return True
    if is_redirection(status) and state[].config.redirects_max > 0:
        var found = fields.get("location")
        if found:
            var location = List[UInt8](found.value().as_bytes())
            drop_content(state, call, exchange)
            follow(
                state,
                call,
                status,
                StringSlice(unsafe_from_utf8=Span(location)),
            )
            return True
    if call[].retries >= state[].config.retry.retries_max:
        return False
    var asked = fields.get("retry-after")
    var value = asked.value().as_bytes() if asked else Span[
        UInt8, fields.origin
    ]()
    var delay_ms = status_delay(
        state[].config.retry,
        call[].retries,
        status,
        call[].method.is_idempotent(),
        seconds_to_wait(value, unix_seconds()),
    )
    if not delay_ms or not _fits(call, delay_ms.value()):
        return False
    drop_content(state, call, exchange)
    call[].retries += 1
    state[].statistics.retries += 1
    sleep(delay_ms.value())
    return True


def put_head(
    call: Call,
    exchange: ClientExchange,
    fields: PointerTo[HeaderMap],
    length: BodyLength,
) raises:
    """Puts the head of the present request into the output.

    Args:
        call: The call.
        exchange: The connection.
        fields: The fields of the request.
        length: How long the content is.

    Raises:
        ClientError: `client.bad_request prepare`.
    """
    var target = Pointer(to=call[].target).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    if call[].origin.value()[].is_forwarded:
        # A proxy wants to be told the origin too (RFC 9112 section 3.2.2).
        target = Pointer(to=call[].absolute_target).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        target[].clear()
        call[].write_url(target)
    exchange.write_head(
        StringSlice(unsafe_from_utf8=call[].method_text.span()),
        StringSlice(unsafe_from_utf8=target[].span()),
        fields[],
        length,
    )


def drop_content(
    state: PointerTo[ClientState], call: Call, exchange: ClientExchange
):
    """Ends an exchange whose content nobody wants; a long one costs its
    connection.

    Args:
        state: The client.
        call: The call.
        exchange: The exchange; its head is read.
    """
    var pool = ClientState.pool_of(state)
    var origin = call[].origin.value()
    var connection = exchange.connection
    connection.state[].h1.limits.body_octets_max = _DROPPED_OCTETS_MAX
    var received = Received()
    exchange.consume_head()
    var is_whole = True
    if (
        connection.state[].h1.receive_body == BodyKind.LENGTH
        and connection.state[].head.content_length > _DROPPED_OCTETS_MAX
    ):
        is_whole = False
    else:
        try:
            exchange.receive_content(received.state)
        except:
            is_whole = False
    _ = received^
    if is_whole:
        pool.release(origin, connection)
    else:
        pool.discard(origin, connection)


def follow(
    state: PointerTo[ClientState],
    call: Call,
    status: Int,
    location: StringSlice,
) raises:
    """Aims a call at where a redirection leads.

    Args:
        state: The client.
        call: The call.
        status: The status, a redirection.
        location: The value of Location.

    Raises:
        ClientError: `client.bad_redirect redirect` or
            `client.too_many_redirects redirect`.
    """
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
        secrets=state[].config.secret_headers,
    )
    if next.becomes_get:
        call[].set_method("GET")
        call[].content = Content()
    call[].challenges = 0
    aim_at(state, call, next.url)


def fields_of(
    state: PointerTo[ClientState], call: Call, length: BodyLength
) raises -> PointerTo[HeaderMap]:
    """Puts the fields of the present request together.

    Args:
        state: The client.
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
    if call[].shows_secrets():
        common = Pointer(to=origin[].own_fields).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
    var names_type = (
        length.octets != BodyLength.NONE.octets
        and call[].content.media_type.byte_length() > 0
        and not call[].headers.has_known(FieldName.CONTENT_TYPE)
    )
    var cookies = cookies_for(state, call, common)
    var proof = proof_for(call)
    if (
        len(call[].headers) == 0
        and not names_type
        and proof.byte_length() == 0
        and cookies.byte_length() == 0
    ):
        return common
    try:
        var fields = common[].copy()
        for line in call[].headers:
            _ = fields.remove(line.name)
        fields.append_all(call[].headers.view())
        if not origin[].is_forwarded:
            # It is for a proxy; in a tunnel, CONNECT has carried it.
            _ = fields.remove("Proxy-Authorization")
        if (
            call[].headers.has_known(FieldName.RANGE)
            and not call[].headers.has_known(FieldName.ACCEPT_ENCODING)
            and fields.has_known(FieldName.ACCEPT_ENCODING)
        ):
            # A part of a coded content cannot be decoded.
            fields.set("Accept-Encoding", "identity")
        if names_type:
            fields.set("Content-Type", call[].content.media_type)
        if cookies.byte_length() > 0:
            fields.set("Cookie", cookies)
        if proof.byte_length() > 0:
            fields.set("Authorization", proof)
        call[].fields = fields^
    except e:
        raise Error(
            ClientError(ClientError.BAD_REQUEST, Phase.PREPARE, String(e))
        )
    return Pointer(to=call[].fields).unsafe_origin_cast[MutUntrackedOrigin]()


def connected(
    state: PointerTo[ClientState],
    call: Call,
    can_repeat: Bool = False,
    wants_new: Bool = False,
) raises -> ClientConnection:
    """Takes or opens a connection for the present request.

    Args:
        state: The client.
        call: The call; it has an aim.
        can_repeat: As in `Pool.acquire`.
        wants_new: As in `Pool.acquire`.

    Returns:
        The connection; it goes back to the pool.

    Raises:
        ClientError: If there is none to be had.
    """
    var origin = call[].origin.value()
    var pool = ClientState.pool_of(state)
    var began_ns = monotonic_ns()
    var kept = pool.acquire(origin, call[].clock, can_repeat, wants_new)
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
        state[].statistics.connects += 1
        var handshake_us = connection.state[].handshake_us
        call[].timings.handshake_us += handshake_us
        call[].timings.connect_us += (
            monotonic_ns() - now_ns
        ) // 1000 - handshake_us
        return connection
    except e:
        pool.give_room_up(origin)
        raise e^


def _exchange_heads(
    state: PointerTo[ClientState], call: Call, exchange: ClientExchange
) raises:
    var length = BodyLength.NONE
    var octets = call[].content.body.octets()
    if len(octets) > 0:
        length = BodyLength.known(len(octets))
    var fields = fields_of(state, call, length)
    var began_ns = monotonic_ns()
    put_head(call, exchange, fields, length)
    exchange.send(
        octets, len(octets) > 0 and fields[].has_known(FieldName.EXPECT)
    )
    var sent_ns = monotonic_ns()
    call[].timings.send_us += (sent_ns - began_ns) // 1000
    _ = exchange.receive_head()
    call[].timings.head_us += (monotonic_ns() - sent_ns) // 1000


def _received(
    state: PointerTo[ClientState], call: Call, exchange: ClientExchange
) raises -> Response:
    var began_ns = monotonic_ns()
    var pool = ClientState.pool_of(state)
    var origin = call[].origin.value()
    var connection = exchange.connection
    var response = Response(connection.head()[].status)
    _ = response.headers.unsafe_append_parsed(
        connection.head()[].fields(connection.window())
    )
    var received = Received()
    var r = received.state
    r[].version_minor = connection.head()[].version_minor
    try:
        var limits = decoding_of(state, call)
        var decoder = decoder_for(
            response.status,
            connection.state[].h1.receive_body,
            response.headers.view(),
            limits,
            octets_max_of(limits, state[].config.limits.body_octets_max),
        )
        exchange.consume_head()
        exchange.receive_content(r)
        if decoder:
            decode_whole(
                decoder.value(),
                Pointer(to=r[].content).unsafe_origin_cast[
                    MutUntrackedOrigin
                ](),
            )
            r[].codings.append(take_codings_out(response.headers).as_bytes())
    except e:
        pool.discard(origin, connection)
        state[].statistics.failures += 1
        raise e^
    _keep_session(origin, connection)
    pool.release(origin, connection)
    call[].timings.content_us += (monotonic_ns() - began_ns) // 1000
    call[].write_url(
        Pointer(to=r[].url).unsafe_origin_cast[MutUntrackedOrigin]()
    )
    r[].redirects = call[].redirects
    r[].attempts = call[].attempts
    r[].timings = call[].timings
    response.body = Body(received=received^)
    return response^


def decoding_of(
    state: PointerTo[ClientState], call: Call
) -> Optional[DecodingLimits]:
    """Tells whether the client decodes what comes for a call.

    Args:
        state: The client.
        call: The call.

    Returns:
        The limits; none where the program decodes.
    """
    if (
        call[].headers.has_known(FieldName.ACCEPT_ENCODING)
        or call[].headers.has_known(FieldName.RANGE)
        or state[].config.headers.has_known(FieldName.ACCEPT_ENCODING)
    ):
        return None
    return state[].config.decoding


def _fits(call: Call, delay_ms: Int) -> Bool:
    # To wait longer than the call may last helps nobody.
    return call[].clock.left(delay_ms + 1) > delay_ms


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
