"""Defines the error of the database, and its text form.

A public function raises the text only: Mojo's `try` catches one error type,
and programs mix queries with `Int(text)`. The text starts with a stable code,
as in `sqlite.engine 2067 message="…" table="items" column="id"`.
`SqliteError.of` reads the fields back.
"""

from flare.core.error_text import ErrorFields, append_field, read_fields
from flare.sys.libsqlite import SqliteCode

comptime _KINDS: List[StaticString] = [
    "engine",
    "open",
    "no_library",
    "no_rows",
    "too_many_rows",
    "decode",
    "timeout",
    "acquire_timeout",
    "bad_options",
    "bad_parameter",
    "commit_unknown",
    "closed",
    "rolled_back",
    "queue_full",
    "too_large",
]
comptime _CONSTRAINT_FAILED: StaticString = " constraint failed: "


struct SqliteError(ImplicitlyCopyable, Writable):
    """Describes a failed call of the database."""

    comptime ENGINE = 0
    """SQLite refused the statement, which had no effect; see `code`."""
    comptime OPEN = 1
    """The file cannot be opened; see `code`."""
    comptime NO_LIBRARY = 2
    """The machine lacks `libsqlite3.so.0` that serves several threads."""
    comptime NO_ROWS = 3
    """`query_one` found no row."""
    comptime TOO_MANY_ROWS = 4
    """`query_one` or `query_optional` found more than one row."""
    comptime DECODE = 5
    """A value does not fit its field, or columns and fields differ."""
    comptime TIMEOUT = 6
    """The deadline of the statement or of the transaction passed; see `sent`.
    """
    comptime ACQUIRE_TIMEOUT = 7
    """No thread became free in time. The statement did not run."""
    comptime BAD_OPTIONS = 8
    """A path or an option is invalid."""
    comptime BAD_PARAMETER = 9
    """A parameter or a statement is not allowed. It did not run."""
    comptime COMMIT_UNKNOWN = 10
    """The deadline passed while the disk was writing the transaction."""
    comptime CLOSED = 11
    """The database or the transaction is closed."""
    comptime ROLLED_BACK = 12
    """An error before this call has rolled the transaction back."""
    comptime QUEUE_FULL = 13
    """`waiting_max` statements wait already."""
    comptime TOO_LARGE = 14
    """The result exceeds `result_octets_max`."""

    var kind: Int
    """One of the constants above."""
    var code: Int
    """The extended result code of SQLite, such as 2067; 0 for other kinds."""
    var message: String
    """The message of SQLite, or the cause. It may contain octets of users."""
    var constraint: String
    """The name or the text of a violated CHECK constraint, or empty."""
    var table: String
    """The table of a violated UNIQUE or NOT NULL constraint, or empty."""
    var column: String
    """Its first column, or the column that was not decoded; or empty."""
    var position: Int
    """The place in the statement, counted in octets from 1; 0 if none."""
    var sent: Bool
    """Whether the statement may have had an effect."""

    def __init__(
        out self, kind: Int, message: StringSlice = "", *, sent: Bool = False
    ):
        """Creates an error that SQLite did not report.

        Args:
            kind: One of the constants of this struct.
            message: The cause.
            sent: Whether the statement may have had an effect.
        """
        self.kind = kind
        self.code = 0
        self.message = String(message)
        self.constraint = String()
        self.table = String()
        self.column = String()
        self.position = 0
        self.sent = sent

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Returns the fields of an error that the database raised.

        Args:
            e: Any error.

        Returns:
            The fields; `None` if the error has another origin.
        """
        var text = String(e)
        var fields = read_fields(text.as_bytes(), "sqlite.")
        if not fields:
            return None
        comptime for i in range(len(_KINDS)):
            if fields.value().kind == comptime (_KINDS[i]):
                return Self._from_fields(i, fields.value())
        return None

    @staticmethod
    def from_code(kind: Int, code: Int, message: StringSlice) -> Self:
        """Returns the error of a call of SQLite.

        Args:
            kind: `ENGINE` or `OPEN`.
            code: The extended result code.
            message: Its text.

        Returns:
            The error, with the names that the text contains.
        """
        var error = Self(kind, message)
        error.code = code
        if code & 0xFF == SqliteCode.CONSTRAINT:
            error._read_names()
        return error^

    def name(self) -> String:
        """Returns the name of the kind, as in the text form.

        Returns:
            A word such as `engine` or `timeout`.
        """
        comptime for i in range(len(_KINDS)):
            if self.kind == i:
                return String(comptime (_KINDS[i]))
        return String("unknown")

    def is_unique_violation(self) -> Bool:
        """Returns whether a unique constraint was violated.

        Returns:
            True for SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY and _ROWID.
        """
        return self.code == 2067 or self.code == 1555 or self.code == 2579

    def is_foreign_key_violation(self) -> Bool:
        """Returns whether a foreign key refers to no row, or a row is still
        referred to.

        Returns:
            True for SQLITE_CONSTRAINT_FOREIGNKEY.
        """
        return self.code == 787

    def is_check_violation(self) -> Bool:
        """Returns whether a CHECK constraint was violated.

        Returns:
            True for SQLITE_CONSTRAINT_CHECK.
        """
        return self.code == 275

    def is_not_null_violation(self) -> Bool:
        """Returns whether a column may not be NULL.

        Returns:
            True for SQLITE_CONSTRAINT_NOTNULL.
        """
        return self.code == 1299

    def is_serialization_failure(self) -> Bool:
        """Returns whether the whole transaction should be repeated.

        Returns:
            True if another process held a lock for too long.
        """
        return self.is_busy()

    def is_busy(self) -> Bool:
        """Returns whether another connection held a lock for too long.

        Returns:
            True for SQLITE_BUSY and SQLITE_LOCKED.
        """
        var code = self.code & 0xFF
        return code == SqliteCode.BUSY or code == SqliteCode.LOCKED

    def is_read_only(self) -> Bool:
        """Returns whether the database may not be changed.

        Returns:
            True for SQLITE_READONLY.
        """
        return self.code & 0xFF == SqliteCode.READ_ONLY

    def is_full(self) -> Bool:
        """Returns whether the disk is full.

        Returns:
            True for SQLITE_FULL.
        """
        return self.code & 0xFF == SqliteCode.FULL

    def is_corrupt(self) -> Bool:
        """Returns whether the file is damaged, or no database.

        Returns:
            True for SQLITE_CORRUPT and SQLITE_NOTADB.
        """
        var code = self.code & 0xFF
        return code == SqliteCode.CORRUPT or code == SqliteCode.NOT_A_DATABASE

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text form.

        Args:
            writer: The destination.
        """
        var text = String("sqlite.", self.name())
        if self.code != 0:
            text += String(" ", self.code)
        append_field(text, "message", self.message)
        append_field(text, "constraint", self.constraint)
        append_field(text, "table", self.table)
        append_field(text, "column", self.column)
        if self.position > 0:
            append_field(text, "position", String(self.position))
        if self.sent or self.kind == Self.TIMEOUT:
            append_field(text, "sent", "true" if self.sent else "false")
        writer.write(text)

    @staticmethod
    def _from_fields(kind: Int, fields: ErrorFields) -> Self:
        var error = Self(kind, fields.get("message"))
        error.code = _number(fields.code)
        error.constraint = fields.get("constraint")
        error.table = fields.get("table")
        error.column = fields.get("column")
        error.position = _number(fields.get("position"))
        error.sent = fields.get("sent") == "true"
        return error^

    def _read_names(mut self):
        # SQLite has no fields for these, and does not translate its texts.
        var start = self.message.find(_CONSTRAINT_FAILED)
        if start < 0:
            return
        var octets = self.message.as_bytes()
        var names = String(
            from_utf8_lossy=octets[start + _CONSTRAINT_FAILED.byte_length() :]
        )
        if not (self.is_unique_violation() or self.is_not_null_violation()):
            self.constraint = names^
            return
        var first = String(names.split(", ")[0])
        var dot = first.find(".")
        if dot > 0:
            self.table = String(first[byte=:dot])
            self.column = String(first[byte = dot + 1 :])


def _number(text: StringSlice) -> Int:
    try:
        return Int(text)
    except:
        return 0
