"""Declares the functions of upgraded connections in the driver library:
`requests` has them.
"""

from flare.core import PointerTo
from flare.sys.driver import present_driver_tables

from .call.client_state import ClientState
from .client_functions import RequestParts
from .stream.stream_functions import Stream
from .upgrade.upgrade_state import ClientUpgrade


@fieldwise_init
struct UpgradeFunctions(Movable):
    """The functions of upgraded connections in the driver library."""

    var open: def(
        PointerTo[ClientState], RequestParts
    ) raises thin -> ClientUpgrade
    """Sends a request that offers an upgrade."""
    var await_end: def(ClientUpgrade, Int) thin -> None
    """Waits until the server ends the connection, and closes it."""
    var end: def(ClientUpgrade) thin -> None
    """Closes and frees the connection."""
    var end_sending: def(ClientUpgrade) raises thin -> None
    """Ends the stream to the server."""
    var take: def(Stream) thin -> ClientUpgrade
    """Takes the connection out of a stream whose response is a 101."""


def upgrade_functions() -> PointerTo[UpgradeFunctions]:
    """Finds the functions for a client that exists.

    Returns:
        The functions: the library has made the client.
    """
    return present_driver_tables()[].upgrade.unsafe_bitcast[UpgradeFunctions]()
