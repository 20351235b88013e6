"""Defines the decimal numbers of the server, for which Mojo has no type."""

from .column import Column, FromColumn
from .numeric_text import numeric_text
from .parameter import PgParameters, ToParameter, add_text
from .type_ids import TypeId


@fieldwise_init
struct Numeric(Copyable, Equatable, FromColumn, ToParameter, Writable):
    """A decimal number of any length: `numeric`. Mojo has no such type, so this
    is its text, with which programs calculate as they like.
    """

    var text: String
    """As `-12.50`, with all digits of the column's scale; `NaN` and `Infinity`
    are numbers too."""

    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Reads a `numeric`.

        Args:
            column: The value.

        Returns:
            The number.

        Raises:
            PostgresError: If the column has another type.
        """
        var octets = column.not_null()
        if column.type_id() == TypeId.NUMERIC:
            var text = numeric_text(octets)
            if text:
                return Self(text.take())
        raise column.mismatch("Numeric")

    @staticmethod
    def parameter_type() -> Int:
        """Returns the type `numeric`.

        Returns:
            The object id.
        """
        return TypeId.NUMERIC

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends the number, as text. The server refuses one that is none.

        Args:
            parameters: The parameters of a statement.

        Raises:
            PostgresError: If the text contains NUL.
        """
        add_text(parameters, TypeId.NUMERIC, self.text)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text.

        Args:
            writer: The destination.
        """
        writer.write(self.text)
