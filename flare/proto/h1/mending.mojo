"""Produces the clean form of odd messages.

The clean form is a copy that the head owns, and all views of the head show the
copy. So the octets as received reach no handler, no log and no other server.
"""

from flare.core import COLON, CR, LF, PointerTo, SPACE
from flare.message import FieldLine, FieldName, RequestTarget, known_field

from ..head import Head
from .error import H1Error
from flare.message.list_grammar import is_blank
from .scan import Window

comptime _DIGITS: StaticString = "0123456789ABCDEF"
comptime _PERCENT: UInt8 = 37


def mend_target(target: Window, mut h: Head) raises H1Error:
    """Writes a request target with an escape for each octet over 127, which
    has the same meaning (RFC 3986 section 2.1).

    Args:
        target: The target as received: visible ASCII and octets over 127.
        h: The head; its target is then the clean one.

    Raises:
        H1Error: If the clean target exceeds the bound of all targets.
    """
    var digits = StaticString(_DIGITS).as_bytes()
    h.mended.clear()
    h.mended.reserve(len(target) + 64)
    for octet in target:
        if octet < 128:
            h.mended.append(octet)
            continue
        h.mended.append(_PERCENT)
        h.mended.append(digits[Int(octet >> 4)])
        h.mended.append(digits[Int(octet & 15)])
    if len(h.mended) > RequestTarget.OCTETS_MAX:
        raise H1Error.broken["request target exceeds the limit"]()
    h.has_mended_target = True


@no_inline
def mend_fields(window: Window, head: PointerTo[Head]):
    """Writes the header section of a response in its clean form.

    Each line ends with CR LF, and a folded value is one line. Content-Length
    occurs once, or not at all beside a transfer coding, which overrides it
    (RFC 9112 sections 2.2, 5.2 and 6.3).

    Args:
        window: The received octets.
        head: The checked head; its views then show the clean form.
    """
    ref h = head[]
    var clean = List[UInt8](capacity=_octets_of(h.lines))
    var kept = 0
    var length_is_due = h.content_length >= 0
    for i in range(len(h.lines)):
        var line = h.lines[i]
        if known_field(_name(window, line)) != FieldName.CONTENT_LENGTH:
            h.lines[kept] = _append_line(clean, window, line)
        elif length_is_due:
            length_is_due = False
            h.lines[kept] = _append_length(clean, window, line, h)
        else:
            continue
        kept += 1
    h.lines.shrink(kept)
    if h.content_length < 0:
        h.known &= ~FieldName.bit(FieldName.CONTENT_LENGTH)
    # In a response it says nothing.
    h.host = -1
    h.mended = clean^
    h.has_mended_fields = True


@no_inline
def mend_trailers(window: Window, head: PointerTo[Head]):
    """Writes the trailer section of a response in its clean form.

    Args:
        window: The received octets.
        head: The head whose trailers were parsed; its views then show the
            clean form.
    """
    ref h = head[]
    var clean = List[UInt8](capacity=_octets_of(h.trailers))
    for i in range(len(h.trailers)):
        h.trailers[i] = _append_line(clean, window, h.trailers[i])
    h.mended_trailers = clean^
    h.has_mended_trailers = True


def _octets_of(lines: List[FieldLine]) -> Int:
    # Content-Length may be written with more digits than it came with.
    var octets = 20
    for line in lines:
        octets += Int(line.name_octets + line.value_octets) + 4
    return octets


def _name(window: Window, line: FieldLine) -> Window[window.origin]:
    return window[Int(line.name_start) :][: Int(line.name_octets)]


def _append_line(
    mut clean: List[UInt8], window: Window, line: FieldLine
) -> FieldLine:
    var value = window[Int(line.value_start) :][: Int(line.value_octets)]
    var start = _begin_line(clean, window, line)
    var i = 0
    while i < len(value):
        if value[i] != CR and value[i] != LF:
            clean.append(value[i])
            i += 1
            continue
        # One blank for the end of the line and all blanks around it.
        while len(clean) > start and is_blank(clean[len(clean) - 1]):
            _ = clean.pop()
        while i < len(value) and value[i] <= SPACE:
            i += 1
        if len(clean) > start and i < len(value):
            clean.append(SPACE)
    return _end_line(clean, start, line)


def _append_length(
    mut clean: List[UInt8], window: Window, line: FieldLine, h: Head
) -> FieldLine:
    var start = _begin_line(clean, window, line)
    clean.extend(String(h.content_length).as_bytes())
    return _end_line(clean, start, line)


def _begin_line(mut clean: List[UInt8], window: Window, line: FieldLine) -> Int:
    clean.extend(_name(window, line))
    clean.append(COLON)
    clean.append(SPACE)
    return len(clean)


def _end_line(
    mut clean: List[UInt8], value_start: Int, line: FieldLine
) -> FieldLine:
    var octets = len(clean) - value_start
    clean.append(CR)
    clean.append(LF)
    return FieldLine(
        UInt32(value_start - Int(line.name_octets) - 2),
        line.name_octets,
        UInt32(value_start),
        UInt32(octets),
    )
