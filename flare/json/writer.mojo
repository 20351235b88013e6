"""Writes JSON text piece by piece, compact or indented."""

from std.memory import unsafe_memset
from std.sys.intrinsics import unlikely

from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy
from flare.sys.stack import StackRange, running_stack, stack_pointer

from .error import JsonError
from .limits import DEPTH_MAX
from .number import append_float
from .place import json_error_at
from .problem import Fault, INVALID
from .quote import append_quoted
from flare.core.text_buffer import TextBuffer

comptime _BEGIN = 0
comptime _BEHIND_VALUE = 1
comptime _BEHIND_KEY = 2
comptime _WORDS = DEPTH_MAX // 64
# A text of short values that lie deep would consist of blanks: once they are
# so many, lines begin without.
comptime _BLANKS_FREE = 64 * 1024
comptime _BLANKS_PER_OCTET = 8
comptime _INDENT_MAX = 1024
# Types can nest this deep without recursion, so these levels skip the check of
# the stack. The first level does check: its text may become part of another
# text, and that one of a third.
comptime _LEVELS_UNCHECKED = 4


struct WriterState(Movable):
    """The state of a text that is being written."""

    var buffer: TextBuffer
    """The text so far."""
    var indent: Int
    """Blanks per level; 0 for a text without white space."""
    var depth: Int
    """How many arrays and objects are open."""
    var phase: Int
    """The kind of the last token."""
    var is_misused: Bool
    """Whether the program wrote a token where none may stand."""
    var is_object: Array[UInt64, _WORDS]
    """One bit per open level: whether it is an object."""
    var blanks: Int
    """How many blanks of indentation were written so far."""
    var is_flat: Bool
    """Whether lines no longer start with blanks."""
    var stack: StackRange
    """The part of the stack known to have room for another level."""

    def __init__(out self, indent: Int):
        """Creates an empty text.

        Args:
            indent: Blanks per level; 0 writes no white space.
        """
        self.buffer = TextBuffer()
        self.indent = min(max(indent, 0), _INDENT_MAX)
        self.depth = 0
        self.phase = _BEGIN
        self.is_misused = False
        self.is_object = Array[UInt64, _WORDS](fill=0)
        self.blanks = 0
        self.is_flat = False
        self.stack = StackRange(0, 0)

    @always_inline
    def innermost_is_object(self) -> Bool:
        """Returns whether the innermost open level is an object.

        Returns:
            True if it is; False if it is an array.
        """
        var level = self.depth - 1
        return (
            level >= 0
            and (self.is_object.unsafe_get(level >> 6) >> UInt64(level & 63))
            & 1
            == 1
        )


struct JsonOutput(Movable):
    """The owner of a text that is being written."""

    var _state: PointerTo[WriterState]

    def __init__(out self, *, indent: Int = 0):
        """Creates an empty text.

        Args:
            indent: Blanks per level; 0 writes no white space.
        """
        self._state = heap_create(WriterState(indent))

    def __deinit__(deinit self):
        """Frees the text."""
        heap_destroy(self._state)

    def writer(self) -> JsonWriter:
        """Returns the writer of the text.

        Returns:
            A handle, valid as long as its owner.
        """
        return JsonWriter(self._state)

    def take_text(self) raises -> String:
        """Returns the finished text. The output is empty afterwards, and
        closed.

        Returns:
            The text.

        Raises:
            The text of a `JsonError` if the text is not one whole value.
        """
        self.check()
        return self._state[].buffer.take()

    def check(self) raises:
        """Checks that the text is one whole value.

        Raises:
            The text of a `JsonError` if it is not.
        """
        ref state = self._state[]
        if state.is_misused or state.depth != 0 or state.phase == _BEGIN:
            raise JsonWriter(self._state).error(
                JsonError.MISUSE, "what was written is no whole value"
            )

    def unsafe_text(self) -> StringSlice[origin_of(self)]:
        """Returns a view of the text so far.

        Returns:
            The text.

        Safety:
            Do not use the view after another write.
        """
        return StringSlice[origin_of(self)](
            unsafe_from_utf8=rebind[Span[UInt8, origin_of(self)]](
                self._state[].buffer.span()
            )
        )


