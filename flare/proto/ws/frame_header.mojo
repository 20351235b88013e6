"""Reads and writes the header in front of each frame (RFC 6455 section 5.2)."""

from std.bit import byte_swap
from std.sys.intrinsics import likely, unlikely

from flare.core import Buffer, PointerTo

from .codes import WsOpcode
from .frame_state import WsRole, WsState
from .violation import WsProtocolError, WsRule

comptime CONTROL_OCTETS_MAX = 125
"""The longest payload of a control frame (RFC 6455 section 5.5)."""
comptime HEADER_OCTETS_MAX = 14
"""The longest header of a frame."""
comptime _FIN: UInt8 = 0x80
comptime _RSV1: UInt8 = 0x40
comptime _RESERVED: UInt8 = 0x70
comptime _MASKED: UInt8 = 0x80
comptime _SHORT_MAX: UInt64 = 125
comptime _TWO_OCTETS: UInt64 = 126
comptime _EIGHT_OCTETS: UInt64 = 127


@fieldwise_init
struct FrameHeader(TrivialRegisterPassable):
    """A received header whose form is legal."""

    var octets: Int
    """The length of the header; 0 if it is incomplete."""
    var first: UInt8
    """The octet with FIN, the reserved bits and the opcode."""
    var key: UInt32
    """The masking key, its first octet the lowest; 0 from a server."""
    var length: UInt64
    """The length of the payload; below 2^63."""

    @always_inline
    def opcode(self) -> UInt8:
        """Returns the opcode.

        Returns:
            One of `WsOpcode`.
        """
        return self.first & 15

    @always_inline
    def is_final(self) -> Bool:
        """Returns whether the frame has FIN.

        Returns:
            True for the last frame of a message, and for control frames.
        """
        return self.first & _FIN != 0

    @always_inline
    def has_rsv1(self) -> Bool:
        """Returns whether the frame has RSV1.

        Returns:
            True for the first frame of a compressed message.
        """
        return self.first & _RSV1 != 0


@always_inline
def read_frame_header(
    state: WsState, window: Span[UInt8, _], start: Int
) raises WsProtocolError -> FrameHeader:
    """Reads the header of the next frame.

    Args:
        state: The state of the connection; only role and extension count.
        window: The unconsumed octets.
        start: The offset of the header; at most the length.

    Returns:
        The header, with 0 octets while more octets are needed.

    Raises:
        WsProtocolError: If the form of the frame is illegal.
    """
    var n = len(window) - start
    if n < 2:
        return FrameHeader(0, 0, 0, 0)
    var p = window.unsafe_ptr().unsafe_offset(start)
    var first = p[]
    var second = p[unsafe_offset=1]
    var is_server = state.role == WsRole.SERVER
    # Most frames have no bit but FIN, and are text, binary or a continuation.
    if unlikely(first & ~(_FIN | 3) != 0 or first & 3 == 3):
        _check_first(state, first, second)
    if unlikely((second & _MASKED != 0) != is_server):
        raise WsProtocolError.peer(
            WsRule.NOT_MASKED if is_server else WsRule.MASKED
        )
    var length = UInt64(second & 127)
    var octets = 2
    if length > _SHORT_MAX:
        octets = 4 if length == _TWO_OCTETS else 10
        if n < octets:
            return FrameHeader(0, 0, 0, 0)
        if length == _TWO_OCTETS:
            length = UInt64(
                byte_swap(
                    p.unsafe_offset(2)
                    .unsafe_bitcast[UInt16]()
                    .unsafe_load[alignment=1]()
                )
            )
            if length <= _SHORT_MAX:
                raise WsProtocolError.peer(WsRule.LONG_FORM)
        else:
            length = byte_swap(
                p.unsafe_offset(2)
                .unsafe_bitcast[UInt64]()
                .unsafe_load[alignment=1]()
            )
            if length >> 63 != 0:
                raise WsProtocolError.peer(WsRule.LENGTH_BITS)
            if length <= 0xFFFF:
                raise WsProtocolError.peer(WsRule.LONG_FORM)
    if not is_server:
        return FrameHeader(octets, first, 0, length)
    if n < octets + 4:
        return FrameHeader(0, 0, 0, 0)
    var key = (
        p.unsafe_offset(octets)
        .unsafe_bitcast[UInt32]()
        .unsafe_load[alignment=1]()
    )
    return FrameHeader(octets + 4, first, key, length)


