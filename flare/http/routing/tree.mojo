"""Holds the segments of all patterns as one tree, in flat arrays.

A node is reached by one sequence of segments. Its literal children lie in a
hash table that all nodes share, keyed by node and text; a parameter child and
a rest child have an index in the node. A search tries the literal child, then
the parameter, then the rest, and goes back to the last node where another
choice is left. As nodes form a tree, each is visited at most once, so the work
is bounded by the number of nodes, whatever the path.
"""

from flare.core import equals

from .octet_hash import MULTIPLIER, hash_octets
from .pattern import PatternSegment, SegmentKind

comptime NO_ROUTE = -1
"""Stands for the absence of a route."""


@fieldwise_init
struct Node(TrivialRegisterPassable):
    """Holds what can follow one sequence of segments."""

    var methods: UInt64
    """The methods with a route that ends here, one bit per method id."""
    var first_route: Int32
    """The first of these routes, or `NO_ROUTE`."""
    var literals: UInt32
    """The number of literal children."""
    var parameter: UInt32
    """The parameter child, or 0: the root is nobody's child."""
    var rest: UInt32
    """The child that takes the rest of the path, or 0."""

    @staticmethod
    def empty() -> Self:
        """Makes a node without routes and children.

        Returns:
            The node.
        """
        return Self(0, Int32(NO_ROUTE), 0, 0, 0)

    @always_inline
    def has_choice(self) -> Bool:
        """Tells whether something is left to try after the literal child.

        Returns:
            True if there is a parameter or a rest child.
        """
        return self.parameter | self.rest != 0


@fieldwise_init
struct _Edge(TrivialRegisterPassable):
    var parent: UInt32
    # 0 marks a free place: the root is nobody's child.
    var child: UInt32
    var hash: UInt32
    var start: UInt32
    var octets: UInt32


struct SegmentTree(Copyable, Movable):
    """Holds nodes, the table of their literal children, and its texts."""

    var nodes: List[Node]
    """All nodes; the root is the first."""
    var literal_octets_max: Int
    """The length of the longest literal."""
    var _edges: List[_Edge]
    var _edge_count: Int
    var _texts: List[UInt8]

    def __init__(out self):
        """Makes a tree of one node."""
        self.nodes = [Node.empty()]
        self.literal_octets_max = 0
        self._edges = List[_Edge](length=16, fill=_Edge(0, 0, 0, 0, 0))
        self._edge_count = 0
        self._texts = List[UInt8](capacity=256)

    def add(mut self, segments: List[PatternSegment]) -> Int:
        """Adds the nodes of a pattern as far as they are missing.

        Args:
            segments: The segments of the pattern.

        Returns:
            The node where the pattern ends.
        """
        var node = 0
        for segment in segments:
            if segment.kind == SegmentKind.LITERAL:
                node = self._add_literal(node, Span(segment.text))
            elif segment.kind == SegmentKind.PARAMETER:
                if self.nodes[node].parameter == 0:
                    self.nodes[node].parameter = UInt32(len(self.nodes))
                    self.nodes.append(Node.empty())
                node = Int(self.nodes[node].parameter)
            else:
                if self.nodes[node].rest == 0:
                    self.nodes[node].rest = UInt32(len(self.nodes))
                    self.nodes.append(Node.empty())
                node = Int(self.nodes[node].rest)
        return node

    @always_inline
    def literal_child(self, node: Int, text: Span[UInt8, _]) -> Int:
        """Finds a literal child.

        Args:
            node: The parent.
            text: The decoded segment.

        Returns:
            The child, or 0.
        """
        if len(text) > self.literal_octets_max:
            return 0
        var hash = _hash(UInt64(node), text)
        var edges = self._edges.unsafe_ptr()
        var mask = len(self._edges) - 1
        var place = Int(hash) & mask
        while True:
            ref edge = edges[unsafe_offset=place]
            if edge.child == 0:
                return 0
            if (
                edge.hash == hash
                and Int(edge.parent) == node
                and Int(edge.octets) == len(text)
                and equals(self._text(edge), text)
            ):
                return Int(edge.child)
            place = (place + 1) & mask

    @always_inline
    def _text(self, edge: _Edge) -> Span[UInt8, origin_of(self._texts)]:
        return Span(
            unsafe_ptr=self._texts.unsafe_ptr().unsafe_offset(Int(edge.start)),
            length=Int(edge.octets),
        )

    def _add_literal(mut self, node: Int, text: Span[UInt8, _]) -> Int:
        var found = self.literal_child(node, text)
        if found != 0:
            return found
        # A table at most half full ends every probe soon.
        if 2 * (self._edge_count + 1) > len(self._edges):
            self._grow()
        var child = len(self.nodes)
        self.nodes.append(Node.empty())
        self.nodes[node].literals += 1
        self._insert(
            _Edge(
                UInt32(node),
                UInt32(child),
                _hash(UInt64(node), text),
                UInt32(len(self._texts)),
                UInt32(len(text)),
            )
        )
        self._texts.extend(text)
        self._edge_count += 1
        self.literal_octets_max = max(self.literal_octets_max, len(text))
        return child

    def _insert(mut self, edge: _Edge):
        var mask = len(self._edges) - 1
        var place = Int(edge.hash) & mask
        while self._edges[place].child != 0:
            place = (place + 1) & mask
        self._edges[place] = edge

    def _grow(mut self):
        var old = self._edges^
        self._edges = List[_Edge](
            length=2 * len(old), fill=_Edge(0, 0, 0, 0, 0)
        )
        for edge in old:
            if edge.child != 0:
                self._insert(edge)


@always_inline
def _hash(node: UInt64, text: Span[UInt8, _]) -> UInt32:
    var hash = hash_octets((node << 16 | UInt64(len(text))) * MULTIPLIER, text)
    # The places are chosen by the lower bits.
    hash ^= hash >> 32
    return UInt32((hash * MULTIPLIER) >> 32)
