"""Walks over the values of a document, to write them or to find a value's
path.
"""

from std.atomic import Atomic, Ordering

from flare.core import OctetPointer, PointerTo, copy_octets

from .document import Document, Node
from .place import CUT, append_key
from .quote import append_quoted, unsafe_write_quoted
from .scan import LANES
from flare.core.text_buffer import TextBuffer, unsafe_write_decimal
from .writer import JsonWriter

comptime _PATH_OCTETS_MAX = 256
# A program may walk a list that a peer made, and catch an error at each
# element. Without this bound, that would take quadratic time.
comptime _PATH_STEPS_MAX = 32 * 1024 * 1024
# Levels that are written without memory from the allocator.
comptime _NEAR_LEVELS = 8


def write_value(json: JsonWriter, document: Document, index: Int):
    """Writes a value and its descendants.

    Args:
        json: The destination.
        document: The document.
        index: The node of the value.
    """
    var nodes = document.nodes.unsafe_ptr().unsafe_origin_cast[
        ImmUntrackedOrigin
    ]()
    var text = document.text.octets
    var root = document.root_of(index)
    if json.is_compact() and Int(root.node) == index and root.octets > 0:
        # No value is longer than when it was read: a string that needed no
        # escape then needs none now. Vectors are stored first and checked
        # afterwards.
        var start = json.unsafe_begin_raw(Int(root.octets) + LANES)
        var raw = _RawOutput(start)
        _walk(raw, nodes, text, index)
        json.unsafe_end_raw(Int(raw.target) - Int(start))
        return
    json.before_value()
    var output = _PieceOutput(json, json.unsafe_buffer())
    _walk(output, nodes, text, index)


trait _Output:
    # Takes the pieces of a value in order.

    def octet(mut self, octet: UInt8):
        ...

    def plain(mut self, octets: Span[UInt8, _]):
        ...

    def string(mut self, octets: Span[UInt8, _]):
        ...

    def integer(mut self, number: Int):
        ...

    def line(mut self, levels: Int):
        ...

    def colon(mut self):
        ...


struct _RawOutput(_Output):
    # The place to write at stays in a register: it is all that changes.
    var target: OctetPointer

    def __init__(out self, target: OctetPointer):
        self.target = target

    @always_inline
    def octet(mut self, octet: UInt8):
        self.target[] = octet
        self.target = self.target.unsafe_offset(1)

    @always_inline
    def plain(mut self, octets: Span[UInt8, _]):
        copy_octets(self.target, octets.unsafe_ptr(), len(octets))
        self.target = self.target.unsafe_offset(len(octets))

    @always_inline
    def string(mut self, octets: Span[UInt8, _]):
        self.target = unsafe_write_quoted(self.target, octets)

    @always_inline
    def integer(mut self, number: Int):
        if number >= 0:
            self.target = self.target.unsafe_offset(
                unsafe_write_decimal(self.target, number)
            )
        else:
            var digits = String(number)
            self.plain(digits.as_bytes())

    @always_inline
    def line(mut self, levels: Int):
        pass

    @always_inline
    def colon(mut self):
        self.octet(UInt8(ord(":")))


struct _PieceOutput(_Output):
    var json: JsonWriter
    var buffer: PointerTo[TextBuffer]

    def __init__(out self, json: JsonWriter, buffer: PointerTo[TextBuffer]):
        self.json = json
        self.buffer = buffer

    @always_inline
    def octet(mut self, octet: UInt8):
        self.buffer[].append_octet(octet)

    @always_inline
    def plain(mut self, octets: Span[UInt8, _]):
        self.buffer[].append(octets)

    @always_inline
    def string(mut self, octets: Span[UInt8, _]):
        append_quoted[unsafe_is_padded=True](self.buffer[], octets)

    @always_inline
    def integer(mut self, number: Int):
        if number >= 0:
            self.buffer[].append_decimal(number)
        else:
            var digits = String(number)
            self.plain(digits.as_bytes())

    @always_inline
    def line(mut self, levels: Int):
        if not self.json.is_compact():
            self.json.break_line(levels)

    @always_inline
    def colon(mut self):
        self.octet(UInt8(ord(":")))
        if not self.json.is_compact():
            self.octet(32)


