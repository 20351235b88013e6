"""Encodes the parameters of statements as values of SQLite."""

from flare.json import Value, dumps
from flare.sql.text import has_nul
from flare.sql.types import Date, Timestamp
from flare.sys.libsqlite_statement import SqliteType

from .error import SqliteError
from .time_text import date_text, time_text
from .values import ValueBlock

comptime PARAMETERS_MAX = 32_766
"""The most parameters of a statement: the limit of SQLite."""
comptime PARAMETER_OCTETS_MAX = 1_000_000_000
"""The longest parameter: the limit of SQLite."""


trait ToParameter:
    """A type whose values may be parameters of a statement."""

    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends the value, with one of the `add_` methods or functions.

        Args:
            parameters: The parameters of a statement.

        Raises:
            SqliteError: `sqlite.bad_parameter`.
        """
        ...


def encode_parameters[*Ps: AnyType](*values: *Ps) raises -> ValueBlock:
    """Encodes the parameters of a statement.

    Parameters:
        Ps: The types of the values.

    Args:
        values: The values.

    Returns:
        The parameters.

    Raises:
        SqliteError: `sqlite.bad_parameter`.
    """
    comptime assert Ps.length <= PARAMETERS_MAX, "more than 32,766 parameters"
    var parameters = ValueBlock()
    # A bound on the pack would be checked where the caller stands, which does
    # not see the conformances below.
    comptime for i in range(Ps.length):
        comptime assert conforms_to(
            Ps[i], ToParameter
        ), "a parameter of a statement has a type that flare does not encode"
        values[i].add_to(parameters)
    return parameters^


def add_text(mut parameters: ValueBlock, text: StringSlice) raises:
    """Appends a text.

    Args:
        parameters: The parameters of a statement.
        text: The text.

    Raises:
        SqliteError: If the text contains NUL, or is too long.
    """
    if has_nul(text):
        # Functions of SQLite disagree on where such a text ends.
        raise bad_parameter("a text contains NUL: store it as List[UInt8]")
    _add(parameters, SqliteType.TEXT, text.as_bytes())


def add_blob(mut parameters: ValueBlock, octets: Span[UInt8, _]) raises:
    """Appends octets.

    Args:
        parameters: The parameters of a statement.
        octets: The octets.

    Raises:
        SqliteError: If there are too many.
    """
    _add(parameters, SqliteType.BLOB, octets)


__extension SIMD(ToParameter):
    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends a number.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            SqliteError: If the number is NaN.
        """
        comptime assert Self.length == 1, "a vector is no parameter"
        comptime if Self.dtype.is_floating_point():
            if self[0] != self[0]:
                raise bad_parameter("NaN, which SQLite does not store")
            parameters.add_real(Float64(self[0]))
        else:
            comptime assert (
                Self.dtype != DType.uint64 and Self.dtype != DType.uint
            ), "SQLite has no integers above those of Int64"
            parameters.add_integer(Int64(self[0]))


__extension Bool(ToParameter):
    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends a boolean, as 0 or 1.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            Never.
        """
        parameters.add_integer(Int64(Int(self)))


__extension String(ToParameter):
    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends a text.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            SqliteError: If the text contains NUL, or is too long.
        """
        add_text(parameters, self)


__extension StringSpan(ToParameter):
    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends a text, such as a part of a request.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            SqliteError: If the text contains NUL, or is too long.
        """
        add_text(parameters, self)


__extension Value(ToParameter):
    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends the text of a JSON value.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            SqliteError: If the text is too long.
        """
        add_text(parameters, dumps(self))


__extension Timestamp(ToParameter):
    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends a time, as `TEXT`.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            SqliteError: If the year is not 0 to 9999.
        """
        _add_time(parameters, time_text(self.unix_us))


__extension Date(ToParameter):
    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends a day, as `TEXT`.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            SqliteError: If the year is not 0 to 9999.
        """
        _add_time(parameters, date_text(self.unix_days))


__extension Optional(ToParameter):
    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends the value, or NULL.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            SqliteError: As the value does.
        """
        comptime assert conforms_to(
            Self.T, ToParameter
        ), "the value of an optional is no parameter"
        if self:
            self.value().add_to(parameters)
        else:
            parameters.add_null()


__extension List(ToParameter):
    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends octets.

        Args:
            self: The value.
            parameters: The parameters of a statement.

        Raises:
            SqliteError: If there are too many.
        """
        comptime assert (
            reflect[Self.T].name() == reflect[UInt8].name()
        ), "of lists, only those of UInt8 are parameters"
        add_blob(parameters, rebind[List[UInt8]](self))


def _add_time(mut parameters: ValueBlock, text: Optional[String]) raises:
    if not text:
        raise bad_parameter("the year is not in 0 to 9999")
    _add(parameters, SqliteType.TEXT, text.value().as_bytes())


def _add(mut parameters: ValueBlock, type: Int, octets: Span[UInt8, _]) raises:
    if len(octets) > PARAMETER_OCTETS_MAX:
        raise bad_parameter("a parameter has more than 1,000,000,000 octets")
    parameters.add_octets(type, octets)


def bad_parameter(text: StringSlice) -> Error:
    """Returns the error of a parameter that cannot be stored.

    Args:
        text: The cause.

    Returns:
        `sqlite.bad_parameter`.
    """
    return Error(String(SqliteError(SqliteError.BAD_PARAMETER, text)))
