"""Reads JSON into structs, by compile-time reflection on their fields.

A struct that conforms to `FromJson` needs no code. `Bool`, `String`, numbers,
`List`, `Dict`, `Optional` and `Value` conform already. Another type conforms
with a `from_json` of its own.
"""

from std.collections import Dict, List, Optional
from std.collections.string import String
from std.hash import Hasher, hash
from std.memory import MaybeUninit
from std.simd import SIMD

from flare.core import equals

from .key_crowds import KeyCrowds
from .names import JsonRefusesUnknownFields, is_optional, name_of
from .passing import note, pass_over, settled
from .problem import (
    Fault,
    INVALID,
    MISSING_FIELD,
    OUT_OF_RANGE,
    UNKNOWN_FIELD,
)
from .reader import JsonReader

comptime _CROWDED: StaticString = "too many keys have hashes that are alike"
comptime _REPEATED: StaticString = "too many keys are there more than once"
# A repeated key is looked up among all members, or in a part of the table and
# the next one. This many look-ups take some tenths of a second.
comptime _STEPS_OF_REPEAT_MAX = 8192
comptime _STEPS_MAX = 1 << 28


trait FromJson(Deinitable, Movable):
    """A type that can be read from JSON."""

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Reads one value; a struct is read field by field.

        Args:
            json: The reader, in front of the value.

        Returns:
            The value.

        Raises:
            An error if the value has another type. `decode` adds line, column
            and path, also to an error of the program's own.
        """
        comptime COUNT = reflect[Self].field_count()
        var slot = MaybeUninit[Self]()
        var has = Array[Bool, COUNT](fill=False)
        try:
            _read_fields(json, slot, has)
        except e:
            _drop_fields(slot, has)
            slot^.unsafe_forget()
            # A search for all errors begins here: it lets no struct begin.
            if json.is_collecting():
                return _collect_struct[Self](json)
            raise e^
        return slot^.unsafe_assume_init()


@always_inline
def _read_fields[
    T: FromJson
](
    json: JsonReader,
    mut slot: MaybeUninit[T],
    mut has: Array[Bool, reflect[T].field_count()],
) raises:
    comptime names = reflect[T].field_names()
    comptime COUNT = reflect[T].field_count()
    var goes_on = json.begin_part[is_object=True]()
    while goes_on:
        var start = json.value_start()
        var key = json.key().as_bytes()
        var is_known = False
        comptime for i in range(COUNT):
            comptime name = name_of[T, names[i]]()
            if not is_known and equals(key, name.as_bytes()):
                is_known = True
                _read_field[T, i](json, slot, has)
        if not is_known:
            comptime if conforms_to(T, JsonRefusesUnknownFields):
                raise json.stop_at(start, UNKNOWN_FIELD)
            json.skip()
        goes_on = json.next_member()
    comptime for i in range(COUNT):
        if not has.unsafe_get(i):
            if not _set_none[T, i](slot, has):
                comptime name = name_of[T, names[i]]()
                raise json.stop_at(json.offset() - 1, MISSING_FIELD, name)


@always_inline
def _set_none[
    T: FromJson, i: Int
](
    mut slot: MaybeUninit[T], mut has: Array[Bool, reflect[T].field_count()]
) -> Bool:
    comptime F = reflect[T].field_types()[i]
    comptime if is_optional[F]() and conforms_to(
        F, Defaultable & Deinitable & Movable
    ):
        ref whole = slot.unsafe_ptr()[]
        Pointer(to=reflect[T].field_ref[i](whole)).unsafe_write(F())
        has.unsafe_get(i) = True
        return True
    else:
        return False


@always_inline
def _read_field[
    T: FromJson, i: Int
](
    json: JsonReader,
    mut slot: MaybeUninit[T],
    mut has: Array[Bool, reflect[T].field_count()],
) raises:
    comptime F = reflect[T].field_types()[i]
    comptime assert conforms_to(F, FromJson), String(
        reflect[T].name(),
        ".",
        reflect[T].field_names()[i],
        " is not read from JSON: its type does not conform to FromJson",
    )
    ref whole = slot.unsafe_ptr()[]
    var target = Pointer(to=reflect[T].field_ref[i](whole))
    if has.unsafe_get(i):
        # The last of equal keys counts.
        target.unsafe_deinit_pointee()
        has.unsafe_get(i) = False
    target.unsafe_write(F.from_json(json))
    has.unsafe_get(i) = True


def _drop_fields[
    T: FromJson
](mut slot: MaybeUninit[T], has: Array[Bool, reflect[T].field_count()]):
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime assert conforms_to(F, FromJson)
        if has.unsafe_get(i):
            ref whole = slot.unsafe_ptr()[]
            Pointer(to=reflect[T].field_ref[i](whole)).unsafe_deinit_pointee()


__extension SIMD(FromJson):
    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Reads a number.

        Args:
            json: The reader, in front of the number.

        Returns:
            The number; for a floating-point type, the nearest value.

        Raises:
            An error if the value is not a number, or does not fit.
        """
        comptime assert Self.length == 1, "a vector is no JSON number"
        comptime if Self.dtype == DType.int:
            return Self(json.int())
        elif Self.dtype.is_floating_point():
            return Self(json.float[Self.dtype]())
        elif Self.dtype == DType.uint64 or Self.dtype == DType.uint:
            return Self(json.uint())
        else:
            var start = json.value_start()
            var number = json.int()
            var value = Self(number)
            if Int(value) != number:
                raise json.stop_at(start, OUT_OF_RANGE, _range_of[Self.dtype]())
            return value