@always_inline
def short_data_header(state: WsState, window: Span[UInt8, _]) -> FrameHeader:
    """Reads the header of the most usual frame: text or binary data, final,
    with a legal form, at most 125 octets long, and arrived whole.

    Args:
        state: The state of the connection; only the role counts.
        window: The unconsumed octets, from the header on.

    Returns:
        The header that `read_frame_header` returns; with 0 octets for any other
        frame.
    """
    var n = UInt64(len(window))
    var p = window.unsafe_ptr()
    if unlikely(n < 2):
        return FrameHeader(0, 0, 0, 0)
    var first = p[]
    var is_text = first == _FIN | WsOpcode.TEXT
    var octets = 2
    # Without the bit of masking that the role demands, the length is too great.
    var length = UInt64(p[unsafe_offset=1])
    if state.role == WsRole.SERVER:
        octets = 6
        length ^= UInt64(_MASKED)
    if unlikely(
        not (is_text or first == _FIN | WsOpcode.BINARY)
        or length > _SHORT_MAX
        or UInt64(octets) + length > n
    ):
        return FrameHeader(0, 0, 0, 0)
    var key = UInt32(0)
    if octets == 6:
        key = (
            p.unsafe_offset(2)
            .unsafe_bitcast[UInt32]()
            .unsafe_load[alignment=1]()
        )
    return FrameHeader(octets, first, key, length)


@no_inline
def _check_first(
    state: WsState, first: UInt8, second: UInt8
) raises WsProtocolError:
    var opcode = first & 15
    var reserved = first & _RESERVED
    if reserved != 0 and not (reserved == _RSV1 and state.can_compress):
        raise WsProtocolError.peer(WsRule.RESERVED_BIT)
    if not WsOpcode.is_known(opcode):
        raise WsProtocolError.peer(WsRule.UNKNOWN_OPCODE)
    if reserved != 0 and (
        opcode == WsOpcode.CONTINUATION or WsOpcode.is_control(opcode)
    ):
        raise WsProtocolError.peer(WsRule.COMPRESSED_CONTINUATION)
    if WsOpcode.is_control(opcode):
        if first & _FIN == 0:
            raise WsProtocolError.peer(WsRule.FRAGMENTED_CONTROL)
        if Int(second & 127) > CONTROL_OCTETS_MAX:
            raise WsProtocolError.peer(WsRule.LONG_CONTROL)


struct WsFrameHead(ImplicitlyCopyable):
    """The header of a frame that is sent."""

    var opcode: UInt8
    """One of `WsOpcode`."""
    var length: Int
    """The length of the payload; not negative."""
    var mask: Optional[UInt32]
    """The unpredictable key of a client; none for a server."""
    var fin: Bool
    """Whether the frame is the last one of its message."""
    var rsv1: Bool
    """Whether the message is compressed; of its first frame only."""

    def __init__(
        out self,
        opcode: UInt8,
        length: Int,
        *,
        mask: Optional[UInt32] = None,
        fin: Bool = True,
        rsv1: Bool = False,
    ):
        """Creates the header of a frame.

        Args:
            opcode: One of `WsOpcode`.
            length: The length of the payload; not negative.
            mask: The unpredictable key of a client; none for a server.
            fin: Whether the frame is the last one of its message.
            rsv1: Whether the message is compressed; of its first frame only.
        """
        self.opcode = opcode
        self.length = length
        self.mask = mask
        self.fin = fin
        self.rsv1 = rsv1


@always_inline
def write_frame_head(head: WsFrameHead, output: PointerTo[Buffer]):
    """Appends the header of a frame. It checks no sequence: use it for a frame
    that many connections share, otherwise `WsMachine.write_frame_head`.

    Args:
        head: The header.
        output: The destination.
    """
    debug_assert(head.length >= 0, "length of ", head.length)
    var target = output[].reserve(HEADER_OCTETS_MAX)
    var first = head.opcode
    if head.fin:
        first |= _FIN
    if head.rsv1:
        first |= _RSV1
    var masked = _MASKED if head.mask else UInt8(0)
    target[] = first
    var octets = 2
    var length = UInt64(head.length)
    if likely(length <= _SHORT_MAX):
        target[unsafe_offset=1] = masked | UInt8(length)
    elif length <= 0xFFFF:
        target[unsafe_offset=1] = masked | UInt8(_TWO_OCTETS)
        target.unsafe_offset(2).unsafe_bitcast[UInt16]().unsafe_store[
            alignment=1
        ](byte_swap(UInt16(length)))
        octets = 4
    else:
        target[unsafe_offset=1] = masked | UInt8(_EIGHT_OCTETS)
        target.unsafe_offset(2).unsafe_bitcast[UInt64]().unsafe_store[
            alignment=1
        ](byte_swap(length))
        octets = 10
    if head.mask:
        target.unsafe_offset(octets).unsafe_bitcast[UInt32]().unsafe_store[
            alignment=1
        ](head.mask.value())
        octets += 4
    output[].advance(octets)
