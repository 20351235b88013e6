"""Parses field lines into the table of a head (RFC 9112 section 5).

One pass finds and checks every octet. It refuses a bare CR or LF, other
control octets, and a name that is not a token. It also refuses white space
before a name (thus line folding, section 5.2) or between name and colon. In a
response, a bare LF may end a line and lines may be folded. No other message
then follows on the connection, and the views show neither (`mending`).

Complete lines without peculiarities are parsed in a loop of their own. It
refuses no line: lines that are incomplete, invalid or over a limit are left to
`_read_on`, from their start.
"""

from flare.core import COLON, CR, LF, PointerTo, SPACE
from flare.message import FieldLine, FieldName, known_field
from flare.message.known_field import (
    OCTETS_BEFORE_COLON,
    known_received_field,
)

from std.sys import size_of
from std.sys.intrinsics import likely, unlikely

from ..head import Head, HeadProgress
from .error import H1Error
from .field_stops import FieldStops, FirstLook
from .framing import is_framing, note_field
from flare.message.list_grammar import is_blank
from .plain_host import HOST_NAME_OCTETS, HOST_VALUE, first_host_octets
from .scan import (
    CR_LF,
    Window,
    not_field_content,
    not_token,
    scan,
    two_octets,
)


@no_inline
def read_fields[
    is_trailer: Bool, is_response: Bool
](
    window: Window,
    head: PointerTo[Head],
    section_octets_max: Int,
    lines_max: Int,
) raises H1Error -> Int:
    """Continues to parse a header or trailer section.

    Parameters:
        is_trailer: Whether the lines are trailers, which have no effect on
            framing.
        is_response: Whether to accept the syntax that only a client may accept.

    Args:
        window: The received octets.
        head: The head, with the position at which to continue.
        section_octets_max: The limit of the section.
        lines_max: The limit of the number of lines.

    Returns:
        The offset after the empty line that ends the section; 0 while more
        octets are needed.

    Raises:
        H1Error: At the first invalid octet.
    """
    comptime if not is_trailer:
        while (
            head[].progress.part == HeadProgress.LINE
            # These loops count on CR LF before a line.
            and not head[].progress.is_odd
            and Int(head[].progress.scanned) >= OCTETS_BEFORE_COLON
            and Int(head[].progress.scanned) < len(window)
        ):
            var line_end = Int(head[].progress.scanned) - 2
            var end = take_whole_lines(
                window,
                head,
                FirstLook.nothing(),
                FieldStops(window, line_end),
                line_end,
                Int(head[].progress.section_start) + section_octets_max,
                lines_max,
            )
            if end != 0:
                return end
            ref lines = head[].lines
            if len(lines) < lines.capacity() or len(lines) >= lines_max:
                break
            _reserve_lines(lines)
    return _read_on[is_trailer, is_response](
        window, head, section_octets_max, lines_max
    )


@no_inline
def _reserve_lines(mut lines: List[FieldLine]):
    # A section of more than a few lines is a long one: each size between would
    # leave a block that Mojo's allocator keeps.
    lines.reserve(max(2 * len(lines), 16 if len(lines) < 16 else 128))


