"""Defines received messages.

The block of a message comes from the thread's recycler and returns to it. So a
loop that receives messages allocates no memory once warm.
"""

from flare.core import (
    BlockKind,
    Buffer,
    Erased,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.json import Value, loads
from flare.sys.thread_cell import thread_recycler

from .error import WsError

comptime _KEPT_OCTETS_MAX = 64 * 1024


struct WsMessageState(Movable):
    """The octets of a message."""

    var octets: Buffer
    """The octets, unmasked and inflated."""
    var is_text: Bool
    """Whether they are text, checked to be UTF-8."""

    def __init__(out self):
        """Creates an empty message."""
        self.octets = Buffer()
        self.is_text = False


struct WsMessage(Movable, Sized):
    """A message that was received whole. It owns its octets."""

    var is_text: Bool
    """Whether the message is text, which is valid UTF-8."""
    var is_binary: Bool
    """Whether the message is binary."""
    var _block: PointerTo[WsMessageState]

    def __init__(out self):
        """Creates an empty binary message, for `recv_into`."""
        var recycler = thread_recycler()
        var block = Optional[Erased](None)
        if recycler:
            block = recycler.value().take(BlockKind.MESSAGE)
        if block:
            self._block = block.value().unsafe_bitcast[WsMessageState]()
        else:
            self._block = heap_create(WsMessageState())
        self.is_text = False
        self.is_binary = True

    def __deinit__(deinit self):
        """Returns the block to the thread."""
        _give_back(self._block)

    def __len__(self) -> Int:
        """Returns the number of octets.

        Returns:
            The length of the message.
        """
        return len(self._block[].octets)

    def octets(self) -> Span[UInt8, origin_of(self)]:
        """Returns a view of the octets.

        Returns:
            A view that lives as long as the message.
        """
        var span = self._block[].octets.span()
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=span.unsafe_ptr()
            .unsafe_mut_cast[origin_of(self).mut]()
            .unsafe_origin_cast[origin_of(self)](),
            length=len(span),
        )

    def into_octets(deinit self) -> List[UInt8]:
        """Ends the message, and returns its octets. The block of the message
        is free for another one.

        Returns:
            The octets, in a list of their length.
        """
        var octets = List[UInt8](self._block[].octets.span())
        _give_back(self._block)
        return octets^

    def as_text(self) raises -> StringSlice[origin_of(self)]:
        """Returns the text of the message.

        Returns:
            A view that lives as long as the message.

        Raises:
            An error `ws.bad_call` if the message is binary.
        """
        if not self.is_text:
            raise Error(WsError(WsError.BAD_CALL, "the message is binary"))
        return StringSlice(unsafe_from_utf8=self.octets())

    def json(self) raises -> Value:
        """Parses the message as JSON.

        Returns:
            The value.

        Raises:
            An error `json.…` if the message is not JSON.
        """
        return loads(StringSlice(unsafe_from_utf8=self.octets()))

    def unsafe_block(self) -> PointerTo[WsMessageState]:
        """Returns the block of the message, for the code that receives.

        Returns:
            The block.

        Safety:
            The message outlives the use of the block.
        """
        return self._block


def _give_back(block: PointerTo[WsMessageState]):
    ref octets = block[].octets
    var recycler = thread_recycler()
    if recycler and octets.capacity() <= _KEPT_OCTETS_MAX:
        octets.clear()
        if recycler.value().give(
            BlockKind.MESSAGE, block.unsafe_bitcast[NoneType](), _destroy
        ):
            return
    heap_destroy(block)


def _destroy(block: Erased):
    heap_destroy(block.unsafe_bitcast[WsMessageState]())
