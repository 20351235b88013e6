"""Converts received octets into events, one at a time.

The functions work on the state behind an `H1Machine`. Their errors have the
status that a server answers; the machine then ends the connection's state.
"""

from std.sys.intrinsics import likely, unlikely

from flare.core import CR, LF, PointerTo
from flare.message import Method

from ..event import HttpEvent
from ..head import BodyKind, Head, HeadProgress
from .chunk import ChunkPart, ChunkState, read_chunk_line
from .connection import H1State, Role
from .error import H1Error
from .field_reader import read_fields, take_whole_lines
from .field_stops import FieldStops, FirstLook, STOPS_WINDOW_MIN
from .framing import finish_request, finish_response, is_plain_head
from .mending import mend_fields, mend_trailers
from .plain_request import take_plain_request_line
from .plain_status_line import take_plain_status_line
from .scan import Window
from .start_line import read_request_line, read_status_line
from .state import SideInput, SideState, next_state


@always_inline
def plain_event(state: PointerTo[H1State], kind: UInt8) -> HttpEvent:
    """Returns an event without data that consumes no octets.

    Args:
        state: The connection.
        kind: The kind of the event.

    Returns:
        The event.
    """
    return HttpEvent(kind, state[].stream_id, 0, 0, 0)


@always_inline
def next_request(
    state: PointerTo[H1State],
    window: Window,
    head: PointerTo[Head],
) raises H1Error -> HttpEvent:
    """Continues to parse a request head.

    Args:
        state: A server's connection between two requests.
        window: The unconsumed octets.
        head: Set to the head.

    Returns:
        `REQUEST_HEAD`, a waiting value, or an end.

    Raises:
        H1Error: If the octets cannot start a request.
    """
    ref s = state[]
    if unlikely(len(window) < STOPS_WINDOW_MIN or s.scanned != 0):
        return _next_request_on(state, window, head)
    head[].begin(0)
    var first = FirstLook.nothing()
    var stops = FieldStops(window, first)
    var line_end = take_plain_request_line(
        window, head, first, Int(s.limits.request_target_octets_max)
    )
    if unlikely(line_end == 0):
        head[].progress.owner = Int(state)
        return _read_request_on(state, window, head)
    s.is_bodiless = head[].method == Method.HEAD
    if unlikely(not stops.reaches(line_end)):
        stops = FieldStops(window, line_end)
    var section_start = line_end + 2
    var end = take_whole_lines(
        window,
        head,
        first,
        stops,
        line_end,
        section_start + Int(s.limits.field_section_octets_max),
        Int(s.limits.field_lines_max),
    )
    if unlikely(end == 0):
        head[].progress.section_start = UInt32(section_start)
        head[].progress.owner = Int(state)
        return _read_request_on(state, window, head)
    if likely(is_plain_head(window, head)):
        return _plain_request_head(state, head, end)
    finish_request(window, head, s.limits)
    return _request_head(state, head, end)


@always_inline
def _plain_request_head(
    state: PointerTo[H1State], head: PointerTo[Head], end: Int
) -> HttpEvent:
    # The same as `_request_head`, with less to check: the head began without
    # an owner, and the response side is idle if the request side is.
    comptime BODY = next_state[True](SideState.IDLE, SideInput.REQUEST_HEAD)
    comptime AWAITED = next_state[False](SideState.IDLE, SideInput.REQUEST_HEAD)
    ref s = state[]
    ref h = head[]
    h.keep_alive = True
    s.method = h.method
    s.version_minor = 1
    s.receive_body = BodyKind.NONE
    s.keep_alive = not s.is_last
    s.wants_upgrade = False
    s.stream_id += 1
    s.request = BODY
    debug_assert(s.response == SideState.IDLE, "a response is under way")
    s.response = AWAITED
    return HttpEvent(HttpEvent.REQUEST_HEAD, s.stream_id, 0, 0, end)


@no_inline
def _next_request_on(
    state: PointerTo[H1State], window: Window, head: PointerTo[Head]
) raises H1Error -> HttpEvent:
    ref s = state[]
    if len(window) == 0:
        if not s.has_ended:
            return plain_event(state, HttpEvent.NEED_OCTETS)
        s.advance_request(SideInput.LAST)
        s.advance_response(SideInput.LAST)
        return plain_event(state, HttpEvent.GOING_AWAY)
    if not _is_resumed(state, window, head):
        head[].begin(Int(state))
    return _read_request_on(state, window, head)


