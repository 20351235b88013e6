"""Reads and writes whole texts."""

from flare.sys.driver import octet_view

from .documents import error_at, parse
from .from_json import FromJson
from .limits import JsonLimits
from .problem import Fault, TOO_LARGE, phrase_of
from .input import JsonInput
from .to_json import ToJson
from .value import Value
from .writer import JsonOutput


def loads(text: StringSlice, limits: JsonLimits = JsonLimits()) raises -> Value:
    """Parses a text of any shape.

    Args:
        text: The text.
        limits: Bounds on its length, depth and keys.

    Returns:
        The value of the whole text.

    Raises:
        The text of a `JsonError`.
    """
    return Value(text.as_bytes(), limits)


def loads(
    octets: Span[UInt8, _], limits: JsonLimits = JsonLimits()
) raises -> Value:
    """Parses octets of any shape.

    Args:
        octets: The text; it is checked to be UTF-8.
        limits: Bounds on its length, depth and keys.

    Returns:
        The value of the whole text.

    Raises:
        The text of a `JsonError`.
    """
    return Value(octets, limits)


def decode[
    T: Deinitable & Movable
](text: StringSlice, limits: JsonLimits = JsonLimits()) raises -> T:
    """Parses a text into a type of the program.

    Parameters:
        T: A type that conforms to `FromJson`.

    Args:
        text: The text.
        limits: Bounds on its length, depth and keys.

    Returns:
        The value.

    Raises:
        The text of a `JsonError`.
    """
    return decode[T](text.as_bytes(), limits)


def decode[
    T: Deinitable & Movable
](octets: Span[UInt8, _], limits: JsonLimits = JsonLimits()) raises -> T:
    """Parses octets into a type of the program.

    Parameters:
        T: A type that conforms to `FromJson`.

    Args:
        octets: The text; it is checked to be UTF-8.
        limits: Bounds on its length, depth and keys.

    Returns:
        The value.

    Raises:
        The text of a `JsonError`.
    """
    comptime assert conforms_to(T, FromJson), String(
        reflect[T].name(), " is not read from JSON: conform to FromJson"
    )
    if len(octets) > limits.octets_max:
        var fault = Fault(TOO_LARGE, 0, "")
        var reason = String(phrase_of(TOO_LARGE))
        raise Error(error_at(octet_view(octets), fault, reason^))
    if not limits.duplicate_keys_allowed:
        # Also what the type passes over may hold no key twice.
        _ = parse(octet_view(octets), limits)
    var input = JsonInput(octets, limits)
    try:
        var value = T.from_json(input.reader())
        input.finish()
        return value^
    except e:
        raise input.error(octets, e)


def dumps[T: AnyType, //](value: T, *, indent: Int = 0) raises -> String:
    """Returns a value as JSON text.

    Parameters:
        T: A type that conforms to `ToJson`.

    Args:
        value: The value.
        indent: Blanks per level; 0 writes no white space.

    Returns:
        The text.

    Raises:
        The text of a `JsonError` if a number is NaN or infinite, or the error
        of a `to_json` of the program.
    """
    comptime assert conforms_to(T, ToJson), String(
        reflect[T].name(), " is not written as JSON: conform to ToJson"
    )
    var output = JsonOutput(indent=indent)
    value.to_json(output.writer())
    return output.take_text()
