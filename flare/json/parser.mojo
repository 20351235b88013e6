"""Parses a text into a `Document` (RFC 8259), in one pass without recursion.

One stack holds the open arrays and objects: for each its own node, with the
index of the enclosing one, then its children so far. When it closes, the
children move to the document side by side, and its node stays on the stack.
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
    TOO_DEEP,
    TOO_LARGE,
)
from .scan import QUOTE, scan_number, scan_string, skip_white, starts_with

comptime STACK_NODES = 64
"""How many nodes of open arrays and objects have room at first."""
comptime _NOBODY = -1
comptime _OCTETS_PER_NODE = 24
comptime _COMMA: UInt8 = 44


struct Parser(Movable):
    """Parses values of one text; each `run` parses one."""

    var text: OctetPointer
    """The first octet of the text."""
    var at: OctetPointer
    """The next octet to parse; after `run`, the octet after the value."""
    var stack: List[Node]
    """The open arrays and objects; after `run`, the value."""
    var nodes: List[Node]
    """The descendants of arrays and objects that have closed."""
    var open: Int
    """The index of the innermost open array or object on the stack."""
    var depth: Int
    """How many arrays and objects are open, those around the value included."""
    var limits: JsonLimits
    """Bounds on the text."""
    var problem: Problem
    """The error at `at`."""

    @always_inline
    def __init__(out self, text: OctetPointer, limits: JsonLimits):
        """Creates a parser at the first octet. It allocates no memory.

        Args:
            text: The text, padded.
            limits: Bounds on the text.
        """
        self.text = text
        self.at = text
        self.stack = List[Node]()
        self.nodes = List[Node]()
        self.open = _NOBODY
        self.depth = 0
        self.limits = limits
        self.problem = NONE

    @always_inline
    def run(mut self):
        """Parses one value, and leaves it last on the stack. Records an error
        if the value is malformed.
        """
        while True:
            # A value begins here.
            self.at = skip_white(self.at)
            var octet = self.at[]
            if octet == QUOTE:
                if not self._read_string():
                    return
            elif octet == UInt8(ord("{")):
                if not self._begin(Node.OBJECT):
                    return
                if self.at[] == UInt8(ord("}")):
                    if not self._end():
                        return
                elif self._read_key():
                    continue
                else:
                    return
            elif octet == UInt8(ord("[")):
                if not self._begin(Node.ARRAY):
                    return
                if self.at[] != UInt8(ord("]")):
                    continue
                if not self._end():
                    return
            elif not self._read_scalar(octet):
                return
            if not self._go_on():
                return

    @always_inline
    def _go_on(mut self) -> Bool:
        # After a value: returns whether another one follows.
        while True:
            if self.open == _NOBODY:
                return False
            self.at = skip_white(self.at)
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
                    return self._read_key()
                if octet != UInt8(ord("}")):
                    self.problem = NO_COMMA_IN_OBJECT
                    return False
            if not self._end():
                return False

    @always_inline
    def _begin(mut self, kind: UInt32) -> Bool:
        if self.depth == self.limits.depth_max:
            self.problem = TOO_DEEP
            return False
        self.depth += 1
        self.stack.append(Node(kind, 0, self.open))
        self.open = len(self.stack) - 1
        self.at = skip_white(self.at.unsafe_offset(1))
        return True

    @always_inline
    def _end(mut self) -> Bool:
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
    def _read_key(mut self) -> Bool:
        if self.at[] != QUOTE:
            self.problem = NO_KEY
            return False
        if not self._read_string():
            return False
        self.at = skip_white(self.at)
        if self.at[] != UInt8(ord(":")):
            self.problem = NO_COLON
            return False
        self.at = self.at.unsafe_offset(1)
        return True

    @always_inline
    def _read_string(mut self) -> Bool:
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

    def take_nodes(deinit self) -> List[Node]:
        """Returns all nodes of a whole text; its root is the last.

        Returns:
            The nodes.
        """
        self.nodes.append(self.stack.pop())
        return self.nodes^

    @always_inline
    def _read_scalar(mut self, octet: UInt8) -> Bool:
        if octet - 48 <= 9 or octet == UInt8(ord("-")):
            return self._read_number()
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
    def _read_number(mut self) -> Bool:
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
    """Returns the error for an octet that starts no value.

    Args:
        octet: The octet.

    Returns:
        The error.
    """
    return BYTE_ORDER_MARK if octet == 0xEF else NO_VALUE


@always_inline
def nodes_expected(octets: Int) -> Int:
    """Returns how many nodes most texts of a length need at most.

    Args:
        octets: The length of the text.

    Returns:
        The number of nodes.
    """
    return octets // _OCTETS_PER_NODE + 4


def parse_document(
    octets: Span[UInt8, _], limits: JsonLimits
) raises -> Document:
    """Parses a text.

    Args:
        octets: The text.
        limits: Bounds on the text.

    Returns:
        The document that holds its values.

    Raises:
        The text of a `JsonError`.
    """
    if len(octets) > limits.octets_max:
        raise error_at(octets, Fault(TOO_LARGE, 0, ""))
    var text = PaddedText(octets)
    var parser = Parser(text.octets, limits)
    parser.stack.reserve(STACK_NODES)
    parser.nodes.reserve(nodes_expected(len(octets)))
    parser.run()
    if parser.problem == NONE:
        parser.at = skip_white(parser.at)
    var offset = Int(parser.at) - Int(text.octets)
    if parser.problem != NONE or offset < len(octets):
        raise error_at(octets, fault_at(parser.problem, offset, len(octets)))
    var nodes = parser^.take_nodes()
    return Document(text^, nodes^)
