"""Lends an exchange to a call, on a connection of the pool or on a new one."""

from flare.core import PointerTo
from flare.sys.clock import monotonic_ns
from flare.tls import TlsContext

from ...client_error import ClientError, Phase
from ..exchange.client_exchange import ClientExchange
from ..pool.connect import open_connection
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
        if origin[].is_secure and not state[].tls:
            state[].tls = _context(state)
        var handshake_us = open_connection(
            Pointer(to=state[].config).unsafe_origin_cast[MutUntrackedOrigin](),
            state[].tls,
            origin,
            exchange,
        )
        state[].statistics.connects += 1
        call[].timings.handshake_us += handshake_us
        call[].timings.connect_us += (
            monotonic_ns() - now_ns
        ) // 1000 - handshake_us
        return exchange
    except e:
        pool.give_room_up(origin)
        raise e^


def _context(state: PointerTo[ClientState]) raises -> TlsContext:
    try:
        var config = state[].config.tls.copy()
        if len(config.application_protocols) == 0:
            config.application_protocols = ["http/1.1"]
        return TlsContext.for_clients(config)
    except e:
        raise Error(ClientError.because(Phase.HANDSHAKE, e))
