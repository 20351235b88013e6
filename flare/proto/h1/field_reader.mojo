"""Reads field lines into the table of a head (RFC 9112 section 5).

One pass finds and checks every octet. Refused are: a bare CR or LF, other
control octets, a name that is not a token, white space before a name (so also
line folding, section 5.2) and between name and colon.

Lines that have arrived whole and are as they should be are taken in a loop of
their own. It judges nothing: whatever it does not take, be it cut, refused or
over a limit, the loop of `_read_on` sees from the front of its line.
"""

from flare.core import COLON, CR, LF, PointerTo, SPACE
from flare.message import FieldLine, FieldName, known_field
from flare.message.known_field import (
    OCTETS_BEFORE_COLON,
    known_received_field,
)

from .error import H1Error
from .field_stops import FieldStops
from .framing import is_framing, note_field
from .grammar import is_blank, trim_blanks
from .head import Head, HeadProgress
from .scan import (
    CR_LF,
    Window,
    not_field_content,
    not_token,
    scan,
    two_octets,
)


def read_fields[
    is_trailer: Bool
](
    window: Window,
    head: PointerTo[Head],
    section_octets_max: Int,
    lines_max: Int,
) raises H1Error -> Int:
    """Reads on in a header or trailer section.

    Parameters:
        is_trailer: True keeps the lines without letting them decide anything.

    Args:
        window: The received octets.
        head: The head; its progress says where to go on.
        section_octets_max: The limit of the section.
        lines_max: The limit of the count of lines.

    Returns:
        The offset behind the empty line that ends the section, or 0 while
        more octets are needed.

    Raises:
        H1Error: At the first octet that cannot be right.
    """
    comptime if not is_trailer:
        if head[].progress.part == HeadProgress.LINE:
            var end = _take_whole_lines(
                window, head, section_octets_max, lines_max
            )
            if end != 0:
                return end
    return _read_on[is_trailer](window, head, section_octets_max, lines_max)


@no_inline
def _read_on[
    is_trailer: Bool
](
    window: Window,
    head: PointerTo[Head],
    section_octets_max: Int,
    lines_max: Int,
) raises H1Error -> Int:
    ref h = head[]
    var n = len(window)
    var bound = Int(h.progress.section_start) + section_octets_max
    var limit = min(n, bound)
    var part = h.progress.part
    var at = Int(h.progress.scanned)
    var line_start = Int(h.progress.part_start)
    var name_octets = Int(h.progress.name_octets)
    var lines = 0
    while True:
        if part == HeadProgress.LINE:
            line_start = at
            if at >= n:
                break
            if window.unsafe_get(at) == CR:
                if at + 1 >= n:
                    break
                if window.unsafe_get(at + 1) != LF:
                    raise H1Error.peer(400, "CR without LF in a section")
                return at + 2
            comptime if is_trailer:
                lines = len(h.trailers)
            else:
                lines = len(h.lines)
            if lines >= lines_max:
                raise H1Error.peer(431, "too many field lines")
            part = HeadProgress.NAME
        if part == HeadProgress.NAME:
            at = scan[not_token](window, at, max(limit, at))
            if at >= limit:
                _refuse_at(at, bound)
                break
            name_octets = at - line_start
            if window.unsafe_get(at) != COLON or name_octets == 0:
                raise _name_error(window[at], name_octets, lines)
            at += 1
            part = HeadProgress.VALUE
        at = scan[not_field_content](window, at, max(limit, at))
        if at >= limit:
            _refuse_at(at, bound)
            break
        if window.unsafe_get(at) != CR:
            raise H1Error.peer(400, "field value holds a forbidden octet")
        if at + 2 > bound:
            _refuse_at(bound, bound)
        if at + 1 >= n:
            break
        if window.unsafe_get(at + 1) != LF:
            raise H1Error.peer(400, "CR without LF in a field line")
        _take_line[is_trailer](window, head, line_start, name_octets, at)
        at += 2
        part = HeadProgress.LINE
    h.progress.part = part
    h.progress.scanned = UInt32(at)
    h.progress.part_start = UInt32(line_start)
    h.progress.name_octets = UInt32(name_octets)
    return 0


