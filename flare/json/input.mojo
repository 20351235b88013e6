"""Holds a text while it is read into types of the program."""

from flare.core import (
    OctetPointer,
    PointerTo,
    heap_create,
    heap_destroy,
    write_escaped,
)
from flare.sys.stack import StackRange

from .document import PaddedText
from .error import JsonError
from .limits import JsonLimits
from .place import json_error_at
from .problem import (
    Fault,
    INVALID,
    OUT_OF_RANGE,
    TEXT_AFTER_VALUE,
    phrase_of,
)
from .reader import JsonReader
from .scan import skip_white
from .shared_document import SharedDocument


struct ReaderState(Movable):
    """Holds a text that is being read."""

    var text: OctetPointer
    """The text; strings that were read are decoded where they stand."""
    var octets: Int
    """The length of the text."""
    var owned: Optional[PaddedText]
    """Owns the text until a document does."""
    var shared: Optional[SharedDocument]
    """Owns the text as soon as a `Value` was taken out of it."""
    var at: OctetPointer
    """The next octet to read."""
    var depth: Int
    """How many arrays and objects are open."""
    var limits: JsonLimits
    """What the text may be."""
    var fault: Optional[Fault]
    """What was found wrong first."""
    var stack: StackRange
    """Where a frame may lie that begins another level, as far as is known."""

    def __init__(out self, octets: Span[UInt8, _], limits: JsonLimits):
        """Begins at the first octet.

        Args:
            octets: The text.
            limits: What it may be.
        """
        var text = PaddedText(octets)
        self.text = text.octets
        self.octets = len(octets)
        self.owned = text^
        self.shared = None
        self.at = self.text
        self.depth = 0
        self.limits = limits
        self.fault = None
        self.stack = StackRange(0, 0)


struct JsonInput(Movable):
    """Owns a text that is being read."""

    var _state: PointerTo[ReaderState]

    def __init__(out self, octets: Span[UInt8, _], limits: JsonLimits):
        """Copies a text.

        Args:
            octets: The text.
            limits: What it may be.
        """
        self._state = heap_create(ReaderState(octets, limits))

    def __deinit__(deinit self):
        """Frees the copy."""
        heap_destroy(self._state)

    def reader(self) -> JsonReader:
        """Gives what reads the text.

        Returns:
            A handle that is of use as long as this lives.
        """
        return JsonReader(self._state)

    def finish(self) raises:
        """Makes sure that nothing follows the value.

        Raises:
            An error without words; `error` finds them.
        """
        ref state = self._state[]
        state.at = skip_white(state.at)
        if Int(state.at) - Int(state.text) < state.octets:
            raise self.reader().stop(TEXT_AFTER_VALUE)

    def error(self, octets: Span[UInt8, _], raised: Error) -> Error:
        """Says what went wrong.

        Args:
            octets: The text as it was given.
            raised: What a call of the reader raised.

        Returns:
            The error to raise.
        """
        ref state = self._state[]
        if not state.fault:
            # The program's own words, at the value it had before it.
            var offset = Int(state.at) - Int(state.text)
            var words = String()
            write_escaped(String(raised).as_bytes(), words)
            var error = json_error_at(
                octets, Fault(INVALID, offset, ""), words^
            )
            error.kind = JsonError.FAILED
            return Error(error)
        var fault = state.fault.value()
        var reason = String(phrase_of(fault.problem))
        if fault.problem == OUT_OF_RANGE and fault.detail:
            reason = String("the number does not fit ", fault.detail)
        elif fault.problem == INVALID and fault.detail:
            reason = String(fault.detail)
        return Error(json_error_at(octets, fault, reason^))