@no_inline
def _read_request_on(
    state: PointerTo[H1State], window: Window, head: PointerTo[Head]
) raises H1Error -> HttpEvent:
    ref s = state[]
    if head[].progress.part < HeadProgress.LINE:
        # A head that is refused is answered too, and not as the last one was.
        s.is_bodiless = False
        if not read_request_line(window, head, s.limits):
            return _need_octets_of_head(state, head)
        s.is_bodiless = head[].method == Method.HEAD
    var end = read_fields[False, False](
        window,
        head,
        Int(s.limits.field_section_octets_max),
        Int(s.limits.field_lines_max),
    )
    if end == 0:
        return _need_octets_of_head(state, head)
    finish_request(window, head, s.limits)
    return _request_head(state, head, end)


@always_inline
def _request_head(
    state: PointerTo[H1State], head: PointerTo[Head], end: Int
) -> HttpEvent:
    ref s = state[]
    _finish_head(state, head)
    ref h = head[]
    s.method = h.method
    s.keep_alive = h.keep_alive and not s.is_last
    s.wants_upgrade = h.wants_upgrade
    s.stream_id += 1
    s.advance_request(SideInput.REQUEST_HEAD)
    s.advance_response(SideInput.REQUEST_HEAD)
    return HttpEvent(HttpEvent.REQUEST_HEAD, s.stream_id, 0, 0, end)


@always_inline
def end_bodiless(state: PointerTo[H1State]) -> Bool:
    """Ends a request that has no body, in place of the next event.

    Args:
        state: A server's connection.

    Returns:
        True if `END_OF_MESSAGE` was the next event, which is then done.
    """
    ref s = state[]
    if s.request != SideState.BODY or s.receive_body != BodyKind.NONE:
        return False
    s.advance_request(SideInput.END)
    s.finish_exchange()
    return True


@always_inline
def due_data(state: PointerTo[H1State]) -> Int:
    """Returns how many octets of data must be received before any others.

    Args:
        state: A connection.

    Returns:
        The rest of the Content-Length, or of the present chunk; 0 outside of
        a body.
    """
    ref s = state[]
    if s.request != SideState.BODY:
        return 0
    if s.receive_body == BodyKind.LENGTH:
        return s.receive_left
    if s.receive_body == BodyKind.CHUNKED and s.chunk.part == ChunkPart.DATA:
        return Int(s.chunk.remaining)
    return 0


@always_inline
def count_received(state: PointerTo[H1State], count: Int) -> Bool:
    """Counts data that the owner has received itself, in place of an event.

    Args:
        state: A server's connection.
        count: The number of octets; at most `due_data`.

    Returns:
        True if they end the message. Then `END_OF_MESSAGE` was the next event,
        which is done.
    """
    ref s = state[]
    if s.receive_body == BodyKind.CHUNKED:
        s.received += count
        s.chunk.remaining -= UInt64(count)
        if s.chunk.remaining == 0:
            s.chunk.part = ChunkPart.DATA_CR
        return False
    s.receive_left -= count
    if s.receive_left > 0:
        return False
    s.advance_request(SideInput.END)
    s.finish_exchange()
    return True


@no_inline
def next_response(
    state: PointerTo[H1State],
    window: Window,
    head: PointerTo[Head],
) raises H1Error -> HttpEvent:
    """Continues to parse a response head.

    Args:
        state: A client's connection that awaits a response.
        window: The unconsumed octets.
        head: Set to the head.

    Returns:
        `RESPONSE_HEAD` (also for 101 and answers to CONNECT),
        `INFORMATIONAL_HEAD`, a waiting value, or an end.

    Raises:
        H1Error: If the octets cannot start the expected response.
    """
    ref s = state[]
    if unlikely(len(window) < STOPS_WINDOW_MIN or s.scanned != 0):
        if len(window) == 0:
            return _need_octets(state, 0)
        if not _is_resumed(state, window, head):
            head[].begin(Int(state))
        return _read_response_on(state, window, head)
    head[].begin(Int(state))
    var stops = FieldStops(window, 0)
    var line_end = take_plain_status_line(
        window, head, stops, Int(s.limits.request_target_octets_max)
    )
    if unlikely(line_end == 0):
        return _read_response_on(state, window, head)
    var section_start = line_end + 2
    var end = take_whole_lines(
        window,
        head,
        FirstLook.nothing(),
        stops,
        line_end,
        section_start + Int(s.limits.field_section_octets_max),
        Int(s.limits.field_lines_max),
    )
    if unlikely(end == 0):
        head[].progress.section_start = UInt32(section_start)
        return _read_response_on(state, window, head)
    return _response_head(state, window, head, end)


