"""Encodes the parameters of statements.

Numbers, times and octets are sent in the server's binary form, with their
type. Texts are sent without a type, which the server takes from the place of the
parameter. So a `String` fits a column of type `uuid`, `numeric` or `date` too.
"""

from std.memory import bitcast

from flare.json import Value, dumps
from flare.sql.text import has_nul
from flare.sql.types import Date, Timestamp
from flare.sys.pg_parameters import PgParameters

from .big_endian import append_big_endian
from .column import DAYS_MAX, EPOCH_DAYS, EPOCH_US
from .error import PostgresError
from .numeric_text import numeric_octets
from .type_ids import TypeId, array_id_of

comptime PARAMETERS_MAX = 65_535
"""The most parameters of a statement: the protocol counts them in 16 bits."""
comptime PARAMETER_OCTETS_MAX = (1 << 30) - 1
"""The longest parameter: the server takes no longer field."""


trait ToParameter:
    """A type whose values may be parameters of a statement."""

    @staticmethod
    def parameter_type() -> Int:
        """Returns the type that the server is told.

        Returns:
            An object id; 0 lets the server choose.
        """
        ...

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends the value, with one of `add_binary`, `add_text`.

        Args:
            parameters: The parameters of a statement.

        Raises:
            PostgresError: `postgres.bad_parameter`.
        """
        ...


def encode_parameters[*Ps: AnyType](*values: *Ps) raises -> PgParameters:
    """Encodes the parameters of a statement.

    Parameters:
        Ps: The types of the values.

    Args:
        values: The values.

    Returns:
        The parameters in the form that is sent.

    Raises:
        PostgresError: `postgres.bad_parameter`.
    """
    comptime assert Ps.length <= PARAMETERS_MAX, "more than 65,535 parameters"
    var parameters = PgParameters()
    # A bound on the pack would be checked where the caller stands, which does
    # not see the conformances below.
    comptime for i in range(Ps.length):
        comptime assert conforms_to(
            Ps[i], ToParameter
        ), "a parameter of a statement has a type that flare does not encode"
        values[i].add_to(parameters)
    return parameters^


def add_binary(
    mut parameters: PgParameters, type_id: Int, octets: Span[UInt8, _]
) raises:
    """Appends a value in the server's binary form.

    Args:
        parameters: The parameters of a statement.
        type_id: The object id of the type.
        octets: The value.

    Raises:
        PostgresError: If the value is too long.
    """
    _add(parameters, type_id, octets, PgParameters.BINARY)


def add_text(
    mut parameters: PgParameters, type_id: Int, text: StringSlice
) raises:
    """Appends a value as text, which the server converts.

    Args:
        parameters: The parameters of a statement.
        type_id: The object id of the type, or 0.
        text: The value.

    Raises:
        PostgresError: If the text contains NUL, or is too long.
    """
    if has_nul(text):
        raise bad_parameter(
            "a text contains NUL, which PostgreSQL does not store"
        )
    _add(parameters, type_id, text.as_bytes(), PgParameters.TEXT)


def add_null(mut parameters: PgParameters, type_id: Int):
    """Appends NULL.

    Args:
        parameters: The parameters of a statement.
        type_id: The object id of the type, or 0.
    """
    parameters.starts.append(PgParameters.NULL)
    parameters.lengths.append(0)
    parameters.formats.append(PgParameters.BINARY)
    parameters.types.append(Int32(type_id))


__extension SIMD(ToParameter):
    @staticmethod
    def parameter_type() -> Int:
        """Returns the narrowest type that contains all values.

        Returns:
            The object id.
        """
        comptime assert Self.length == 1, "a vector is no parameter"
        comptime if Self.dtype == DType.bool:
            return TypeId.BOOL
        elif Self.dtype == DType.float64:
            return TypeId.FLOAT8
        elif Self.dtype == DType.float32:
            return TypeId.FLOAT4
        elif (
            Self.dtype == DType.int16
            or Self.dtype == DType.int8
            or Self.dtype == DType.uint8
        ):
            return TypeId.INT2
        elif Self.dtype == DType.int32 or Self.dtype == DType.uint16:
            return TypeId.INT4
        else:
            comptime assert (
                Self.dtype == DType.int
                or Self.dtype == DType.int64
                or Self.dtype == DType.uint32
            ), "PostgreSQL has no integers above those of Int64"
            return TypeId.INT8

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends a number.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            Never.
        """
        comptime id = Self.parameter_type()
        var octets = List[UInt8](capacity=8)
        comptime if Self.dtype == DType.float64:
            append_big_endian(
                octets, Int(bitcast[DType.int64](Float64(self[0]))), 8
            )
        elif Self.dtype == DType.float32:
            append_big_endian(
                octets, Int(bitcast[DType.int32](Float32(self[0]))), 4
            )
        else:
            comptime count = 1 if id == TypeId.BOOL else (
                2 if id == TypeId.INT2 else (4 if id == TypeId.INT4 else 8)
            )
            append_big_endian(octets, Int(self[0]), count)
        _add(parameters, id, Span(octets), PgParameters.BINARY)


