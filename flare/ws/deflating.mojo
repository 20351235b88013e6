"""Compresses and inflates the messages of a WebSocket."""

from flare.core import Buffer, PointerTo
from flare.http.upgraded_stream import UpgradedStream
from flare.proto.ws import WsEvent, WsFrameHead, WsOpcode, WsProtocolError
from flare.runtime.current import current_fiber

from .deflater import Deflater
from .error import WsError
from .inflater import Inflater
from .message import WsMessage
from .message_deflate import MessageDeflate
from .sending import write_frame
from .shared_codecs import LentDeflater, LentInflater
from .socket_state import Socket, open_socket, socket_of

# Shorter messages gain too little for the work at both ends.
comptime _COMPRESSED_OCTETS_MIN = 256
comptime _TURN_OCTETS = 64 * 1024
# It inflates to 4 MiB at most.
comptime _SLICE_OCTETS = 4096


def compresses(stream: UpgradedStream, count: Int) raises -> Bool:
    """Returns whether a message is sent compressed.

    Args:
        stream: The stream of the WebSocket.
        count: The length of the message.

    Returns:
        True if both ends agreed on it, and the message is not short.

    Raises:
        An error `ws.closed` after the handler has returned.
    """
    if count < _COMPRESSED_OCTETS_MIN:
        return False
    var deflate = socket_of(stream)[].deflate
    return Bool(deflate) and deflate.unsafe_value().can_compress()


def write_compressed(
    stream: UpgradedStream, opcode: UInt8, octets: Span[UInt8, _]
) raises:
    """Compresses a message and writes it; waits for room. A long message yields
    the turn. Without memory, the message is written uncompressed.

    Args:
        stream: The stream of the WebSocket, between `begin_sending` and
            `end_sending`.
        opcode: The kind, `WsOpcode.TEXT` or `WsOpcode.BINARY`.
        octets: The message.

    Raises:
        An error `ws.closed` if the connection is closed or lost.
    """
    # The block comes from the thread's recycler.
    var compressed = WsMessage()
    var output = Pointer(
        to=compressed.unsafe_block()[].octets
    ).unsafe_origin_cast[MutUntrackedOrigin]()
    try:
        if _deflate_message(stream, octets, output):
            write_frame(
                stream,
                WsFrameHead(opcode, len(output[]), rsv1=True),
                compressed.octets(),
            )
        else:
            write_frame(stream, WsFrameHead(opcode, len(octets)), octets)
    except e:
        _forget_context(stream)
        raise e


def _deflate_message(
    stream: UpgradedStream, octets: Span[UInt8, _], output: PointerTo[Buffer]
) raises -> Bool:
    var deflate = socket_of(stream)[].deflate.value()
    if not deflate.shares_deflater():
        var own = deflate.own_deflater()
        if own:
            _deflate(stream, own.unsafe_value(), True, octets, output)
        return Bool(own)
    var lent = LentDeflater.lend(deflate.state[].window_bits)
    if not lent:
        return False
    try:
        ref l = lent.unsafe_value()
        _deflate(stream, l.deflater, l.may_yield, octets, output)
    except e:
        lent.unsafe_value().give_back()
        raise e
    lent.unsafe_value().give_back()
    return True


def _forget_context(stream: UpgradedStream):
    # The peer does not get a message that later ones would refer to.
    var s = open_socket(stream)
    if s:
        ref state = s.unsafe_value()[].deflate.value().state[]
        if state.deflater:
            state.deflater.unsafe_value().reset()


def inflate_piece(
    s: Socket,
    piece: Span[UInt8, _],
    event: WsEvent,
    content: PointerTo[Buffer],
) raises WsProtocolError -> Bool:
    """Inflates a message, or keeps a piece of one until it is whole. It does
    not wait.

    A few octets may inflate to megabytes. So a message that does not end
    occupies memory only for the octets that have arrived.

    Args:
        s: The state of the WebSocket.
        piece: The octets.
        event: The event that reported them.
        content: Receives the content.

    Returns:
        False if the octets were kept: `inflate_kept` follows at the end of the
        message.

    Raises:
        WsProtocolError: If the octets cannot be inflated, or the message is
            refused.
    """
    var deflate = s[].deflate.value()
    var check = deflate.check()
    if event.starts:
        check[].begin(is_text=event.opcode == WsOpcode.TEXT)
    if not (event.starts and event.ends):
        deflate.state[].kept.append(piece)
        return False
    var before = len(content[])
    var borrowed = _BorrowedInflater.of(deflate)
    try:
        borrowed.inflater.begin_message()
        borrowed.inflater.inflate(piece, check, content)
        borrowed.inflater.end_message(check, content)
    except e:
        borrowed.give_back()
        raise e
    borrowed.give_back()
    deflate.state[].octets_of_turn += len(content[]) - before
    return True


