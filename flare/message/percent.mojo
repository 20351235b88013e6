"""Decodes and encodes percent escapes (RFC 3986 section 2.1).

Decoding never fails: an incomplete escape stays as it is. Parsers of URLs and
targets refuse such octets earlier.
"""

from flare.core import OctetSet

from ._uri_grammar import PERCENT, hexadecimal_value

comptime _PLUS: UInt8 = 43
comptime _BLANK: UInt8 = 32
comptime _DIGITS: StaticString = "0123456789ABCDEF"
comptime _UNRESERVED = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)


def percent_decode[
    *, plus_is_blank: Bool = False
](octets: Span[UInt8, _], mut decoded: List[UInt8]):
    """Decodes escapes and appends the result to a list.

    Parameters:
        plus_is_blank: Whether `+` is a blank, as in the query of an HTML form.

    Args:
        octets: The octets with escapes.
        decoded: The list. It grows by at most the number of octets. The result
            may be any octets, including NUL and invalid UTF-8.
    """
    decoded.reserve(len(decoded) + len(octets))
    var i = 0
    while i < len(octets):
        var octet = _decoded_octet[plus_is_blank](octets, i)
        decoded.append(octet.value)
        i += octet.length


def percent_decoded[
    *, plus_is_blank: Bool = False
](text: StringSlice) -> String:
    """Returns a text with its escapes decoded.

    Parameters:
        plus_is_blank: Whether `+` is a blank, as in the query of an HTML form.

    Args:
        text: The text with escapes.

    Returns:
        The decoded text; octets that are not UTF-8 become U+FFFD.
    """
    var decoded = List[UInt8]()
    percent_decode[plus_is_blank=plus_is_blank](text.as_bytes(), decoded)
    return String(from_utf8_lossy=Span(decoded))


def percent_encoded(text: StringSlice) -> String:
    """Returns a text with all but the unreserved octets escaped (RFC 3986
    section 2.3).

    Args:
        text: Any text.

    Returns:
        A text that is safe as a segment of a path, or as a name or value of a
        query.
    """
    var encoded = List[UInt8](capacity=text.byte_length())
    percent_encode[_UNRESERVED](text.as_bytes(), encoded)
    return String(unsafe_from_utf8=Span(encoded))


def escaped_percents(text: StringSlice) -> String:
    """Returns a text with each percent sign escaped that starts no escape.

    No recipient then refuses the text or misreads it.

    Args:
        text: A text with escapes, such as a query as received.

    Returns:
        A text that decodes to the same.
    """
    var octets = text.as_bytes()
    var whole = List[UInt8](capacity=len(octets))
    for i in range(len(octets)):
        whole.append(octets[i])
        if octets[i] == PERCENT and _decoded_octet[False](octets, i).length < 3:
            whole.extend("25".as_bytes())
    return String(StringSlice(unsafe_from_utf8=Span(whole)))


def percent_encode[
    kept: OctetSet, *, blank_is_plus: Bool = False
](octets: Span[UInt8, _], mut encoded: List[UInt8]):
    """Escapes octets and appends the result to a list.

    Parameters:
        kept: The octets that are not escaped; not the percent sign.
        blank_is_plus: Whether a blank becomes `+`, as in an HTML form.

    Args:
        octets: Any octets.
        encoded: The list. It grows by at most three octets for each.
    """
    var digits = StaticString(_DIGITS).as_bytes()
    for b in octets:
        if b in materialize[kept]():
            encoded.append(b)
            continue
        comptime if blank_is_plus:
            if b == _BLANK:
                encoded.append(_PLUS)
                continue
        encoded.append(PERCENT)
        encoded.append(digits[Int(b >> 4)])
        encoded.append(digits[Int(b & 15)])


def equals_decoded[
    *, plus_is_blank: Bool = False
](octets: Span[UInt8, _], wanted: Span[UInt8, _]) -> Bool:
    """Returns whether octets, once decoded, equal other octets.

    It compares in place, without a copy.

    Parameters:
        plus_is_blank: Whether `+` is a blank.

    Args:
        octets: The octets with escapes.
        wanted: The decoded octets to compare with.

    Returns:
        True if the decoded octets are equal.
    """
    var i = 0
    for b in wanted:
        if i == len(octets):
            return False
        var octet = _decoded_octet[plus_is_blank](octets, i)
        if octet.value != b:
            return False
        i += octet.length
    return i == len(octets)


@fieldwise_init
struct _DecodedOctet(TrivialRegisterPassable):
    var value: UInt8
    var length: Int


@always_inline
def _decoded_octet[
    plus_is_blank: Bool
](octets: Span[UInt8, _], start: Int) -> _DecodedOctet:
    var b = octets[start]
    comptime if plus_is_blank:
        if b == _PLUS:
            return _DecodedOctet(_BLANK, 1)
    if b != PERCENT or start + 3 > len(octets):
        return _DecodedOctet(b, 1)
    var high = hexadecimal_value(octets[start + 1])
    var low = hexadecimal_value(octets[start + 2])
    if high > 15 or low > 15:
        return _DecodedOctet(b, 1)
    return _DecodedOctet(high << 4 | low, 3)
