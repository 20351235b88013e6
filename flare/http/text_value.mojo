"""Parses values from parts of a request, strictly.

A peer chooses these texts. Only exact values are accepted: no blanks around a
number, no sign except a minus, no underscores, and no overflow.
"""

from std.math import isinf

from .rejected_text import refused_text
from .rejection import Rejection
from .validation import FoundProblem, Problems

comptime _INT_RANGE: StaticString = (
    "expected a number from -9223372036854775808 to 9223372036854775807"
)
comptime _UNSIGNED_RANGE: StaticString = (
    "expected a number from 0 to 18446744073709551615"
)
comptime _FLOAT_RANGE: StaticString = (
    "expected a number from -1.8e308 to 1.8e308"
)


@fieldwise_init
struct _Problem(ImplicitlyCopyable):
    # The error's text is for the client's author.
    var words: StaticString


trait FromText(Deinitable, Movable):
    """A type that a path parameter or a query parameter can have."""

    @staticmethod
    def from_text(text: StringSlice) raises -> Self:
        """Parses a value.

        Args:
            text: The text, decoded; it is valid UTF-8.

        Returns:
            The value.

        Raises:
            Any error; the request is then answered 400.
        """
        ...


def value_of[
    T: Deinitable & Movable
](octets: Span[UInt8, _], name: StringSlice) raises -> T:
    """Parses a value of a built-in type or of a type of the program.

    Parameters:
        T: `Int`, `UInt64`, `Float64`, `Bool`, `String`, or a type that
            conforms to `FromText`.

    Args:
        octets: The text, decoded.
        name: The name of the field, for the error.

    Returns:
        The value.

    Raises:
        A `Rejection` with status 400 if the text is not such a value. It
        states the name, the expected type and the text.
    """
    try:
        return text_value[T](octets)
    except e:
        if Rejection.status_of(e):
            raise e^
        var refusal = refused_field(name, String(e))
        raise refusal^


@no_inline
def refused_field(name: StringSlice, detail: String) raises -> Error:
    """Returns the error that refuses a field of the content.

    Args:
        name: The name of the field.
        detail: The mistake.

    Returns:
        An error that is answered 400.

    Raises:
        Never.
    """
    var problems = Problems()
    problems.note_value(FoundProblem.BODY, name, detail)
    return problems.rejection()


@always_inline
def text_value[T: Deinitable & Movable](octets: Span[UInt8, _]) raises -> T:
    """Parses a value of a built-in type or of a type of the program.

    Parameters:
        T: `Int`, `UInt64`, `Float64`, `Bool`, `String`, or a type that
            conforms to `FromText`.

    Args:
        octets: The text, decoded.

    Returns:
        The value.

    Raises:
        An error whose text is the mistake, such as `expected a number, got
        'abc'`; or the `Rejection` that a type of the program raised.
    """
    comptime if (
        T == Int or T == UInt64 or T == Float64 or T == Bool or T == String
    ):
        try:
            return _known_value[T](octets)
        except problem:
            raise Error(refused_text(octets, problem.words))
    else:
        comptime assert conforms_to(T, FromText), String(
            reflect[T].name(), " is not read from text: conform to FromText"
        )
        return _own_value[T](octets)


def _known_value[
    T: Deinitable & Movable
](octets: Span[UInt8, _]) raises _Problem -> T:
    comptime if T == Int:
        return rebind_var[T](_int_of(octets))
    elif T == UInt64:
        return rebind_var[T](_unsigned_of(octets))
    elif T == Float64:
        return rebind_var[T](_float_of(octets))
    elif T == Bool:
        return rebind_var[T](_bool_of(octets))
    else:
        return rebind_var[T](String(_text_of(octets)))


def _own_value[T: FromText](octets: Span[UInt8, _]) raises -> T:
    var text: StringSlice[ImmOrigin(octets.origin)]
    try:
        text = _text_of(octets)
    except problem:
        raise Error(refused_text(octets, problem.words))
    try:
        return T.from_text(text)
    except e:
        if Rejection.status_of(e):
            raise e^
        # The words of an error of the program do not reach the peer.
        raise Error(refused_text(octets, "the value is not allowed"))


def _text_of[
    origin: ImmOrigin
](octets: Span[UInt8, origin]) raises _Problem -> StringSlice[origin]:
    try:
        return StringSlice(from_utf8=octets)
    except:
        raise _Problem("expected text in UTF-8")


def _int_of(octets: Span[UInt8, _]) raises _Problem -> Int:
    var is_negative = len(octets) > 0 and octets[0] == UInt8(ord("-"))
    var magnitude = _magnitude_of[_INT_RANGE](
        octets[1:] if is_negative else octets
    )
    var bound = UInt64(1) << 63
    if is_negative and magnitude <= bound:
        # The bits of the least Int are those of its magnitude.
        return Int(~magnitude + 1)
    if is_negative or magnitude >= bound:
        raise _Problem(_INT_RANGE)
    return Int(magnitude)


def _unsigned_of(octets: Span[UInt8, _]) raises _Problem -> UInt64:
    if len(octets) > 1 and octets[0] == UInt8(ord("-")):
        _ = _magnitude_of[_UNSIGNED_RANGE](octets[1:])
        raise _Problem(_UNSIGNED_RANGE)
    return _magnitude_of[_UNSIGNED_RANGE](octets)


def _magnitude_of[
    range: StaticString
](octets: Span[UInt8, _]) raises _Problem -> UInt64:
    if len(octets) == 0:
        raise _Problem("expected a number")
    var number = UInt64(0)
    for octet in octets:
        var digit = octet - UInt8(ord("0"))
        if digit > 9:
            raise _no_integer(octets)
        if number > (UInt64.MAX - UInt64(digit)) // 10:
            raise _Problem(range)
        number = number * 10 + UInt64(digit)
    return number


@no_inline
def _no_integer(octets: Span[UInt8, _]) -> _Problem:
    if octets[0] == UInt8(ord("-")):
        # After a sign.
        return _Problem("expected a number")
    try:
        _ = _float_of(octets)
        return _Problem("expected a whole number")
    except:
        return _Problem("expected a number")


def _float_of(octets: Span[UInt8, _]) raises _Problem -> Float64:
    var digits = 0
    for octet in octets:
        if octet - UInt8(ord("0")) <= 9:
            digits += 1
        elif (
            octet != UInt8(ord("."))
            and octet != UInt8(ord("-"))
            and octet != UInt8(ord("+"))
            and octet != UInt8(ord("e"))
            and octet != UInt8(ord("E"))
        ):
            raise _Problem("expected a number")
    if digits == 0 or len(octets) > 64 or octets[0] == UInt8(ord("+")):
        raise _Problem("expected a number")
    var number: Float64
    try:
        number = Float64(StringSlice(unsafe_from_utf8=octets))
    except:
        raise _Problem("expected a number")
    if isinf(number):
        raise _Problem(_FLOAT_RANGE)
    return number


def _bool_of(octets: Span[UInt8, _]) raises _Problem -> Bool:
    var text = StringSlice(unsafe_from_utf8=octets)
    if text == "true" or text == "1":
        return True
    if text == "false" or text == "0":
        return False
    raise _Problem("expected true or false")
