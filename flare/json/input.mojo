"""Owns a text while it is read into the program's types."""

from flare.core import (
    OctetPointer,
    PointerTo,
    heap_create,
    heap_destroy,
    write_escaped,
)
from flare.sys.driver import octet_view
from flare.sys.stack import StackRange

from .document import PaddedText
from .error import JsonError
from .documents import error_at
from .findings import Findings
from .limits import JsonLimits
from .problem import Fault, INVALID, TEXT_AFTER_VALUE, reason_of
from .reader import JsonReader
from .scan import skip_white
from .shared_document import SharedDocument


struct ReaderState(Movable):
    """The state of reading a text."""

    var text: OctetPointer
    """The text. Strings that were read are decoded in place."""
    var octets: Int
    """The length of the text."""
    var owned: Optional[PaddedText]
    """Owns the text until a document does."""
    var shared: Optional[SharedDocument]
    """Owns the text once a `Value` was read from it."""
    var at: OctetPointer
    """The next octet to read."""
    var depth: Int
    """How many arrays and objects are open."""
    var limits: JsonLimits
    """Bounds on the text."""
    var fault: Optional[Fault]
    """The first error."""
    var stack: StackRange
    """The part of the stack known to have room for another level."""
    var findings: Optional[PointerTo[Findings]]
    """Receives the errors if the text is read to its end in spite of them."""

    def __init__(out self, octets: Span[UInt8, _], limits: JsonLimits):
        """Creates the state at the first octet.

        Args:
            octets: The text.
            limits: Bounds on the text.
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
        self.findings = None


struct JsonInput(Movable):
    """The owner of a text that is being read."""

    var _state: PointerTo[ReaderState]

    def __init__(out self, octets: Span[UInt8, _], limits: JsonLimits):
        """Copies a text.

        Args:
            octets: The text.
            limits: Bounds on the text.
        """
        self._state = heap_create(ReaderState(octets, limits))

    def __deinit__(deinit self):
        """Frees the copied text."""
        heap_destroy(self._state)

    def reader(self) -> JsonReader:
        """Returns the reader of the text.

        Returns:
            A handle, valid as long as its owner.
        """
        return JsonReader(self._state)

    def finish(self) raises:
        """Checks that only white space follows the value.

        Raises:
            An error without a text; `error` returns the full one.
        """
        ref state = self._state[]
        state.at = skip_white(state.at)
        if Int(state.at) - Int(state.text) < state.octets:
            raise self.reader().stop(TEXT_AFTER_VALUE)

    def error(self, octets: Span[UInt8, _], raised: Error) -> Error:
        """Returns the full error for a failed read.

        Args:
            octets: The original text.
            raised: The error that the reader raised.

        Returns:
            The error to raise.
        """
        ref state = self._state[]
        if not state.fault:
            # The program's own words, at the value it had before it.
            var offset = Int(state.at) - Int(state.text)
            var words = String()
            write_escaped(String(raised).as_bytes(), words)
            var error = error_at(
                octet_view(octets), Fault(INVALID, offset, ""), words^
            )
            error.kind = JsonError.FAILED
            return Error(error)
        var fault = state.fault.value()
        return Error(error_at(octet_view(octets), fault, reason_of(fault)))
