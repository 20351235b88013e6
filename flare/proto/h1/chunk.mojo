"""Parses the lines between chunks, octet by octet (RFC 9112 section 7.1).

Octets are consumed as soon as they are checked, so no chunk line is ever
stored. Extensions are counted and dropped: flare knows none. They may not
contain control octets, so that the end of the line is certain.

A response with a bare LF for CR LF, or with blanks after a size, is accepted:
old servers pad the size. It is the last one on its connection.
"""

from flare.core import CR, LF, PointerTo, SPACE, TAB

from .error import H1Error
from .limits import H1Limits
from .scan import Window

comptime _SEMICOLON: UInt8 = 59
comptime _SIZE_DIGITS_MAX: UInt8 = 16


struct ChunkPart:
    """The parts of a chunked body."""

    comptime SIZE: UInt8 = 0
    """The digits of a chunk size."""
    comptime BLANK: UInt8 = 1
    """White space between the size and a semicolon."""
    comptime EXTENSION: UInt8 = 2
    """Chunk extensions."""
    comptime SIZE_LF: UInt8 = 3
    """The LF after a chunk size or its extensions."""
    comptime DATA: UInt8 = 4
    """The octets of a chunk."""
    comptime DATA_CR: UInt8 = 5
    """The CR after a chunk."""
    comptime DATA_LF: UInt8 = 6
    """The LF after a chunk."""
    comptime TRAILER: UInt8 = 7
    """The trailer section, or the empty line in its place."""


@fieldwise_init
struct ChunkState(TrivialRegisterPassable):
    """The position in a chunked body."""

    var part: UInt8
    """The part to which the next octet belongs, one of `ChunkPart`."""
    var digits: UInt8
    """Digits of the current size, leading zeros counted."""
    var is_odd: Bool
    """Whether a line was accepted that only a client may accept."""
    var extension_octets: UInt32
    """The octets of extensions in the current line."""
    var extensions_octets: UInt32
    """The octets of extensions in the message."""
    var remaining: UInt64
    """The octets left in the current chunk."""

    def __init__(out self):
        """Creates the position before the first chunk size."""
        self = Self(ChunkPart.SIZE, 0, False, 0, 0, 0)


def read_chunk_line[
    is_response: Bool
](
    window: Window,
    start: Int,
    chunk: PointerTo[ChunkState],
    limits: H1Limits,
    body_octets_left: Int,
) raises H1Error -> Int:
    """Parses up to the data of a chunk, the trailers or the window's end.

    Parameters:
        is_response: Whether to accept the syntax that only a client may accept.

    Args:
        window: The received octets.
        start: The offset at which to continue; at most the length of the
            window.
        chunk: The position in the body.
        limits: The limits of extensions.
        body_octets_left: The longest next chunk.

    Returns:
        The offset after the octets parsed.

    Raises:
        H1Error: At the first invalid octet.
    """
    var at = start
    ref c = chunk[]
    while at < len(window):
        if c.part == ChunkPart.DATA or c.part == ChunkPart.TRAILER:
            break
        var octet = window.unsafe_get(at)
        at += 1
        if c.part == ChunkPart.SIZE:
            _take_size_octet[is_response](c, octet, body_octets_left)
        elif c.part == ChunkPart.BLANK:
            if octet == _SEMICOLON:
                c.part = ChunkPart.EXTENSION
            elif octet != SPACE and octet != TAB:
                if not is_response or not _ends_size[is_response](c, octet):
                    raise H1Error.broken["blank in a chunk size"]()
                c.is_odd = True
        elif c.part == ChunkPart.EXTENSION:
            if _ends_size[is_response](c, octet):
                pass
            elif (octet < 32 and octet != TAB) or octet == 127:
                raise H1Error.broken["control octet in a chunk extension"]()
        else:
            _take_line_end[is_response](c, octet)
        if c.part == ChunkPart.BLANK or c.part == ChunkPart.EXTENSION:
            _count_extension_octet(c, limits)
    return at


def _take_size_octet[
    is_response: Bool
](mut c: ChunkState, octet: UInt8, body_octets_left: Int) raises H1Error:
    var digit = _hexadecimal(octet)
    if digit < 16:
        if c.digits == _SIZE_DIGITS_MAX:
            raise H1Error.broken["chunk size has more than 16 digits"]()
        c.digits += 1
        c.remaining = (c.remaining << 4) | UInt64(digit)
        return
    if c.digits == 0:
        raise H1Error.broken["chunk size is missing"]()
    if octet == _SEMICOLON:
        c.part = ChunkPart.EXTENSION
    elif octet == SPACE or octet == TAB:
        c.part = ChunkPart.BLANK
    elif not _ends_size[is_response](c, octet):
        raise H1Error.broken["chunk size is not hexadecimal"]()
    if c.remaining > UInt64(body_octets_left):
        raise H1Error.broken["chunked body exceeds the limit"]()


@always_inline
def _ends_size[is_response: Bool](mut c: ChunkState, octet: UInt8) -> Bool:
    if octet == CR:
        c.part = ChunkPart.SIZE_LF
        return True
    comptime if is_response:
        if octet == LF:
            c.is_odd = True
            _end_line(c)
            return True
    return False


def _take_line_end[
    is_response: Bool
](mut c: ChunkState, octet: UInt8) raises H1Error:
    if c.part == ChunkPart.DATA_CR:
        if octet == CR:
            c.part = ChunkPart.DATA_LF
            return
        if not is_response or octet != LF:
            raise H1Error.broken["chunk does not end at its size"]()
        c.is_odd = True
        c.part = ChunkPart.DATA_LF
    if octet != LF:
        raise H1Error.broken["CR without LF between chunks"]()
    _end_line(c)


def _end_line(mut c: ChunkState):
    c.extension_octets = 0
    if c.part == ChunkPart.DATA_LF:
        c.part = ChunkPart.SIZE
        c.digits = 0
    elif c.remaining == 0:
        c.part = ChunkPart.TRAILER
    else:
        c.part = ChunkPart.DATA


def _count_extension_octet(mut c: ChunkState, limits: H1Limits) raises H1Error:
    c.extension_octets += 1
    c.extensions_octets += 1
    if c.extension_octets > limits.chunk_extension_octets_max:
        raise H1Error.broken["chunk extension exceeds the limit"]()
    if c.extensions_octets > limits.chunk_extensions_octets_max:
        raise H1Error.broken["chunk extensions exceed the limit"]()


@always_inline
def _hexadecimal(octet: UInt8) -> UInt8:
    var digit = octet - 48
    if digit < 10:
        return digit
    var letter = (octet | 32) - 97
    return letter + 10 if letter < 6 else 255
