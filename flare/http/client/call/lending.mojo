"""Lends an exchange to a call, on a connection of the pool or on a new one."""

from flare.core import PointerTo
from flare.sys.clock import monotonic_ns
from flare.tls import TlsContext

from ...alpn import AlpnName
from ...client_error import ClientError, Phase
from ..exchange.client_exchange import ClientExchange
from ..pool.connect import TlsContexts, open_connection
from ..pool.origin import Origin
from .call import Call, exchange_of
from .client_state import ClientState


def lent(
    state: PointerTo[ClientState],
    call: Call,
    can_repeat: Bool = False,
    wants_new: Bool = False,
) raises -> ClientExchange:
    """Borrows a kept connection for the present request, or opens one.

    Args:
        state: The client.
        call: The call; its target is set.
        can_repeat: As in `Pool.lend`.
        wants_new: As in `Pool.lend`.

    Returns:
        The exchange of the call; its connection returns to the pool.

    Raises:
        ClientError: If no connection can be opened.
    """
    var origin = call[].origin.value()
    var exchange = exchange_of(call)
    var pool = ClientState.pool_of(state)
    var began_ns = monotonic_ns()
    var is_kept = pool.lend(origin, exchange, can_repeat, wants_new)
    var now_ns = monotonic_ns()
    call[].timings.queue_us += (now_ns - began_ns) // 1000
    call[].timings.reused = is_kept
    if is_kept:
        return exchange
    try:
        var handshake_us = open_connection(
            Pointer(to=state[].config).unsafe_origin_cast[MutUntrackedOrigin](),
            TlsContexts(_context_for(state, origin), _proxy_context(state)),
            origin,
            exchange,
        )
        state[].statistics.connects += 1
        pool.opened(origin, exchange)
        call[].timings.handshake_us += handshake_us
        call[].timings.connect_us += (
            monotonic_ns() - now_ns
        ) // 1000 - handshake_us
        return exchange
    except e:
        pool.opening_failed(origin)
        raise e^


def _context_for(
    state: PointerTo[ClientState], origin: Origin
) raises -> Optional[TlsContext]:
    if not origin[].is_secure:
        return None
    if origin[].may_share:
        if not state[].tls.sharing:
            state[].tls.sharing = _context(state, may_share=True)
        return state[].tls.sharing
    if not state[].tls.alone:
        state[].tls.alone = _context(state, may_share=False)
    return state[].tls.alone


def _proxy_context(
    state: PointerTo[ClientState],
) raises -> Optional[TlsContext]:
    if not state[].config.proxies.has_secure():
        return None
    if not state[].tls.proxy:
        state[].tls.proxy = _context(state, may_share=False, is_for_proxy=True)
    return state[].tls.proxy


def _context(
    state: PointerTo[ClientState],
    *,
    may_share: Bool,
    is_for_proxy: Bool = False,
) raises -> TlsContext:
    try:
        var config = state[].config.tls.copy()
        if is_for_proxy:
            # These are meant for origins.
            config.identity = None
            config.expected_name = None
        if len(config.application_protocols) == 0:
            config.application_protocols = [
                String(AlpnName.HTTP_2),
                String(AlpnName.HTTP_1_1),
            ]
        if not may_share:
            var others = List[String]()
            for protocol in config.application_protocols:
                if protocol != AlpnName.HTTP_2:
                    others.append(protocol)
            config.application_protocols = others^
        return TlsContext.for_clients(config)
    except e:
        raise Error(ClientError.because(Phase.HANDSHAKE, e))