@no_inline
def _read_response_on(
    state: PointerTo[H1State], window: Window, head: PointerTo[Head]
) raises H1Error -> HttpEvent:
    ref s = state[]
    if head[].progress.part < HeadProgress.LINE:
        if not read_status_line(window, head, s.limits):
            return _need_octets_of_head(state, head)
    var end = read_fields[False, True](
        window,
        head,
        Int(s.limits.field_section_octets_max),
        Int(s.limits.field_lines_max),
    )
    if end == 0:
        return _need_octets_of_head(state, head)
    return _response_head(state, window, head, end)


@always_inline
def _response_head(
    state: PointerTo[H1State],
    window: Window,
    head: PointerTo[Head],
    end: Int,
) raises H1Error -> HttpEvent:
    ref s = state[]
    finish_response(head, s.method, s.limits)
    if unlikely(head[].progress.is_odd):
        mend_fields(window, head)
        # Where its peer thinks that the response ends may be elsewhere.
        head[].keep_alive = False
    _finish_head(state, head)
    ref h = head[]
    s.keep_alive = s.keep_alive and h.keep_alive
    if h.status == 101:
        if not (s.wants_upgrade and h.wants_upgrade):
            raise H1Error.broken["101 without an offer to upgrade"]()
        if s.request != SideState.DONE:
            raise H1Error.broken["101 before the request was complete"]()
        _upgrade(state)
    elif h.status < 200:
        s.informational += 1
        if s.informational > s.limits.informational_responses_max:
            raise H1Error.broken["too many informational responses"]()
        s.advance_response(SideInput.INFORMATIONAL_HEAD)
        return HttpEvent(HttpEvent.INFORMATIONAL_HEAD, s.stream_id, 0, 0, end)
    elif s.method == Method.CONNECT and h.status < 300:
        _upgrade(state)
    else:
        s.advance_response(SideInput.RESPONSE_HEAD)
    return HttpEvent(HttpEvent.RESPONSE_HEAD, s.stream_id, 0, 0, end)


@no_inline
def next_body(
    state: PointerTo[H1State],
    window: Window,
    head: PointerTo[Head],
) raises H1Error -> HttpEvent:
    """Continues to parse a body.

    Args:
        state: A connection whose receiving side is in its body.
        window: The unconsumed octets.
        head: Set to trailers; unchanged if there are none.

    Returns:
        `DATA`, `TRAILERS`, `END_OF_MESSAGE`, a waiting value, or an end.

    Raises:
        H1Error: If the octets are invalid.
    """
    ref s = state[]
    var n = len(window)
    if s.receive_body == BodyKind.CHUNKED:
        return _next_chunked(state, window, head)
    if s.receive_body == BodyKind.LENGTH and s.receive_left > 0:
        if n == 0:
            return _need_octets(state, 0)
        var length = min(n, s.receive_left)
        s.receive_left -= length
        return _data(state, 0, length)
    if s.receive_body == BodyKind.UNTIL_CLOSE:
        if n > 0:
            var length = min(n, s.limits.body_octets_max - s.received)
            if length == 0:
                raise H1Error.broken["body exceeds the limit"]()
            s.received += length
            return _data(state, 0, length)
        if not s.has_ended:
            return plain_event(state, HttpEvent.NEED_OCTETS)
    return _end(state, window, 0)


def _next_chunked(
    state: PointerTo[H1State],
    window: Window,
    head: PointerTo[Head],
) raises H1Error -> HttpEvent:
    ref s = state[]
    var chunk = Pointer(to=s.chunk).unsafe_origin_cast[MutUntrackedOrigin]()
    var most = s.limits.body_octets_max - s.received
    var at: Int
    if s.role == Role.SERVER:
        at = read_chunk_line[False](window, 0, chunk, s.limits, most)
    else:
        at = read_chunk_line[True](window, 0, chunk, s.limits, most)
        s.keep_alive = s.keep_alive and not s.chunk.is_odd
    if s.chunk.part == ChunkPart.TRAILER:
        return _next_trailers(state, window, head, at)
    if s.chunk.part != ChunkPart.DATA or at == len(window):
        return _need_octets(state, at)
    var left = len(window) - at
    # A chunk was found to fit the body limit, so its size fits an Int.
    var length = min(left, Int(s.chunk.remaining))
    s.received += length
    s.chunk.remaining -= UInt64(length)
    if s.chunk.remaining == 0:
        s.chunk.part = ChunkPart.DATA_CR
    return _data(state, at, length)