@no_inline
def _read_on[
    is_trailer: Bool, is_response: Bool
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
            var octet = window.unsafe_get(at)
            if octet == CR or (is_response and octet == LF):
                var end_octets = _empty_line_octets(window, at)
                if end_octets == 0:
                    break
                h.progress.is_odd = h.progress.is_odd or end_octets == 1
                return at + end_octets
            lines = len(h.trailers) if is_trailer else len(h.lines)
            part = HeadProgress.NAME
            if is_response and lines > 0 and is_blank(octet):
                _check_fold[is_trailer](window, h)
                part = HeadProgress.FOLD
            elif lines >= lines_max:
                raise H1Error.broken["too many field lines"]()
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
        var end_octets = _line_end_octets[is_response](window, at, bound)
        if end_octets == 0:
            break
        comptime if is_response:
            if end_octets == 1:
                h.progress.is_odd = True
            if part == HeadProgress.FOLD:
                _extend_line[is_trailer](window, h, at)
        if part == HeadProgress.VALUE:
            _take_line[is_trailer](window, head, line_start, name_octets, at)
        at += end_octets
        part = HeadProgress.LINE
    h.progress.part = part
    h.progress.scanned = UInt32(at)
    h.progress.part_start = UInt32(line_start)
    h.progress.name_octets = UInt32(name_octets)
    return 0


@always_inline
def take_whole_lines(
    window: Window,
    head: PointerTo[Head],
    first: FirstLook,
    first_stops: FieldStops,
    first_line_end: Int,
    bound: Int,
    lines_max: Int,
) raises H1Error -> Int:
    """Parses complete header lines while the table has room.

    Args:
        window: The received octets.
        head: The head.
        first: The first look at the window, if any.
        first_stops: The stops from the previous line on.
        first_line_end: The place of the CR LF of the previous line. Its CR is
            among the octets of `first_stops`, and at least
            `OCTETS_BEFORE_COLON` octets of the window precede it.
        bound: The largest offset at which the section may end.
        lines_max: The limit of the number of lines.

    Returns:
        The offset after the empty line that ends the section; 0 if parsing
        must continue at the head's position.

    Raises:
        H1Error: If a line contradicts an earlier one.
    """
    ref h = head[]
    var n = len(window)
    var p = window.unsafe_ptr()
    var stops = first_stops
    var line_end = first_line_end
    var limit = min(n, bound)
    var lines = h.lines.unsafe_ptr()
    var line = lines.unsafe_offset(len(h.lines))
    var last = lines.unsafe_offset(min(h.lines.capacity(), lines_max))
    var known = h.known
    if likely(Int(line) == Int(lines) and Int(line) < Int(last)):
        var octets = first_host_octets(window, first, stops, line_end, limit)
        if likely(octets != 0):
            var value = line_end + HOST_VALUE
            line.unsafe_write(
                _line(line_end + 2, HOST_NAME_OCTETS, value, octets)
            )
            h.host = 0
            h.has_plain_host = True
            known |= FieldName.bit(FieldName.HOST)
            line_end = value + octets
            # A head of one line needs neither the loop nor another look.
            if line_end + 4 <= n and two_octets(p, line_end + 2) == CR_LF:
                h.known = known
                h.lines.resize(unsafe_uninit_length=1)
                return line_end + 4
            line = line.unsafe_offset(1)
    while likely(Int(line) < Int(last)):
        var at = line_end + 2
        var colon = stops.name_end(window, line_end)
        if colon == at:
            break
        var end = stops.value_end(window, colon)
        if unlikely(
            end + 2 > limit
            or p[unsafe_offset=colon] != COLON
            or two_octets(p, end) != CR_LF
        ):
            break
        var value = colon + 1
        if p[unsafe_offset=value] == SPACE:
            value += 1
        var octets = end - value
        if unlikely(
            p[unsafe_offset=value] <= SPACE or p[unsafe_offset=end - 1] <= SPACE
        ):
            var trimmed = _trim(p, value, end)
            value = trimmed.start
            octets = trimmed.octets
        line.unsafe_write(_line(at, colon - at, value, octets))
        var id = known_received_field(p, at, colon)
        if unlikely(is_framing(id)):
            var text = Span(unsafe_ptr=p.unsafe_offset(value), length=octets)
            _note(head, id, text, _index(lines, line), known)
        known |= FieldName.bit(id)
        line = line.unsafe_offset(1)
        line_end = end
    h.known = known & ~FieldName.bit(FieldName.UNKNOWN)
    h.lines.resize(unsafe_uninit_length=_index(lines, line))
    return _section_end(window, head, line_end)


@always_inline
def _section_end(window: Window, head: PointerTo[Head], line_end: Int) -> Int:
    var end = line_end + 4
    if likely(
        end <= len(window) and two_octets(window.unsafe_ptr(), end - 2) == CR_LF
    ):
        return end
    head[].progress.part = HeadProgress.LINE
    head[].progress.scanned = UInt32(line_end + 2)
    return 0


@always_inline
def _line(start: Int, name_octets: Int, value: Int, octets: Int) -> FieldLine:
    return FieldLine(
        UInt32(start), UInt32(name_octets), UInt32(value), UInt32(octets)
    )


@always_inline
def _note(
    head: PointerTo[Head],
    id: UInt8,
    value: Span[UInt8, _],
    index: Int,
    known: UInt64,
) raises H1Error:
    ref h = head[]
    if likely(id == FieldName.HOST and h.host < 0):
        h.host = index
        return
    h.known = known
    note_field(head, id, value, index)


@always_inline
def _index(lines: Pointer[FieldLine, _], line: Pointer[FieldLine, _]) -> Int:
    return Int(UInt(Int(line) - Int(lines)) // UInt(size_of[FieldLine]()))


@fieldwise_init
struct _Value(TrivialRegisterPassable):
    var start: Int
    var octets: Int


@no_inline
def _trim(p: Pointer[mut=False, UInt8, _], start: Int, end: Int) -> _Value:
    var first = start
    var behind = end
    while first < behind and is_blank(p[unsafe_offset=first]):
        first += 1
    while behind > first and is_blank(p[unsafe_offset=behind - 1]):
        behind -= 1
    return _Value(first, behind - first)


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
    var line = _line(line_start, name_octets, start, end - start)
    comptime if is_trailer:
        if len(h.trailers) == h.trailers.capacity():
            _reserve_lines(h.trailers)
        h.trailers.append(line)
        return
    var id = known_field(window[line_start : line_start + name_octets])
    if is_framing(id):
        note_field(head, id, window[start:end], len(h.lines))
    if id != FieldName.UNKNOWN:
        h.known |= FieldName.bit(id)
    if len(h.lines) == h.lines.capacity():
        _reserve_lines(h.lines)
    h.lines.append(line)


@always_inline
def _empty_line_octets(window: Window, at: Int) raises H1Error -> Int:
    # How long it is, or 0 while more octets are needed.
    if window.unsafe_get(at) == LF:
        return 1
    if at + 1 >= len(window):
        return 0
    if window.unsafe_get(at + 1) != LF:
        raise H1Error.broken["CR without LF in a section"]()
    return 2


@always_inline
def _line_end_octets[
    is_response: Bool
](window: Window, at: Int, bound: Int) raises H1Error -> Int:
    # How long the end of the line is, or 0 while more octets are needed.
    if window.unsafe_get(at) != CR:
        comptime if is_response:
            if window.unsafe_get(at) == LF:
                return 1
        if window.unsafe_get(at) == LF:
            raise H1Error.broken["LF without CR in a field line"]()
        raise H1Error.broken["field value holds a forbidden octet"]()
    if at + 2 > bound:
        _refuse_at(bound, bound)
    if at + 1 >= len(window):
        return 0
    if window.unsafe_get(at + 1) != LF:
        raise H1Error.broken["CR without LF in a field line"]()
    return 2


@no_inline
def _check_fold[is_trailer: Bool](window: Window, h: Head) raises H1Error:
    # Framing fields are checked as received. A recipient that took the fold
    # for another line would decide differently.
    comptime if not is_trailer:
        ref line = h.lines[len(h.lines) - 1]
        var start = Int(line.name_start)
        var name = window[start : start + Int(line.name_octets)]
        if is_framing(known_field(name)):
            raise H1Error.broken["folded field line about framing"]()


@no_inline
def _extend_line[is_trailer: Bool](window: Window, mut h: Head, line_end: Int):
    # From the first octet of the value to the last one, line ends between.
    var end = line_end
    while is_blank(window[end - 1]):
        end -= 1
    h.progress.is_odd = True
    comptime if is_trailer:
        ref line = h.trailers[len(h.trailers) - 1]
        line.value_octets = UInt32(max(end - Int(line.value_start), 0))
    else:
        ref line = h.lines[len(h.lines) - 1]
        line.value_octets = UInt32(max(end - Int(line.value_start), 0))


@always_inline
def _refuse_at(at: Int, bound: Int) raises H1Error:
    if at >= bound:
        raise H1Error.broken["field section exceeds the limit"]()


def _name_error(found: UInt8, name_octets: Int, lines: Int) -> H1Error:
    if found == COLON:
        return H1Error.broken["field name is empty"]()
    if is_blank(found):
        if name_octets > 0:
            return H1Error.broken["white space before a colon"]()
        if lines > 0:
            return H1Error.broken["folded field line"]()
        return H1Error.broken["white space before the first field line"]()
    if found == CR or found == LF:
        return H1Error.broken["field line without a colon"]()
    return H1Error.broken["field name holds a forbidden octet"]()
