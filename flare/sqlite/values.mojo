"""Holds values of SQLite side by side: the parameters of a statement, or the
rows of a result.
"""

from std.memory import ArcPointer, bitcast

from flare.core import PointerTo
from flare.sys.libsqlite_statement import SqliteType

comptime CELL_OCTETS = 16
"""The memory of a value, without the octets of a text."""


@fieldwise_init
struct Cell(TrivialRegisterPassable):
    """One value."""

    var type: Int32
    """Its storage class, one of `SqliteType`."""
    var length: Int32
    """The number of octets of a text or blob."""
    var value: Int64
    """The integer, the bits of the real, or the place of the first octet."""


struct ValueBlock(Movable):
    """A sequence of values."""

    var cells: List[Cell]
    """The values."""
    var octets: List[UInt8]
    """The octets of texts and blobs."""

    def __init__(out self):
        """Creates a block without values."""
        self.cells = List[Cell]()
        self.octets = List[UInt8]()

    def add_null(mut self):
        """Appends NULL."""
        self.cells.append(Cell(Int32(SqliteType.NULL), 0, 0))

    def add_integer(mut self, value: Int64):
        """Appends an integer.

        Args:
            value: The integer.
        """
        self.cells.append(Cell(Int32(SqliteType.INTEGER), 0, value))

    def add_real(mut self, value: Float64):
        """Appends a floating-point number.

        Args:
            value: The number. SQLite stores NaN as NULL.
        """
        self.cells.append(
            Cell(Int32(SqliteType.REAL), 0, bitcast[DType.int64](value))
        )

    def add_octets(mut self, type: Int, octets: Span[UInt8, _]):
        """Appends a text or a blob.

        Args:
            type: `SqliteType.TEXT` or `SqliteType.BLOB`.
            octets: The octets, fewer than 2,147,483,648.
        """
        self.cells.append(
            Cell(Int32(type), Int32(len(octets)), Int64(len(self.octets)))
        )
        self.octets.extend(octets)

    def size(self) -> Int:
        """Returns how much memory the values take.

        Returns:
            Octets.
        """
        return len(self.octets) + CELL_OCTETS * len(self.cells)


struct ColumnTable(Movable):
    """The columns of a statement."""

    var names: List[String]
    """Their names."""
    var declared_types: List[String]
    """The types that tables declare for them; empty for expressions."""

    def __init__(out self):
        """Creates the table of a command."""
        self.names = List[String]()
        self.declared_types = List[String]()


struct ResultBlock(Movable):
    """The whole result of a statement. It lies on the heap."""

    var columns: ArcPointer[ColumnTable]
    """Its columns."""
    var values: ValueBlock
    """The values, row after row."""
    var rows: Int
    """The number of rows."""
    var affected: Int
    """How many rows a command has changed, or a query has returned."""

    def __init__(out self, columns: ArcPointer[ColumnTable]):
        """Creates a result without rows.

        Args:
            columns: Its columns.
        """
        self.columns = columns
        self.values = ValueBlock()
        self.rows = 0
        self.affected = 0


@fieldwise_init
struct ResultRows(TrivialRegisterPassable):
    """A handle to the rows of a result."""

    var block: PointerTo[ResultBlock]
    """The result."""

    def count(self) -> Int:
        """Returns the number of rows.

        Returns:
            The number.
        """
        return self.block[].rows

    def columns(self) -> Int:
        """Returns the number of columns.

        Returns:
            The number.
        """
        return len(self.block[].columns[].names)

    def column_name(self, column: Int) -> String:
        """Returns the name of a column.

        Args:
            column: Its index.

        Returns:
            The name.
        """
        return self.block[].columns[].names[column]

    def declared_type(self, column: Int) -> String:
        """Returns the type that a table declares for a column.

        Args:
            column: Its index.

        Returns:
            The type, or empty.
        """
        return self.block[].columns[].declared_types[column]

    @always_inline
    def cell(self, row: Int, column: Int) -> Cell:
        """Returns a value.

        Args:
            row: The index of its row.
            column: The index of its column.

        Returns:
            The value.
        """
        return self.block[].values.cells[row * self.columns() + column]

    def octets(self, cell: Cell) -> Span[mut=False, UInt8, ImmUntrackedOrigin]:
        """Returns the octets of a text or blob.

        Args:
            cell: The value.

        Returns:
            The octets, valid until the result is destroyed.
        """
        if cell.length == 0:
            return {}
        return Span(
            unsafe_ptr=self.block[]
            .values.octets.unsafe_ptr()
            .unsafe_offset(Int(cell.value))
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=Int(cell.length),
        )