@fieldwise_init
struct JsonWriter(TrivialRegisterPassable):
    """Writes a JSON text piece by piece, in a `to_json`. Copies share the
    text.
    """

    var _state: PointerTo[WriterState]

    @always_inline
    def null(self):
        """Writes `null`."""
        self._word("null")

    @always_inline
    def bool(self, value: Bool):
        """Writes a boolean.

        Args:
            value: The boolean.
        """
        if value:
            self._word("true")
        else:
            self._word("false")

    @always_inline
    def int(self, value: Int):
        """Writes an integer.

        Args:
            value: The integer.
        """
        self.before_value()
        ref buffer = self._state[].buffer
        if value >= 0:
            buffer.append_decimal(value)
        elif value == Int.MIN:
            buffer.append("-9223372036854775808")
        else:
            buffer.append_octet(UInt8(ord("-")))
            buffer.append_decimal(-value)

    def uint(self, value: UInt64):
        """Writes an integer without a sign.

        Args:
            value: The integer.
        """
        if value <= UInt64(Int.MAX):
            self.int(Int(value))
            return
        self.before_value()
        var text = String(value)
        self._state[].buffer.append(text.as_bytes())

    def float(self, value: Float64) raises:
        """Writes a number in the shortest form that reads back as the same
        number.

        Args:
            value: The number.

        Raises:
            The text of a `JsonError` if it is NaN or infinite.
        """
        self.before_value()
        if not value - value == 0:
            raise self.error(
                JsonError.NOT_FINITE, "JSON has neither NaN nor infinity"
            )
        append_float(self._state[].buffer, value)

    @always_inline
    def string(self, value: StringSlice):
        """Writes a string, quoted and escaped.

        Args:
            value: The string.
        """
        self.string_octets(value.as_bytes())

    @always_inline
    def string_octets[
        *, unsafe_is_padded: Bool = False
    ](self, value: Span[UInt8, _]):
        """Writes a string, quoted and escaped.

        Parameters:
            unsafe_is_padded: Whether a vector may be loaded past the content's
                end.

        Args:
            value: The content, UTF-8.

        Safety:
            If `unsafe_is_padded`, memory past the content must be readable.
        """
        self.before_value()
        append_quoted[unsafe_is_padded=unsafe_is_padded](
            self._state[].buffer, value
        )

    @always_inline
    def unsafe_raw(self, value: Span[UInt8, _]):
        """Writes a value that is JSON text already.

        Args:
            value: The text of one value.

        Safety:
            The text must be well-formed: it is not checked.
        """
        self.before_value()
        self._state[].buffer.append(value)

    def is_compact(self) -> Bool:
        """Returns whether the text has no white space.

        Returns:
            True if the text has no white space.
        """
        return self._state[].indent == 0

    def unsafe_begin_raw(self, octets_max: Int) -> OctetPointer:
        """Reserves room for a value that the caller writes.

        Args:
            octets_max: The longest value, in octets.

        Returns:
            Where to write it. Call `unsafe_end_raw` afterwards.

        Safety:
            Write nothing else before `unsafe_end_raw`.
        """
        self.before_value()
        return self._state[].buffer.reserve(octets_max)

    def unsafe_end_raw(self, octets: Int):
        """Ends a value that the caller wrote.

        Args:
            octets: Its length.

        Safety:
            The caller has written that many octets, and they are one value.
        """
        self._state[].buffer.advance(octets)

    @always_inline
    def begin_array(self) raises:
        """Starts an array.

        Raises:
            The text of a `JsonError` of kind `TOO_DEEP` if `DEPTH_MAX` or the
            stack allows no further level.
        """
        if unlikely(not self._begins(False, UInt8(ord("[")))):
            raise self._too_deep()

    def end_array(self):
        """Ends an array."""
        self._end(False, UInt8(ord("]")))

    @always_inline
    def begin_object(self) raises:
        """Starts an object.

        Raises:
            The text of a `JsonError` of kind `TOO_DEEP` if `DEPTH_MAX` or the
            stack allows no further level.
        """
        if unlikely(not self._begins(True, UInt8(ord("{")))):
            raise self._too_deep()

    def end_object(self):
        """Ends an object."""
        self._end(True, UInt8(ord("}")))

    @always_inline
    def key(self, key: StringSlice):
        """Writes the key of the next value.

        Args:
            key: The key. Repeated keys are written, but few parsers accept
                them.
        """
        self.key_octets(key.as_bytes())

    @always_inline
    def key_octets[
        *, unsafe_is_padded: Bool = False
    ](self, key: Span[UInt8, _]):
        """Writes the key of the next value.

        Parameters:
            unsafe_is_padded: Whether a vector may be loaded past the key's
                end.

        Args:
            key: The octets of the key, UTF-8.

        Safety:
            If `unsafe_is_padded`, memory past the key must be readable.
        """
        ref state = self._state[]
        if state.phase == _BEHIND_KEY or not state.innermost_is_object():
            state.is_misused = True
        self._separate()
        append_quoted[unsafe_is_padded=unsafe_is_padded](state.buffer, key)
        state.buffer.append_octet(UInt8(ord(":")))
        if state.indent > 0:
            state.buffer.append_octet(32)
        state.phase = _BEHIND_KEY

    @always_inline
    def constant_key[name: StaticString, text: StaticString](self):
        """Writes a key that is known at compile time.

        Parameters:
            name: The key.
            text: The comma, the key in quotes and the colon.
        """
        ref state = self._state[]
        if state.indent > 0:
            self.key(name)
            return
        if state.phase == _BEHIND_KEY:
            state.is_misused = True
        if state.phase == _BEHIND_VALUE:
            state.buffer.append(text)
        else:
            state.buffer.append(text.as_bytes()[1:])
        state.phase = _BEHIND_KEY

    @no_inline
    def error(self, kind: Int, var reason: String) -> Error:
        """Returns an error about the value that would be written next.

        Args:
            kind: One of the kinds of `JsonError`.
            reason: The reason.

        Returns:
            The error to raise.
        """
        var octets = self._state[].buffer.span()
        var error = json_error_at(
            octets, Fault(INVALID, len(octets), ""), reason^
        )
        error.kind = kind
        error.line = 0
        error.column = 0
        return Error(error)

    @always_inline
    def before_value(self):
        """Writes the separator before a value."""
        ref state = self._state[]
        if state.phase != _BEHIND_KEY:
            if state.depth == 0:
                if state.phase != _BEGIN:
                    state.is_misused = True
            else:
                if state.innermost_is_object():
                    state.is_misused = True
                self._separate()
        state.phase = _BEHIND_VALUE

    @always_inline
    def _word(self, word: StaticString):
        self.before_value()
        self._state[].buffer.append(word)

    @always_inline
    def _separate(self):
        ref state = self._state[]
        if state.phase == _BEHIND_VALUE:
            state.buffer.append_octet(UInt8(ord(",")))
        if state.indent > 0:
            self.break_line(0)

    @no_inline
    def break_line(self, levels: Int):
        """Starts a line of an indented text.

        Args:
            levels: How many levels deeper it is than the innermost open one.
        """
        ref state = self._state[]
        state.buffer.append_octet(10)
        var blanks = state.indent * (state.depth + levels)
        var others = len(state.buffer) - state.blanks
        if state.blanks + blanks > _BLANKS_FREE + _BLANKS_PER_OCTET * others:
            state.is_flat = True
        if state.is_flat:
            return
        unsafe_memset(state.buffer.reserve(blanks), 32, blanks)
        state.buffer.advance(blanks)
        state.blanks += blanks

    @always_inline
    def unsafe_buffer(self) -> PointerTo[TextBuffer]:
        """Returns the text, to append a part of a value to it.

        Returns:
            The text so far.

        Safety:
            Call `before_value` first, then append exactly one value.
        """
        return Pointer(to=self._state[].buffer).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    @no_inline
    def _begins(self, is_object: Bool, octet: UInt8) -> Bool:
        # Does not raise itself: an error that is not raised costs as much as
        # the rest.
        self.before_value()
        ref state = self._state[]
        if (state.depth == 0 or state.depth >= _LEVELS_UNCHECKED) and (
            state.depth == DEPTH_MAX
            or not (state.stack.holds(stack_pointer()) or self._has_room())
        ):
            return False
        state.buffer.append_octet(octet)
        var bit = UInt64(1) << UInt64(state.depth & 63)
        var word = state.depth >> 6
        if is_object:
            state.is_object.unsafe_get(word) |= bit
        else:
            state.is_object.unsafe_get(word) &= ~bit
        state.depth += 1
        state.phase = _BEGIN
        return True

    @no_inline
    def _too_deep(self) -> Error:
        # Not inlined: the text of an error would make each frame larger.
        self._state[].is_misused = True
        return self.error(JsonError.TOO_DEEP, "nested too deep")

    @no_inline
    def _has_room(self) -> Bool:
        # Types that contain themselves call the writer once per level.
        var stack = running_stack()
        self._state[].stack = stack
        return stack.holds(stack_pointer())

    @always_inline
    def _end(self, is_object: Bool, octet: UInt8):
        ref state = self._state[]
        if (
            state.depth == 0
            or state.phase == _BEHIND_KEY
            or state.innermost_is_object() != is_object
        ):
            state.is_misused = True
            return
        state.depth -= 1
        if state.indent > 0 and state.phase == _BEHIND_VALUE:
            self.break_line(0)
        state.buffer.append_octet(octet)
        state.phase = _BEHIND_VALUE
