"""Stores how one connection compresses and inflates messages.

A direction without context uses the codecs of the thread, one message at a
time. A direction with context has a codec of its own, made at its first
compressed message.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.proto.ws import DeflateParameters, WsMessageCheck, WsRole

from .compression import WsCompression
from .deflater import Deflater
from .inflater import Inflater
from .shared_codecs import reserve_octets

# zlib does not compress with less.
comptime _WINDOW_BITS_MIN = 9


struct MessageDeflateState(Movable):
    """The state of one connection's compression."""

    var compression: WsCompression
    """The choice of this endpoint."""
    var window_bits: Int
    """The window of this endpoint."""
    var peer_window_bits: Int
    """The window of the peer."""
    var keeps_context: Bool
    """Whether this endpoint keeps its window between two messages."""
    var peer_keeps_context: Bool
    """Whether the peer does."""
    var deflater: Optional[Deflater]
    """The compressor of the connection, if it has one of its own."""
    var inflater: Optional[Inflater]
    """The decompressor of the connection, if it has one of its own."""
    var check: WsMessageCheck
    """The size and the text of the message that is inflated."""
    var kept: Buffer
    """The compressed octets of an unfinished message."""
    var reserved_octets: Int
    """The memory that the connection has reserved."""
    var octets_of_turn: Int
    """How much was inflated since the fiber last yielded."""

    def __init__(
        out self,
        role: UInt8,
        parameters: DeflateParameters,
        compression: WsCompression,
        message_octets_max: Int,
    ):
        """Creates the state after the handshake.

        Args:
            role: This end of the connection, one of `WsRole`.
            parameters: The agreed parameters.
            compression: The choice of this endpoint.
            message_octets_max: The most octets of a received message.
        """
        var peer = WsRole.CLIENT if role == WsRole.SERVER else WsRole.SERVER
        self.compression = compression
        self.window_bits = Int(parameters.compression_bits(role))
        self.peer_window_bits = Int(parameters.compression_bits(peer))
        self.keeps_context = parameters.keeps_context(role)
        if self.keeps_context:
            # A peer that allows a larger window has no say in this memory.
            self.window_bits = min(self.window_bits, compression.window_bits())
        self.peer_keeps_context = parameters.keeps_context(peer)
        self.deflater = None
        self.inflater = None
        self.check = WsMessageCheck(message_octets_max)
        self.kept = Buffer()
        self.reserved_octets = 0
        self.octets_of_turn = 0


@fieldwise_init
struct MessageDeflate(TrivialRegisterPassable):
    """A handle to the compression of one connection."""

    var state: PointerTo[MessageDeflateState]
    """The state."""

    def can_compress(self) -> Bool:
        """Returns whether zlib can compress with the agreed window.

        Returns:
            False if the peer allows only 8 bits.
        """
        return self.state[].window_bits >= _WINDOW_BITS_MIN

    def shares_deflater(self) -> Bool:
        """Returns whether messages are compressed with a compressor of the
        thread.

        Returns:
            True if this endpoint keeps no context.
        """
        return not self.state[].keeps_context

    def shares_inflater(self) -> Bool:
        """Returns whether messages are inflated with a decompressor of the
        thread.

        Returns:
            True if the peer keeps no context.
        """
        return not self.state[].peer_keeps_context

    def own_deflater(self) -> Optional[Deflater]:
        """Returns the compressor of the connection, and creates it first.

        Returns:
            The compressor; none without memory.
        """
        ref s = self.state[]
        if not s.deflater:
            s.deflater = Deflater.open(
                window_bits=s.window_bits,
                memory_level=s.compression.memory_level(),
                keeps_context=True,
            )
        return s.deflater

    def own_inflater(self) -> Optional[Inflater]:
        """Returns the decompressor of the connection, and creates it first.

        Returns:
            The decompressor; none without memory.
        """
        ref s = self.state[]
        if not s.inflater:
            s.inflater = Inflater.open(
                window_bits=s.peer_window_bits, keeps_context=True
            )
        return s.inflater

    def check(self) -> PointerTo[WsMessageCheck]:
        """Returns the check of the message that is inflated.

        Returns:
            The check.
        """
        return Pointer(to=self.state[].check).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()


struct AgreedDeflate(Movable):
    """Owns the compression of a connection, if its ends agreed on one."""

    var _deflate: Optional[MessageDeflate]

    def __init__(out self):
        """Creates a connection without compression."""
        self._deflate = None

    def __init__(
        out self,
        role: UInt8,
        parameters: DeflateParameters,
        compression: WsCompression,
        *,
        message_octets_max: Int,
    ):
        """Creates the compression of a connection, and reserves its memory.

        Args:
            role: This end of the connection, one of `WsRole`.
            parameters: The agreed parameters.
            compression: The choice of this endpoint.
            message_octets_max: The most octets of a received message.
        """
        var made = MessageDeflate(
            heap_create(
                MessageDeflateState(
                    role, parameters, compression, message_octets_max
                )
            )
        )
        ref s = made.state[]
        if not made.shares_deflater() and made.can_compress():
            s.reserved_octets += compression.deflater_octets(s.window_bits)
        if not made.shares_inflater():
            s.reserved_octets += WsCompression.inflater_octets(
                s.peer_window_bits
            )
        reserve_octets(s.reserved_octets)
        self._deflate = made

    def __deinit__(deinit self):
        """Frees the compression, on the thread that created it."""
        if not self._deflate:
            return
        ref s = self._deflate.unsafe_value().state[]
        reserve_octets(-s.reserved_octets)
        if s.deflater:
            s.deflater.unsafe_value().close()
        if s.inflater:
            s.inflater.unsafe_value().close()
        heap_destroy(self._deflate.unsafe_value().state)

    def handle(self) -> Optional[MessageDeflate]:
        """Returns a handle, which must not outlive this owner.

        Returns:
            The handle; `None` without compression.
        """
        return self._deflate

    def reserved_octets(self) -> Int:
        """Returns the memory that the connection has reserved.

        Returns:
            The number of octets.
        """
        if not self._deflate:
            return 0
        return self._deflate.unsafe_value().state[].reserved_octets
