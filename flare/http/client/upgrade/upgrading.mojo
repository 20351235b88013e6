"""Asks a server to upgrade a connection."""

from flare.core import heap_create

from ...client_error import ClientError, Phase
from ..call.call import exchange_of
from ..call.client_state import CallOwner, ClientState
from ..call.perform import answered, goes_on
from ..exchange.client_exchange import ClientExchange
from ..stream.stream_functions import Stream
from .client_carrier import carrier_functions
from .upgrade_state import ClientUpgrade, ClientUpgradeState, open_exchange

comptime _SWITCHING_PROTOCOLS = 101
comptime _UNBOUNDED = 1 << 62
comptime _REFUSAL_OCTETS_MAX = 4 * 1024


def upgraded(var owner: CallOwner) raises -> ClientUpgrade:
    """Sends a request that offers an upgrade, and receives the response.

    Redirections and challenges are answered as for other requests.

    Args:
        owner: The call; its target is set.

    Returns:
        The upgrade. If the status is not 101, it has the first octets of the
        content, and no connection.

    Raises:
        ClientError: The failure of the call.
    """
    try:
        while True:
            _ = answered(owner.state, owner.call, _UNBOUNDED)
            if not goes_on(owner.state, owner.call):
                break
    except e:
        owner.call[].fail(e, Phase.PREPARE)
        raise Error(ClientError.because(Phase.PREPARE, e))
    return _taken_over(owner^)


def taken_from(stream: Stream) -> ClientUpgrade:
    """Takes the connection out of a stream whose response is a 101.

    Args:
        stream: The stream, which no fiber is using. It is over afterwards.

    Returns:
        The upgrade. Its exchange has no head: the stream has read it.
    """
    ref s = stream[]
    var u = _fresh(s.exchange)
    u[].exchange[].begin()
    u[].exchange[].gathered.clear()
    s.is_over = True
    if not s.exchange.is_shared():
        _detach(s.owner, s.exchange, u)
        return u
    _keep_stream(s.owner.handed_over(), u)
    return u


def _taken_over(var owner: CallOwner) raises -> ClientUpgrade:
    var exchange = exchange_of(owner.call)
    var u = _fresh(exchange)
    if exchange.status() != _SWITCHING_PROTOCOLS:
        _read_refusal(owner, exchange, u)
        return u
    _keep_head(exchange, u)
    if exchange.is_shared():
        _keep_stream(owner^, u)
    else:
        _detach(owner, exchange, u)
    return u


def _read_refusal(owner: CallOwner, exchange: ClientExchange, u: ClientUpgrade):
    var pool = ClientState.pool_of(owner.state)
    var origin = owner.call[].origin.value()
    exchange.consume_head()
    if _has_read_refusal(exchange, u):
        pool.release(origin, exchange)
    else:
        pool.discard(origin, exchange)


def _fresh(exchange: ClientExchange) -> ClientUpgrade:
    return heap_create(
        ClientUpgradeState(
            exchange.status(),
            carrier_functions(),
            exchange.state[].timeouts.write_ms,
        )
    )


def _detach(owner: CallOwner, exchange: ClientExchange, u: ClientUpgrade):
    var origin = owner.call[].origin.value()
    var session = exchange.take_session()
    if session:
        origin[].session = session^
    u[].connection = ClientState.pool_of(owner.state).detach(origin, exchange)
    open_exchange(u)


def _keep_stream(var owner: CallOwner, u: ClientUpgrade):
    u[].call = owner^
    open_exchange(u)


def _keep_head(exchange: ClientExchange, u: ClientUpgrade):
    # The protocol reads the head while further octets arrive.
    ref x = u[].exchange[]
    x.begin()
    x.gathered.clear()
    exchange.take_head(
        Pointer(to=x.head).unsafe_origin_cast[MutUntrackedOrigin](),
        Pointer(to=x.gathered).unsafe_origin_cast[MutUntrackedOrigin](),
    )
    if len(x.gathered) > 0:
        x.octets = x.gathered.unsafe_front()
    x.octet_count = len(x.gathered)


def _has_read_refusal(exchange: ClientExchange, u: ClientUpgrade) -> Bool:
    """Returns whether the refusal is read whole; keeps its first octets."""
    var piece = List[UInt8](length=_REFUSAL_OCTETS_MAX, fill=0)
    try:
        while len(u[].refusal) < _REFUSAL_OCTETS_MAX:
            var room = _REFUSAL_OCTETS_MAX - len(u[].refusal)
            var count = exchange.read(Span(piece)[:room])
            if count == 0:
                return True
            u[].refusal.extend(Span(piece)[:count])
    except:
        # A part of the reason is better than none.
        return False
    return False
