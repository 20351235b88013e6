"""Asks and wakes the requests of a connection, however its protocol keeps them."""

from flare.core import PointerTo
from flare.http.exchange import Exchange

from ..transport.connection_state import ConnectionState
from .request_content import (
    gathers_content,
    held_octets,
    is_favoured,
    reads_in_large,
)
from ..transport.upgraded import tell_room


def has_request(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a request is in progress, or its head being received.

    Args:
        c: The connection.

    Returns:
        True if a head has begun, a handler runs, or content of a response
        waits for its turn.
    """
    if c[].h2:
        return len(c[].h2.unsafe_value()[].state.streams) > 0
    return Bool(c[].h1.exchange)


@always_inline
def held_by_exchanges(c: PointerTo[ConnectionState]) -> Int:
    """Returns how many octets of the budget the requests of a connection hold.

    Args:
        c: The connection.

    Returns:
        The octets.
    """
    if c[].h2:
        return _held_by_streams(c)
    if not c[].h1.exchange:
        return 0
    return held_octets(c[].h1.exchange.unsafe_value())


@no_inline
def _held_by_streams(c: PointerTo[ConnectionState]) -> Int:
    ref h2 = c[].h2.unsafe_value()[]
    var held = 0
    if len(h2.state.streams) == 0:
        return 0
    for ref side in h2.streams:
        if side.exchange:
            held += held_octets(side.exchange.unsafe_value())
        if side.tunnel:
            held += side.tunnel.unsafe_value()[].received.capacity()
        if side.unsent:
            held += side.unsent.unsafe_value()[].owned_octets()
    return held


def any_gathers_content(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a request of a connection gathers its whole content.

    Args:
        c: The connection.

    Returns:
        True if a request does.
    """
    return Bool(_find[gathers_content](c))


def any_is_favoured(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a request of a connection may exceed the budget.

    Args:
        c: The connection.

    Returns:
        True if a request does.
    """
    return Bool(_find[is_favoured](c))


def any_reads_in_large(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a handler reads long content piece by piece.

    Args:
        c: The connection.

    Returns:
        True if a request does.
    """
    return Bool(_find[reads_in_large](c))


def first_to_favour(c: PointerTo[ConnectionState]) -> Int:
    """Returns the request of a connection that is to be favoured next.

    Args:
        c: The connection, of which a request gathers its whole content.

    Returns:
        The number of the request.
    """
    return _find[gathers_content](c).value()[].request_id


@always_inline
def wake_writers(c: PointerTo[ConnectionState]):
    """Wakes the handlers that wait for room in the output, or calls their
    protocols.

    Args:
        c: The connection.
    """
    # Those of HTTP/2 wait for their turn, not for the output.
    if c[].running > 0 and not c[].h2:
        tell_room(c[].h1.exchange.unsafe_value())


def has_all_content(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether all content of the requests has arrived.

    Args:
        c: The connection, whose handler runs.

    Returns:
        True if no handler can miss a part.
    """
    return not _find[_misses_content](c)


def _misses_content(x: Exchange) -> Bool:
    return not x[].content.is_complete


def only_answer_is_due(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a running handler has all it needs: it may have had
    effects, so its answer counts.

    Args:
        c: The connection.

    Returns:
        True if the handler of a request only has to answer.
    """
    return c[].running > 0 and Bool(_find[_only_has_to_answer](c))


def _only_has_to_answer(x: Exchange) -> Bool:
    return (
        x[].is_running()
        and x[].content.is_complete
        and x[].content.status == 0
        and not x[].is_upgraded()
    )


def needed_by_handlers(
    c: PointerTo[ConnectionState], held_octets: Int, others_wait: Bool
) -> Int:
    """Returns how much of the memory of a connection its handlers need.

    The content of a request is not needed if others wait for room and it is
    still gathered.

    Args:
        c: The connection.
        held_octets: The memory of the connection.
        others_wait: Whether others wait for room.

    Returns:
        The octets; all of them if a connection that itself waits for room is
        not complete.
    """
    if c[].running == 0:
        return 0
    if not c[].h2:
        var x = c[].h1.exchange.unsafe_value()
        if c[].share.awaits_room and not x[].content.is_complete:
            return held_octets
        return _needed_by(x, others_wait)
    var needed = 0
    for ref side in c[].h2.unsafe_value()[].streams:
        if side.exchange:
            needed += _needed_by(side.exchange.unsafe_value(), others_wait)
    return needed


def _needed_by(exchange: Exchange, others_wait: Bool) -> Int:
    ref x = exchange[]
    if x.stream.is_open:
        return 0
    # The handler needs its head, and its content if that is complete.
    var needed = x.gathered.capacity() + x.content.trailers.capacity()
    if x.head.has_mended_target:
        needed += x.head.mended.capacity()
    if not (others_wait and gathers_content(exchange)):
        needed += x.content.octets.capacity()
    return needed


def filtered_octets(c: PointerTo[ConnectionState]) -> Int:
    """Returns how many octets the filters of open streams have taken.

    Args:
        c: The connection.

    Returns:
        The octets.
    """
    if c[].running == 0:
        return 0
    if not c[].h2:
        return _taken_octets(c[].h1.exchange.unsafe_value())
    var octets = 0
    for ref side in c[].h2.unsafe_value()[].streams:
        if side.exchange:
            octets += _taken_octets(side.exchange.unsafe_value())
    return octets


def _find[
    holds: def(Exchange) thin -> Bool
](c: PointerTo[ConnectionState]) -> Optional[Exchange]:
    """Returns the first request of a connection for which a condition holds."""
    if not c[].h2:
        var x = c[].h1.exchange
        return x if x and holds(x.unsafe_value()) else None
    for ref side in c[].h2.unsafe_value()[].streams:
        if side.exchange and holds(side.exchange.unsafe_value()):
            return side.exchange
    return None


def _taken_octets(x: Exchange) -> Int:
    if not x[].stream.filter:
        return 0
    return x[].stream.filter.unsafe_value().taken_octets
