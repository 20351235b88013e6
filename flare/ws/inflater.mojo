"""Inflates compressed messages (RFC 7692 section 7.2.2).

The content is checked after each step of at most 16 KiB, and its memory is at
most doubled. So no ratio of compression makes a short message cost more than
one step beyond the limit.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.proto.ws import WsMessageCheck, WsProtocolError, WsRule
from flare.sys.zlib import ZlibResult, ZlibStream, ZlibWindow, zlib

comptime _STEP_OCTETS = 16 * 1024
comptime _ROOM_OCTETS_MIN = 64
# Text usually has up to four times the length of its compressed form.
comptime _USUAL_RATIO = 4
# zlib compresses with a window of 9 bits if it is asked for 8.
comptime _WINDOW_BITS_MIN = 9


struct _InflaterState(Movable):
    var stream: ZlibStream
    var keeps_context: Bool
    # The last octet was that of a final block.
    var has_ended: Bool

    def __init__(out self, stream: ZlibStream, *, keeps_context: Bool):
        self.stream = stream
        self.keeps_context = keeps_context
        self.has_ended = False


@fieldwise_init
struct Inflater(TrivialRegisterPassable):
    """A handle to the decompressor of one message after the other."""

    var _state: PointerTo[_InflaterState]

    @staticmethod
    def open(*, window_bits: Int, keeps_context: Bool) -> Optional[Self]:
        """Creates a decompressor.

        Args:
            window_bits: The base-2 logarithm of the peer's window, from 8 to
                15.
            keeps_context: Whether a message may refer back to earlier ones.

        Returns:
            The decompressor, which the caller closes; none without memory, or
            on a machine without zlib.
        """
        var library = zlib()
        if not library:
            return None
        var stream = library.value().open_inflater(
            ZlibWindow.raw(max(window_bits, _WINDOW_BITS_MIN))
        )
        if not stream:
            return None
        return Self(
            heap_create(
                _InflaterState(stream.value(), keeps_context=keeps_context)
            )
        )

    def close(self):
        """Frees the decompressor. Do not use it afterwards."""
        self._state[].stream.close()
        heap_destroy(self._state)

    def begin_message(self):
        """Begins a message."""
        var s = self._state
        if not s[].keeps_context:
            s[].stream.reset()
        elif s[].has_ended:
            s[].stream.continue_after_end()
        s[].has_ended = False

    def inflate(
        self,
        octets: Span[UInt8, _],
        check: PointerTo[WsMessageCheck],
        content: PointerTo[Buffer],
    ) raises WsProtocolError:
        """Inflates the next octets of a message.

        Args:
            octets: The compressed octets.
            check: Checks the content; its message has begun.
            content: Receives the content.

        Raises:
            WsProtocolError: If the octets cannot be inflated, or the content
                is refused.
        """
        var s = self._state
        var taken = 0
        while True:
            if s[].has_ended and taken < len(octets):
                # RFC 7692 section 7.2.3.4: a message may have final blocks, and
                # later octets may refer back to before them.
                s[].stream.continue_after_end()
                s[].has_ended = False
            if content[].room() < _ROOM_OCTETS_MIN:
                var wanted = _USUAL_RATIO * (len(octets) - taken)
                _ = content[].reserve(
                    max(_ROOM_OCTETS_MIN, min(wanted, _STEP_OCTETS))
                )
            var room = min(content[].room(), _STEP_OCTETS)
            var target = Span(unsafe_ptr=content[].unsafe_end(), length=room)
            var step = s[].stream.run(octets[taken:], target)
            check[].take(target[: step.produced])
            content[].advance(step.produced)
            taken += step.consumed
            if step.result == ZlibResult.STREAM_END:
                s[].has_ended = True
            elif step.result != ZlibResult.OK and (
                step.result != ZlibResult.BUFFER_ERROR or taken < len(octets)
            ):
                raise _failure(step.result)
            if taken == len(octets) and (s[].has_ended or step.produced < room):
                return

    def end_message(
        self, check: PointerTo[WsMessageCheck], content: PointerTo[Buffer]
    ) raises WsProtocolError:
        """Completes a message.

        Args:
            check: Checks the content.
            content: Receives the rest of the content.

        Raises:
            WsProtocolError: If the message ends too early, or its content is
                refused.
        """
        var s = self._state
        if not s[].has_ended:
            # RFC 7692 section 7.2.2: the sender has removed these octets.
            var tail: Array[UInt8, 4] = [0x00, 0x00, 0xFF, 0xFF]
            self.inflate(Span(tail), check, content)
            if not s[].stream.is_between_blocks():
                raise WsProtocolError.peer(WsRule.DEFLATE)
        check[].end()


def _failure(result: Int) -> WsProtocolError:
    if result == ZlibResult.MEMORY_ERROR:
        return WsProtocolError.local("no memory to inflate a message")
    return WsProtocolError.peer(WsRule.DEFLATE)
