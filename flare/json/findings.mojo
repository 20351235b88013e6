"""Stores the errors of a text that is read to its end in spite of them, and
finds their places.

Readers decode strings in place. So before a value is passed over, its text is
restored from the original.
"""

from flare.core import OctetPointer

from .document import PaddedText
from .error import JsonError
from .place import Step, string_end, type_at, walk_to
from .problem import (
    DUPLICATE_KEY,
    Fault,
    MISSING_FIELD,
    NONE,
    UNKNOWN_FIELD,
    WRONG_TYPE,
    is_of_container,
    kind_of,
    reason_of,
)
from .scan import scan_string

comptime POINTER_OCTETS_MAX = 256
"""The longest JSON Pointer. Deeper errors have that of an enclosing value."""
comptime _REREAD_MAX = 8


@fieldwise_init
struct NotedFault(ImplicitlyCopyable):
    """An error, before its place is known."""

    var fault: Fault
    """The error and its offset."""
    var is_foreign: Bool
    """Whether a `from_json` of the program raised it in words of its own."""


struct Findings(Movable):
    """The errors of one text."""

    var original: OctetPointer
    """The text as received."""
    var found: List[NotedFault]
    """The errors, in the order of reading."""
    var found_max: Int
    """The most errors that are kept."""
    var are_more: Bool
    """Whether there are more."""
    var broken: Optional[Fault]
    """The error after which the text cannot be read, if there is one."""
    var settled_start: Int
    """The offset of the last value that was read to its end, but refused."""
    var settled_end: Int
    """The offset after that value."""
    var octets_to_reread: Int
    """How many octets may still be read twice. Without this bound, values that
    lie within each other would be read once for each level.
    """

    def __init__(out self, octets: Span[UInt8, _], found_max: Int):
        """Creates an empty list.

        Args:
            octets: The text; it outlives this.
            found_max: The most errors to keep.
        """
        self.original = (
            octets.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        self.found = List[NotedFault]()
        self.found_max = found_max
        self.are_more = False
        self.broken = None
        self.settled_start = -1
        self.settled_end = -1
        self.octets_to_reread = _REREAD_MAX * len(octets)

    def add(mut self, fault: Fault, *, is_foreign: Bool = False):
        """Adds an error.

        Args:
            fault: The error.
            is_foreign: Whether the program raised it in words of its own.
        """
        if len(self.found) == self.found_max:
            self.are_more = True
            return
        self.found.append(NotedFault(fault, is_foreign))


@fieldwise_init
struct JsonProblem(Copyable, Movable):
    """One error of a JSON text, for the author of the text."""

    var kind: Int
    """The kind: a constant of `JsonError`."""
    var pointer: String
    """The JSON Pointer (RFC 6901) of the value, such as `/items/3/price`;
    empty for the whole text. Instead of a pointer of more than 256 octets, it
    is that of an enclosing value.
    """
    var reason: String
    """The reason: a fixed phrase, without octets of the text."""
    var line: Int
    """The line in the text, from 1."""
    var column: Int
    """The column in characters, from 1."""


struct PlaceWalk(Movable):
    """Walks through a text once, to find the places of errors in order."""

    var _steps: List[Step]
    var _at: Int
    var _counted: Int
    var _line: Int
    var _column: Int

    def __init__(out self):
        """Creates a walk from the start of a text."""
        self._steps = List[Step]()
        self._at = 0
        self._counted = 0
        self._line = 1
        self._column = 1

    def problem_at(
        mut self, octets: Span[UInt8, _], finding: NotedFault
    ) -> JsonProblem:
        """Returns an error with its place.

        Args:
            octets: The text.
            finding: The error.

        Returns:
            The error.
        """
        var fault = finding.fault
        var offset = min(fault.offset, len(octets))
        if offset < self._counted:
            self = Self()
        self._at = walk_to(octets, self._at, offset, self._steps)
        for i in range(self._counted, offset):
            var octet = octets[i]
            if octet == 10:
                self._line += 1
                self._column = 1
            elif octet & 0xC0 != 0x80:
                self._column += 1
        self._counted = offset
        var kind = kind_of(fault.problem)
        var reason = reason_of(fault)
        if finding.is_foreign:
            kind = JsonError.FAILED
            # The program's words may not be for the author of the text.
            reason = "the value is not allowed"
        elif fault.problem == WRONG_TYPE:
            reason = String(
                "expected ", fault.detail, ", got ", type_at(octets, offset)
            )
        return JsonProblem(
            kind,
            self._pointer(octets, fault, offset),
            reason^,
            self._line,
            self._column,
        )

    def _pointer(
        self, octets: Span[UInt8, _], fault: Fault, offset: Int
    ) -> String:
        var levels = len(self._steps)
        if is_of_container(fault.problem):
            levels -= 1
        var pointer = String()
        for i in range(levels):
            ref step = self._steps[i]
            var fits = True
            if step.is_array:
                fits = append_token(pointer, String(step.index))
            elif step.key_start >= 0:
                fits = _append_key(pointer, octets, step.key_start - 1)
            if not fits:
                return pointer^
        if fault.problem == MISSING_FIELD:
            _ = append_token(pointer, fault.detail)
        elif fault.problem == UNKNOWN_FIELD or fault.problem == DUPLICATE_KEY:
            _ = _append_key(pointer, octets, offset)
        return pointer^


def append_token(mut pointer: String, token: StringSlice) -> Bool:
    """Appends a name or an index to a JSON Pointer, if it stays short.

    Args:
        pointer: The pointer.
        token: The name, or the digits of the index.

    Returns:
        False if the pointer would be too long; it is unchanged then.
    """
    var text = escaped_token(token)
    if pointer.byte_length() + 1 + text.byte_length() > POINTER_OCTETS_MAX:
        return False
    pointer.write("/", text)
    return True


def escaped_token(token: StringSlice) -> String:
    """Escapes a name for a JSON Pointer (RFC 6901 section 3).

    Args:
        token: The name.

    Returns:
        The name with `~0` for `~` and `~1` for `/`.
    """
    if token.find("~") < 0 and token.find("/") < 0:
        return String(token)
    return String(token).replace("~", "~0").replace("/", "~1")


def _append_key(
    mut pointer: String, octets: Span[UInt8, _], quote: Int
) -> Bool:
    # The key stands in the text with its escapes.
    var end = min(string_end(octets, quote), len(octets))
    if end - quote > 6 * POINTER_OCTETS_MAX + 2:
        return False
    var text = PaddedText(octets[quote:end])
    var scanned = scan_string[decode=True](text.octets.unsafe_offset(1))
    if scanned.problem != NONE:
        return False
    var fits = append_token(
        pointer,
        StringSlice(
            unsafe_from_utf8=Span(
                unsafe_ptr=scanned.content, length=scanned.octets
            )
        ),
    )
    _ = text^
    return fits
