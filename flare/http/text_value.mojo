"""Reads values from the texts of requests, strictly.

A peer chooses these texts. What is not exactly a value is refused: no blanks
around a number, no sign but a minus before it, no underscores, and no overflow.
"""

from std.math import isinf

from .rejection import Rejection


trait FromText(Deinitable, Movable):
    """Is a type that a path parameter or a query parameter can have."""

    @staticmethod
    def from_text(text: StringSlice) raises -> Self:
        """Reads a value.

        Args:
            text: The text, escapes decoded; it is valid UTF-8.

        Returns:
            The value.

        Raises:
            Anything: the request is answered 400.
        """
        ...


def value_of[T: Deinitable & Movable](octets: Span[UInt8, _]) raises -> T:
    """Reads a value of a type that the library or the user knows.

    Parameters:
        T: `Int`, `UInt64`, `Float64`, `Bool`, `String`, or a type that
            conforms to `FromText`.

    Args:
        octets: The text, escapes decoded.

    Returns:
        The value.

    Raises:
        A `Rejection` with status 400 if the text is no such value.
    """
    comptime if T == Int:
        return rebind_var[T](_int_of(octets))
    elif T == UInt64:
        return rebind_var[T](_unsigned_of(octets))
    elif T == Float64:
        return rebind_var[T](_float_of(octets))
    elif T == Bool:
        return rebind_var[T](_bool_of(octets))
    elif T == String:
        return rebind_var[T](String(_text_of(octets)))
    else:
        comptime assert conforms_to(T, FromText), String(
            reflect[T].name(), " is not read from text: conform to FromText"
        )
        var text = _text_of(octets)
        try:
            return T.from_text(text)
        except e:
            if Rejection.status_of(e):
                raise e^
            raise Error(Rejection(400, "a value is malformed"))


def _text_of[
    origin: ImmOrigin
](octets: Span[UInt8, origin]) raises -> StringSlice[origin]:
    try:
        return StringSlice(from_utf8=octets)
    except:
        raise Error(Rejection(400, "a value is not UTF-8"))


def _int_of(octets: Span[UInt8, _]) raises -> Int:
    var is_negative = len(octets) > 0 and octets[0] == UInt8(ord("-"))
    var magnitude = _unsigned_of(octets[1:] if is_negative else octets)
    var bound = UInt64(1) << 63
    if is_negative and magnitude <= bound:
        # The bits of the least Int are those of its magnitude.
        return Int(~magnitude + 1)
    if is_negative or magnitude >= bound:
        raise Error(Rejection(400, "a number is out of range"))
    return Int(magnitude)


def _unsigned_of(octets: Span[UInt8, _]) raises -> UInt64:
    if len(octets) == 0:
        raise Error(Rejection(400, "a value is not a number"))
    var number = UInt64(0)
    for octet in octets:
        var digit = octet - UInt8(ord("0"))
        if digit > 9:
            raise Error(Rejection(400, "a value is not a number"))
        if number > (UInt64.MAX - UInt64(digit)) // 10:
            raise Error(Rejection(400, "a number is out of range"))
        number = number * 10 + UInt64(digit)
    return number


def _float_of(octets: Span[UInt8, _]) raises -> Float64:
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
            raise Error(Rejection(400, "a value is not a number"))
    if digits == 0 or len(octets) > 64 or octets[0] == UInt8(ord("+")):
        raise Error(Rejection(400, "a value is not a number"))
    var number: Float64
    try:
        number = Float64(StringSlice(unsafe_from_utf8=octets))
    except:
        raise Error(Rejection(400, "a value is not a number"))
    if isinf(number):
        raise Error(Rejection(400, "a number is out of range"))
    return number


def _bool_of(octets: Span[UInt8, _]) raises -> Bool:
    var text = StringSlice(unsafe_from_utf8=octets)
    if text == "true" or text == "1":
        return True
    if text == "false" or text == "0":
        return False
    raise Error(Rejection(400, "a value is neither true nor false"))
