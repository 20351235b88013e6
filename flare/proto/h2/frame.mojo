"""Reads and writes the headers of frames (RFC 9113 section 4.1)."""

from std.bit import byte_swap

from flare.core import Buffer, OctetPointer, PointerTo

from .h2_error import H2Code, H2Error

comptime FRAME_HEADER_OCTETS = 9
"""The length of the header in front of each payload."""
comptime FRAME_OCTETS_MAX = 16384
"""The longest payload that is received, and sent unless the peer allows more:
the least that each peer must accept (section 4.2)."""
comptime _STREAM_ID_MASK: UInt32 = 0x7FFFFFFF


struct H2FrameType:
    """The types of frames (section 6; RFC 9218 section 7.1)."""

    comptime DATA: UInt8 = 0
    """Content."""
    comptime HEADERS: UInt8 = 1
    """The front of a field block, which opens a stream or ends it."""
    comptime PRIORITY: UInt8 = 2
    """A priority by RFC 7540, without an effect."""
    comptime RST_STREAM: UInt8 = 3
    """The end of a stream at once."""
    comptime SETTINGS: UInt8 = 4
    """Settings of the connection, or their acknowledgement."""
    comptime PUSH_PROMISE: UInt8 = 5
    """The announcement of a response without a request; never allowed here."""
    comptime PING: UInt8 = 6
    """A question whether the peer is alive, or its answer."""
    comptime GOAWAY: UInt8 = 7
    """The end of new streams."""
    comptime WINDOW_UPDATE: UInt8 = 8
    """Room for content."""
    comptime CONTINUATION: UInt8 = 9
    """A further piece of a field block."""
    comptime PRIORITY_UPDATE: UInt8 = 16
    """A priority by RFC 9218."""


struct H2Flag:
    """The flags of frames; some types share a bit."""

    comptime END_STREAM: UInt8 = 1
    """The last frame of its sender: DATA, HEADERS."""
    comptime ACK: UInt8 = 1
    """An acknowledgement: SETTINGS, PING."""
    comptime END_HEADERS: UInt8 = 4
    """The last piece of a field block: HEADERS, CONTINUATION."""
    comptime PADDED: UInt8 = 8
    """The payload begins with the length of its padding: DATA, HEADERS."""
    comptime PRIORITY: UInt8 = 32
    """The payload has a priority of five octets: HEADERS."""


@fieldwise_init
struct H2FrameHeader(TrivialRegisterPassable):
    """The header of a frame."""

    var length: Int
    """The length of the payload; below 2^24."""
    var kind: UInt8
    """The type; perhaps none of `H2FrameType`."""
    var flags: UInt8
    """Bits of `H2Flag`, and others, which have no effect."""
    var stream_id: Int
    """The stream; 0 for the connection."""

    @always_inline
    def has(self, flag: UInt8) -> Bool:
        """Returns whether a flag is set.

        Args:
            flag: One of `H2Flag`.

        Returns:
            True if it is set.
        """
        return self.flags & flag != 0


@fieldwise_init
struct H2Payload(TrivialRegisterPassable):
    """The part of a payload that is neither padding nor priority."""

    var start: Int
    """The offset of its first octet in the payload."""
    var length: Int
    """Its length."""


@always_inline
def read_frame_header(window: Span[UInt8, _], at: Int) -> H2FrameHeader:
    """Reads a header.

    Args:
        window: The received octets, of which there are nine at `at`.
        at: The offset of the header.

    Returns:
        The header. Its reserved bit is ignored (section 4.1).
    """
    debug_assert(at + FRAME_HEADER_OCTETS <= len(window), "no whole header")
    var p = window.unsafe_ptr().unsafe_offset(at)
    var first = byte_swap(p.unsafe_bitcast[UInt32]().unsafe_load[alignment=1]())
    var id = byte_swap(
        p.unsafe_offset(5).unsafe_bitcast[UInt32]().unsafe_load[alignment=1]()
    )
    return H2FrameHeader(
        Int(first >> 8),
        UInt8(first & 255),
        p[unsafe_offset=4],
        Int(id & _STREAM_ID_MASK),
    )


@always_inline
def append_frame_header(
    length: Int,
    kind: UInt8,
    flags: UInt8,
    stream_id: Int,
    into: PointerTo[Buffer],
):
    """Writes a header.

    Args:
        length: The length of the payload; below 2^24.
        kind: One of `H2FrameType`.
        flags: Bits of `H2Flag`.
        stream_id: The stream; 0 for the connection.
        into: The destination.
    """
    _put(into[].reserve(FRAME_HEADER_OCTETS), length, kind, flags, stream_id)
    into[].advance(FRAME_HEADER_OCTETS)


@always_inline
def put_headers_frame(
    at: Int, length: Int, flags: UInt8, stream_id: Int, into: PointerTo[Buffer]
):
    """Writes the header of a HEADERS frame into room that was left for it.

    Args:
        at: The offset of the room in the destination.
        length: The length of the payload; below 2^24.
        flags: Bits of `H2Flag`.
        stream_id: The stream.
        into: The destination.
    """
    _put(
        into[].unsafe_front().unsafe_offset(at),
        length,
        H2FrameType.HEADERS,
        flags,
        stream_id,
    )


@always_inline
def _put(
    p: OctetPointer, length: Int, kind: UInt8, flags: UInt8, stream_id: Int
):
    p.unsafe_bitcast[UInt32]().unsafe_store[alignment=1](
        byte_swap(UInt32(length) << 8 | UInt32(kind))
    )
    p[unsafe_offset=4] = flags
    p.unsafe_offset(5).unsafe_bitcast[UInt32]().unsafe_store[alignment=1](
        byte_swap(UInt32(stream_id))
    )


def payload_of(
    header: H2FrameHeader, payload: Span[UInt8, _]
) raises H2Error -> H2Payload:
    """Finds the content of DATA, or the field block of HEADERS.

    Args:
        header: The header.
        payload: The front of the payload: at least six octets, or all.

    Returns:
        The place of the part that counts.

    Raises:
        H2Error: If the padding does not fit (sections 6.1 and 6.2).
    """
    var start = 0
    var padding = 0
    if header.has(H2Flag.PADDED):
        if header.length == 0:
            raise H2Error.connection(
                H2Code.FRAME_SIZE_ERROR, "a padded frame is empty"
            )
        padding = Int(payload[0])
        start = 1
    if header.kind == H2FrameType.HEADERS and header.has(H2Flag.PRIORITY):
        start += 5
        if start > header.length:
            raise H2Error.connection(
                H2Code.FRAME_SIZE_ERROR, "a priority is incomplete"
            )
    if start + padding > header.length:
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "the padding exceeds the frame"
        )
    return H2Payload(start, header.length - start - padding)


@always_inline
def read_uint32(octets: Span[UInt8, _], at: Int) -> UInt32:
    """Reads a number of four octets.

    Args:
        octets: The octets, of which there are four at `at`.
        at: The offset of the number.

    Returns:
        The number.
    """
    debug_assert(at + 4 <= len(octets), "no four octets")
    return byte_swap(
        octets.unsafe_ptr()
        .unsafe_offset(at)
        .unsafe_bitcast[UInt32]()
        .unsafe_load[alignment=1]()
    )


def append_uint32(number: UInt32, into: PointerTo[Buffer]):
    """Writes a number of four octets.

    Args:
        number: The number.
        into: The destination.
    """
    into[].reserve(4).unsafe_bitcast[UInt32]().unsafe_store[alignment=1](
        byte_swap(number)
    )
    into[].advance(4)
