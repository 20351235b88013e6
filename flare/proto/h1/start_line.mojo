"""Parses request lines and status lines (RFC 9112 sections 3 and 4).

Both functions stop at the end of the window, and continue at the same octet
when more has arrived. Every octet is checked when it is read, so the result
does not depend on how the line is divided into windows.
"""

from flare.core import CR, LF, PointerTo, SPACE
from flare.message import Method

from ..head import Head, HeadProgress
from .error import H1Error
from .limits import H1Limits
from .scan import (
    HTTP_1_1,
    Window,
    eight_octets,
    not_field_content,
    not_token,
    not_target,
    scan,
)

comptime _VERSION_OCTETS = 8
comptime _STATUS_OCTETS = 3


def read_request_line(
    window: Window, head: PointerTo[Head], limits: H1Limits
) raises H1Error -> Bool:
    """Continues to parse a request line.

    Args:
        window: The received octets.
        head: The head, with the position at which to continue.
        limits: The limits of the line.

    Returns:
        True if the line is complete; the position is then after it.

    Raises:
        H1Error: At the first octet that cannot be part of a request line.
    """
    ref h = head[]
    var n = len(window)
    if h.progress.part == HeadProgress.START_LINE:
        if not _skip_empty_lines(window, head, limits):
            return False
        var start = Int(h.progress.part_start)
        var bound = start + H1Limits.METHOD_OCTETS_MAX + 1
        var end = scan[not_token](window, start, min(n, bound))
        if end == bound:
            raise H1Error.broken["method is too long"]()
        if end == n:
            return False
        if window.unsafe_get(end) != SPACE or end == start:
            raise H1Error.broken["method is not a token before one space"]()
        h.start = start
        h.method_octets = end - start
        h.method = Method.from_octets(window[start:end])
        h.target_start = end + 1
        h.progress.part = HeadProgress.TARGET
        h.progress.scanned = UInt32(end + 1)
    if h.progress.part == HeadProgress.TARGET:
        var start = h.target_start
        var bound = start + Int(limits.request_target_octets_max) + 1
        var end = scan[not_target](
            window, Int(h.progress.scanned), min(n, bound)
        )
        if end == bound:
            raise H1Error.broken["request target exceeds the limit"]()
        h.progress.scanned = UInt32(end)
        if end == n:
            return False
        if window.unsafe_get(end) != SPACE or end == start:
            raise H1Error.broken["request target holds a forbidden octet"]()
        h.target_octets = end - start
        h.progress.part = HeadProgress.VERSION
    return _read_request_version(window, head)


def read_status_line(
    window: Window, head: PointerTo[Head], limits: H1Limits
) raises H1Error -> Bool:
    """Continues to parse a status line.

    A missing space after the status code is accepted if the line ends there:
    the reason phrase has no effect. A bare LF may end the line.

    Args:
        window: The received octets.
        head: The head, with the position at which to continue.
        limits: The limits of the line.

    Returns:
        True if the line is complete; the position is then after it.

    Raises:
        H1Error: At the first octet that cannot be part of a status line.
    """
    ref h = head[]
    if h.progress.part == HeadProgress.START_LINE:
        comptime CODE = _VERSION_OCTETS + 1
        comptime REASON = CODE + _STATUS_OCTETS
        var n = min(len(window), REASON + 1)
        if (
            n < _VERSION_OCTETS
            or eight_octets(window.unsafe_ptr(), 0) != HTTP_1_1
        ):
            _check_version_prefix(window[0 : min(n, _VERSION_OCTETS)])
        if n > _VERSION_OCTETS and window[_VERSION_OCTETS] != SPACE:
            raise H1Error.broken["no space between version and status"]()
        var status = 0
        for i in range(CODE, min(n, REASON)):
            var digit = window[i] - 48
            if digit > 9 or (i == CODE and digit == 0):
                raise H1Error.broken["status code is not a number over 99"]()
            status = status * 10 + Int(digit)
        if n <= REASON:
            return False
        var behind = window[REASON]
        if behind != SPACE and behind != CR and behind != LF:
            raise H1Error.broken["status code has more than three digits"]()
        _set_version(head, window[5], window[7])
        h.status = status
        h.target_start = REASON + Int(window[REASON] == SPACE)
        h.progress.part = HeadProgress.TARGET
        h.progress.scanned = UInt32(h.target_start)
    var bound = h.target_start + Int(limits.request_target_octets_max) + 1
    var n = len(window)
    var end = scan[not_field_content](
        window, Int(h.progress.scanned), min(n, bound)
    )
    if end == bound:
        raise H1Error.broken["reason phrase exceeds the limit"]()
    h.progress.scanned = UInt32(end)
    if end == n:
        return False
    h.target_octets = end - h.target_start
    if window.unsafe_get(end) == LF:
        h.progress.is_odd = True
        _begin_section(head, end + 1)
        return True
    if window.unsafe_get(end) != CR:
        raise H1Error.broken["reason phrase holds a forbidden octet"]()
    if end + 1 == n:
        return False
    if window.unsafe_get(end + 1) != LF:
        raise H1Error.broken["CR without LF in a status line"]()
    _begin_section(head, end + 2)
    return True


