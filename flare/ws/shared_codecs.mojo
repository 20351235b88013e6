"""Lends the compressors of a thread to its connections, message by message.

A message is compressed, or inflated, only when it is in memory whole. So no
lent codec waits for a peer. A long message yields the turn between two slices.
A few codecs may be lent at such times; one more must be returned in the same
turn. So a thread has a bounded number of them, and no fiber waits for one.

Codecs that keep the context of a connection belong to it. The thread counts
their memory.
"""

from flare.core import BlockKind, Erased, PointerTo, heap_create, heap_destroy
from flare.sys.thread_cell import thread_recycler

from .deflater import Deflater
from .inflater import Inflater

# Each takes 256 KiB to compress, and 40 KiB to inflate.
comptime _YIELDING_MAX = 4
comptime _WINDOW_BITS = 15
comptime _MEMORY_LEVEL = 8


struct _CodecsState(Movable):
    # One unused codec of each kind.
    var deflater: Optional[Deflater]
    var inflater: Optional[Inflater]
    var lent_deflaters: Int
    var lent_inflaters: Int
    var reserved_octets: Int

    def __init__(out self):
        self.deflater = None
        self.inflater = None
        self.lent_deflaters = 0
        self.lent_inflaters = 0
        self.reserved_octets = 0

    def __deinit__(deinit self):
        if self.deflater:
            self.deflater.unsafe_value().close()
        if self.inflater:
            self.inflater.unsafe_value().close()


@fieldwise_init
struct LentDeflater(TrivialRegisterPassable):
    """A compressor that the caller returns with `give_back`."""

    var deflater: Deflater
    """The compressor, which keeps no context."""
    var window_bits: Int
    """The base-2 logarithm of its window."""
    var may_yield: Bool
    """Whether the fiber may yield before it returns the compressor."""

    @staticmethod
    def lend(window_bits: Int) -> Optional[Self]:
        """Lends a compressor of the thread. It keeps one with the largest
        window. Few peers ask for a smaller one, which is made for the message.

        Args:
            window_bits: The base-2 logarithm of the window, from 9 to 15.

        Returns:
            The compressor; none without memory or zlib.
        """
        var codecs = _codecs_of_thread()
        var found = Optional[Deflater](None)
        if codecs and window_bits == _WINDOW_BITS:
            found = codecs.unsafe_value()[].deflater
            codecs.unsafe_value()[].deflater = None
        if not found:
            found = Deflater.open(
                window_bits=window_bits,
                memory_level=_MEMORY_LEVEL,
                keeps_context=False,
            )
        if not found:
            return None
        var lent = 0
        if codecs:
            codecs.unsafe_value()[].lent_deflaters += 1
            lent = codecs.unsafe_value()[].lent_deflaters
        return Self(found.unsafe_value(), window_bits, lent <= _YIELDING_MAX)

    def give_back(self):
        """Returns the compressor to the thread. Do not use it afterwards."""
        var codecs = _codecs_of_thread()
        if codecs:
            ref c = codecs.unsafe_value()[]
            c.lent_deflaters -= 1
            if not c.deflater and self.window_bits == _WINDOW_BITS:
                # A message may have been given up half-way.
                self.deflater.reset()
                c.deflater = self.deflater
                return
        self.deflater.close()


@fieldwise_init
struct LentInflater(TrivialRegisterPassable):
    """A decompressor that the caller returns with `give_back`."""

    var inflater: Inflater
    """The decompressor, which keeps no context."""
    var may_yield: Bool
    """Whether the fiber may yield before it returns the decompressor."""

    @staticmethod
    def lend() -> Optional[Self]:
        """Lends a decompressor of the thread.

        Returns:
            The decompressor; none without memory or zlib.
        """
        var codecs = _codecs_of_thread()
        var found = Optional[Inflater](None)
        if codecs:
            found = codecs.unsafe_value()[].inflater
            codecs.unsafe_value()[].inflater = None
        if not found:
            found = Inflater.open(window_bits=_WINDOW_BITS, keeps_context=False)
        if not found:
            return None
        var lent = 0
        if codecs:
            codecs.unsafe_value()[].lent_inflaters += 1
            lent = codecs.unsafe_value()[].lent_inflaters
        return Self(found.unsafe_value(), lent <= _YIELDING_MAX)

    def give_back(self):
        """Returns the decompressor to the thread. Do not use it afterwards."""
        var codecs = _codecs_of_thread()
        if codecs:
            ref c = codecs.unsafe_value()[]
            c.lent_inflaters -= 1
            if not c.inflater:
                c.inflater = self.inflater
                return
        self.inflater.close()


def reserved_octets() -> Int:
    """Returns how much memory the connections of the thread have reserved for
    codecs of their own.

    Returns:
        The number of octets.
    """
    var codecs = _codecs_of_thread()
    return codecs.unsafe_value()[].reserved_octets if codecs else 0


def reserve_octets(count: Int):
    """Counts the memory of the codecs of one connection.

    Args:
        count: The number of octets; negative when the connection ends.
    """
    var codecs = _codecs_of_thread()
    if codecs:
        codecs.unsafe_value()[].reserved_octets += count


def _codecs_of_thread() -> Optional[PointerTo[_CodecsState]]:
    # The recycler of the thread keeps the only block of this kind.
    var recycler = thread_recycler()
    if not recycler:
        return None
    var block = recycler.unsafe_value().take(BlockKind.CODECS)
    if not block:
        block = heap_create(_CodecsState()).unsafe_bitcast[NoneType]()
    if not recycler.unsafe_value().give(
        BlockKind.CODECS, block.unsafe_value(), _destroy
    ):
        _destroy(block.unsafe_value())
        return None
    return block.unsafe_value().unsafe_bitcast[_CodecsState]()


def _destroy(block: Erased):
    heap_destroy(block.unsafe_bitcast[_CodecsState]())
