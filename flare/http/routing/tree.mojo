"""Stores the segments of all patterns as one tree, in flat arrays.

A node stands for one sequence of segments. Its literal children are in a hash
table that all nodes share, keyed by node and text. A parameter child and a
rest child have an index in the node. A search tries the literal child, then
the parameter, then the rest, and returns to the last node with another choice.
It visits each node at most once, so the number of nodes bounds the work for
any path.
"""

from .pattern import PatternSegment, SegmentKind
from .text_table import TextTable

comptime NO_ROUTE = -1
"""The value of `first_route` without a route."""


@fieldwise_init
struct Node(TrivialRegisterPassable):
    """A node: the possible continuations of one sequence of segments."""

    var methods: UInt64
    """The methods with a route that ends here, one bit per method id."""
    var first_route: Int32
    """The first of these routes, or `NO_ROUTE`."""
    var literals: UInt32
    """The number of literal children."""
    var parameter: UInt32
    """The parameter child, or 0: the root is never a child."""
    var rest: UInt32
    """The child for the rest of the path, or 0."""

    @staticmethod
    def empty() -> Self:
        """Returns a node without routes and children.

        Returns:
            The node.
        """
        return Self(0, Int32(NO_ROUTE), 0, 0, 0)

    @always_inline
    def has_choice(self) -> Bool:
        """Returns whether the node has candidates besides its literal child.

        Returns:
            True if there is a parameter or a rest child.
        """
        return self.parameter | self.rest != 0


struct SegmentTree(Copyable, Movable):
    """All nodes, and the table of their literal children."""

    var nodes: List[Node]
    """All nodes; the root is the first."""
    var _literals: TextTable

    def __init__(out self):
        """Creates a tree of one node."""
        self.nodes = [Node.empty()]
        self._literals = TextTable()

    def add(mut self, segments: List[PatternSegment]) -> Int:
        """Adds the missing nodes of a pattern.

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
        """Returns a literal child.

        Args:
            node: The parent.
            text: The decoded segment.

        Returns:
            The child, or 0.
        """
        return self._literals.find(node, text).value

    def _add_literal(mut self, node: Int, text: Span[UInt8, _]) -> Int:
        var found = self.literal_child(node, text)
        if found != 0:
            return found
        var child = len(self.nodes)
        self.nodes.append(Node.empty())
        self.nodes[node].literals += 1
        self._literals.add(node, text, child)
        return child
