"""Loads SQLite's library at first use, and opens connections.

A connection is used by one thread at a time, so SQLite takes no lock for it.
"""

from std.ffi import _Global, c_int

from flare.core import Erased, OctetPointer, PointerTo, heap_create
from flare.core import heap_destroy

from .dynamic_library import OptionalErased
from .libsqlite_control import (
    PROGRESS_STEPS,
    SqliteControl,
    on_authorize,
    on_busy,
    on_progress,
)
from .libsqlite_functions import (
    SQLITE_NAMES,
    ObjectFunction,
    SqliteLibrary,
    SqliteTextFunction,
    address_of_octets,
    text_of_c,
)
from .libsqlite_statement import SqliteStatement

comptime _LIBRARY = _Global["flare_sqlite", _load_for_the_process]
comptime _READ_ONLY = 0x1
comptime _READ_WRITE = 0x2
comptime _CREATE = 0x4
comptime _NO_MUTEX = 0x8000
comptime _PERSISTENT = UInt32(1)
comptime _Words = PointerTo[Int]


struct SqliteCode:
    """The results of calls, without the extended part."""

    comptime OK = 0
    """The call succeeded."""
    comptime BUSY = 5
    """Another connection holds a lock."""
    comptime LOCKED = 6
    """The same connection holds a lock."""
    comptime NO_MEMORY = 7
    """There is no memory."""
    comptime READ_ONLY = 8
    """The database may not be changed."""
    comptime INTERRUPTED = 9
    """The statement was stopped."""
    comptime CORRUPT = 11
    """The file is damaged."""
    comptime FULL = 13
    """The disk, or the database, is full."""
    comptime CANNOT_OPEN = 14
    """A file cannot be opened."""
    comptime CONSTRAINT = 19
    """A constraint is violated."""
    comptime NOT_A_DATABASE = 26
    """The file has another format."""
    comptime ROW = 100
    """A row is there."""
    comptime DONE = 101
    """The statement has ended."""


@fieldwise_init
struct Sqlite(TrivialRegisterPassable):
    """A handle to the loaded library."""

    var library: PointerTo[SqliteLibrary]
    """The library."""

    def version(self) -> Int:
        """Returns the version.

        Returns:
            The version, as 3040001 for 3.40.1.
        """
        return self.library[].version

    def open(
        self,
        path: List[UInt8],
        *,
        read_only: Bool,
        closing: PointerTo[UInt32],
        busy_timeout_ms: Int,
    ) -> Tuple[Int, String, Optional[SqliteConnection]]:
        """Opens a connection. This blocks.

        Args:
            path: The path of the file, with NUL. It is created if it does not
                exist and may be written.
            read_only: Whether the connection may not write.
            closing: The word that stops all statements when it is not 0.
            busy_timeout_ms: How long it waits for locks of others.

        Returns:
            0 and the connection, or an error and its text.
        """
        var control = heap_create(SqliteControl(closing, busy_timeout_ms))
        var flags = _NO_MUTEX | (
            _READ_ONLY if read_only else _READ_WRITE | _CREATE
        )
        var result = self.library[].functions.function[
            "sqlite3_open_v2",
            def(
                OctetPointer, _Words, c_int, OptionalErased
            ) thin abi("C") -> c_int,
        ]()(
            address_of_octets(Span(path)),
            _word(control, second=False),
            c_int(flags),
            OptionalErased(None),
        )
        if control[].out_address == 0:
            heap_destroy(control)
            return (SqliteCode.NO_MEMORY, String("out of memory"), None)
        var connection = SqliteConnection(
            self.library,
            Erased(unsafe_from_address=control[].out_address),
            control,
        )
        if result != 0:
            var code = connection.error_code()
            var text = connection.error_text()
            connection.close()
            return (code, text^, None)
        connection._prepare_callbacks()
        return (0, String(), connection)


