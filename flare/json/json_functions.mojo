"""Declares the functions of JSON in the driver library: `documents` has them.
"""

from flare.core import PointerTo
from flare.sys.driver import OctetView, present_driver_tables

from .document import Document, Node
from .error import JsonError
from .limits import JsonLimits
from .problem import Fault
from .writer import JsonWriter


@fieldwise_init
struct JsonFunctions(Movable):
    """The functions of JSON in the driver library."""

    var parse: def(OctetView, JsonLimits) raises thin -> Document
    """Parses a text."""
    var find_member: def(Document, Node, OctetView) thin -> Optional[Int]
    """Finds a member of an object."""
    var error_of: def(Document, Int, Int, var String) thin -> Error
    """Returns the error of a value."""
    var wrong_type: def(Document, Int, StaticString) thin -> Error
    """Returns the error of a value that has another type."""
    var no_such_key: def(Document, Int, OctetView) thin -> Error
    """Returns the error of an object that lacks a key."""
    var error_at: def(OctetView, Fault, var String) thin -> JsonError
    """Returns an error with its place in a text."""
    var nearest_float: def(OctetView) thin -> Optional[Float64]
    """Rounds a number."""
    var write: def(JsonWriter, Document, Int) thin -> None
    """Writes a value."""


def json_functions() -> PointerTo[JsonFunctions]:
    """Finds the functions of JSON.

    Returns:
        The functions; if the library is missing, the process ends.
    """
    return present_driver_tables()[].json.unsafe_bitcast[JsonFunctions]()
