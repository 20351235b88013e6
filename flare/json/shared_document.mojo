"""Collects the values of one text, which a reader takes one by one.

All of them refer to one document, whose strings lie where they stand in the
text of the reader. So a list of a million values costs what the text as one
value would.
"""

from std.memory import ArcPointer

from .document import Document, Node, PaddedText, Root
from .parser import STACK_NODES, Parser, nodes_expected
from .problem import NONE
from .reader import JsonReader


struct SharedDocument(Movable):
    """Adds values to a document."""

    var document: ArcPointer[Document]
    """The document; values that were taken keep it alive."""
    var stack: List[Node]
    """Memory for arrays and objects that are open."""

    def __init__(out self, var text: PaddedText, *, nodes: Int):
        """Makes a document without values.

        Args:
            text: The text.
            nodes: Room for so many nodes is made at once.
        """
        self.document = ArcPointer(Document(text^, nodes_expected=nodes))
        self.stack = List[Node](capacity=STACK_NODES)

    @always_inline
    def take(mut self, json: JsonReader) raises -> Int:
        """Takes any value and checks it.

        Args:
            json: Stands in front of it.

        Returns:
            Its node.

        Raises:
            An error if it is malformed.
        """
        ref state = json.state()[]
        ref document = self.document[]
        var start = state.at
        var first = len(document.nodes)
        var parser = Parser(state.text, state.limits)
        parser.at = start
        parser.depth = state.depth
        swap(parser.stack, self.stack)
        swap(parser.nodes, document.nodes)
        parser.run()
        swap(parser.stack, self.stack)
        swap(parser.nodes, document.nodes)
        state.at = parser.at
        if parser.problem != NONE:
            self.stack.clear()
            raise json.stop(parser.problem)
        document.nodes.append(self.stack.pop())
        var index = len(document.nodes) - 1
        if index > first:
            document.roots.append(
                Root(
                    UInt32(first),
                    UInt32(index),
                    UInt32(Int(state.at) - Int(start)),
                )
            )
        return index


@fieldwise_init
struct TakenValue(Movable):
    """Names a value that was taken."""

    var document: ArcPointer[Document]
    """The document that holds it."""
    var index: Int
    """Its node."""


def take_value(json: JsonReader) raises -> TakenValue:
    """Takes any value and keeps it.

    Args:
        json: Stands in front of it.

    Returns:
        The value, in the document that all values of the text share.

    Raises:
        An error if it is malformed.
    """
    ref state = json.state()[]
    if not state.shared:
        # One that is the whole text needs as many nodes as such do.
        var nodes = nodes_expected(state.octets) if state.depth == 0 else 0
        state.shared = SharedDocument(state.owned.take(), nodes=nodes)
    ref shared = state.shared.value()
    var index = shared.take(json)
    return TakenValue(shared.document, index)