@fieldwise_init
struct SqliteConnection(Equatable, TrivialRegisterPassable):
    """A handle to a connection."""

    var library: PointerTo[SqliteLibrary]
    """The library."""
    var database: Erased
    """The `sqlite3`."""
    var control: PointerTo[SqliteControl]
    """The state that its callbacks read."""

    def close(self):
        """Closes the connection, whose statements were finalized."""
        _ = self._call["sqlite3_close_v2"]()
        heap_destroy(self.control)

    def prepare(
        self, sql: List[UInt8], start: Int = 0
    ) -> Tuple[Int, Optional[SqliteStatement], Int]:
        """Compiles the first statement of a text.

        Args:
            sql: The text, with NUL.
            start: Where it begins in the text.

        Returns:
            0, the statement and the place of the octet after it; or an error.
            Without a statement, only blanks and comments are left.
        """
        var first = address_of_octets(Span(sql))
        self.control[].out_address = 0
        var result = self.library[].functions.function[
            "sqlite3_prepare_v3",
            def(
                Erased, OctetPointer, c_int, UInt32, _Words, _Words
            ) thin abi("C") -> c_int,
        ]()(
            self.database,
            first.unsafe_offset(start),
            c_int(len(sql) - start),
            _PERSISTENT,
            _word(self.control, second=False),
            _word(self.control, second=True),
        )
        if result != 0:
            return (Int(result), None, start)
        var end = self.control[].out_tail - Int(first)
        if self.control[].out_address == 0:
            return (0, None, end)
        return (
            0,
            SqliteStatement(
                self.library,
                Erased(unsafe_from_address=self.control[].out_address),
            ),
            end,
        )

    def run(self, sql: StringSlice) -> Int:
        """Runs a statement of flare, and drops its rows. This blocks.

        Args:
            sql: The statement.

        Returns:
            0, or an error.
        """
        var text = List[UInt8](capacity=sql.byte_length() + 1)
        text.extend(sql.as_bytes())
        text.append(0)
        var prepared = self.prepare(text)
        if prepared[0] != 0:
            return prepared[0]
        var result = SqliteCode.ROW
        while result == SqliteCode.ROW:
            result = prepared[1].value().step()
        prepared[1].value().finalize()
        return 0 if result == SqliteCode.DONE else result

    def error_code(self) -> Int:
        """Returns the extended code of the last error.

        Returns:
            The code, such as 2067 for SQLITE_CONSTRAINT_UNIQUE.
        """
        return self._call["sqlite3_extended_errcode"]()

    def error_text(self) -> String:
        """Returns the text of the last error.

        Returns:
            The text, which may contain octets of the statement.
        """
        return text_of_c(
            self.library[].functions.function[
                "sqlite3_errmsg", SqliteTextFunction
            ]()(self.database)
        )

    def error_offset(self) -> Int:
        """Returns the place of the last error in the statement.

        Returns:
            The offset in octets; -1 if there is none, or before version 3.38.
        """
        if not self.library[].offset.is_loaded:
            return -1
        return Int(
            self.library[].offset.function[
                "sqlite3_error_offset", ObjectFunction
            ]()(self.database)
        )

    def is_in_transaction(self) -> Bool:
        """Returns whether a transaction is open.

        Returns:
            True after BEGIN.
        """
        return self._call["sqlite3_get_autocommit"]() == 0

    def is_read_only(self) -> Bool:
        """Returns whether the file may not be written.

        Returns:
            True if it was opened so, or its permissions say so.
        """
        return (
            self.library[].functions.function[
                "sqlite3_db_readonly",
                def(Erased, OptionalErased) thin abi("C") -> c_int,
            ]()(self.database, OptionalErased(None))
            == 1
        )

    def changes(self) -> Int:
        """Returns how many rows the last INSERT, UPDATE or DELETE changed.

        Returns:
            The number.
        """
        return self._call["sqlite3_changes"]()

    def _prepare_callbacks(self):
        var argument = self.control.unsafe_bitcast[NoneType]()
        _ = self.library[].functions.function[
            "sqlite3_extended_result_codes",
            def(Erased, c_int) thin abi("C") -> c_int,
        ]()(self.database, c_int(1))
        _ = self.library[].functions.function[
            "sqlite3_busy_handler",
            def(
                Erased, def(Erased, c_int) thin abi("C") -> c_int, Erased
            ) thin abi("C") -> c_int,
        ]()(self.database, on_busy, argument)
        _ = self.library[].functions.function[
            "sqlite3_progress_handler",
            def(
                Erased, c_int, def(Erased) thin abi("C") -> c_int, Erased
            ) thin abi("C") -> NoneType,
        ]()(self.database, c_int(PROGRESS_STEPS), on_progress, argument)
        _ = self.library[].functions.function[
            "sqlite3_set_authorizer",
            def(
                Erased,
                def(
                    Erased,
                    c_int,
                    OptionalErased,
                    OptionalErased,
                    OptionalErased,
                    OptionalErased,
                ) thin abi("C") -> c_int,
                Erased,
            ) thin abi("C") -> c_int,
        ]()(self.database, on_authorize, argument)

    @always_inline
    def _call[name: StaticString](self) -> Int:
        return Int(
            self.library[].functions.function[name, ObjectFunction]()(
                self.database
            )
        )


def sqlite() -> Optional[Sqlite]:
    """Returns the library of the process, and loads it the first time.

    Returns:
        The library; `None` if the machine has none that serves several threads.
    """
    try:
        var state = _LIBRARY.get_or_create_ptr()
        if state[].version == 0:
            return None
        return Sqlite(state.unsafe_origin_cast[MutUntrackedOrigin]())
    except:
        return None


def _load_for_the_process() -> SqliteLibrary:
    comptime for i in range(1, len(SQLITE_NAMES)):
        var state = SqliteLibrary(comptime (SQLITE_NAMES[i - 1]))
        if state.version > 0:
            return state^
    return SqliteLibrary(comptime (SQLITE_NAMES[len(SQLITE_NAMES) - 1]))


def _word(control: PointerTo[SqliteControl], *, second: Bool) -> _Words:
    if second:
        return Pointer(to=control[].out_tail).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
    return Pointer(to=control[].out_address).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
