"""Stores a parsed text: its octets, and nodes that refer to them.

The children of an array or object lie side by side, before their parent. So an
index takes one step, and a text of any size needs few blocks of memory. An
object has a key and a value for each member. An object with many members is
followed by the members' numbers, sorted by key.
"""

from std.memory import unsafe_memset

from flare.core import (
    OctetPointer,
    allocate_octets,
    copy_octets,
    equals,
    free_octets,
)

from .scan import PADDING_OCTETS

comptime SORTED_MEMBERS_MIN = 17
"""The fewest members of an object whose keys are sorted."""
comptime NUMBERS_PER_NODE = 4
"""How many member numbers fit in one node."""


@fieldwise_init
struct Node(TrivialRegisterPassable):
    """Describes one value in sixteen octets."""

    comptime NULL: UInt32 = 0
    """`null`."""
    comptime BOOL: UInt32 = 1
    """`true` if the place is 1, `false` if it is 0."""
    comptime INTEGER: UInt32 = 2
    """A number that is an `Int`; the place is its value."""
    comptime NUMBER: UInt32 = 3
    """Any other number; its text is at the place."""
    comptime STRING: UInt32 = 4
    """A string; its content is at the place."""
    comptime ARRAY: UInt32 = 5
    """An array; its elements begin at the node of the place."""
    comptime OBJECT: UInt32 = 6
    """An object; its first key is the node of the place."""

    var kind: UInt32
    """One of the constants above."""
    var size: UInt32
    """The number of octets, elements or members."""
    var place: Int
    """The place of the content, or the value itself."""


struct PaddedText(Movable):
    """Owns a copy of a text, followed by zeros."""

    var octets: OctetPointer
    """The copy."""
    var length: Int
    """The length of the text."""

    def __init__(out self, text: Span[UInt8, _]):
        """Copies a text.

        Args:
            text: The text.
        """
        self.length = len(text)
        self.octets = allocate_octets(self.length + PADDING_OCTETS)
        copy_octets(self.octets, text.unsafe_ptr(), self.length)
        unsafe_memset(self.octets.unsafe_offset(self.length), 0, PADDING_OCTETS)

    def __deinit__(deinit self):
        """Frees the copied text."""
        free_octets(self.octets, self.length + PADDING_OCTETS)


@fieldwise_init
struct Root(TrivialRegisterPassable):
    """An array or object that was read on its own, in a document of several."""

    var first: UInt32
    """The first node of its descendants."""
    var node: UInt32
    """Its own node, after all its descendants."""
    var octets: UInt32
    """The length of its text."""


struct Document(Movable):
    """Owns the memory that all values of one text share."""

    var text: PaddedText
    """The text. Its strings are decoded in place."""
    var nodes: List[Node]
    """The nodes. If the document is whole, the last node is the whole text."""
    var is_whole: Bool
    """Whether the document holds the whole text. Otherwise it holds values
    that were read one by one.
    """
    var roots: List[Root]
    """The arrays and objects that were read one by one, in the order of the
    text; empty if the document is whole.
    """
    var path_steps: UInt64
    """How many nodes were visited to find the paths of values. Threads share
    it: use a pointer and `Atomic` only.
    """

    def __init__(out self, var text: PaddedText, var nodes: List[Node]):
        """Creates a document from the result of parsing a whole text.

        Args:
            text: The text.
            nodes: The nodes of its values.
        """
        self.text = text^
        self.nodes = nodes^
        self.is_whole = True
        self.roots = List[Root]()
        self.path_steps = 0

    def __init__(out self, var text: PaddedText, *, nodes_expected: Int):
        """Creates a document without values, for values that are read one by
        one.

        Args:
            text: The text.
            nodes_expected: The number of nodes to reserve memory for.
        """
        self.text = text^
        self.nodes = List[Node](capacity=nodes_expected)
        self.is_whole = False
        self.roots = List[Root]()
        self.path_steps = 0

    def root_of(self, index: Int) -> Root:
        """Returns the outermost value around a value that was read on its own.

        Args:
            index: The node of the value.

        Returns:
            The outermost value, or the value itself. `octets` is 0 if its
            length is unknown.
        """
        if self.is_whole:
            var last = len(self.nodes) - 1
            return Root(0, UInt32(last), UInt32(self.text.length))
        var low = 0
        var high = len(self.roots)
        while low < high:
            var middle = (low + high) // 2
            if Int(self.roots.unsafe_get(middle).node) < index:
                low = middle + 1
            else:
                high = middle
        if low < len(self.roots):
            var root = self.roots.unsafe_get(low)
            if Int(root.first) <= index:
                return root
        # A value between them holds no other.
        return Root(UInt32(index), UInt32(index), 0)

    @always_inline
    def octets(self, node: Node) -> Span[UInt8, origin_of(self)]:
        """Returns a view of a string's content, or of a number's text.

        Args:
            node: A node of this document that has octets.

        Returns:
            The octets.
        """
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=self.text.octets.unsafe_offset(node.place)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin_of(self)](),
            length=Int(node.size),
        )

    def find(self, object: Node, key: Span[UInt8, _]) -> Optional[Int]:
        """Returns the node of an object's member, if there is one.

        Args:
            object: An object of this document.
            key: The key.

        Returns:
            The index of the value's node, or `None`.
        """
        var members = Int(object.size)
        if members >= SORTED_MEMBERS_MIN:
            return self._find_sorted(object, key)
        for i in range(members):
            var at = object.place + 2 * i
            var node = self.nodes.unsafe_get(at)
            if Int(node.size) == len(key) and equals(self.octets(node), key):
                return at + 1
        return None

    def _find_sorted(self, object: Node, key: Span[UInt8, _]) -> Optional[Int]:
        var low = 0
        var high = Int(object.size)
        while low < high:
            var middle = (low + high) // 2
            var at = object.place + 2 * self._member_at(object, middle)
            var order = compare_keys(self.octets(self.nodes[at]), key)
            if order == 0:
                return at + 1
            if order < 0:
                low = middle + 1
            else:
                high = middle
        return None

    @always_inline
    def _member_at(self, object: Node, index: Int) -> Int:
        var first = object.place + 2 * Int(object.size)
        var numbers = self.nodes.unsafe_ptr().unsafe_bitcast[UInt32]()
        return Int(numbers[unsafe_offset=NUMBERS_PER_NODE * first + index])


@always_inline
def compare_keys(a: Span[UInt8, _], b: Span[UInt8, _]) -> Int:
    """Compares keys by length, then octet by octet.

    Args:
        a: A key.
        b: A key.

    Returns:
        Below 0 if `a` comes first, 0 if they are equal.
    """
    if len(a) != len(b):
        return len(a) - len(b)
    for i in range(len(a)):
        if a.unsafe_get(i) != b.unsafe_get(i):
            return Int(a.unsafe_get(i)) - Int(b.unsafe_get(i))
    return 0
