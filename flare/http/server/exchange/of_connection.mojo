"""Asks and wakes the requests of a connection, however its protocol keeps them."""

from flare.core import PointerTo
from flare.http.exchange import Exchange

from ..transport.connection_state import ConnectionState
from .request_content import gathers_content, held_octets, is_favoured


@always_inline
def has_request(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a request is in progress, or its head being received.

    Args:
        c: The connection.

    Returns:
        True if a head has begun or a handler runs.
    """
    return Bool(c[].h1.exchange)


@always_inline
def held_by_exchanges(c: PointerTo[ConnectionState]) -> Int:
    """Returns how many octets of the budget the requests of a connection hold.

    Args:
        c: The connection.

    Returns:
        The octets.
    """
    return held_octets(_exchange_of(c)) if has_request(c) else 0


def any_gathers_content(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a request of a connection gathers its whole content.

    Args:
        c: The connection.

    Returns:
        True if a request does.
    """
    return has_request(c) and gathers_content(_exchange_of(c))


def any_is_favoured(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a request of a connection may exceed the budget.

    Args:
        c: The connection.

    Returns:
        True if a request does.
    """
    return has_request(c) and is_favoured(_exchange_of(c))


def first_to_favour(c: PointerTo[ConnectionState]) -> Int:
    """Returns the request of a connection that is to be favoured next.

    Args:
        c: The connection, of which a request gathers its whole content.

    Returns:
        The number of the request.
    """
    return _exchange_of(c)[].request_id


@always_inline
def wake_writers(c: PointerTo[ConnectionState]):
    """Wakes the handlers that wait for room in the output, or calls their
    protocols.

    Args:
        c: The connection.
    """
    if c[].running > 0:
        ref stream = _exchange_of(c)[].stream
        if stream.waiter:
            stream.waiter.unsafe_value().wake()
        elif stream.upgrade.protocol:
            var protocol = stream.upgrade.protocol.unsafe_value()
            protocol.on_room(protocol.state)


def has_all_content(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether all content of the requests has arrived.

    Args:
        c: The connection, whose handler runs.

    Returns:
        True if no handler can miss a part.
    """
    return _exchange_of(c)[].content.is_complete


def only_answer_is_due(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a running handler has all it needs: it may have had
    effects, so its answer counts.

    Args:
        c: The connection.

    Returns:
        True if the handler of a request only has to answer.
    """
    if c[].running == 0:
        return False
    ref x = _exchange_of(c)[]
    return (
        x.content.is_complete and x.content.status == 0 and not x.is_upgraded()
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
    ref x = _exchange_of(c)[]
    if c[].share.awaits_room and not x.content.is_complete:
        return held_octets
    if x.stream.is_open:
        return 0
    # The handler needs its head, and its content if that is complete.
    var needed = x.gathered.capacity() + x.content.trailers.capacity()
    if x.head.has_mended_target:
        needed += x.head.mended.capacity()
    if not (others_wait and any_gathers_content(c)):
        needed += x.content.octets.capacity()
    return needed


def filtered_octets(c: PointerTo[ConnectionState]) -> Int:
    """Returns how many octets the filters of open streams have taken.

    Args:
        c: The connection.

    Returns:
        The octets.
    """
    return _exchange_of(c)[].stream.filtered_octets if c[].running > 0 else 0


@always_inline
def _exchange_of(c: PointerTo[ConnectionState]) -> Exchange:
    return c[].h1.exchange.unsafe_value()
