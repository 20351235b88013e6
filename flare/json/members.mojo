"""Finds repeated keys of an object, and sorts the keys of large objects.

The time is bounded by that of sorting, whatever keys a peer chooses.
"""

from flare.core import OctetPointer, equals

from .document import (
    NUMBERS_PER_NODE,
    SORTED_MEMBERS_MIN,
    Node,
    compare_keys,
)


@fieldwise_init
struct ClosedObject(TrivialRegisterPassable):
    """The result of comparing an object's keys."""

    comptime NOBODY = -1
    """The value of `twice` if no key is repeated."""

    var members: Int
    """How many members are left."""
    var twice: Int
    """The place of a repeated key, or `NOBODY`."""


def close_object(
    mut stack: List[Node], first: Int, text: OctetPointer
) -> ClosedObject:
    """Drops all but the last of equal keys, and sorts the keys of large
    objects.

    Args:
        stack: The stack, which ends with the object's keys and values. For a
            large object, the sorted numbers are appended.
        first: The index of the first key.
        text: The octets that the keys refer to.

    Returns:
        The number of members left, and a repeated key.
    """
    var members = (len(stack) - first) // 2
    if members < SORTED_MEMBERS_MIN:
        var twice = _drop_few(stack, first, text)
        return ClosedObject((len(stack) - first) // 2, twice)
    var numbers = _sorted_numbers(stack, first, text)
    var twice = _drop_many(stack, first, text, numbers)
    if twice != ClosedObject.NOBODY:
        members = (len(stack) - first) // 2
        numbers = _sorted_numbers(stack, first, text)
    if members >= SORTED_MEMBERS_MIN:
        _append_numbers(stack, numbers)
    return ClosedObject(members, twice)


@always_inline
def _key(node: Node, text: OctetPointer) -> Span[UInt8, MutUntrackedOrigin]:
    return Span(
        unsafe_ptr=text.unsafe_offset(node.place), length=Int(node.size)
    )


def _drop_few(mut stack: List[Node], first: Int, text: OctetPointer) -> Int:
    var twice = ClosedObject.NOBODY
    var at = first + 2
    while at < len(stack):
        var node = stack.unsafe_get(at)
        var is_new = True
        for before in range(first, at, 2):
            var other = stack.unsafe_get(before)
            if other.size == node.size and equals(
                _key(other, text), _key(node, text)
            ):
                twice = node.place
                stack[before + 1] = stack[at + 1]
                _ = stack.pop(at + 1)
                _ = stack.pop(at)
                is_new = False
                break
        if is_new:
            at += 2
    return twice


def _drop_many(
    mut stack: List[Node],
    first: Int,
    text: OctetPointer,
    numbers: List[UInt32],
) -> Int:
    # Equal keys stand side by side in `numbers`, in the order of the text.
    var twice = ClosedObject.NOBODY
    var is_dropped = List[Bool](length=len(numbers), fill=False)
    var leader = 0
    for i in range(1, len(numbers)):
        var at = first + 2 * Int(numbers[i])
        var front = first + 2 * Int(numbers[leader])
        if compare_keys(_key(stack[at], text), _key(stack[front], text)) != 0:
            leader = i
            continue
        twice = stack[at].place
        stack[front + 1] = stack[at + 1]
        is_dropped[Int(numbers[i])] = True
    if twice == ClosedObject.NOBODY:
        return twice
    var target = first
    for i in range(len(numbers)):
        if not is_dropped[i]:
            stack[target] = stack[first + 2 * i]
            stack[target + 1] = stack[first + 2 * i + 1]
            target += 2
    stack.shrink(target)
    return twice


def _sorted_numbers(
    stack: List[Node], first: Int, text: OctetPointer
) -> List[UInt32]:
    # Merging is stable and has no worst case.
    var count = (len(stack) - first) // 2
    var source = List[UInt32](capacity=count)
    for i in range(count):
        source.append(UInt32(i))
    var target = source.copy()
    var width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            var middle = min(low + width, count)
            var high = min(low + 2 * width, count)
            var i = low
            var j = middle
            for k in range(low, high):
                var takes_left = j >= high
                if not takes_left and i < middle:
                    var left = stack[first + 2 * Int(source[i])]
                    var right = stack[first + 2 * Int(source[j])]
                    takes_left = (
                        compare_keys(_key(left, text), _key(right, text)) <= 0
                    )
                if takes_left:
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
        swap(source, target)
        width *= 2
    return source^


def _append_numbers(mut stack: List[Node], numbers: List[UInt32]):
    var first = len(stack)
    var nodes = (len(numbers) + NUMBERS_PER_NODE - 1) // NUMBERS_PER_NODE
    stack.resize(first + nodes, Node(0, 0, 0))
    var target = stack.unsafe_ptr().unsafe_bitcast[UInt32]()
    for i in range(len(numbers)):
        target[unsafe_offset=NUMBERS_PER_NODE * first + i] = numbers[i]
