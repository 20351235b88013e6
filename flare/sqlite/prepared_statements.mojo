"""Keeps the prepared statements of one connection."""

from std.collections import Dict
from std.memory import ArcPointer

from flare.core import PointerTo, heap_create, heap_destroy
from flare.sys.libsqlite_statement import SqliteStatement

from .values import ColumnTable


struct CachedStatement(Copyable, Movable):
    """A prepared statement, its columns and its parameters."""

    var statement: SqliteStatement
    """The statement."""
    var columns: ArcPointer[ColumnTable]
    """Its columns."""
    var numbers: List[Int]
    """For each index of a parameter, the number of the program's parameter."""
    var count: Int
    """How many parameters the program passes."""
    var is_read_only: Bool
    """Whether it changes nothing."""
    var prepared_again: Int
    """How often SQLite had prepared it again when `columns` was read."""
    var skips: Int
    """How often the calling thread passes it to a reader, because it took too
    long."""

    def __init__(out self, statement: SqliteStatement):
        """Creates the record of a statement, and reads its columns.

        Args:
            statement: The statement, which the cache frees.
        """
        self.statement = statement
        self.columns = columns_of(statement)
        self.numbers = List[Int]()
        self.count = 0
        self.is_read_only = statement.is_read_only()
        self.prepared_again = 0
        self.skips = 0

    def first_problem(mut self) -> String:
        """Finds the number of each parameter by its name.

        Returns:
            A text that names one that has no number; empty if all have.
        """
        for index in range(1, self.statement.parameters() + 1):
            var name = self.statement.parameter_name(index)
            var number = index
            if name.startswith("$"):
                try:
                    number = Int(name[byte=1:])
                except:
                    number = 0
            elif name != "" and not name.startswith("?"):
                number = 0
            if number < 1:
                return String("parameter ", name, " has no number, as $1")
            self.numbers.append(number)
            self.count = max(self.count, number)
        return String()


def columns_of(statement: SqliteStatement) -> ArcPointer[ColumnTable]:
    """Reads the columns of a statement.

    Args:
        statement: The statement.

    Returns:
        The columns.
    """
    var table = ColumnTable()
    for column in range(statement.columns()):
        table.names.append(statement.column_name(column))
        table.declared_types.append(statement.declared_type(column))
    return ArcPointer(table^)


struct PreparedStatements(Movable, Sized):
    """The prepared statements of one connection, by their text."""

    var _by_text: Dict[String, Int]
    var _statements: List[PointerTo[CachedStatement]]
    var _texts: List[String]
    var _used: List[Int]
    var _uses: Int
    var _count_max: Int

    def __init__(out self, count_max: Int):
        """Creates an empty cache.

        Args:
            count_max: How many statements it keeps, at least 1.
        """
        self._by_text = Dict[String, Int]()
        self._statements = List[PointerTo[CachedStatement]]()
        self._texts = List[String]()
        self._used = List[Int]()
        self._uses = 0
        self._count_max = count_max

    def __len__(self) -> Int:
        """Returns the number of statements.

        Returns:
            The number.
        """
        return len(self._statements)

    def find(mut self, text: String) -> Int:
        """Returns the place of a statement, which counts as used.

        Args:
            text: Its text.

        Returns:
            The place; -1 if it is not in the cache.
        """
        var found = self._by_text.get(text)
        if not found:
            return -1
        self._uses += 1
        self._used[found.value()] = self._uses
        return found.value()

    def add(mut self, var text: String, var statement: CachedStatement) -> Int:
        """Adds a statement. If the cache is full, frees the one that was not
        used for the longest time.

        Args:
            text: Its text.
            statement: The statement.

        Returns:
            Its place.
        """
        self._uses += 1
        if len(self._statements) < self._count_max:
            self._by_text[text] = len(self._statements)
            self._statements.append(heap_create(statement^))
            self._texts.append(text^)
            self._used.append(self._uses)
            return len(self._statements) - 1
        var place = 0
        for i in range(1, len(self._used)):
            if self._used[i] < self._used[place]:
                place = i
        try:
            _ = self._by_text.pop(self._texts[place])
        except:
            debug_assert(False, "each text of the list is in the table")
        self._statements[place][].statement.finalize()
        self._by_text[text] = place
        self._statements[place][] = statement^
        self._texts[place] = text^
        self._used[place] = self._uses
        return place

    def at(self, place: Int) -> PointerTo[CachedStatement]:
        """Returns the statement at a place.

        Args:
            place: The place.

        Returns:
            The statement, valid until the next `add`.
        """
        return self._statements[place]

    def clear(mut self):
        """Frees all statements."""
        for i in range(len(self._statements)):
            self._statements[i][].statement.finalize()
            heap_destroy(self._statements[i])
        self._by_text = Dict[String, Int]()
        self._statements.clear()
        self._texts.clear()
        self._used.clear()
