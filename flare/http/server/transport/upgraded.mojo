"""Wakes a handler that speaks another protocol, or calls the protocol."""

from flare.http.exchange import Exchange


@always_inline
def tell_octets(x: Exchange):
    """Announces octets that belong to the handler of an upgraded request.

    Args:
        x: The request. If no fiber waits for octets, its protocol is called.
    """
    if x[].waiter:
        x[].waiter.unsafe_value().wake()
    elif x[].stream.upgrade.protocol:
        var protocol = x[].stream.upgrade.protocol.unsafe_value()
        protocol.on_octets(protocol.state)


@always_inline
def tell_room(x: Exchange):
    """Announces room for output of a handler.

    Args:
        x: The request. If no fiber waits for room, its protocol is called.
    """
    if x[].stream.waiter:
        x[].stream.waiter.unsafe_value().wake()
    elif x[].stream.upgrade.protocol:
        var protocol = x[].stream.upgrade.protocol.unsafe_value()
        protocol.on_room(protocol.state)