__extension Bool(FromJson):
    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Reads a boolean.

        Args:
            json: The reader, in front of the boolean.

        Returns:
            The boolean.

        Raises:
            An error if the value is not a boolean.
        """
        return json.bool()


__extension String(FromJson):
    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Reads a string.

        Args:
            json: The reader, in front of the string.

        Returns:
            A copy of the decoded content.

        Raises:
            An error if the value is not a string.
        """
        return String(unsafe_from_utf8=json.string().as_bytes())


__extension List(FromJson):
    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Reads an array.

        Args:
            json: The reader, in front of the array.

        Returns:
            Its elements.

        Raises:
            An error if the value is not an array, or an element has another
            type.
        """
        comptime assert conforms_to(
            Self.T, FromJson
        ), "the elements of a list are not read from JSON"
        return _read_list[Self.T](json)


def _read_list[T: FromJson](json: JsonReader) raises -> List[T]:
    # A function of its own: only a bound on T lets an error drop the list.
    var list = List[T]()
    var goes_on: Bool
    try:
        goes_on = json.begin_part[is_object=False]()
    except e:
        if json.is_collecting():
            return _collect_list[T](json)
        raise e^
    while goes_on:
        list.append(T.from_json(json))
        goes_on = json.next_element()
    return list^


__extension Dict(FromJson):
    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Reads an object whose keys are not known in advance.

        Args:
            json: The reader, in front of the object.

        Returns:
            The members in the order of the text. Of equal keys the last value
            wins, at the place of the first.

        Raises:
            An error if the value is not an object, or a member has another
            type.
        """
        comptime assert conforms_to(
            Self.V, FromJson
        ), "the values of a dictionary are not read from JSON"
        comptime assert (
            reflect[Self.K].name() == reflect[String].name()
        ), "the keys of a dictionary in JSON are of type String"
        return rebind_var[Self](_read_dict[Self.V, Self.H](json))


def _read_dict[
    V: FromJson, H: Defaultable & Deinitable & Hasher
](json: JsonReader) raises -> Dict[String, V, H]:
    # A function of its own, as for a list.
    if json.is_collecting():
        return _collect_dict[V, H](json)
    var members = _Members[V, H]()
    var goes_on = json.begin_object()
    while goes_on:
        var start = json.value_start()
        var key = String(unsafe_from_utf8=json.key().as_bytes())
        var value = V.from_json(json)
        members.add(json, start, key^, value^)
        goes_on = json.next_member()
    return members^.into_dict()


struct _Members[V: FromJson, H: Defaultable & Deinitable & Hasher](Movable):
    # A dictionary that keys of a peer cannot make slow.
    var dict: Dict[String, Self.V, Self.H]
    var crowds: KeyCrowds
    var steps: Int

    def __init__(out self):
        self.dict = Dict[String, Self.V, Self.H]()
        self.crowds = KeyCrowds()
        self.steps = 0

    def into_dict(deinit self) -> Dict[String, Self.V, Self.H]:
        return self.dict^

    @always_inline
    def add(
        mut self,
        json: JsonReader,
        start: Int,
        var key: String,
        var value: Self.V,
    ) raises:
        var members = len(self.dict)
        if members < KeyCrowds.MEMBERS_UNCOUNTED:
            self.dict[key^] = value^
        else:
            var key_hash = hash[Self.H](key)
            self.dict[key^] = value^
            if len(self.dict) > members and not self.crowds.add(
                key_hash, members + 1
            ):
                raise json.stop_at(start, INVALID, _CROWDED)
        if len(self.dict) == members:
            self.steps += min(members, _STEPS_OF_REPEAT_MAX)
            if self.steps > _STEPS_MAX:
                raise json.stop_at(start, INVALID, _REPEATED)


