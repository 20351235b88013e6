"""Parses, searches and writes documents: the work of a `Value`.

If the program calls a driver library, each function passes the call on to the
function of the same name there.
"""

from flare.sys.driver import CALLS_DRIVER, OctetView

from .document import Document, Node
from .error import JsonError
from .json_functions import json_functions
from .limits import JsonLimits
from .number import float_of
from .parser import parse_document
from .place import append_key, json_error_at
from .problem import Fault
from .tree import path_to, type_name, write_value
from .writer import JsonWriter


def parse(octets: OctetView, limits: JsonLimits) raises -> Document:
    """Parses a text.

    Args:
        octets: The text.
        limits: Bounds on the text.

    Returns:
        The document.

    Raises:
        The text of a `JsonError`.
    """
    comptime if CALLS_DRIVER:
        return json_functions()[].parse(octets, limits)
    else:
        return parse_document(octets, limits)


def find_member(
    document: Document, object: Node, key: OctetView
) -> Optional[Int]:
    """Finds the node of an object's member.

    Args:
        document: The document.
        object: An object of the document.
        key: The key.

    Returns:
        The index of the value's node, or `None`.
    """
    comptime if CALLS_DRIVER:
        return json_functions()[].find_member(document, object, key)
    else:
        return document.find(object, key)


def error_of(
    document: Document, index: Int, kind: Int, var reason: String
) -> Error:
    """Returns the error of a value.

    Args:
        document: The document.
        index: The node of the value.
        kind: The kind, of `JsonError`.
        reason: The reason.

    Returns:
        The error to raise.
    """
    comptime if CALLS_DRIVER:
        return json_functions()[].error_of(document, index, kind, reason^)
    else:
        return Error(JsonError(kind, _path(document, index), reason^, 0, 0))


def wrong_type(document: Document, index: Int, wanted: StaticString) -> Error:
    """Returns the error of a value that has another type.

    Args:
        document: The document.
        index: The node of the value.
        wanted: The type that the program wants.

    Returns:
        The error to raise.
    """
    comptime if CALLS_DRIVER:
        return json_functions()[].wrong_type(document, index, wanted)
    else:
        var type = type_name(document.nodes[index].kind)
        var reason = String("expected ", wanted, ", got ", type)
        return error_of(document, index, JsonError.WRONG_TYPE, reason^)


def no_such_key(document: Document, index: Int, key: OctetView) -> Error:
    """Returns the error of an object that lacks a key.

    Args:
        document: The document.
        index: The node of the object.
        key: The key.

    Returns:
        The error to raise.
    """
    comptime if CALLS_DRIVER:
        return json_functions()[].no_such_key(document, index, key)
    else:
        var path = _path(document, index)
        append_key(path, key)
        return Error(
            JsonError(JsonError.NOT_FOUND, path^, "there is no such key", 0, 0)
        )


def error_at(octets: OctetView, fault: Fault, var reason: String) -> JsonError:
    """Returns an error with its place in a text.

    Args:
        octets: The text.
        fault: The error.
        reason: The reason, if neither the type nor a field is wrong.

    Returns:
        The error.
    """
    comptime if CALLS_DRIVER:
        return json_functions()[].error_at(octets, fault, reason^)
    else:
        return json_error_at(octets, fault, reason^)


def nearest_float(text: OctetView) -> Optional[Float64]:
    """Returns the `Float64` that is nearest to a number.

    Args:
        text: The number.

    Returns:
        The `Float64`; `None` if the number is too large.
    """
    comptime if CALLS_DRIVER:
        return json_functions()[].nearest_float(text)
    else:
        return float_of(text)


def write(json: JsonWriter, document: Document, index: Int):
    """Writes a value and its descendants.

    Args:
        json: The destination.
        document: The document.
        index: The node of the value.
    """
    comptime if CALLS_DRIVER:
        json_functions()[].write(json, document, index)
    else:
        write_value(json, document, index)


def _path(document: Document, index: Int) -> String:
    var steps = Pointer(to=document.path_steps)
    return path_to(
        document,
        index,
        steps.unsafe_mut_cast[True]().unsafe_origin_cast[MutUntrackedOrigin](),
    )
