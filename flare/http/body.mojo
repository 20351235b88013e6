"""Holds the content of a message that is being built."""

from std.utils import Variant

from flare.core import (
    BlockKind,
    Buffer,
    Erased,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.sys.thread_cell import thread_recycler

from .exchange import NOT_UTF8, Exchange
from .stream_function import StreamFunction

comptime _Content = Variant[String, List[UInt8], _Copy, StreamFunction]
comptime _KEPT_OCTETS_MAX = 64 * 1024


struct _Copy(Movable):
    """Owns octets that were copied, in memory that is used again."""

    var buffer: PointerTo[Buffer]

    def __init__(out self, octets: Span[UInt8, _]):
        var recycler = thread_recycler()
        var block = Optional[Erased](None)
        if recycler:
            block = recycler.value().take(BlockKind.CONTENT)
        if block:
            self.buffer = block.value().unsafe_bitcast[Buffer]()
        else:
            self.buffer = heap_create(Buffer())
        if len(octets) > 0:
            self.buffer[].append(octets)

    def __deinit__(deinit self):
        var recycler = thread_recycler()
        if recycler and self.buffer[].capacity() <= _KEPT_OCTETS_MAX:
            self.buffer[].clear()
            if recycler.value().give(
                BlockKind.CONTENT,
                self.buffer.unsafe_bitcast[NoneType](),
                _destroy_buffer,
            ):
                return
        heap_destroy(self.buffer)


def _destroy_buffer(block: Erased):
    heap_destroy(block.unsafe_bitcast[Buffer]())


struct Body(Movable, Sized):
    """Owns the octets of a content, however they came.

    A literal or a `String` is taken over without a copy; a view is copied.
    """

    var _content: _Content

    def __init__(out self):
        """Makes an empty content, which allocates nothing."""
        self._content = String()

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes a constant text.

        Args:
            text: The text; nothing is copied.
        """
        self._content = String(text)

    @implicit
    def __init__(out self, var text: String):
        """Takes a text over.

        Args:
            text: The text.
        """
        self._content = text^

    @implicit
    def __init__(out self, text: StringSlice):
        """Copies a text.

        Args:
            text: A view of the text.
        """
        self = Self(text.as_bytes())

    @implicit
    def __init__(out self, var octets: List[UInt8]):
        """Takes octets over.

        Args:
            octets: The octets.
        """
        self._content = octets^

    @implicit
    def __init__(out self, octets: Span[UInt8, _]):
        """Copies octets.

        Args:
            octets: A view of the octets.
        """
        self._content = _Copy(octets)

    def __init__(out self, *, var stream: StreamFunction):
        """Takes over a function that writes the content bit by bit.

        Args:
            stream: The function.
        """
        self._content = stream^

    def is_stream(self) -> Bool:
        """Tells whether a function writes the content while it is sent.

        Returns:
            True if there are no octets yet.
        """
        return self._content.isa[StreamFunction]()

    def run_stream(self, exchange: Exchange) raises:
        """Calls the function that writes the content; it may wait.

        Args:
            exchange: The exchange; `is_stream` is true.

        Raises:
            What the function raises.
        """
        self._content[StreamFunction].run(exchange)

    def __len__(self) -> Int:
        """Counts the octets; a streamed content has none yet.

        Returns:
            The count.
        """
        return len(self.octets())

    def octets(self) -> Span[UInt8, origin_of(self)]:
        """Views the octets.

        Returns:
            A view that lives as long as the content.
        """
        var pointer: Span[UInt8, origin_of(self)]
        if self._content.isa[String]():
            pointer = rebind[Span[UInt8, origin_of(self)]](
                self._content[String].as_bytes()
            )
        elif self._content.isa[_Copy]():
            pointer = rebind[Span[UInt8, origin_of(self)]](
                self._content[_Copy].buffer[].span()
            )
        elif self.is_stream():
            pointer = Span[UInt8, origin_of(self)]()
        else:
            pointer = rebind[Span[UInt8, origin_of(self)]](
                Span(self._content[List[UInt8]])
            )
        return pointer

    def text(self) raises -> StringSlice[origin_of(self)]:
        """Views the content as text.

        Returns:
            A view that lives as long as the content.

        Raises:
            An error `http.not_utf8 …` if the content is not UTF-8.
        """
        try:
            return StringSlice(from_utf8=self.octets())
        except:
            raise Error(NOT_UTF8, " the content")