def _take_whole_lines(
    window: Window,
    head: PointerTo[Head],
    section_octets_max: Int,
    lines_max: Int,
) raises H1Error -> Int:
    # Gives the end of the section, or 0 if it must be read on from where the
    # progress stands.
    ref h = head[]
    var n = len(window)
    var p = window.unsafe_ptr()
    var at = Int(h.progress.scanned)
    var limit = min(n, Int(h.progress.section_start) + section_octets_max)
    if at < OCTETS_BEFORE_COLON or at >= limit:
        return 0
    var count = len(h.lines)
    if count == h.lines.capacity():
        h.lines.reserve(max(2 * count, 16))
    var room = min(h.lines.capacity(), lines_max)
    var stops = FieldStops(window, at)
    while count < room:
        var colon = stops.name_end(window, at)
        var end = stops.value_end(window, colon + 1)
        var value = colon + 1
        if (
            end + 2 > limit
            or p[unsafe_offset=colon] != COLON
            or colon == at
            or two_octets(p, end) != CR_LF
        ):
            break
        if p[unsafe_offset=value] == SPACE:
            value += 1
        var value_octets = end - value
        if p[unsafe_offset=value] <= SPACE or p[unsafe_offset=end - 1] <= SPACE:
            var trimmed = trim_blanks(window[value:end])
            value = Int(trimmed.unsafe_ptr()) - Int(p)
            value_octets = len(trimmed)
        h.lines.unsafe_ptr().unsafe_offset(count).unsafe_write(
            FieldLine(
                UInt32(at),
                UInt32(colon - at),
                UInt32(value),
                UInt32(value_octets),
            )
        )
        var id = known_received_field(p, at, colon)
        if id == FieldName.HOST and h.host < 0:
            h.host = count
        elif is_framing(id):
            note_field(
                head,
                id,
                Span(unsafe_ptr=p.unsafe_offset(value), length=value_octets),
                count,
            )
        h.known |= FieldName.bit(id)
        count += 1
        at = end + 2
    h.known &= ~FieldName.bit(FieldName.UNKNOWN)
    h.lines.resize(unsafe_uninit_length=count)
    h.progress.scanned = UInt32(at)
    if at + 2 <= n and two_octets(p, at) == CR_LF:
        return at + 2
    if count == room and room < lines_max:
        return _take_whole_lines(window, head, section_octets_max, lines_max)
    return 0


@always_inline
def _take_line[
    is_trailer: Bool
](
    window: Window,
    head: PointerTo[Head],
    line_start: Int,
    name_octets: Int,
    line_end: Int,
) raises H1Error:
    var start = line_start + name_octets + 1
    var end = line_end
    while start < end and is_blank(window.unsafe_get(start)):
        start += 1
    while end > start and is_blank(window.unsafe_get(end - 1)):
        end -= 1
    ref h = head[]
    var line = FieldLine(
        UInt32(line_start),
        UInt32(name_octets),
        UInt32(start),
        UInt32(end - start),
    )
    comptime if is_trailer:
        h.trailers.append(line)
        return
    var id = known_field(window[line_start : line_start + name_octets])
    if is_framing(id):
        note_field(head, id, window[start:end], len(h.lines))
    if id != FieldName.UNKNOWN:
        h.known |= FieldName.bit(id)
    h.lines.append(line)


@always_inline
def _refuse_at(at: Int, bound: Int) raises H1Error:
    if at >= bound:
        raise H1Error.peer(431, "field section exceeds the limit")


def _name_error(found: UInt8, name_octets: Int, lines: Int) -> H1Error:
    var reason: StaticString = "field name holds a forbidden octet"
    if found == COLON:
        reason = "field name is empty"
    elif is_blank(found):
        if name_octets > 0:
            reason = "white space before a colon"
        elif lines > 0:
            reason = "folded field line"
        else:
            reason = "white space before the first field line"
    elif found == CR or found == LF:
        reason = "field line without a colon"
    return H1Error.peer(400, reason)
