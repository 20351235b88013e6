"""Keeps account of the connections of an origin that several exchanges use."""

from ..shared.sending import announce
from ..shared.shared_connection import SharedConnection
from ..transport.client_connection import ClientConnection
from .origin import Origin, OriginProtocol, queue_of


def shared_with_room(origin: Origin) -> Optional[ClientConnection]:
    """Returns a connection in use that has room for another exchange.

    Args:
        origin: The origin.

    Returns:
        The connection, or none.
    """
    for connection in origin[].connections.shared:
        if SharedConnection(connection).room() > 0:
            return connection
    return None


def has_upgradable(origin: Origin) -> Bool:
    """Returns whether a shared connection accepts an extended CONNECT.

    Args:
        origin: The origin.

    Returns:
        False also if the connection has no room.
    """
    for connection in origin[].connections.shared:
        var c = SharedConnection(connection)
        if c.may_upgrade() and c.room() > 0:
            return True
    for connection in origin[].connections.idle:
        if connection.state[].shared:
            if SharedConnection(connection).may_upgrade():
                return True
    return False


def is_worth_waiting(origin: Origin) -> Bool:
    """Returns whether a request should wait for a shared connection instead of
    opening one.

    Args:
        origin: The origin, which has no connection with room.

    Returns:
        True while one is being opened that may have room, or streams may end.
    """
    ref connections = origin[].connections
    return connections.protocol != OriginProtocol.HTTP1 and (
        connections.openings > 0 or len(connections.shared) > 0
    )


def use_shared(origin: Origin, connection: ClientConnection):
    """Counts an exchange that uses a connection, if it is a shared one.

    Args:
        origin: The origin.
        connection: The connection.
    """
    if not connection.state[].shared:
        return
    var c = SharedConnection(connection)
    c.state()[].users += 1
    if c.state()[].users == 1:
        origin[].connections.shared.append(connection)


def offer_shared(origin: Origin, connection: ClientConnection):
    """Hands a shared connection to requests that wait, while it has room.

    Args:
        origin: The origin.
        connection: The connection.
    """
    while SharedConnection(connection).room() > 0:
        var waiter = queue_of(origin).take_first()
        if not waiter:
            return
        use_shared(origin, connection)
        waiter.value()[].connection = connection
        waiter.value()[].fiber.wake()


def stop_sharing(origin: Origin, connection: ClientConnection):
    """Lends a shared connection to no further exchange.

    Args:
        origin: The origin.
        connection: The connection, which may have been stopped before.
    """
    ref shared = origin[].connections.shared
    for i in range(len(shared)):
        if shared[i] == connection:
            _ = shared.pop(i)
            return


def end_connection(connection: ClientConnection):
    """Closes a connection that no exchange uses.

    Args:
        connection: The connection, which is freed.
    """
    if connection.state[].shared:
        var c = SharedConnection(connection)
        c.say_goodbye()
        announce(c)
    connection.destroy()
