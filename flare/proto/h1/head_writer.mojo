"""Writes the lines that all heads have in common."""

from std.builtin.globals import global_constant

from flare.core import Buffer, CR, LF, OctetPointer, PointerTo, copy_octets
from flare.message import FieldName, HeaderMap, known_field

from .send_plan import SendPlan

comptime FRAMING_OCTETS_MAX = 192
"""Room for every line of a head that does not come from the caller."""


comptime _PAIRS = _fill_pairs()


def _fill_pairs() -> Array[UInt16, 100]:
    # Two digits each, as they lie in memory: the first is the lower octet.
    var pairs = Array[UInt16, 100](fill=0)
    for i in range(100):
        pairs[i] = UInt16(48 + i // 10) | UInt16(48 + i % 10) << 8
    return pairs^


@always_inline
def put[text: StaticString](target: OctetPointer, at: Int) -> Int:
    """Writes a constant text.

    Parameters:
        text: The text.

    Args:
        target: Reserved memory.
        at: The offset to write at.

    Returns:
        The offset after the text.

    Safety:
        `target` has room for the text from `at` on.
    """
    comptime COUNT = text.byte_length()
    copy_octets(target.unsafe_offset(at), text.unsafe_ptr(), COUNT)
    return at + COUNT


@always_inline
def put_octets(target: OctetPointer, at: Int, octets: Span[UInt8, _]) -> Int:
    """Writes octets.

    Args:
        target: Reserved memory.
        at: The offset to write at.
        octets: The octets to write.

    Returns:
        The offset after the octets.

    Safety:
        `target` has room for the octets from `at` on.
    """
    copy_octets(target.unsafe_offset(at), octets.unsafe_ptr(), len(octets))
    return at + len(octets)


@always_inline
def put_decimal(target: OctetPointer, at: Int, number: Int) -> Int:
    """Writes a number in decimal digits without leading zeros.

    Args:
        target: Reserved memory.
        at: The offset to write at.
        number: Not negative.

    Returns:
        The offset after the digits.

    Safety:
        `target` has room for 19 octets from `at` on.
    """
    if number < 10:
        target[unsafe_offset=at] = UInt8(48 + number)
        return at + 1
    if number < 100:
        _put_pair(target, at, number)
        return at + 2
    return _put_long_decimal(target, at, number)


@always_inline
def _put_pair(target: OctetPointer, at: Int, number: Int):
    target.unsafe_offset(at).unsafe_bitcast[UInt16]().unsafe_store[alignment=1](
        global_constant[_PAIRS]().unsafe_get(number)
    )


def _put_long_decimal(target: OctetPointer, at: Int, number: Int) -> Int:
    if number < 10_000:
        var hundreds = Int(UInt32(number) // 100)
        var end = put_decimal(target, at, hundreds)
        _put_pair(target, end, number - 100 * hundreds)
        return end + 2
    var digits = 5
    var bound = 100_000
    while number >= bound and digits < 19:
        digits += 1
        # Ten to the nineteenth does not fit; no Int has more digits.
        bound = bound * 10 if digits < 19 else Int.MAX
    var rest = UInt64(number)
    for i in range(digits - 1, -1, -1):
        target[unsafe_offset=at + i] = UInt8(48 + rest % 10)
        rest //= 10
    return at + digits


@always_inline
def put_framing(target: OctetPointer, at: Int, plan: SendPlan) -> Int:
    """Writes Content-Length or Transfer-Encoding, if the plan has one.

    Args:
        target: Reserved memory.
        at: The offset to write at.
        plan: The framing of the message.

    Returns:
        The offset after the line.

    Safety:
        `target` has room for 40 octets from `at` on.
    """
    if plan.content_length >= 0:
        var end = put["Content-Length: "](target, at)
        end = put_decimal(target, end, plan.content_length)
        return put["\r\n"](target, end)
    if plan.is_chunked_stated:
        return put["Transfer-Encoding: chunked\r\n"](target, at)
    return at


@always_inline
def finish_head(
    output: PointerTo[Buffer],
    target: OctetPointer,
    at: Int,
    fields: HeaderMap,
    plan: SendPlan,
):
    """Writes the caller's fields and the empty line, and adds all to the
    output.

    Args:
        output: The destination.
        target: The memory reserved in `output`, with room for the whole head.
        at: The number of octets written so far.
        fields: The fields of the caller.
        plan: Whether to leave out a Content-Length line.
    """
    var end = at
    if not plan.filters_fields:
        end = put_octets(target, end, fields.wire())
    else:
        for line in fields:
            if known_field(line.name.as_bytes()) == FieldName.CONTENT_LENGTH:
                continue
            end = put_octets(target, end, line.name.as_bytes())
            end = put[": "](target, end)
            end = put_octets(target, end, line.value.as_bytes())
            end = put["\r\n"](target, end)
    target[unsafe_offset=end] = CR
    target[unsafe_offset=end + 1] = LF
    output[].advance(end + 2)
