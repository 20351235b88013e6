"""Helps to write down field blocks and to read them."""

from flare.proto.h2.hpack import HpackDecoder


def octets_of(hexadecimal: StringSlice) -> List[UInt8]:
    """Returns octets that are written as in RFC 7541.

    Args:
        hexadecimal: Two digits for each octet; blanks are skipped.

    Returns:
        The octets.
    """
    var octets = List[UInt8]()
    var digits = 0
    var value: UInt8 = 0
    for digit in hexadecimal.as_bytes():
        if digit == UInt8(ord(" ")):
            continue
        value = value << 4 | (digit - 48 if digit < 58 else digit - 87)
        digits += 1
        if digits % 2 == 0:
            octets.append(value)
    return octets^


def text_of(octets: Span[UInt8, _]) -> String:
    """Returns octets of ASCII as a text.

    Args:
        octets: The octets.

    Returns:
        The text.
    """
    return String(StringSlice(unsafe_from_utf8=octets))


def read_block(decoder: HpackDecoder, block: Span[UInt8, _]) raises -> String:
    """Decompresses a block.

    Args:
        decoder: The decoder.
        block: The whole block.

    Returns:
        A line for each field: its name, `: ` and its value; `!` before lines
        that must never be indexed.

    Raises:
        The reason, if the block is malformed.
    """
    var lines = String()
    var at = 0
    decoder.begin_block()
    while True:
        try:
            var field = decoder.next(block, at)
            if not field:
                return lines
            if field.is_never_indexed:
                lines += "!"
            lines += text_of(field.name) + ": "
            lines += text_of(field.value) + "\n"
            at = field.end
        except e:
            raise Error(e.reason)


def table_of(decoder: HpackDecoder) -> String:
    """Shows the dynamic table as RFC 7541 does.

    Args:
        decoder: The decoder.

    Returns:
        A line for each entry, the latest first, and the size.
    """
    ref table = decoder.state[].table
    var lines = String()
    for i in range(1, table.count + 1):
        var entry = table.entry(i)
        lines += String(entry.size(), " ")
        lines += text_of(table.unsafe_name(entry)) + ": "
        lines += text_of(table.unsafe_value(entry)) + "\n"
    return lines + String(table.size)