__extension Bool(ToParameter):
    @staticmethod
    def parameter_type() -> Int:
        """Returns the type `boolean`.

        Returns:
            The object id.
        """
        return TypeId.BOOL

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends a boolean.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            Never.
        """
        var octets: List[UInt8] = [UInt8(1) if self else UInt8(0)]
        _add(parameters, TypeId.BOOL, Span(octets), PgParameters.BINARY)


__extension String(ToParameter):
    @staticmethod
    def parameter_type() -> Int:
        """Returns 0, by which the server chooses the type.

        Returns:
            0.
        """
        return TypeId.UNKNOWN

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends a text.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            PostgresError: If the text contains NUL, or is too long.
        """
        add_text(parameters, TypeId.UNKNOWN, self)


__extension StringSpan(ToParameter):
    @staticmethod
    def parameter_type() -> Int:
        """Returns 0, by which the server chooses the type.

        Returns:
            0.
        """
        return TypeId.UNKNOWN

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends a text, such as a part of a request.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            PostgresError: If the text contains NUL, or is too long.
        """
        add_text(parameters, TypeId.UNKNOWN, self)


__extension Value(ToParameter):
    @staticmethod
    def parameter_type() -> Int:
        """Returns 0, by which the server chooses `json` or `jsonb`.

        Returns:
            0.
        """
        return TypeId.UNKNOWN

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends the text of a JSON value.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            PostgresError: If the text is too long.
        """
        add_text(parameters, TypeId.UNKNOWN, dumps(self))


__extension Timestamp(ToParameter):
    @staticmethod
    def parameter_type() -> Int:
        """Returns the type `timestamptz`.

        Returns:
            The object id.
        """
        return TypeId.TIMESTAMPTZ

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends a time.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            PostgresError: If the server has no such time.
        """
        if self.unix_us <= Int.MIN + EPOCH_US:
            raise bad_parameter("the time is too early")
        var octets = List[UInt8](capacity=8)
        append_big_endian(octets, self.unix_us - EPOCH_US, 8)
        add_binary(parameters, TypeId.TIMESTAMPTZ, Span(octets))


__extension Date(ToParameter):
    @staticmethod
    def parameter_type() -> Int:
        """Returns the type `date`.

        Returns:
            The object id.
        """
        return TypeId.DATE

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends a day.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            PostgresError: If the server has no such day.
        """
        var days = self.unix_days - EPOCH_DAYS
        if not -DAYS_MAX <= days <= DAYS_MAX:
            raise bad_parameter("the day does not fit date")
        var octets = List[UInt8](capacity=4)
        append_big_endian(octets, days, 4)
        add_binary(parameters, TypeId.DATE, Span(octets))


__extension Optional(ToParameter):
    @staticmethod
    def parameter_type() -> Int:
        """Returns the type of the value.

        Returns:
            The object id, or 0.
        """
        comptime assert conforms_to(
            Self.T, ToParameter
        ), "the value of an optional is no parameter"
        return Self.T.parameter_type()

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends the value, or NULL.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            PostgresError: As the value does.
        """
        comptime assert conforms_to(
            Self.T, ToParameter
        ), "the value of an optional is no parameter"
        if self:
            self.value().add_to(parameters)
        else:
            add_null(parameters, Self.T.parameter_type())


__extension List(ToParameter):
    @staticmethod
    def parameter_type() -> Int:
        """Returns `bytea` for a list of octets, otherwise an array.

        Returns:
            The object id.
        """
        comptime assert conforms_to(
            Self.T, ToParameter
        ), "the elements of a list are no parameters"
        comptime if reflect[Self.T].name() == reflect[UInt8].name():
            return TypeId.BYTEA
        elif Self.T.parameter_type() == TypeId.UNKNOWN:
            return array_id_of(TypeId.TEXT)
        else:
            return array_id_of(Self.T.parameter_type())

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends octets, or an array of one dimension.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            PostgresError: As an element does.
        """
        comptime assert conforms_to(
            Self.T, ToParameter
        ), "the elements of a list are no parameters"
        comptime if reflect[Self.T].name() == reflect[UInt8].name():
            add_binary(parameters, TypeId.BYTEA, rebind[List[UInt8]](self))
        else:
            var array = _ArrayOctets(array_element_of[Self.T](), len(self))
            for i in range(len(self)):
                self[i].add_to(array.element)
                array.take_element()
            array.add_to(parameters)


