"""Writes the field that lets a browser save content (RFC 6266)."""

from flare.core import OctetSet
from flare.message import percent_encode

# RFC 8187 section 3.2.1, `attr-char`.
comptime _PLAIN = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&+-.^_`|~"
)
comptime _LOW_LINE: UInt8 = 95
comptime _BLANK: UInt8 = 32


def attachment(file_name: StringSlice) -> String:
    """Returns a value of Content-Disposition that lets a browser save the
    content instead of showing it.

    Names of other than ASCII letters are sent twice: escaped (RFC 8187), and
    with `_` for each other character, for clients that know no escapes.

    Args:
        file_name: The name to propose. Browsers use no folders of it, so `/`
            and `\\` become `_`, and so do control characters. Empty for none.

    Returns:
        The value.
    """
    if not file_name:
        return String("attachment")
    var safe = List[UInt8](capacity=file_name.byte_length())
    var plain = List[UInt8](capacity=file_name.byte_length())
    var is_plain = True
    for octet in file_name.as_bytes():
        var kept = octet if _is_of_a_name(octet) else _LOW_LINE
        safe.append(kept)
        if kept in materialize[_PLAIN]() or kept == _BLANK:
            plain.append(kept)
            continue
        is_plain = False
        # A character of several octets has one that begins it.
        if kept & 0xC0 != 0x80:
            plain.append(_LOW_LINE)
    var value = String(
        'attachment; filename="', StringSlice(unsafe_from_utf8=plain), '"'
    )
    if not is_plain:
        var escaped = List[UInt8](capacity=3 * len(safe))
        percent_encode[_PLAIN](Span(safe), escaped)
        value += "; filename*=UTF-8''"
        value += StringSlice(unsafe_from_utf8=escaped)
    return value^


def _is_of_a_name(octet: UInt8) -> Bool:
    return (
        octet >= _BLANK
        and octet != 127
        and octet != UInt8(ord("/"))
        and octet != UInt8(ord("\\"))
    )
