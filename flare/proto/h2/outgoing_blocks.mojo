"""Writes field blocks as HEADERS and CONTINUATION frames (RFC 9113 sections 6.2
and 6.10).
"""

from flare.core import Buffer, PointerTo
from flare.message import HeaderMap, known_field

from .frame import (
    FRAME_HEADER_OCTETS,
    H2Flag,
    H2FrameType,
    append_frame_header,
    put_headers_frame,
)
from .h2_state import H2State


@always_inline
def begin_block(output: PointerTo[Buffer]) -> Int:
    """Reserves the header of a frame, whose length is known later.

    Args:
        output: The destination of the block.

    Returns:
        The offset, for `finish_block`.
    """
    var start = len(output[])
    _ = output[].reserve(FRAME_HEADER_OCTETS)
    output[].advance(FRAME_HEADER_OCTETS)
    return start


@always_inline
def append_fields[
    dropped: UInt64
](state: PointerTo[H2State], fields: HeaderMap, output: PointerTo[Buffer]):
    """Writes the lines of a map.

    Parameters:
        dropped: A set of `FieldName`: the lines that are left out.

    Args:
        state: The connection.
        fields: The fields.
        output: The destination.
    """
    var section = fields.view()
    for i in range(len(section)):
        var name = section.name(i).as_bytes()
        var known = known_field(name)
        if (dropped >> UInt64(known & 63)) & 1 == 1:
            continue
        state[].encoder.append_line(
            name, section.value(i).as_bytes(), known, output
        )


@always_inline
def finish_block(
    state: PointerTo[H2State],
    slot: Int,
    start: Int,
    flags: UInt8,
    output: PointerTo[Buffer],
):
    """Writes the header in front of a block.

    Args:
        state: The connection.
        slot: The slot of the stream.
        start: The result of `begin_block`.
        flags: END_STREAM or none.
        output: The destination.
    """
    var length = len(output[]) - start - FRAME_HEADER_OCTETS
    var id = Int(state[].streams[slot].id)
    if length > state[].peer.frame_octets_max:
        return _split(state, id, start, flags, output)
    put_headers_frame(start, length, flags | H2Flag.END_HEADERS, id, output)


@no_inline
def _split(
    state: PointerTo[H2State],
    id: Int,
    start: Int,
    flags: UInt8,
    output: PointerTo[Buffer],
):
    """Divides a block among several frames (section 4.3)."""
    var block = Buffer()
    block.append(output[].span()[start + FRAME_HEADER_OCTETS :])
    output[].shorten(len(output[]) - start)
    var kind = H2FrameType.HEADERS
    var first_flags = flags
    while len(block) > 0:
        var count = min(len(block), state[].peer.frame_octets_max)
        if count == len(block):
            first_flags |= H2Flag.END_HEADERS
        append_frame_header(count, kind, first_flags, id, output)
        output[].append(block.span()[:count])
        block.consume(count)
        kind = H2FrameType.CONTINUATION
        first_flags = 0