__extension Array(ToParameter):
    @staticmethod
    def parameter_type() -> Int:
        """Returns the type of a list of these elements.

        Returns:
            The object id.
        """
        comptime assert conforms_to(
            Self.T, ToParameter
        ), "the elements of an array are no parameters"
        comptime if Self.T.parameter_type() == TypeId.UNKNOWN:
            return array_id_of(TypeId.TEXT)
        else:
            return array_id_of(Self.T.parameter_type())

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends an array, such as `[1, 2, 3]`.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            PostgresError: As an element does.
        """
        comptime assert conforms_to(
            Self.T, ToParameter
        ), "the elements of an array are no parameters"
        var array = _ArrayOctets(array_element_of[Self.T](), len(self))
        for i in range(len(self)):
            self[i].add_to(array.element)
            array.take_element()
        array.add_to(parameters)


def array_element_of[T: ToParameter]() -> Int:
    """Returns the type of the elements of an array.

    Parameters:
        T: The type of the elements.

    Returns:
        The object id.
    """
    comptime element = (
        T.parameter_type() if T.parameter_type()
        != TypeId.UNKNOWN else TypeId.TEXT
    )
    comptime assert (
        array_id_of(element) != 0
    ), "arrays of this type are no parameters"
    return element


struct _ArrayOctets(Movable):
    """Writes an array of one dimension in its binary form."""

    var element: PgParameters
    """The next element, alone."""
    var type_id: Int
    """The type of the elements."""
    var octets: List[UInt8]
    """The array so far."""

    def __init__(out self, type_id: Int, count: Int):
        self.element = PgParameters()
        self.type_id = type_id
        self.octets = List[UInt8]()
        append_big_endian(self.octets, 1 if count > 0 else 0, 4)
        append_big_endian(self.octets, 0, 4)
        append_big_endian(self.octets, type_id, 4)
        if count > 0:
            append_big_endian(self.octets, count, 4)
            append_big_endian(self.octets, 1, 4)

    def take_element(mut self) raises:
        var start = self.element.starts[0]
        if start == PgParameters.NULL:
            # The array says that it contains one.
            self.octets[7] = 1
            append_big_endian(self.octets, -1, 4)
        else:
            var length = Int(self.element.lengths[0])
            var octets = Span(self.element.octets)[start : start + length]
            if self.type_id == TypeId.NUMERIC:
                # Alone, it is sent as text.
                var number = numeric_octets(octets)
                if len(number) == 0:
                    raise bad_parameter(
                        "an array has numbers such as -12.50, not this text"
                    )
                append_big_endian(self.octets, len(number), 4)
                self.octets.extend(Span(number))
            else:
                append_big_endian(self.octets, length, 4)
                self.octets.extend(octets)
        self.element.starts.clear()
        self.element.lengths.clear()
        self.element.octets.clear()

    def add_to(self, mut parameters: PgParameters) raises:
        add_binary(parameters, array_id_of(self.type_id), Span(self.octets))


def _add(
    mut parameters: PgParameters,
    type_id: Int,
    octets: Span[UInt8, _],
    format: Int32,
) raises:
    if len(octets) > PARAMETER_OCTETS_MAX:
        raise bad_parameter("a parameter has 1 GiB or more")
    parameters.starts.append(len(parameters.octets))
    parameters.lengths.append(Int32(len(octets)))
    parameters.formats.append(format)
    parameters.types.append(Int32(type_id))
    parameters.octets.extend(octets)
    # The library finds the end of a text by NUL.
    parameters.octets.append(0)


def bad_parameter(text: StringSlice) -> Error:
    """Returns the error of a parameter that cannot be sent.

    Args:
        text: The cause.

    Returns:
        `postgres.bad_parameter`.
    """
    return Error(String(PostgresError(PostgresError.BAD_PARAMETER, text)))