__extension Optional(FromJson):
    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Reads a value or `null`.

        Args:
            json: The reader, in front of the value.

        Returns:
            The value; `None` for `null`.

        Raises:
            An error if the value is neither.
        """
        comptime assert conforms_to(
            Self.T, FromJson
        ), "the value of an optional is not read from JSON"
        if json.take_null():
            return None
        return Self(Self.T.from_json(json))


@no_inline
def _collect_struct[T: FromJson](json: JsonReader) raises -> T:
    var slot = MaybeUninit[T]()
    var has = Array[Bool, reflect[T].field_count()](fill=False)
    try:
        _collect_fields(json, slot, has)
    except e:
        _drop_fields(slot, has)
        slot^.unsafe_forget()
        raise e^
    return slot^.unsafe_assume_init()


def _collect_fields[
    T: FromJson
](
    json: JsonReader,
    mut slot: MaybeUninit[T],
    mut has: Array[Bool, reflect[T].field_count()],
) raises:
    comptime names = reflect[T].field_names()
    comptime COUNT = reflect[T].field_count()
    var is_there = Array[Bool, COUNT](fill=False)
    var is_refused = False
    var start = json.value_start()
    var goes_on = json.begin_object()
    while goes_on:
        var key_start = json.value_start()
        var key = json.key().as_bytes()
        var is_known = False
        comptime for i in range(COUNT):
            comptime name = name_of[T, names[i]]()
            if not is_known and equals(key, name.as_bytes()):
                is_known = True
                is_there.unsafe_get(i) = True
                var value_start = json.value_start()
                var depth = json.state()[].depth
                try:
                    _read_field[T, i](json, slot, has)
                except e:
                    is_refused = True
                    pass_over(json, value_start, depth, e)
        if not is_known:
            comptime if conforms_to(T, JsonRefusesUnknownFields):
                is_refused = True
                note(json, Fault(UNKNOWN_FIELD, key_start, ""))
            json.skip()
        goes_on = json.next_member()
    comptime for i in range(COUNT):
        if not is_there.unsafe_get(i) and not _set_none[T, i](slot, has):
            comptime name = name_of[T, names[i]]()
            is_refused = True
            note(json, Fault(MISSING_FIELD, json.offset() - 1, name))
    if is_refused:
        raise settled(json, start)


@no_inline
def _collect_list[T: FromJson](json: JsonReader) raises -> List[T]:
    var list = List[T]()
    var is_refused = False
    var start = json.value_start()
    var goes_on = json.begin_array()
    while goes_on:
        var element = _collect[T](json)
        if not element:
            is_refused = True
        elif not is_refused:
            list.append(element.unsafe_take())
        goes_on = json.next_element()
    if is_refused:
        raise settled(json, start)
    return list^


@no_inline
def _collect_dict[
    V: FromJson, H: Defaultable & Deinitable & Hasher
](json: JsonReader) raises -> Dict[String, V, H]:
    var members = _Members[V, H]()
    var is_refused = False
    var whole_start = json.value_start()
    var goes_on = json.begin_object()
    while goes_on:
        var start = json.value_start()
        var key = String(unsafe_from_utf8=json.key().as_bytes())
        var value = _collect[V](json)
        if value:
            members.add(json, start, key^, value.unsafe_take())
        else:
            is_refused = True
        goes_on = json.next_member()
    if is_refused:
        raise settled(json, whole_start)
    return members^.into_dict()


@no_inline
def _collect[T: FromJson](json: JsonReader) raises -> Optional[T]:
    # None if the value was refused and passed over.
    var start = json.value_start()
    var depth = json.state()[].depth
    try:
        return T.from_json(json)
    except e:
        pass_over(json, start, depth, e)
        return None


def _range_of[dtype: DType]() -> StaticString:
    comptime if dtype == DType.uint8:
        return "0 to 255"
    elif dtype == DType.int8:
        return "-128 to 127"
    elif dtype == DType.uint16:
        return "0 to 65535"
    elif dtype == DType.int16:
        return "-32768 to 32767"
    elif dtype == DType.uint32:
        return "0 to 4294967295"
    elif dtype == DType.int32:
        return "-2147483648 to 2147483647"
    else:
        return "its type"
