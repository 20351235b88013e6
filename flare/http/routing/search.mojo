"""Walks the segment tree along one path."""

from flare.core import PointerTo

from .captures import Capture, Captures
from .path import PathScan, decode_escape, segment_end
from .pattern import LITERAL_OCTETS_MAX
from .tree import SegmentTree

comptime NOT_FOUND = -1
"""The result if no pattern with the method matches."""


@fieldwise_init
struct Search[origin: ImmOrigin](TrivialRegisterPassable):
    """A search for the most specific pattern with one method.

    Parameters:
        origin: The origin of the path.
    """

    var tree: PointerTo[SegmentTree]
    """The tree to walk."""
    var path: Span[UInt8, Self.origin]
    """A path that `scan_path` found to be good."""
    var scan: PathScan
    """The result of `scan_path`."""
    var captures: PointerTo[Captures]
    """The destination of the parameters' places."""
    var method: Int
    """The id of the method."""

    def descend(self, start_node: Int, start: Int, captured: Int) -> Int:
        """Matches the rest of the path below a node.

        It recurses only at nodes with more than one candidate, at most once per
        segment of the longest pattern.

        Args:
            start_node: The node.
            start: The start of the next segment.
            captured: The number of parameters captured above the node.

        Returns:
            The node where a pattern with the method ends, or `NOT_FOUND`.
        """
        var at = start_node
        var position = start
        var count = captured
        while True:
            ref node = self.tree[].nodes.unsafe_get(at)
            var end = segment_end(self.path, self.scan, position)
            var next = 0
            if node.literals != 0:
                next = self._literal_child(at, position, end)
            if next != 0 and node.has_choice():
                var found = self._enter(next, end, count)
                if found >= 0:
                    return found
                next = 0
            if next == 0 and node.parameter != 0 and end > position:
                self._capture(count, position, end)
                if node.rest != 0:
                    var found = self._enter(Int(node.parameter), end, count + 1)
                    if found >= 0:
                        return found
                else:
                    next = Int(node.parameter)
                    count += 1
            if next == 0:
                if node.rest == 0:
                    return NOT_FOUND
                self._capture(count, position, len(self.path))
                return self._finish(Int(node.rest), count + 1)
            if end == len(self.path):
                return self._finish(next, count)
            at = next
            position = end + 1

    @no_inline
    def _enter(self, node: Int, end: Int, captured: Int) -> Int:
        if end == len(self.path):
            return self._finish(node, captured)
        return self.descend(node, end + 1, captured)

    @always_inline
    def _finish(self, node: Int, captured: Int) -> Int:
        var methods = self.tree[].nodes.unsafe_get(node).methods
        if (methods >> UInt64(self.method)) & 1 == 1:
            self.captures[]._count = captured
            return node
        self.captures[]._allowed |= methods
        return NOT_FOUND

    @always_inline
    def _capture(self, index: Int, start: Int, end: Int):
        # No pattern has more parameters than there are places, and no path
        # through the tree has more than some pattern.
        self.captures[]._places.unsafe_ptr()[unsafe_offset=index] = Capture(
            UInt32(start), UInt32(end - start)
        )

    @always_inline
    def _literal_child(self, node: Int, start: Int, end: Int) -> Int:
        if self.scan.has_escapes:
            return self._escaped_child(node, start, end)
        return self.tree[].literal_child(
            node,
            Span(
                unsafe_ptr=self.path.unsafe_ptr().unsafe_offset(start),
                length=end - start,
            ),
        )

    @no_inline
    def _escaped_child(self, node: Int, start: Int, end: Int) -> Int:
        var decoded = Array[UInt8, LITERAL_OCTETS_MAX](fill=0)
        var count = 0
        var i = start
        while i < end:
            if count == LITERAL_OCTETS_MAX:
                return 0
            if self.path[i] == 37:
                decoded[count] = UInt8(decode_escape(self.path, i))
                i += 3
            else:
                decoded[count] = self.path[i]
                i += 1
            count += 1
        return self.tree[].literal_child(node, Span(decoded)[:count])