def _skip_empty_lines(
    window: Window, head: PointerTo[Head], limits: H1Limits
) raises H1Error -> Bool:
    # RFC 9112 section 2.2: some old clients send CR LF after a body.
    ref progress = head[].progress
    var at = Int(progress.part_start)
    var n = len(window)
    while at < n and window.unsafe_get(at) == CR:
        if progress.empty_lines == limits.empty_lines_max:
            raise H1Error.broken["too many empty lines before a request"]()
        if at + 1 == n:
            return False
        if window.unsafe_get(at + 1) != LF:
            raise H1Error.broken["CR without LF before a request line"]()
        at += 2
        progress.empty_lines += 1
        progress.part_start = UInt32(at)
        progress.scanned = UInt32(at)
    return at < n


@always_inline
def _read_request_version(
    window: Window, head: PointerTo[Head]
) raises H1Error -> Bool:
    var start = Int(head[].progress.scanned) + 1
    var n = len(window)
    if n >= start + _VERSION_OCTETS + 2:
        var p = window.unsafe_ptr().unsafe_offset(start)
        if (
            eight_octets(p, 0) == HTTP_1_1
            and p[unsafe_offset=_VERSION_OCTETS] == CR
            and p[unsafe_offset=_VERSION_OCTETS + 1] == LF
        ):
            head[].version.minor = 1
            _begin_section(head, start + _VERSION_OCTETS + 2)
            return True
    var end = start + _VERSION_OCTETS
    _check_version_prefix(window[min(start, n) : min(end, n)])
    if end < n and window[end] == LF:
        raise H1Error.broken["LF without CR in a request line"]()
    if end < n and window[end] != CR:
        raise H1Error.broken["request line does not end at its version"]()
    if end + 1 >= n:
        return False
    if window[end + 1] != LF:
        raise H1Error.broken["CR without LF in a request line"]()
    _set_version(head, window[start + 5], window[start + 7])
    _begin_section(head, end + 2)
    return True


def _check_version_prefix(octets: Window) raises H1Error:
    comptime SHAPE: StaticString = "HTTP/0.0"
    var shape = SHAPE.as_bytes()
    for i in range(len(octets)):
        if i == 5 or i == 7:
            if octets[i] - 48 > 9:
                raise H1Error.broken["version is not HTTP/digit.digit"]()
        elif octets[i] != shape[i]:
            # The name is case-sensitive (RFC 9112 section 2.3).
            raise H1Error.broken["version is not HTTP/digit.digit"]()


def _set_version(
    head: PointerTo[Head], major: UInt8, minor: UInt8
) raises H1Error:
    if major != 49:
        raise H1Error.broken["major version is not 1"]()
    head[].version.minor = Int(minor - 48)


@always_inline
def _begin_section(head: PointerTo[Head], start: Int):
    head[].progress.part = HeadProgress.LINE
    head[].progress.scanned = UInt32(start)
    head[].progress.section_start = UInt32(start)
