"""Reads JSON value by value, straight into the program's types.

The reader has a position in the text; each call reads the value there and
moves on. Skipped values are checked as strictly as others.
"""

from flare.core import OctetPointer, PointerTo
from flare.sys.driver import octet_view
from flare.sys.stack import running_stack, stack_pointer

from .documents import nearest_float
from .input import ReaderState
from .limits import DEPTH_MAX, JsonLimits
from .narrow import narrowed
from .parser import value_problem
from .place import fault_at
from .problem import (
    INVALID,
    NONE,
    NO_COLON,
    NO_COMMA_IN_ARRAY,
    NO_COMMA_IN_OBJECT,
    NO_KEY,
    OUT_OF_RANGE,
    Problem,
    TOO_DEEP,
    WRONG_TYPE,
)
from .scan import (
    QUOTE,
    ScannedNumber,
    scan_number,
    scan_string,
    skip_white,
    starts_with,
)

comptime STOPPED: StaticString = "json.stopped"
"""The text of errors whose place the state of the reader has."""
comptime _COMMA: UInt8 = 44


@fieldwise_init
struct JsonReader(TrivialRegisterPassable):
    """Reads a JSON text value by value, in a `from_json`. Copies share the
    position.
    """

    var _state: PointerTo[ReaderState]

    def string(self) raises -> StringSlice[MutUntrackedOrigin]:
        """Reads a string, without a copy.

        Returns:
            A view of the decoded content.

        Raises:
            An error if the next value is not a string.

        Safety:
            Do not use the view after `from_json` has returned.
        """
        ref state = self._state[]
        state.at = skip_white(state.at)
        if state.at[] != QUOTE:
            raise self.wrong_type("a string")
        var scanned = scan_string[decode=True](state.at.unsafe_offset(1))
        state.at = scanned.next
        if scanned.problem != NONE:
            raise self.stop(scanned.problem)
        return StringSlice(
            unsafe_from_utf8=Span(
                unsafe_ptr=scanned.content, length=scanned.octets
            )
        )

    def bool(self) raises -> Bool:
        """Reads a boolean.

        Returns:
            The boolean.

        Raises:
            An error if the next value is not a boolean.
        """
        ref state = self._state[]
        state.at = skip_white(state.at)
        if state.at[] == UInt8(ord("t")) and starts_with["true"](state.at):
            state.at = state.at.unsafe_offset(4)
            return True
        if state.at[] == UInt8(ord("f")) and starts_with["false"](state.at):
            state.at = state.at.unsafe_offset(5)
            return False
        raise self.wrong_type("a boolean")

    def take_null(self) -> Bool:
        """Reads `null` if it is the next value.

        Returns:
            True if it was `null`; if False, the position is unchanged.
        """
        ref state = self._state[]
        state.at = skip_white(state.at)
        if state.at[] != UInt8(ord("n")) or not starts_with["null"](state.at):
            return False
        state.at = state.at.unsafe_offset(4)
        return True

    def int(self) raises -> Int:
        """Reads an integer.

        Returns:
            The integer.

        Raises:
            An error if the next value is not an integer, or does not fit.
        """
        ref state = self._state[]
        var start = self._number_start("an integer")
        var scanned = self._number(start)
        if scanned.is_int:
            return scanned.integer
        var octets = Int(scanned.next) - Int(start)
        if octets == 2 and start[] == UInt8(ord("-")):
            # Of these there is only -0.
            return 0
        state.at = start
        raise self._no_integer(start, octets, "an Int")

    def uint(self) raises -> UInt64:
        """Reads an integer without a sign.

        Returns:
            The integer.

        Raises:
            An error if the next value is not such an integer, or does not fit.
        """
        ref state = self._state[]
        var start = self._number_start("an integer")
        var scanned = self._number(start)
        if scanned.is_int and scanned.integer >= 0:
            return UInt64(scanned.integer)
        var octets = Int(scanned.next) - Int(start)
        if octets == 2 and not scanned.is_int:
            # Of these there is only -0.
            return 0
        var value = UInt64(0)
        var fits = octets <= 20
        for i in range(octets):
            var digit = UInt64(start[unsafe_offset=i]) - 48
            if digit > 9 or value > (UInt64.MAX - digit) // 10:
                fits = False
                break
            value = value * 10 + digit
        if fits:
            return value
        state.at = start
        raise self._no_integer(start, octets, "a UInt64")

    def float[dtype: DType = DType.float64](self) raises -> Scalar[dtype]:
        """Reads a number, rounded once to the nearest of a floating-point
        type.

        Parameters:
            dtype: The type.

        Returns:
            The number.

        Raises:
            An error if the next value is not a number, or is too large.
        """
        ref state = self._state[]
        var start = self._number_start("a number")
        var scanned = self._number(start)
        var text = Span(unsafe_ptr=start, length=Int(scanned.next) - Int(start))
        var number: Optional[Float64] = Float64(scanned.integer)
        if not scanned.is_int:
            number = nearest_float(octet_view(text))
        if not number:
            state.at = start
            raise self.stop(OUT_OF_RANGE, "a Float64")
        comptime if dtype == DType.float64:
            return Scalar[dtype](number.value())
        else:
            var value = narrowed[dtype](text, number.value())
            if not value - value == 0:
                state.at = start
                raise self.stop(OUT_OF_RANGE, "its type")
            return value

    def begin_array(self) raises -> Bool:
        """Reads the start of an array.

        Returns:
            False if the array is empty; its end is then read too.

        Raises:
            An error if the next value is not an array, or if
            `JsonLimits.depth_max` or the stack allows no further level.
        """
        return self._begin(UInt8(ord("[")), UInt8(ord("]")), "an array")

    @always_inline
    def next_element(self) raises -> Bool:
        """Reads the comma or bracket after an element.

        Returns:
            True if another element follows, False at the array's end.

        Raises:
            An error if the array is malformed.
        """
        return self._go_on(UInt8(ord("]")), NO_COMMA_IN_ARRAY)

    def begin_object(self) raises -> Bool:
        """Reads the start of an object.

        Returns:
            False if the object is empty; its end is then read too.

        Raises:
            An error if the next value is not an object, or if
            `JsonLimits.depth_max` or the stack allows no further level.
        """
        return self._begin(UInt8(ord("{")), UInt8(ord("}")), "an object")

    @always_inline
    def begin_part[*, is_object: Bool](self) raises -> Bool:
        """Reads the start of an object or array, unless all errors are
        searched for. Then it raises, and stays in front of the value.

        Parameters:
            is_object: Whether it is an object.

        Returns:
            False if it is empty; its end is then read too.

        Raises:
            The errors of `begin_object` and `begin_array`.
        """
        comptime if is_object:
            return self._begin[True](
                UInt8(ord("{")), UInt8(ord("}")), "an object"
            )
        else:
            return self._begin[True](
                UInt8(ord("[")), UInt8(ord("]")), "an array"
            )

    @always_inline
    def next_member(self) raises -> Bool:
        """Reads the comma or brace after a member.

        Returns:
            True if another member follows, False at the object's end.

        Raises:
            An error if the object is malformed.
        """
        return self._go_on(UInt8(ord("}")), NO_COMMA_IN_OBJECT)

    @always_inline
    def key(self) raises -> StringSlice[MutUntrackedOrigin]:
        """Reads the key of a member and its colon, without a copy.

        Returns:
            A view of the key.

        Raises:
            An error if the object is malformed.

        Safety:
            Do not use the view after `from_json` has returned.
        """
        ref state = self._state[]
        state.at = skip_white(state.at)
        if state.at[] != QUOTE:
            raise self.stop(NO_KEY)
        var scanned = scan_string[decode=True](state.at.unsafe_offset(1))
        state.at = scanned.next
        if scanned.problem != NONE:
            raise self.stop(scanned.problem)
        state.at = skip_white(state.at)
        if state.at[] != UInt8(ord(":")):
            raise self.stop(NO_COLON)
        state.at = state.at.unsafe_offset(1)
        return StringSlice(
            unsafe_from_utf8=Span(
                unsafe_ptr=scanned.content, length=scanned.octets
            )
        )

    def take_raw(self) raises -> Span[UInt8, MutUntrackedOrigin]:
        """Reads and checks a value of any type, without decoding it.

        Returns:
            A view of its text, as written.

        Raises:
            An error if the value is malformed.

        Safety:
            Do not use the view after `from_json` has returned.
        """
        ref state = self._state[]
        state.at = skip_white(state.at)
        var start = state.at
        self.skip()
        return Span(unsafe_ptr=start, length=Int(state.at) - Int(start))

    @always_inline
    def state(self) -> PointerTo[ReaderState]:
        """Returns the text and the position in it.

        Returns:
            The state.
        """
        return self._state

    @always_inline
    def is_collecting(self) -> Bool:
        """Returns whether the text is read to its end in spite of errors.

        Returns:
            True for `problems_of`.
        """
        return Bool(self._state[].findings)

    def limits(self) -> JsonLimits:
        """Returns the bounds on the text.

        Returns:
            The limits.
        """
        return self._state[].limits

    def offset(self) -> Int:
        """Returns the position in the text.

        Returns:
            The offset of the next octet, from 0.
        """
        return Int(self._state[].at) - Int(self._state[].text)

    @always_inline
    def value_start(self) -> Int:
        """Skips white space.

        Returns:
            The offset of the next value or key.
        """
        self._state[].at = skip_white(self._state[].at)
        return self.offset()

    def fail(self, reason: StaticString) -> Error:
        """Returns the error that refuses the value just read.

        Args:
            reason: Why it is refused.

        Returns:
            The error to raise.
        """
        return self.stop(INVALID, reason)

    @no_inline
    def stop(self, problem: Problem, detail: StaticString = "") -> Error:
        """Records an error at the current position.

        Args:
            problem: The error.
            detail: The expected type or token.

        Returns:
            The error to raise.
        """
        return self.stop_at(self.offset(), problem, detail)

    @no_inline
    def stop_at(
        self, offset: Int, problem: Problem, detail: StaticString = ""
    ) -> Error:
        """Records an error.

        Args:
            offset: Its offset in the text.
            problem: The error.
            detail: The expected type or token.

        Returns:
            The error to raise.
        """
        ref state = self._state[]
        if not state.fault:
            var fault = fault_at(problem, offset, state.octets)
            fault.detail = detail
            state.fault = fault
        return Error(STOPPED)

    @no_inline
    def wrong_type(self, wanted: StaticString) -> Error:
        """Records that the next value has another type.

        Args:
            wanted: The expected type, such as `a number`.

        Returns:
            The error to raise.
        """
        var at = self._state[].at
        var octet = at[]
        # An octet that starts no value is a syntax error, not a wrong type.
        var begins_value = (
            octet == QUOTE
            or octet - 48 <= 9
            or octet == UInt8(ord("-"))
            or octet == UInt8(ord("{"))
            or octet == UInt8(ord("["))
            or starts_with["true"](at)
            or starts_with["false"](at)
            or starts_with["null"](at)
        )
        if begins_value:
            return self.stop(WRONG_TYPE, wanted)
        return self.stop(value_problem(octet))

    def skip(self) raises:
        """Reads and checks a value of any type, and drops it.

        Raises:
            An error if the value is malformed.
        """
        # One bit per level: whether it is an object.
        var kinds = Array[UInt64, DEPTH_MAX // 64](fill=0)
        ref state = self._state[]
        var depth = 0
        while True:
            state.at = skip_white(state.at)
            var octet = state.at[]
            var is_object = octet == UInt8(ord("{"))
            if is_object or octet == UInt8(ord("[")):
                var is_open = (
                    self.begin_object() if is_object else self.begin_array()
                )
                if is_open:
                    _set_bit(kinds, depth, is_object)
                    depth += 1
                    if is_object:
                        self._skip_key()
                    continue
            elif octet == QUOTE:
                self._skip_string()
            elif octet - 48 <= 9 or octet == UInt8(ord("-")):
                _ = self._number(state.at)
            else:
                self._skip_word()
            while depth > 0:
                var is_in_object = _bit(kinds, depth - 1)
                if is_in_object:
                    if self.next_member():
                        self._skip_key()
                        break
                elif self.next_element():
                    break
                depth -= 1
            if depth == 0:
                return

    def _skip_key(self) raises:
        ref state = self._state[]
        state.at = skip_white(state.at)
        if state.at[] != QUOTE:
            raise self.stop(NO_KEY)
        self._skip_string()
        state.at = skip_white(state.at)
        if state.at[] != UInt8(ord(":")):
            raise self.stop(NO_COLON)
        state.at = state.at.unsafe_offset(1)

    def _skip_string(self) raises:
        ref state = self._state[]
        var scanned = scan_string[decode=False](state.at.unsafe_offset(1))
        state.at = scanned.next
        if scanned.problem != NONE:
            raise self.stop(scanned.problem)

    def _skip_word(self) raises:
        ref state = self._state[]
        if starts_with["true"](state.at) or starts_with["null"](state.at):
            state.at = state.at.unsafe_offset(4)
        elif starts_with["false"](state.at):
            state.at = state.at.unsafe_offset(5)
        else:
            raise self.stop(value_problem(state.at[]))

    @always_inline
    def _number_start(self, wanted: StaticString) raises -> OctetPointer:
        ref state = self._state[]
        state.at = skip_white(state.at)
        var octet = state.at[]
        if octet - 48 > 9 and octet != UInt8(ord("-")):
            raise self.wrong_type(wanted)
        return state.at

    @always_inline
    def _number(self, start: OctetPointer) raises -> ScannedNumber:
        var scanned = scan_number(start)
        self._state[].at = scanned.next
        if scanned.problem != NONE:
            raise self.stop(scanned.problem)
        return scanned

    @no_inline
    def _no_integer(
        self, start: OctetPointer, octets: Int, wanted: StaticString
    ) -> Error:
        for i in range(octets):
            var octet = start[unsafe_offset=i]
            if octet - 48 > 9 and octet != UInt8(ord("-")):
                return self.stop(INVALID, "expected an integer, got a fraction")
        return self.stop(OUT_OF_RANGE, wanted)

    @always_inline
    def _begin[
        is_part: Bool = False
    ](
        self, opening: UInt8, closing: UInt8, wanted: StaticString
    ) raises -> Bool:
        ref state = self._state[]
        state.at = skip_white(state.at)
        if state.at[] != opening:
            raise self.wrong_type(wanted)
        if state.depth == state.limits.depth_max or not (
            state.stack.holds(stack_pointer()) or self._has_room[is_part]()
        ):
            raise self._no_level[is_part]()
        state.at = skip_white(state.at.unsafe_offset(1))
        if state.at[] == closing:
            state.at = state.at.unsafe_offset(1)
            return False
        state.depth += 1
        return True

    @no_inline
    def _has_room[is_part: Bool](self) -> Bool:
        # Types that contain themselves call the reader once per level.
        var stack = running_stack()
        if self.is_collecting():
            # The bounds are not kept, so that each level asks.
            return not is_part and stack.holds(stack_pointer())
        self._state[].stack = stack
        return stack.holds(stack_pointer())

    @no_inline
    def _no_level[is_part: Bool](self) -> Error:
        if is_part and self.is_collecting():
            return Error(STOPPED)
        return self.stop(TOO_DEEP)

    @always_inline
    def _go_on(self, closing: UInt8, problem: Problem) raises -> Bool:
        ref state = self._state[]
        state.at = skip_white(state.at)
        if state.at[] == _COMMA:
            state.at = state.at.unsafe_offset(1)
            return True
        if state.at[] != closing:
            raise self.stop(problem)
        state.at = state.at.unsafe_offset(1)
        state.depth -= 1
        return False


@always_inline
def _bit(bits: Array[UInt64, DEPTH_MAX // 64], index: Int) -> Bool:
    return (bits.unsafe_get(index >> 6) >> UInt64(index & 63)) & 1 == 1


@always_inline
def _set_bit(mut bits: Array[UInt64, DEPTH_MAX // 64], index: Int, value: Bool):
    var bit = UInt64(1) << UInt64(index & 63)
    if value:
        bits.unsafe_get(index >> 6) |= bit
    else:
        bits.unsafe_get(index >> 6) &= ~bit
