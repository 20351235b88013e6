"""Compresses messages (RFC 7692 section 7.2.1)."""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.proto.ws import WsProtocolError
from flare.sys.coding_step import CodingFlush
from flare.sys.zlib import ZlibStream, ZlibWindow, zlib

# The default of zlib. Short messages take hardly less time at level 1.
comptime _LEVEL = 6
comptime _STEP_OCTETS = 16 * 1024
# zlib repeats the mark of a flush if it has less room than the mark takes.
comptime _ROOM_OCTETS_MIN = 64
comptime _TAIL_OCTETS = 4
# A stored block of no octets, without its length.
comptime _EMPTY_BLOCK: UInt8 = 0


struct _DeflaterState(Movable):
    var stream: ZlibStream
    var keeps_context: Bool
    var has_content: Bool

    def __init__(out self, stream: ZlibStream, *, keeps_context: Bool):
        self.stream = stream
        self.keeps_context = keeps_context
        self.has_content = False


@fieldwise_init
struct Deflater(TrivialRegisterPassable):
    """A handle to the compressor of one message after the other."""

    var _state: PointerTo[_DeflaterState]

    @staticmethod
    def open(
        *, window_bits: Int, memory_level: Int, keeps_context: Bool
    ) -> Optional[Self]:
        """Creates a compressor.

        Args:
            window_bits: The base-2 logarithm of its window, from 9 to 15.
            memory_level: How much memory it takes beside the window, from 1 to
                9: 2^(9 + `memory_level`) octets.
            keeps_context: Whether a message may refer back to earlier ones.

        Returns:
            The compressor, which the caller closes; none without memory, or on
            a machine without zlib.
        """
        var library = zlib()
        if not library:
            return None
        var stream = library.value().open_deflater(
            ZlibWindow.raw(window_bits), _LEVEL, memory_level=memory_level
        )
        if not stream:
            return None
        return Self(
            heap_create(
                _DeflaterState(stream.value(), keeps_context=keeps_context)
            )
        )

    def close(self):
        """Frees the compressor. Do not use it afterwards."""
        self._state[].stream.close()
        heap_destroy(self._state)

    def compress(
        self, octets: Span[UInt8, _], output: PointerTo[Buffer]
    ) raises WsProtocolError:
        """Compresses the next octets of a message.

        Args:
            octets: The octets.
            output: Receives compressed octets, not always those of `octets`.

        Raises:
            WsProtocolError: If zlib fails.
        """
        if len(octets) > 0:
            self._state[].has_content = True
            self._run(octets, CodingFlush.NONE, output)

    def end_message(self, output: PointerTo[Buffer]) raises WsProtocolError:
        """Completes the message.

        Args:
            output: Receives the rest of the compressed octets. It still holds
                the last octets that `compress` wrote.

        Raises:
            WsProtocolError: If zlib fails.
        """
        var s = self._state
        if not s[].has_content:
            output[].append_octet(_EMPTY_BLOCK)
            return
        self._run(Span[UInt8, ImmUntrackedOrigin](), CodingFlush.SYNC, output)
        # RFC 7692 section 7.2.1: the recipient adds 00 00 FF FF.
        output[].shorten(_TAIL_OCTETS)
        s[].has_content = False
        if not s[].keeps_context:
            s[].stream.reset()

    def reset(self):
        """Forgets all earlier messages, and the one in progress."""
        self._state[].has_content = False
        self._state[].stream.reset()

    def _run(
        self, octets: Span[UInt8, _], flush: Int, output: PointerTo[Buffer]
    ) raises WsProtocolError:
        var taken = 0
        while True:
            if output[].room() < _ROOM_OCTETS_MIN:
                _ = output[].reserve(
                    min(
                        _STEP_OCTETS,
                        _ROOM_OCTETS_MIN + (len(octets) - taken) // 2,
                    )
                )
            var room = min(output[].room(), _STEP_OCTETS)
            var target = output[].unsafe_end()
            var step = self._state[].stream.run(
                octets[taken:], Span(unsafe_ptr=target, length=room), flush
            )
            output[].advance(step.produced)
            taken += step.consumed
            # With room left, the flush is complete.
            if step.produced < room and taken == len(octets):
                return
            if step.consumed + step.produced == 0:
                raise WsProtocolError.local("zlib cannot compress")
