"""Walks over the values of a document: to write them, and to name one."""

from std.atomic import Atomic, Ordering

from flare.core import OctetPointer, PointerTo, copy_octets

from .document import Document, Node
from .place import CUT, append_key
from .quote import unsafe_write_quoted
from .scan import LANES
from .text_buffer import unsafe_write_decimal
from .writer import JsonWriter

comptime _PATH_OCTETS_MAX = 256
# Who goes through a list that a peer made and catches an error at each element
# would else take time that grows with the square of its length.
comptime _PATH_STEPS_MAX = 32 * 1024 * 1024


def write_value(json: JsonWriter, document: Document, index: Int):
    """Writes a value and all that it holds.

    The depth was bounded when the document was read.

    Args:
        json: The destination.
        document: The document.
        index: The node of the value.
    """
    var nodes = document.nodes.unsafe_ptr().unsafe_origin_cast[
        ImmUntrackedOrigin
    ]()
    var text = document.text.octets
    if json.is_compact() and index == len(document.nodes) - 1:
        # No value is longer than it was when it was read: what had no need of
        # an escape has none now. A vector is stored before it is judged.
        var target = json.unsafe_begin_raw(document.text.length + LANES)
        var end = _write_compact(target, nodes, text, index)
        json.unsafe_end_raw(Int(end) - Int(target))
        return
    _write(json, nodes, text, index)


def _write_compact(
    start: OctetPointer,
    nodes: Pointer[Node, ImmUntrackedOrigin],
    text: OctetPointer,
    index: Int,
) -> OctetPointer:
    # The place to write at stays in a register: it is all that changes.
    var target = start
    var node = nodes[unsafe_offset=index]
    if node.kind == Node.STRING:
        return unsafe_write_quoted(target, _octets(node, text))
    if node.kind == Node.INTEGER and node.place >= 0:
        return target.unsafe_offset(unsafe_write_decimal(target, node.place))
    if node.kind == Node.INTEGER:
        var digits = String(node.place)
        return _copied(target, digits.as_bytes())
    if node.kind == Node.NUMBER:
        return _copied(target, _octets(node, text))
    if node.kind == Node.BOOL:
        var word: StaticString = "true" if node.place == 1 else "false"
        return _copied(target, word.as_bytes())
    if node.kind == Node.NULL:
        return _copied(target, "null".as_bytes())
    var is_object = node.kind == Node.OBJECT
    target[] = UInt8(ord("{")) if is_object else UInt8(ord("["))
    target = target.unsafe_offset(1)
    var at = node.place
    for i in range(Int(node.size)):
        if i > 0:
            target[] = UInt8(ord(","))
            target = target.unsafe_offset(1)
        if is_object:
            var key = _octets(nodes[unsafe_offset=at], text)
            target = unsafe_write_quoted(target, key)
            target[] = UInt8(ord(":"))
            target = target.unsafe_offset(1)
            at += 1
        target = _write_compact(target, nodes, text, at)
        at += 1
    target[] = UInt8(ord("}")) if is_object else UInt8(ord("]"))
    return target.unsafe_offset(1)


@always_inline
def _copied(target: OctetPointer, octets: Span[UInt8, _]) -> OctetPointer:
    copy_octets(target, octets.unsafe_ptr(), len(octets))
    return target.unsafe_offset(len(octets))


def _write(
    json: JsonWriter,
    nodes: Pointer[Node, ImmUntrackedOrigin],
    text: OctetPointer,
    index: Int,
):
    var node = nodes[unsafe_offset=index]
    if node.kind == Node.STRING:
        json.string_octets[unsafe_is_padded=True](_octets(node, text))
    elif node.kind == Node.INTEGER:
        json.int(node.place)
    elif node.kind == Node.NUMBER:
        json.unsafe_raw(_octets(node, text))
    elif node.kind == Node.BOOL:
        json.bool(node.place == 1)
    elif node.kind == Node.NULL:
        json.null()
    elif node.kind == Node.ARRAY:
        json.begin_array()
        for i in range(Int(node.size)):
            _write(json, nodes, text, node.place + i)
        json.end_array()
    else:
        json.begin_object()
        for i in range(Int(node.size)):
            var at = node.place + 2 * i
            var key = _octets(nodes[unsafe_offset=at], text)
            json.key_octets[unsafe_is_padded=True](key)
            _write(json, nodes, text, at + 1)
        json.end_object()


@always_inline
def _octets(node: Node, text: OctetPointer) -> Span[UInt8, MutUntrackedOrigin]:
    return Span(
        unsafe_ptr=text.unsafe_offset(node.place), length=Int(node.size)
    )


def type_name(kind: UInt32) -> StaticString:
    """Names the type of a node as people do.

    Args:
        kind: The kind of the node.

    Returns:
        The name, with its article.
    """
    if kind == Node.NULL:
        return "null"
    if kind == Node.BOOL:
        return "a boolean"
    if kind == Node.STRING:
        return "a string"
    if kind == Node.ARRAY:
        return "an array"
    if kind == Node.OBJECT:
        return "an object"
    return "a number"


def path_to(document: Document, index: Int, steps: PointerTo[UInt64]) -> String:
    """Names a value by the keys and indexes that lead to it.

    Args:
        document: The document.
        index: The node of the value.
        steps: The `path_steps` of the document, where it lies on the heap: a
            borrowed document may be a copy.

    Returns:
        The path, empty for the value of the whole text. It ends in `...` where
        it is long, and where naming values of the document has taken long.
    """
    var path = String()
    # What a container holds lies in front of it: the children of a value that
    # holds the wanted one are the last to begin at or in front of it.
    var at = len(document.nodes) - 1
    while at != index:
        var node = document.nodes[at]
        var child = -1
        if path.byte_length() <= _PATH_OCTETS_MAX:
            child = _child_towards(document, node, index, steps)
        if child < 0:
            path.write(CUT)
            break
        if node.kind == Node.ARRAY:
            path.write("[", child - node.place, "]")
        else:
            append_key(path, document.octets(document.nodes[child - 1]))
        at = child
    return path^


def _child_towards(
    document: Document, node: Node, index: Int, steps: PointerTo[UInt64]
) -> Int:
    # Children beside each other hold descendants in ascending order, and each
    # has its own behind those of the ones in front.
    var is_object = node.kind == Node.OBJECT
    var step = 2 if is_object else 1
    var count = Int(node.size)
    var first = node.place + (1 if is_object else 0)
    if index >= node.place and index < node.place + step * count:
        return index
    var before = Int(Atomic[UInt64].load[ordering=Ordering.RELAXED](steps))
    var seen_max = min(count, _PATH_STEPS_MAX - before)
    var seen = 0
    var found = -1
    while seen < seen_max and found < 0:
        var at = first + step * seen
        var child = document.nodes[at]
        seen += 1
        # The first child whose own children end behind the wanted value.
        if (
            child.kind == Node.ARRAY or child.kind == Node.OBJECT
        ) and index < child.place + _nodes_of(child):
            found = at
    _ = Atomic[UInt64].fetch_add[ordering=Ordering.RELAXED](steps, UInt64(seen))
    return found


def _nodes_of(node: Node) -> Int:
    return Int(node.size) * (2 if node.kind == Node.OBJECT else 1)