@fieldwise_init
struct _Open(TrivialRegisterPassable):
    # An array or object that is being written: the next node, and how many
    # values are left.
    var at: Int
    var left: UInt32
    var is_object: Bool


@always_inline
def _walk[
    O: _Output
](
    mut output: O,
    nodes: Pointer[Node, ImmUntrackedOrigin],
    text: OctetPointer,
    index: Int,
):
    # A loop: a document is deeper than a fiber's stack has room for frames.
    var open = _Open(index, 0, False)
    var near = Array[_Open, _NEAR_LEVELS](fill=open)
    var outer = List[_Open]()
    var levels = 0
    while True:
        var node = nodes[unsafe_offset=open.at]
        var begins = False
        if node.kind == Node.STRING:
            output.string(_octets(node, text))
        elif node.kind == Node.INTEGER:
            output.integer(node.place)
        elif node.kind == Node.NUMBER:
            output.plain(_octets(node, text))
        elif node.kind == Node.ARRAY or node.kind == Node.OBJECT:
            var is_object = node.kind == Node.OBJECT
            output.octet(UInt8(ord("{") if is_object else ord("[")))
            if node.size > 0:
                if levels > _NEAR_LEVELS:
                    outer.append(open)
                elif levels > 0:
                    near.unsafe_get(levels - 1) = open
                open = _Open(node.place, node.size, is_object)
                levels += 1
                begins = True
            else:
                output.octet(_closing(is_object))
        else:
            output.plain(_word_of(node).as_bytes())
        if not begins:
            while True:
                if levels == 0:
                    return
                open.at += 1
                open.left -= 1
                if open.left > 0:
                    output.octet(UInt8(ord(",")))
                    break
                levels -= 1
                output.line(levels)
                output.octet(_closing(open.is_object))
                if levels > _NEAR_LEVELS:
                    open = outer.pop()
                elif levels > 0:
                    open = near.unsafe_get(levels - 1)
        output.line(levels)
        if open.is_object:
            output.string(_octets(nodes[unsafe_offset=open.at], text))
            output.colon()
            open.at += 1


@always_inline
def _closing(is_object: Bool) -> UInt8:
    return UInt8(ord("}")) if is_object else UInt8(ord("]"))


@always_inline
def _word_of(node: Node) -> StaticString:
    if node.kind == Node.NULL:
        return "null"
    return "true" if node.place == 1 else "false"


@always_inline
def _octets(node: Node, text: OctetPointer) -> Span[UInt8, MutUntrackedOrigin]:
    return Span(
        unsafe_ptr=text.unsafe_offset(node.place), length=Int(node.size)
    )


def type_name(kind: UInt32) -> StaticString:
    """Returns the name of a node's type, for error messages.

    Args:
        kind: The kind of the node.

    Returns:
        The name with its article, such as `a number`.
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
    """Returns the keys and indexes that lead to a value.

    Args:
        document: The document.
        index: The node of the value.
        steps: The `path_steps` of the document on the heap: a borrowed
            document may be a copy.

    Returns:
        The path; empty for the whole text. It ends in `...` if it is long, or
        if earlier paths of this document have taken long.
    """
    var path = String()
    # A container's descendants lie before it. The wanted value's container is
    # the one whose children are the last to start at or before the value.
    var at = Int(document.root_of(index).node)
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
    # The descendants of neighbouring children ascend, and a child's own
    # descendants follow those of the children before it.
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
        # The first child whose own children end after the wanted value.
        if (
            child.kind == Node.ARRAY or child.kind == Node.OBJECT
        ) and index < child.place + _nodes_of(child):
            found = at
    _ = Atomic[UInt64].fetch_add[ordering=Ordering.RELAXED](steps, UInt64(seen))
    return found


def _nodes_of(node: Node) -> Int:
    return Int(node.size) * (2 if node.kind == Node.OBJECT else 1)