def _next_trailers(
    state: PointerTo[H1State],
    window: Window,
    head: PointerTo[Head],
    start: Int,
) raises H1Error -> HttpEvent:
    ref s = state[]
    if s.scanned == 0:
        if start == len(window):
            return _need_octets(state, start)
        if window[start] == CR:
            # No trailers, the common case, leaves `head` alone.
            if start + 1 == len(window):
                return _need_octets(state, start)
            if window[start + 1] != LF:
                raise H1Error.broken["CR without LF behind the chunks"]()
            return _end(state, window, start + 2)
        if window[start] == LF and s.role == Role.CLIENT:
            s.keep_alive = False
            return _end(state, window, start + 1)
    if len(window) == 0:
        return _need_octets(state, 0)
    if not _is_resumed(state, window, head):
        head[].begin_trailers(Int(state), start)
    var end = _read_trailers(state, window, head)
    if end == 0:
        if start == 0:
            return _need_octets_of_head(state, head)
        # The window moves on, and with it every offset in the head.
        head[].progress.owner = 0
        return _need_octets(state, start)
    if head[].progress.is_odd:
        mend_trailers(window, head)
        s.keep_alive = False
    s.scanned = 0
    head[].progress.owner = 0
    s.receive_body = BodyKind.NONE
    return HttpEvent(HttpEvent.TRAILERS, s.stream_id, 0, 0, end)


def _read_trailers(
    state: PointerTo[H1State], window: Window, head: PointerTo[Head]
) raises H1Error -> Int:
    ref limits = state[].limits
    var octets_max = Int(limits.trailer_section_octets_max)
    var lines_max = Int(limits.field_lines_max)
    if state[].role == Role.SERVER:
        return read_fields[True, False](window, head, octets_max, lines_max)
    return read_fields[True, True](window, head, octets_max, lines_max)


@always_inline
def _is_resumed(
    state: PointerTo[H1State], window: Window, head: PointerTo[Head]
) -> Bool:
    # A head that is not the one of the last call, or was used for another
    # connection since, starts over: slower, never wrong.
    ref s = state[]
    ref progress = head[].progress
    return (
        s.scanned != 0
        and progress.owner == Int(state)
        and progress.scanned == s.scanned
        and Int(s.scanned) <= len(window)
    )


@always_inline
def _finish_head(state: PointerTo[H1State], head: PointerTo[Head]):
    ref s = state[]
    ref h = head[]
    h.progress.owner = 0
    s.scanned = 0
    s.version_minor = UInt8(h.version.minor)
    s.receive_body = h.body
    if unlikely(h.body != BodyKind.NONE):
        s.receive_left = h.content_length
        s.received = 0
        s.chunk = ChunkState()


def _need_octets_of_head(
    state: PointerTo[H1State], head: PointerTo[Head]
) -> HttpEvent:
    state[].scanned = head[].progress.scanned
    return _need_octets(state, 0)


def _need_octets(state: PointerTo[H1State], consumed: Int) -> HttpEvent:
    ref s = state[]
    if s.has_ended:
        s.fail()
        return HttpEvent(HttpEvent.RESET, s.stream_id, 0, 0, consumed)
    return HttpEvent(HttpEvent.NEED_OCTETS, s.stream_id, 0, 0, consumed)


@always_inline
def _data(state: PointerTo[H1State], start: Int, length: Int) -> HttpEvent:
    return HttpEvent(
        HttpEvent.DATA, state[].stream_id, start, length, start + length
    )


def _end(state: PointerTo[H1State], window: Window, consumed: Int) -> HttpEvent:
    ref s = state[]
    if s.role == Role.SERVER:
        s.advance_request(SideInput.END)
    else:
        # Octets after a response belong to no request of this client.
        if s.has_ended or len(window) > consumed:
            s.keep_alive = False
        s.advance_response(SideInput.END)
    s.finish_exchange()
    return HttpEvent(HttpEvent.END_OF_MESSAGE, s.stream_id, 0, 0, consumed)


def _upgrade(state: PointerTo[H1State]):
    state[].advance_request(SideInput.UPGRADE)
    state[].advance_response(SideInput.UPGRADE)
