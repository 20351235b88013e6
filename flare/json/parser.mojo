"""Reads a text into a `Document` (RFC 8259), in one pass and without recursion.

What is open lies on one stack: for each array or object its own node, which
holds the number of the one around it, then its children so far. When it closes,
the children move to the document side by side, and its node stays.
"""

from flare.core import OctetPointer

from .document import Document, Node, PaddedText
from .limits import JsonLimits
from .members import ClosedObject, close_object
from .place import error_at, fault_at
from .problem import (
    BYTE_ORDER_MARK,
    DUPLICATE_KEY,
    Fault,
    NONE,
    NO_COLON,
    NO_COMMA_IN_ARRAY,
    NO_COMMA_IN_OBJECT,
    NO_KEY,
    NO_VALUE,
    Problem,
    TEXT_AFTER_VALUE,
    TOO_DEEP,
    TOO_LARGE,
)
from .scan import QUOTE, scan_number, scan_string, skip_white, starts_with

comptime _NOBODY = -1
comptime _OCTETS_PER_NODE = 24
comptime _COMMA: UInt8 = 44


struct _Parser:
    var text: OctetPointer
    var at: OctetPointer
    var stack: List[Node]
    var nodes: List[Node]
    # The index of the innermost open array or object on the stack.
    var open: Int
    var depth: Int
    var limits: JsonLimits
    var problem: Problem

    def __init__(out self, text: OctetPointer, octets: Int, limits: JsonLimits):
        self.text = text
        self.at = text
        self.stack = List[Node](capacity=64)
        self.nodes = List[Node](capacity=octets // _OCTETS_PER_NODE + 4)
        self.open = _NOBODY
        self.depth = 0
        self.limits = limits
        self.problem = NONE

    @always_inline
    def run(mut self):
        while True:
            # A value begins here.
            self.at = skip_white(self.at)
            var octet = self.at[]
            if octet == QUOTE:
                if not self.read_string():
                    return
            elif octet == UInt8(ord("{")):
                if not self.begin(Node.OBJECT):
                    return
                if self.at[] == UInt8(ord("}")):
                    if not self.end():
                        return
                elif self.read_key():
                    continue
                else:
                    return
            elif octet == UInt8(ord("[")):
                if not self.begin(Node.ARRAY):
                    return
                if self.at[] != UInt8(ord("]")):
                    continue
                if not self.end():
                    return
            elif not self.read_scalar(octet):
                return
            if not self.go_on():
                return

    @always_inline
    def go_on(mut self) -> Bool:
        # Behind a value: True if another one follows.
        while True:
            self.at = skip_white(self.at)
            if self.open == _NOBODY:
                if self.at[] != 0:
                    self.problem = TEXT_AFTER_VALUE
                return False
            var octet = self.at[]
            if self.stack.unsafe_get(self.open).kind == Node.ARRAY:
                if octet == _COMMA:
                    self.at = self.at.unsafe_offset(1)
                    return True
                if octet != UInt8(ord("]")):
                    self.problem = NO_COMMA_IN_ARRAY
                    return False
            else:
                if octet == _COMMA:
                    self.at = skip_white(self.at.unsafe_offset(1))
                    return self.read_key()
                if octet != UInt8(ord("}")):
                    self.problem = NO_COMMA_IN_OBJECT
                    return False
            if not self.end():
                return False

    @always_inline
    def begin(mut self, kind: UInt32) -> Bool:
        if self.depth == self.limits.depth_max:
            self.problem = TOO_DEEP
            return False
        self.depth += 1
        self.stack.append(Node(kind, 0, self.open))
        self.open = len(self.stack) - 1
        self.at = skip_white(self.at.unsafe_offset(1))
        return True

    @always_inline
    def end(mut self) -> Bool:
        var node = self.stack.unsafe_get(self.open)
        var first = self.open + 1
        var size = len(self.stack) - first
        if node.kind == Node.OBJECT:
            size //= 2
            if size > 1:
                var closed = close_object(self.stack, first, self.text)
                size = closed.members
                if (
                    closed.twice != ClosedObject.NOBODY
                    and not self.limits.duplicate_keys_allowed
                ):
                    self.at = self.text.unsafe_offset(closed.twice - 1)
                    self.problem = DUPLICATE_KEY
                    return False
        var place = len(self.nodes)
        self.nodes.extend(Span(self.stack)[first:])
        self.stack.shrink(first)
        self.stack.unsafe_get(self.open) = Node(node.kind, UInt32(size), place)
        self.open = node.place
        self.depth -= 1
        self.at = self.at.unsafe_offset(1)
        return True

    @always_inline
    def read_key(mut self) -> Bool:
        if self.at[] != QUOTE:
            self.problem = NO_KEY
            return False
        if not self.read_string():
            return False
        self.at = skip_white(self.at)
        if self.at[] != UInt8(ord(":")):
            self.problem = NO_COLON
            return False
        self.at = self.at.unsafe_offset(1)
        return True

    @always_inline
    def read_string(mut self) -> Bool:
        var scanned = scan_string[decode=True](self.at.unsafe_offset(1))
        self.at = scanned.next
        if scanned.problem != NONE:
            self.problem = scanned.problem
            return False
        self.stack.append(
            Node(
                Node.STRING,
                UInt32(scanned.octets),
                Int(scanned.content) - Int(self.text),
            )
        )
        return True

    def take_nodes(deinit self, root: Node) -> List[Node]:
        self.nodes.append(root)
        return self.nodes^

    @always_inline
    def read_scalar(mut self, octet: UInt8) -> Bool:
        if octet - 48 <= 9 or octet == UInt8(ord("-")):
            return self.read_number()
        if octet == UInt8(ord("t")) and starts_with["true"](self.at):
            self.stack.append(Node(Node.BOOL, 0, 1))
            self.at = self.at.unsafe_offset(4)
        elif octet == UInt8(ord("f")) and starts_with["false"](self.at):
            self.stack.append(Node(Node.BOOL, 0, 0))
            self.at = self.at.unsafe_offset(5)
        elif octet == UInt8(ord("n")) and starts_with["null"](self.at):
            self.stack.append(Node(Node.NULL, 0, 0))
            self.at = self.at.unsafe_offset(4)
        else:
            self.problem = value_problem(octet)
            return False
        return True

    @always_inline
    def read_number(mut self) -> Bool:
        var scanned = scan_number(self.at)
        if scanned.problem != NONE:
            self.at = scanned.next
            self.problem = scanned.problem
            return False
        if scanned.is_int:
            self.stack.append(Node(Node.INTEGER, 0, scanned.integer))
        else:
            var octets = Int(scanned.next) - Int(self.at)
            var place = Int(self.at) - Int(self.text)
            self.stack.append(Node(Node.NUMBER, UInt32(octets), place))
        self.at = scanned.next
        return True


@always_inline
def value_problem(octet: UInt8) -> Problem:
    """Says what is wrong where a value should begin.

    Args:
        octet: What stands there.

    Returns:
        The problem.
    """
    return BYTE_ORDER_MARK if octet == 0xEF else NO_VALUE


def parse_document(
    octets: Span[UInt8, _], limits: JsonLimits
) raises -> Document:
    """Reads a text.

    Args:
        octets: The text.
        limits: What it may be.

    Returns:
        Its values.

    Raises:
        The text of a `JsonError`.
    """
    if len(octets) > limits.octets_max:
        raise error_at(octets, Fault(TOO_LARGE, 0, ""))
    var text = PaddedText(octets)
    var parser = _Parser(text.octets, len(octets), limits)
    parser.run()
    var offset = Int(parser.at) - Int(text.octets)
    if parser.problem != NONE or offset < len(octets):
        raise error_at(octets, fault_at(parser.problem, offset, len(octets)))
    var root = parser.stack.pop()
    var nodes = parser^.take_nodes(root)
    return Document(text^, nodes^)
