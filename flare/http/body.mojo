"""Stores the content of a message that is being built."""

from std.sys.info import size_of

from flare.core import (
    BlockKind,
    Buffer,
    Erased,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.html.markup import Markup
from flare.sys.memory import give_pages_back
from flare.sys.thread_cell import thread_recycler

from .exchange import NOT_UTF8, Exchange
from .received import Received, ReceivedState
from .sealed_content import SealedContent
from .stream_function import StreamFunction

comptime COPY_OCTETS_MAX = 32 * 1024
"""The largest content that is copied after its head, so that one send carries
both. Larger content is sent from where it is.
"""
comptime SEALED_COPY_OCTETS_MAX = 8 * 1024
"""The largest sealed content that is copied. Sealed content is in one place for
all answers, so the caches of the processor know it.
"""
comptime _KEPT_OCTETS_MAX = 64 * 1024


@fieldwise_init
struct _Storage(Movable):
    # This is as large as the largest kind of content, which occupies these
    # fields. The fields are typed because constant content may be a default
    # argument, and the compiler keeps no address that is stored as a number.
    var constant: StaticString
    var rest: UInt64


struct _Kind:
    # Constant octets own nothing, so that they end and move for free.
    comptime CONSTANT: UInt8 = 0
    comptime TEXT: UInt8 = 1
    comptime OCTETS: UInt8 = 2
    comptime COPY: UInt8 = 3
    comptime STREAM: UInt8 = 4
    comptime RECEIVED: UInt8 = 5
    comptime SEALED: UInt8 = 6


struct _Copy(Movable):
    """Owns copied octets, in recycled memory."""

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
    """The content of a message.

    Literals and `String`s are used without a copy; views are copied.
    """

    var _storage: _Storage
    var _kind: UInt8

    @always_inline
    def __init__(out self):
        """Creates an empty content, without memory."""
        self = Self(constant="")

    @always_inline
    @implicit
    def __init__(out self, text: StringLiteral):
        """Creates a content that refers to a constant text, without a copy.

        Args:
            text: The text.
        """
        self = Self(constant=text)

    @always_inline
    @implicit
    def __init__(out self, var text: String):
        """Takes ownership of a text.

        Args:
            text: The text.
        """
        self = Self._of(text^, _Kind.TEXT)

    @implicit
    def __init__(out self, var markup: Markup):
        """Takes ownership of markup.

        Args:
            markup: The markup, which `html` returns.
        """
        self = Self._of(markup^.into_string(), _Kind.TEXT)

    @implicit
    def __init__(out self, text: StringSlice):
        """Copies a text.

        Args:
            text: A view of the text.
        """
        self = Self(text.as_bytes())

    @implicit
    def __init__(out self, var octets: List[UInt8]):
        """Takes ownership of octets.

        Args:
            octets: The octets.
        """
        self = Self._of(octets^, _Kind.OCTETS)

    @implicit
    def __init__(out self, octets: Span[UInt8, _]):
        """Copies octets.

        Args:
            octets: A view of the octets.
        """
        self = Self._of(_Copy(octets), _Kind.COPY)

    @implicit
    def __init__(out self, var content: SealedContent):
        """Creates a content that refers to a `SealedContent`, without a copy.

        Args:
            content: The content.
        """
        self = Self._of(content^, _Kind.SEALED)

    def __init__(out self, *, var stream: StreamFunction):
        """Takes ownership of a function that writes the content piece by
        piece.

        Args:
            stream: The function.
        """
        self = Self._of(stream^, _Kind.STREAM)

    def __init__(out self, *, var received: Received):
        """Takes ownership of a content that a client has received.

        Args:
            received: The content with its trailers and details.
        """
        self = Self._of(received^, _Kind.RECEIVED)

    @always_inline
    def __init__(out self, *, constant: StaticString):
        """Creates a content that refers to a constant text, without a copy.

        Args:
            constant: The text.
        """
        self._storage = _Storage(constant, 0)
        self._kind = _Kind.CONSTANT

    @staticmethod
    @always_inline
    def _of[T: Movable](var content: T, kind: UInt8) -> Self:
        comptime assert size_of[T]() <= size_of[_Storage](), "too large"
        var body = Self(constant="")
        body._kind = kind
        Pointer(to=body._storage).unsafe_bitcast[T]().unsafe_write(content^)
        return body^

    @always_inline
    def __deinit__(deinit self):
        """Frees or recycles the memory."""
        if self._kind != _Kind.CONSTANT:
            _destroy(self._storage, self._kind)

    @always_inline
    def is_stream(self) -> Bool:
        """Returns whether a function writes the content while it is sent.

        Returns:
            True if there are no octets yet.
        """
        return self._kind == _Kind.STREAM

    @always_inline
    def is_sealed(self) -> Bool:
        """Returns whether the octets lie in pages that never change.

        Returns:
            True if the kernel may send them without a copy.
        """
        return self._kind == _Kind.SEALED

    @always_inline
    def is_copied(self) -> Bool:
        """Returns whether the content is copied after its head.

        Returns:
            False if it is sent from where it is.
        """
        var octets = len(self)
        return octets <= SEALED_COPY_OCTETS_MAX or (
            octets <= COPY_OCTETS_MAX and not self.is_sealed()
        )

    def unsafe_give_pages_back(self):
        """Returns the pages of a list of octets to the kernel.

        The caller frees the content next. Mojo's allocator, which made the
        list, would keep the pages.

        Safety:
            The caller does not read the content again.
        """
        if self._kind == _Kind.OCTETS:
            ref octets = self._as[List[UInt8]]()
            _ = give_pages_back(Int(octets.unsafe_ptr()), octets.capacity())

    def received(self) -> Optional[PointerTo[ReceivedState]]:
        """Returns the trailers and details of a content that a client has
        received.

        Returns:
            A view that lives as long as the content; `None` for other content.
        """
        if self._kind != _Kind.RECEIVED:
            return None
        return self._as[Received]().state

    def held_octets(self) -> Int:
        """Returns how much memory a streaming function retains while it runs.

        Returns:
            The number of octets; requires `is_stream`.
        """
        return self._as[StreamFunction]().held_octets()

    def run_stream(self, exchange: Exchange) raises:
        """Calls the function that writes the content. It may wait.

        Args:
            exchange: The exchange; requires `is_stream`.

        Raises:
            The error of the function.
        """
        self._as[StreamFunction]().run(exchange)

    def __len__(self) -> Int:
        """Returns the number of octets; 0 for streamed content.

        Returns:
            The number.
        """
        return len(self.octets())

    @always_inline
    def octets(self) -> Span[UInt8, origin_of(self)]:
        """Returns a view of the octets.

        Returns:
            A view that lives as long as the content.
        """
        if self._kind == _Kind.CONSTANT:
            return rebind[Span[UInt8, origin_of(self)]](
                self._storage.constant.as_bytes()
            )
        return self._owned_octets()

    def _owned_octets(self) -> Span[UInt8, origin_of(self)]:
        if self._kind == _Kind.TEXT:
            return rebind[Span[UInt8, origin_of(self)]](
                self._as[String]().as_bytes()
            )
        if self._kind == _Kind.COPY:
            return rebind[Span[UInt8, origin_of(self)]](
                self._as[_Copy]().buffer[].span()
            )
        if self._kind == _Kind.RECEIVED:
            return rebind[Span[UInt8, origin_of(self)]](
                self._as[Received]().state[].content.span()
            )
        if self._kind == _Kind.OCTETS:
            return rebind[Span[UInt8, origin_of(self)]](
                Span(self._as[List[UInt8]]())
            )
        if self._kind == _Kind.SEALED:
            return rebind[Span[UInt8, origin_of(self)]](
                self._as[SealedContent]().octets()
            )
        return Span[UInt8, origin_of(self)]()

    @always_inline
    def _as[T: AnyType](self) -> ref[self._storage] T:
        return Pointer(to=self._storage).unsafe_bitcast[T]()[]

    def text(self) raises -> StringSlice[origin_of(self)]:
        """Returns a view of the content as text.

        Returns:
            A view that lives as long as the content.

        Raises:
            An error `http.not_utf8 …` if the content is not UTF-8.
        """
        try:
            return StringSlice(from_utf8=self.octets())
        except:
            raise Error(NOT_UTF8, " the content")


@no_inline
def _destroy(mut storage: _Storage, kind: UInt8):
    var address = Pointer(to=storage)
    if kind == _Kind.TEXT:
        address.unsafe_bitcast[String]().unsafe_deinit_pointee()
    elif kind == _Kind.OCTETS:
        address.unsafe_bitcast[List[UInt8]]().unsafe_deinit_pointee()
    elif kind == _Kind.COPY:
        address.unsafe_bitcast[_Copy]().unsafe_deinit_pointee()
    elif kind == _Kind.RECEIVED:
        address.unsafe_bitcast[Received]().unsafe_deinit_pointee()
    elif kind == _Kind.SEALED:
        address.unsafe_bitcast[SealedContent]().unsafe_deinit_pointee()
    else:
        address.unsafe_bitcast[StreamFunction]().unsafe_deinit_pointee()
