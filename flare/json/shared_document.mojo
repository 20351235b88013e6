"""Collects the `Value`s that one `decode` reads in one shared document.

Their strings stay in the reader's text. So a list of a million values costs as
much as parsing the text as one value.
"""

from std.memory import ArcPointer

from .document import Document, Node, PaddedText, Root
from .parser import STACK_NODES, Parser, nodes_expected
from .problem import NONE
from .reader import JsonReader


struct SharedDocument(Movable):
    """Adds values to a document, one by one."""

    var document: ArcPointer[Document]
    """The document; the values read from it keep it alive."""
    var stack: List[Node]
    """Memory for open arrays and objects."""

    def __init__(out self, var text: PaddedText, *, nodes: Int):
        """Creates a document without values.

        Args:
            text: The text.
            nodes: The number of nodes to reserve memory for.
        """
        self.document = ArcPointer(Document(text^, nodes_expected=nodes))
        self.stack = List[Node](capacity=STACK_NODES)

    @always_inline
    def take(mut self, json: JsonReader) raises -> Int:
        """Reads and checks a value of any type.

        Args:
            json: The reader, in front of the value.

        Returns:
            The index of its node.

        Raises:
            An error if the value is malformed.
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
    """A value of a shared document."""

    var document: ArcPointer[Document]
    """The document that holds it."""
    var index: Int
    """Its node."""


def take_value(json: JsonReader) raises -> TakenValue:
    """Reads a value of any type, and keeps it.

    Args:
        json: The reader, in front of the value.

    Returns:
        The value, in the document that all values of the text share.

    Raises:
        An error if the value is malformed.
    """
    ref state = json.state()[]
    if not state.shared:
        # One that is the whole text needs as many nodes as such do.
        var nodes = nodes_expected(state.octets) if state.depth == 0 else 0
        state.shared = SharedDocument(state.owned.take(), nodes=nodes)
    ref shared = state.shared.value()
    var index = shared.take(json)
    return TakenValue(shared.document, index)
