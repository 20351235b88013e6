"""Passes one request to a handler over HTTP/2, and its response back, in
memory.

Both pass the machines of a client and of a server. So a handler meets the same
rules as in a server, and the test gets the response of a client.
"""

from flare.core import (
    Erased,
    OctetPointer,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.http.builders import refusal
from flare.http.error_answer import error_answer
from flare.http.exchange import (
    CarrierFunctions,
    Exchange,
    ExchangeState,
    MutOctets,
    OutputRoom,
    UpgradedFunctions,
)
from flare.http.handler import Handler
from flare.http.plain_carrier import (
    aborts_nothing,
    hides_no_client,
    never_held_back,
    takes_no_file,
)
from flare.http.request import Request
from flare.http.response import Response
from flare.http.stream_response import (
    begin_stream,
    run_stream,
    upgrade_required,
)
from flare.message import HeaderMap, Status
from flare.proto.h1 import H1Limits, H1Rule
from flare.proto.h2.h2_error import H2Code
from flare.proto.h2.outgoing_heads import ResponseStart
from flare.proto.h2.stream_table import NO_SLOT

from .handler_call import (
    BROKEN_OFF,
    answer_to_error,
    demands_nothing,
    no_peer_address,
    no_peer_credentials,
    no_tls,
)
from .http2_pair import Http2Pair, Http2PairState, PlannedRequest


struct Http2CarrierState(Movable):
    """A connection, and the functions of its requests."""

    var pair: Http2PairState
    """Both ends of the connection."""
    var functions: CarrierFunctions
    """The carrier's functions."""

    def __init__(out self):
        """Creates a connection whose ends have sent nothing."""
        self.pair = Http2PairState()
        self.functions = CarrierFunctions(
            demands_nothing,
            no_peer_address,
            no_peer_credentials,
            hides_no_client,
            no_tls,
            _inform,
            _write,
            takes_no_file,
            _end,
            UpgradedFunctions(
                _no_upgrade,
                _await_no_octets,
                _consume_no_octets,
                _await_no_room,
                _no_unsent_octets,
                demands_nothing,
                never_held_back,
                aborts_nothing,
            ),
        )


@fieldwise_init
struct Http2Door(TrivialRegisterPassable):
    """A handler's connection and its functions. They are called by address:
    programs without such a connection contain no code of it.
    """

    var carrier: Erased
    """The `Http2CarrierState`."""
    var ask: def(
        Erased, Erased, Exchange, PointerTo[PlannedRequest]
    ) raises thin -> Response
    """Sends a request: the arguments are the carrier, the handler, an empty
    block with its number, and the request."""
    var close: def(Erased) thin -> None
    """Frees the carrier."""

    @staticmethod
    def open[H: Handler]() -> Self:
        """Creates a connection to a handler.

        Parameters:
            H: The type of the handler.

        Returns:
            The connection. Call `close` afterwards.
        """
        var carrier = heap_create(Http2CarrierState())
        _pair_of(carrier).begin()
        return Self(carrier.unsafe_bitcast[NoneType](), _ask[H], _close)


def _close(carrier: Erased):
    heap_destroy(carrier.unsafe_bitcast[Http2CarrierState]())


def _ask[
    H: Handler
](
    carrier: Erased,
    handler: Erased,
    x: Exchange,
    request: PointerTo[PlannedRequest],
) raises -> Response:
    var state = carrier.unsafe_bitcast[Http2CarrierState]()
    var pair = _pair_of(state)
    x[].host.functions = Pointer(to=state[].functions).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    x[].carrier = carrier
    x[].content.limit(H1Limits().body_octets_max)
    try:
        pair.send_request(request, x)
        if pair.state[].server_slot != NO_SLOT:
            var status = pair.state[].refused_status
            if status != 0:
                _answer_plainly(pair, x, refusal(status, H1Rule.NONE))
            else:
                _serve(pair, x, handler.unsafe_bitcast[H]())
        return pair.take_answer()
    finally:
        x[].end()
        x[].carrier = None
        x[].stream.end()
        pair.finish(x)


def _serve[
    H: Handler
](pair: Http2Pair, x: Exchange, handler: PointerTo[H]) raises:
    var response: Response
    try:
        response = handler[].serve(Request(unsafe_exchange=x))
    except e:
        response = answer_to_error(x, e)
    _answer(pair, x, response^)


def _answer(pair: Http2Pair, x: Exchange, var response: Response) raises:
    if x[].content.status != 0:
        _answer_plainly(pair, x, error_answer(x, x[].content.status))
    elif not response.body.is_stream():
        _answer_plainly(pair, x, response^)
    elif response.status == Status.SWITCHING_PROTOCOLS:
        # HTTP/2 has no such upgrade (RFC 9113 section 8.6).
        _answer_plainly(pair, x, upgrade_required(x, response))
    else:
        _answer_with_stream(pair, x, response^)


def _answer_plainly(
    pair: Http2Pair, x: Exchange, var response: Response
) raises:
    try:
        _send_head(
            pair, x, response.status, len(response.body), response.headers
        )
    except e:
        response = answer_to_error(x, e)
        _send_head(
            pair, x, response.status, len(response.body), response.headers
        )
    if pair.server().may_send(x[].stream_slot):
        pair.send_content(response.body.octets(), True, x)
    pair.exchange_octets(x)


def _answer_with_stream(
    pair: Http2Pair, x: Exchange, var response: Response
) raises:
    var function = begin_stream(x, response^)
    try:
        run_stream(x, function)
    except e:
        if x[].stream.is_head_due:
            _answer_plainly(pair, x, answer_to_error(x, e))
            return
        var slot = x[].stream_slot
        if not pair.server().has_ended(slot):
            pair.server().reset(slot, H2Code.INTERNAL_ERROR, pair.to_client())
        pair.exchange_octets(x)
        raise Error(BROKEN_OFF, " ", e)
    # The function's captures are destroyed before the stream is over.
    _ = function^
    pair.exchange_octets(x)


def _send_head(
    pair: Http2Pair, x: Exchange, status: Int, length: Int, fields: HeaderMap
) raises:
    try:
        pair.server().send_response_head(
            ResponseStart(
                x[].stream_slot,
                status,
                length,
                Span[UInt8, ImmUntrackedOrigin](),
            ),
            fields,
            pair.to_client(),
        )
    except e:
        raise Error("http.bad_content ", e)


@always_inline
def _pair_of(carrier: PointerTo[Http2CarrierState]) -> Http2Pair:
    return Http2Pair(
        Pointer(to=carrier[].pair).unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def _exchange_of(exchange: Erased) -> Exchange:
    return exchange.unsafe_bitcast[ExchangeState]()


@always_inline
def _pair_below(x: Exchange) -> Http2Pair:
    return _pair_of(
        x[].carrier.unsafe_value().unsafe_bitcast[Http2CarrierState]()
    )


def _inform(exchange: Erased, status: Int, fields: PointerTo[HeaderMap]) raises:
    var x = _exchange_of(exchange)
    var pair = _pair_below(x)
    try:
        pair.server().send_informational(
            x[].stream_slot, status, fields[], pair.to_client()
        )
    except e:
        raise Error("http.bad_inform ", e)
    pair.exchange_octets(x)


def _write_stream_head(pair: Http2Pair, x: Exchange) raises:
    _send_head(pair, x, x[].stream.status, -1, x[].stream.headers)
    x[].stream.is_head_due = False


def _write(exchange: Erased, octets: OctetPointer, count: Int) raises -> Int:
    var x = _exchange_of(exchange)
    var pair = _pair_below(x)
    x[].check_content()
    if x[].stream.is_head_due:
        _write_stream_head(pair, x)
    try:
        pair.send_content(Span(unsafe_ptr=octets, length=count), False, x)
    except e:
        raise Error("http.bad_content ", e)
    return count


def _end(exchange: Erased) raises:
    var x = _exchange_of(exchange)
    var pair = _pair_below(x)
    var slot = x[].stream_slot
    if x[].stream.is_head_due:
        _write_stream_head(pair, x)
    if pair.server().is_content_short(slot):
        raise Error(
            "http.bad_content the content falls short of its Content-Length"
        )
    try:
        pair.server().check_trailers(x[].stream.trailers)
    except e:
        raise Error("http.bad_content ", e)
    if not pair.server().may_send(slot):
        return
    if len(x[].stream.trailers) > 0:
        pair.server().send_trailers(slot, x[].stream.trailers, pair.to_client())
    else:
        pair.server().send_end(slot, pair.to_client())


def _no_upgrade(exchange: Erased) raises:
    raise Error("http.bad_upgrade HTTP/2 has no such upgrade")


def _await_no_octets(exchange: Erased, more_than: Int) raises -> MutOctets:
    return MutOctets()


def _consume_no_octets(exchange: Erased, count: Int) raises:
    _no_upgrade(exchange)


def _await_no_room(exchange: Erased, count: Int) raises -> OutputRoom:
    raise Error("http.bad_upgrade HTTP/2 has no such upgrade")


def _no_unsent_octets(exchange: Erased) -> Int:
    return 0
