"""Defines the results of statements."""


trait RowSource:
    """The rows of a result, in the memory of the client."""

    def row_count(self) -> Int:
        """Returns the number of rows.

        Returns:
            The number.
        """
        ...

    def column_count(self) -> Int:
        """Returns the number of columns.

        Returns:
            The number.
        """
        ...

    def column_name(self, column: Int) -> String:
        """Returns the name of a column.

        Args:
            column: The index of the column.

        Returns:
            The name.
        """
        ...

    @staticmethod
    def decodes[T: AnyType]() -> Bool:
        """Returns whether a type is decoded from one column.

        Parameters:
            T: The type.

        Returns:
            True if `value` takes it.
        """
        ...

    def value[
        T: Deinitable & Movable
    ](self, row: Int, column: Int, field: StaticString) raises -> T:
        """Decodes one value.

        Parameters:
            T: A type of one column.

        Args:
            row: The index of its row.
            column: The index of its column.
            field: The field that receives it, for errors.

        Returns:
            The value.

        Raises:
            Error: If it does not fit the type.
        """
        ...

    @staticmethod
    def decode_error(text: StringSlice) -> Error:
        """Returns the error for columns that do not fit the type of a row.

        Args:
            text: The problem.

        Returns:
            The error.
        """
        ...

    @staticmethod
    def no_rows() -> Error:
        """Returns the error for a result that lacks its only row.

        Returns:
            The error.
        """
        ...

    @staticmethod
    def too_many_rows() -> Error:
        """Returns the error for a result of several rows in place of one.

        Returns:
            The error.
        """
        ...


@fieldwise_init
struct Executed(ImplicitlyCopyable):
    """The outcome of a command."""

    var rows: Int
    """How many rows it has changed or returned; 0 for other commands."""