def inflate_kept(
    stream: UpgradedStream, content: PointerTo[Buffer]
) raises WsProtocolError:
    """Inflates the octets of a whole message that were kept. A long message
    yields the turn.

    Args:
        stream: The stream of the WebSocket.
        content: Receives the content.

    Raises:
        WsProtocolError: If the octets cannot be inflated, or the message is
            refused; or if the connection has ended.
    """
    var s = open_socket(stream)
    if not s:
        raise _ended()
    var deflate = s.unsafe_value()[].deflate.value()
    var kept = Buffer()
    swap(kept, deflate.state[].kept)
    var borrowed = _BorrowedInflater.of(deflate)
    try:
        _inflate_kept(stream, deflate, borrowed, kept, content)
    except e:
        borrowed.give_back()
        raise e
    borrowed.give_back()


def yield_after_inflating(s: Socket):
    """Yields the turn if much was inflated since the last time: short messages,
    all of which have arrived, may inflate to long ones.

    Args:
        s: The state of the WebSocket. Find it again afterwards.
    """
    if s[].deflate:
        ref state = s[].deflate.unsafe_value().state[]
        if state.octets_of_turn >= _TURN_OCTETS:
            state.octets_of_turn = 0
            _yield()


@fieldwise_init
struct _BorrowedInflater(TrivialRegisterPassable):
    # Either that of the connection, or one of the thread.
    var inflater: Inflater
    var may_yield: Bool
    var is_shared: Bool

    @staticmethod
    def of(deflate: MessageDeflate) raises WsProtocolError -> Self:
        if deflate.shares_inflater():
            var lent = LentInflater.lend()
            if lent:
                ref l = lent.unsafe_value()
                return Self(l.inflater, l.may_yield, True)
        else:
            var own = deflate.own_inflater()
            if own:
                return Self(own.unsafe_value(), True, False)
        raise WsProtocolError.local("no memory to inflate a message")

    def give_back(self):
        # One of a connection may be gone with it.
        if self.is_shared:
            LentInflater(self.inflater, self.may_yield).give_back()


def _inflate_kept(
    stream: UpgradedStream,
    deflate: MessageDeflate,
    borrowed: _BorrowedInflater,
    kept: Buffer,
    content: PointerTo[Buffer],
) raises WsProtocolError:
    var check = deflate.check()
    var turn_began = len(content[])
    var taken = 0
    borrowed.inflater.begin_message()
    while taken < len(kept):
        var count = min(_SLICE_OCTETS, len(kept) - taken)
        borrowed.inflater.inflate(
            kept.span()[taken : taken + count], check, content
        )
        taken += count
        if borrowed.may_yield and len(content[]) - turn_began >= _TURN_OCTETS:
            turn_began = len(content[])
            _yield()
            # The function of the WebSocket may have returned, and another
            # fiber is receiving.
            if not open_socket(stream):
                raise _ended()
    borrowed.inflater.end_message(check, content)


def _deflate(
    stream: UpgradedStream,
    deflater: Deflater,
    may_yield: Bool,
    octets: Span[UInt8, _],
    output: PointerTo[Buffer],
) raises:
    var taken = 0
    while True:
        var count = min(_TURN_OCTETS, len(octets) - taken)
        try:
            deflater.compress(octets[taken : taken + count], output)
            taken += count
            if taken == len(octets):
                deflater.end_message(output)
                return
        except e:
            raise Error(WsError(WsError.BAD_CALL, String(e.reason)))
        if may_yield:
            _yield()
            _ = socket_of(stream)


def _yield():
    var fiber = current_fiber()
    if fiber:
        fiber.value().yield_turn()


def _ended() -> WsProtocolError:
    return WsProtocolError.local("the connection has ended")
