"""Reads the parameters of a query or the fields of a form into structs, by
compile-time reflection.
"""

from std.collections import List, Optional
from std.memory import MaybeUninit

from flare.message import QueryParameters

from .rejection import Rejection
from .text_value import text_value
from .validation import FoundProblem, Problems

comptime _MISSING: StaticString = "http.missing"


trait FromFields(Deinitable, Movable):
    """A struct that can be read from the parameters of a query, by `QueryOf`,
    or from the fields of a form, by `Form`. It needs no code.

    Each field is read from the first parameter of its name. Its type is `Int`,
    `UInt64`, `Float64`, `Bool`, `String`, a type that conforms to `FromText`,
    or an `Optional` of these, which may be absent. A `List` of these takes all
    parameters of its name.
    """

    @staticmethod
    def from_fields[
        origin: ImmOrigin
    ](
        fields: QueryParameters[origin], place: UInt8, mut problems: Problems
    ) raises -> Self:
        """Reads all fields.

        Parameters:
            origin: The origin of the parameters.

        Args:
            fields: The parameters, which are also the fields of a form.
            place: Where they are: a constant of `FoundProblem`.
            problems: Receives the problems of all fields.

        Returns:
            The struct.

        Raises:
            An error if there are problems, or the `Rejection` that a type of
            the program raised.
        """
        var slot = MaybeUninit[Self]()
        var has = Array[Bool, reflect[Self].field_count()](fill=False)
        try:
            _read_fields(fields, place, slot, has, problems)
        except e:
            _drop_fields(slot, has)
            slot^.unsafe_forget()
            raise e^
        return slot^.unsafe_assume_init()


trait FieldType(Deinitable, Movable):
    """A type of a field that is not read from the text of one parameter."""

    @staticmethod
    def from_fields_of[
        origin: ImmOrigin
    ](fields: QueryParameters[origin], name: StaticString) raises -> Self:
        """Reads the parameters of a name.

        Parameters:
            origin: The origin of the parameters.

        Args:
            fields: All parameters.
            name: The name.

        Returns:
            The value.

        Raises:
            The errors of `text_value`.
        """
        ...


__extension Optional(FieldType):
    @staticmethod
    def from_fields_of[
        origin: ImmOrigin
    ](fields: QueryParameters[origin], name: StaticString) raises -> Self:
        """Reads the first parameter of a name, if there is one.

        Parameters:
            origin: The origin of the parameters.

        Args:
            fields: All parameters.
            name: The name.

        Returns:
            The value; `None` without such a parameter.

        Raises:
            The errors of `text_value`.
        """
        comptime assert conforms_to(
            Self.T, Deinitable & Movable
        ), "the value of an optional is not read from text"
        var text = fields.get(name)
        if not text:
            return None
        return Self(text_value[Self.T](text.value().as_bytes()))


__extension List(FieldType):
    @staticmethod
    def from_fields_of[
        origin: ImmOrigin
    ](fields: QueryParameters[origin], name: StaticString) raises -> Self:
        """Reads all parameters of a name.

        Parameters:
            origin: The origin of the parameters.

        Args:
            fields: All parameters.
            name: The name.

        Returns:
            The values in order.

        Raises:
            The errors of `text_value`.
        """
        comptime assert conforms_to(
            Self.T, Deinitable & Movable
        ), "the elements of a list are not read from text"
        return _read_list[Self.T](fields, name)


def _read_list[
    T: Deinitable & Movable, origin: ImmOrigin
](fields: QueryParameters[origin], name: StaticString) raises -> List[T]:
    # A function of its own: only a bound on T lets an error drop the list.
    var list = List[T]()
    for field in fields:
        if field.has_name(name):
            list.append(text_value[T](field.value().as_bytes()))
    return list^


def _read_fields[
    T: FromFields, origin: ImmOrigin
](
    fields: QueryParameters[origin],
    place: UInt8,
    mut slot: MaybeUninit[T],
    mut has: Array[Bool, reflect[T].field_count()],
    mut problems: Problems,
) raises:
    comptime names = reflect[T].field_names()
    var is_refused = False
    comptime for i in range(reflect[T].field_count()):
        comptime name = names[i]
        comptime F = reflect[T].field_types()[i]
        comptime assert conforms_to(F, Deinitable & Movable), String(
            reflect[T].name(), ".", name, " is not read from text"
        )
        try:
            ref whole = slot.unsafe_ptr()[]
            Pointer(to=reflect[T].field_ref[i](whole)).unsafe_write(
                _field_of[F](fields, name)
            )
            has.unsafe_get(i) = True
        except e:
            if Rejection.status_of(e):
                raise e^
            is_refused = True
            problems.note_value(place, name, _detail_of(e, place))
    if is_refused:
        raise Error(_MISSING)


@always_inline
def _field_of[
    F: Deinitable & Movable, origin: ImmOrigin
](fields: QueryParameters[origin], name: StaticString) raises -> F:
    comptime if conforms_to(F, FieldType):
        return F.from_fields_of(fields, name)
    else:
        var text = fields.get(name)
        if not text:
            raise Error(_MISSING)
        return text_value[F](text.value().as_bytes())


@no_inline
def _detail_of(e: Error, place: UInt8) -> String:
    var text = String(e)
    if text != _MISSING:
        return text^
    if place == FoundProblem.QUERY:
        return "the parameter is missing"
    return "the field is missing"


def _drop_fields[
    T: FromFields
](mut slot: MaybeUninit[T], has: Array[Bool, reflect[T].field_count()]):
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime assert conforms_to(F, Deinitable)
        if has.unsafe_get(i):
            ref whole = slot.unsafe_ptr()[]
            Pointer(to=reflect[T].field_ref[i](whole)).unsafe_deinit_pointee()
