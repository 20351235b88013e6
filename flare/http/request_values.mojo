"""Stores the values that middleware sets for the handlers of a request.

A value that fits a word lies in the block itself, a larger one on the heap. A
block has room for four values, and is recycled, so that small values allocate
nothing. The exchange has only its address. It frees the values at its end
through a function in the block, so that programs without values contain none
of this code.
"""

from std.sys import align_of, size_of

from flare.core import (
    BlockKind,
    Erased,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.sys.thread_cell import thread_recycler

comptime _ENTRIES = 4
comptime _WORD_OCTETS = 8


@fieldwise_init
struct _Entry(ImplicitlyCopyable):
    var type_name: StaticString
    # The value, or its address.
    var word: UInt64
    var destroy: def(Erased) thin -> None


struct RequestValues(Movable):
    """A block of values. `set_value` makes it."""

    var free: def(Erased) thin -> None
    """Destroys the values of this block, and those that follow it."""
    var _count: Int
    var _entries: Array[_Entry, _ENTRIES]
    var _next: Optional[Erased]

    def __init__(out self):
        """Creates an empty block."""
        self.free = _free
        self._count = 0
        self._entries = Array[_Entry, _ENTRIES](fill=_Entry("", 0, _free))
        self._next = None


def find_value[
    T: Deinitable & Movable
](values: Optional[PointerTo[RequestValues]]) -> Optional[PointerTo[T]]:
    """Finds the value of a type.

    Parameters:
        T: The type.

    Args:
        values: The values of the request.

    Returns:
        Its address, valid until the end of the request; `None` without one.
    """
    comptime wanted: StaticString = reflect[T].name()
    var block = values
    while block:
        ref b = block.unsafe_value()[]
        for i in range(b._count):
            ref entry = b._entries[i]
            if entry.type_name == wanted:
                var word = PointerTo[UInt64](
                    unsafe_from_address=Int(Pointer(to=entry.word))
                )
                return _place[T](word)
        if not b._next:
            return None
        block = b._next.unsafe_value().unsafe_bitcast[RequestValues]()
    return None


def set_value[
    T: Deinitable & Movable
](mut values: Optional[PointerTo[RequestValues]], var value: T):
    """Adds a value, or replaces the one of its type.

    Parameters:
        T: The type.

    Args:
        values: The values of the request.
        value: The value.
    """
    var found = find_value[T](values)
    if found:
        # At the same place, so that references to it stay valid.
        found.unsafe_value()[] = value^
        return
    var block = _block_with_room(values)
    ref entry = block[]._entries[block[]._count]
    entry.type_name = reflect[T].name()
    entry.destroy = _destroy[T]
    comptime if _fits_word[T]():
        var word = PointerTo[UInt64](
            unsafe_from_address=Int(Pointer(to=entry.word))
        )
        word.unsafe_bitcast[T]().unsafe_write(value^)
    else:
        entry.word = UInt64(Int(heap_create(value^)))
    block[]._count += 1


@no_inline
def _block_with_room(
    mut values: Optional[PointerTo[RequestValues]],
) -> PointerTo[RequestValues]:
    if values and values.unsafe_value()[]._count < _ENTRIES:
        return values.unsafe_value()
    var block = _take_block()
    # The newest block is the first, so that the others need not be searched.
    if values:
        block[]._next = values.unsafe_value().unsafe_bitcast[NoneType]()
    values = block
    return block


def _take_block() -> PointerTo[RequestValues]:
    var recycler = thread_recycler()
    if recycler:
        var block = recycler.value().take(BlockKind.VALUES)
        if block:
            return block.value().unsafe_bitcast[RequestValues]()
    return heap_create(RequestValues())


def _free(first: Erased):
    var block = Optional[Erased](first)
    while block:
        var b = block.unsafe_value().unsafe_bitcast[RequestValues]()
        # The latest first: it may refer to an earlier one.
        for i in reversed(range(b[]._count)):
            var entry = b[]._entries[i]
            entry.destroy(
                PointerTo[UInt64](
                    unsafe_from_address=Int(Pointer(to=b[]._entries[i].word))
                ).unsafe_bitcast[NoneType]()
            )
        block = b[]._next
        b[]._count = 0
        b[]._next = None
        _give_block(b)


def _give_block(block: PointerTo[RequestValues]):
    var recycler = thread_recycler()
    if recycler and recycler.value().give(
        BlockKind.VALUES, block.unsafe_bitcast[NoneType](), _destroy_block
    ):
        return
    heap_destroy(block)


def _destroy_block(block: Erased):
    heap_destroy(block.unsafe_bitcast[RequestValues]())


def _destroy[T: Deinitable & Movable](word: Erased):
    var place = _place[T](word.unsafe_bitcast[UInt64]())
    comptime if _fits_word[T]():
        place.unsafe_deinit_pointee()
    else:
        heap_destroy(place)


@always_inline
def _place[T: Deinitable & Movable](word: PointerTo[UInt64]) -> PointerTo[T]:
    comptime if _fits_word[T]():
        return word.unsafe_bitcast[T]()
    else:
        return PointerTo[T](unsafe_from_address=Int(word[]))


def _fits_word[T: AnyType]() -> Bool:
    return size_of[T]() <= _WORD_OCTETS and align_of[T]() <= _WORD_OCTETS
