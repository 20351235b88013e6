"""Declares the functions of a client's streams in the driver library:
`streaming` has them.
"""

from flare.core import PointerTo
from flare.sys.driver import (
    MutOctetView,
    OctetView,
    TextView,
    present_driver_tables,
)

from ...response import Response
from .stream_state import ClientStreamState

comptime Stream = PointerTo[ClientStreamState]
"""A stream."""


@fieldwise_init
struct StreamFunctions(Movable):
    """The functions of a client's streams in the driver library."""

    var drop: def(Stream) thin -> None
    """Closes the connection, unless the whole response was read, and frees
    the stream."""
    var close: def(Stream) thin -> None
    """Abandons the exchange."""
    var give_up: def(Stream, Error) thin -> None
    """Abandons the exchange, and reports the cause."""
    var write: def(Stream, OctetView) raises thin -> None
    """Sends octets of the content."""
    var begin_content: def(Stream) raises thin -> Bool
    """Sends the head."""
    var set_trailer: def(Stream, TextView, TextView) raises thin -> None
    """Sets a trailer field of the request."""
    var end: def(Stream) raises thin -> None
    """Ends the content."""
    var receive_head: def(Stream) raises thin -> None
    """Waits for the head of the response."""
    var read: def(Stream, MutOctetView) raises thin -> Int
    """Reads content of the response."""
    var read_all: def(Stream, Int) raises thin -> List[UInt8]
    """Reads the rest of the content."""
    var has_received: def(Stream) thin -> Bool
    """Returns whether octets after the head are there."""
    var finish: def(Stream) raises thin -> Response
    """Ends the content, and reads the response."""


def stream_functions() -> PointerTo[StreamFunctions]:
    """Finds the functions for a stream that exists.

    Returns:
        The functions: the library has made the stream.
    """
    return present_driver_tables()[].stream.unsafe_bitcast[StreamFunctions]()
