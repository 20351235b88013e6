"""Carries out a call: attempts on connections, and redirections."""

from flare.core import PointerTo
from flare.message import FieldName, HeaderMap
from flare.proto.h1 import BodyLength
from flare.runtime.wait import sleep
from flare.sys.clock import monotonic_ns, unix_seconds

from ...body import Body
from ...client_error import ClientError, Phase, raised
from ...content import Content
from ...encoding.limits import DecodingLimits
from ...received import Received
from ...response import Response
from ..config.retry import (
    random_number,
    retry_delay,
    seconds_to_wait,
    status_delay,
)
from ..exchange.client_exchange import ClientExchange
from ..exchange.decoding import (
    decode_whole,
    decoder_for,
    octets_max_of,
    take_codings_out,
)
from ..pool.origin import Route
from .call import Call, exchange_of
from .challenges import proof_for, takes_challenge
from .client_state import CallOwner, ClientState
from .cookies import cookies_for, keep_cookies
from .lending import lent
from .redirect import drop_fields, is_redirection, redirection
from .reference import aim_at, with_http_scheme

comptime _UNAUTHORIZED = 401
comptime _EXPECTATION_FAILED = 417
# How often a request is sent again that the server did not process.
comptime _REFUSALS_MAX = 5


def perform(owner: CallOwner) raises -> Response:
    """Carries out a call whose content is in memory.

    Args:
        owner: The call; its target is set.

    Returns:
        The response, after all redirects.

    Raises:
        ClientError: The failure of the call.
    """
    var state = owner.state
    var call = owner.call
    try:
        while True:
            var exchange = answered(
                state, call, state[].config.limits.body_octets_max
            )
            if not goes_on(state, call):
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
        call: The call; its target is set.
        octets_max: The longest content of the response.

    Returns:
        The exchange; the head of the response has arrived.

    Raises:
        ClientError: The failure of the call.
    """
    var pool = ClientState.pool_of(state)
    # A server may close on this very request: other connections that are kept
    # would end as this one did, each with the request repeated.
    var wants_new = False
    var refusals = 0
    while True:
        var origin = call[].origin.value()
        var failure: ClientError
        try:
            var can_repeat = (
                call[].method.is_idempotent()
                and len(call[].content.body.octets()) == 0
            )
            var exchange = lent(state, call, can_repeat, wants_new)
            call[].attempts += 1
            state[].statistics.requests += 1
            exchange.begin(octets_max)
            try:
                _exchange_heads(state, call, exchange)
                return exchange
            except e:
                failure = ClientError.because(Phase.HEAD, e)
            # Others may have used a new connection of HTTP/2 too: once is enough.
            var is_stale = not wants_new and exchange.is_stale(failure)
            if failure.kind == ClientError.NOT_PROCESSED:
                refusals += 1
            var is_unanswered = not exchange.state[].has_heard
            # If nothing of the request was sent, the connection is kept.
            pool.release(origin, exchange)
            if origin[].has_left_http2():
                aim_at(state, call, call[].url())
                if _is_for_http1(call, failure, is_unanswered):
                    state[].statistics.not_processed += 1
                    continue
            # The server has closed a connection that idled, before it saw the
            # request: RFC 9112 section 9.3.1.
            if is_stale and call[].method.is_idempotent():
                state[].statistics.stale += 1
                wants_new = True
                continue
            if (
                failure.kind == ClientError.NOT_PROCESSED
                and refusals <= _REFUSALS_MAX
                and _may_send_again(state, call, refusals)
            ):
                state[].statistics.not_processed += 1
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


def goes_on(state: PointerTo[ClientState], call: Call) raises -> Bool:
    """Follows a redirection, and waits before a request is repeated.

    Args:
        state: The client.
        call: The call; the head of a response has arrived.

    Returns:
        True if the content was dropped and another request is due, whose target
        is set.

    Raises:
        ClientError: `client.bad_redirect redirect`, `client.too_many_redirects
            redirect` and the like.
    """
    keep_cookies(state, call)
    var exchange = exchange_of(call)
    var status = exchange.status()
    call[].status = status
    var fields = exchange.fields()
    if status == _UNAUTHORIZED and takes_challenge(call, fields):
        drop_content(state, call)
        return True
    if status == _EXPECTATION_FAILED and call[].headers.remove("Expect") > 0:
        # A server that does not know the expectation may accept the request
        # without it (RFC 9110 section 10.1.1).
        drop_content(state, call)
        return True
    if is_redirection(status) and state[].config.redirects_max > 0:
        var found = fields.get("location")
        if found:
            var location = List[UInt8](found.value().as_bytes())
            drop_content(state, call)
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
    drop_content(state, call)
    call[].retries += 1
    state[].statistics.retries += 1
    sleep(delay_ms.value())
    return True


def put_head(
    call: Call, fields: PointerTo[HeaderMap], length: BodyLength
) raises:
    """Writes the head of the present request, to be sent with the next octets.

    Args:
        call: The call.
        fields: The fields of the request.
        length: The length of the content.

    Raises:
        ClientError: `client.bad_request prepare`.
    """
    var target = Pointer(to=call[].target).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    if call[].origin.value()[].route == Route.FORWARDED:
        # A proxy wants to be told the origin too (RFC 9112 section 3.2.2).
        target = Pointer(to=call[].absolute_target).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        target[].clear()
        call[].write_url(target)
    exchange_of(call).write_head(
        StringSlice(unsafe_from_utf8=call[].method_text.span()),
        StringSlice(unsafe_from_utf8=target[].span()),
        fields[],
        length,
    )


def drop_content(state: PointerTo[ClientState], call: Call):
    """Ends an exchange whose content is not needed. If much of it is left, the
    connection is closed.

    Args:
        state: The client.
        call: The call; the head of a response was received and read.
    """
    var pool = ClientState.pool_of(state)
    var exchange = exchange_of(call)
    if exchange.drop_content():
        pool.release(call[].origin.value(), exchange)
    else:
        pool.discard(call[].origin.value(), exchange)


def follow(
    state: PointerTo[ClientState],
    call: Call,
    status: Int,
    location: StringSlice,
) raises:
    """Sets the target of a call to that of a redirect.

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
    var target = String(location)
    if call[].asks_upgrade():
        target = with_http_scheme(target)
    var next = redirection(call[].url(), call[].method, status, target)
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
    """Collects the fields of the present request.

    Args:
        state: The client.
        call: The call; its target is set.
        length: The length of the content.

    Returns:
        The fields, valid until the call ends or gets another target.

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
        and not state[].config.field_source
    ):
        return common
    try:
        var fields = common[].copy()
        if state[].config.field_source:
            _add_from_source(state, call, fields)
        for line in call[].headers:
            _ = fields.remove(line.name)
        fields.append_all(call[].headers.view())
        if origin[].route != Route.FORWARDED:
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


@no_inline
def _add_from_source(
    state: PointerTo[ClientState], call: Call, mut fields: HeaderMap
) raises:
    var more = HeaderMap()
    state[].config.field_source.unsafe_value()(more)
    for line in more:
        # Its fields belong together, as those of a trace do.
        if line.name in call[].headers:
            return
    for line in more:
        fields.set(line.name, line.value)


def _exchange_heads(
    state: PointerTo[ClientState], call: Call, exchange: ClientExchange
) raises:
    var length = BodyLength.NONE
    var octets = call[].content.body.octets()
    if len(octets) > 0:
        length = BodyLength.known(len(octets))
    var fields = fields_of(state, call, length)
    var began_ns = monotonic_ns()
    put_head(call, fields, length)
    exchange.send(
        octets,
        expects_continue=len(octets) > 0
        and fields[].has_known(FieldName.EXPECT),
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
    var response = Response(exchange.status())
    _ = response.headers.unsafe_append_parsed(exchange.fields())
    var received = Received()
    var r = received.state
    r[].version = exchange.version()
    try:
        var limits = decoding_of(state, call)
        var decoder = decoder_for(
            response.status,
            exchange.has_content(),
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
        pool.discard(origin, exchange)
        state[].statistics.failures += 1
        raise e^
    var session = exchange.take_session()
    if session:
        origin[].session = session^
    pool.release(origin, exchange)
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
    """Returns the limits of decoding for a call.

    Args:
        state: The client.
        call: The call.

    Returns:
        The limits; `None` if the program decodes.
    """
    if (
        call[].headers.has_known(FieldName.ACCEPT_ENCODING)
        or call[].headers.has_known(FieldName.RANGE)
        or state[].config.headers.has_known(FieldName.ACCEPT_ENCODING)
    ):
        return None
    return state[].config.decoding


def _may_send_again(
    state: PointerTo[ClientState], call: Call, refusals: Int
) raises -> Bool:
    """Returns whether a request that was not processed is sent again (RFC 9113
    section 8.7). From the second time on, it waits before that."""
    if refusals == 1:
        return True
    var delay_ms = state[].config.retry.back_off(refusals - 2, random_number())
    if not _fits(call, delay_ms):
        return False
    sleep(delay_ms)
    return True


def _is_for_http1(
    call: Call, failure: ClientError, is_unanswered: Bool
) -> Bool:
    """Returns whether a request is sent again in HTTP/1.1, which the origin has
    required: it was not processed, or is idempotent."""
    if failure.kind == ClientError.NOT_PROCESSED:
        return True
    return (
        is_unanswered
        and failure.is_broken_off()
        and call[].method.is_idempotent()
    )


def _fits(call: Call, delay_ms: Int) -> Bool:
    # A longer wait than the call may last is of no use.
    return call[].exchange.clock.left(delay_ms + 1) > delay_ms
