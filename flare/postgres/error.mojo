"""Defines the error of the database, and its text form.

A public function raises the text only: Mojo's `try` catches one error type,
and programs mix queries with `Int(text)`. The text starts with a stable code,
as in `postgres.server 23505 message="…" constraint="items_pkey"`.
`PostgresError.of` reads the fields back.
"""

from flare.core.error_text import ErrorFields, append_field, read_fields
from flare.sys.libpq_result import PgResult

comptime _KINDS: List[StaticString] = [
    "server",
    "connection_lost",
    "connect",
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
]


struct PostgresError(ImplicitlyCopyable, Writable):
    """Describes a failed call of the database."""

    comptime SERVER = 0
    """The server refused the statement; see `sqlstate`."""
    comptime CONNECTION_LOST = 1
    """The connection ended before the answer; see `sent`."""
    comptime CONNECT = 2
    """No connection could be opened."""
    comptime NO_LIBRARY = 3
    """The machine lacks `libpq.so.5` of version 14 or later."""
    comptime NO_ROWS = 4
    """`query_one` found no row."""
    comptime TOO_MANY_ROWS = 5
    """`query_one` or `query_optional` found more than one row."""
    comptime DECODE = 6
    """A value does not fit its field, or columns and fields differ."""
    comptime TIMEOUT = 7
    """The deadline of the statement passed. The statement was cancelled, or
    its effect is unknown.
    """
    comptime ACQUIRE_TIMEOUT = 8
    """No connection became free in time. The statement was not sent. If none
    could be opened, `sqlstate` and `message` tell the cause."""
    comptime BAD_OPTIONS = 9
    """A URL or an option is invalid."""
    comptime BAD_PARAMETER = 10
    """A parameter or a statement is not allowed; see `sent`."""
    comptime COMMIT_UNKNOWN = 11
    """The connection ended during COMMIT: the transaction may have happened."""
    comptime CLOSED = 12
    """The database or the transaction is closed."""
    comptime ROLLED_BACK = 13
    """COMMIT rolled back, because a statement before it had failed."""

    var kind: Int
    """One of the constants above."""
    var sqlstate: String
    """The five characters of the server's code, such as `23505`; or empty."""
    var message: String
    """The server's message, or the cause. It may contain octets of users."""
    var detail: String
    """The server's detail, or empty."""
    var hint: String
    """The server's hint, or empty."""
    var constraint: String
    """The name of the violated constraint, or empty."""
    var table: String
    """The table at fault, or empty."""
    var column: String
    """The column at fault, or empty."""
    var position: Int
    """The place in the statement, counted in characters from 1; 0 if none."""
    var sent: Bool
    """Whether octets of the statement may have reached the server. If not, the
    statement had no effect.
    """

    def __init__(
        out self, kind: Int, message: StringSlice = "", *, sent: Bool = False
    ):
        """Creates an error without fields of the server.

        Args:
            kind: One of the constants of this struct.
            message: The cause.
            sent: Whether the statement may have reached the server.
        """
        self.kind = kind
        self.sqlstate = String()
        self.message = String(message)
        self.detail = String()
        self.hint = String()
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
        var fields = read_fields(text.as_bytes(), "postgres.")
        if not fields:
            return None
        comptime for i in range(len(_KINDS)):
            if fields.value().kind == comptime (_KINDS[i]):
                return Self._from_fields(i, fields.value())
        return None

    @staticmethod
    def from_result(result: PgResult) -> Self:
        """Returns the error of a result that has failed.

        Args:
            result: The result.

        Returns:
            The error; `CONNECTION_LOST` if the server did not make it.
        """
        var error = Self(Self.SERVER, sent=True)
        error.sqlstate = result.error_field("C")
        if error.sqlstate == "":
            error.kind = Self.CONNECTION_LOST
            error.message = String(result.error_text().strip())
            return error^
        error.message = result.error_field("M")
        error.detail = result.error_field("D")
        error.hint = result.error_field("H")
        error.constraint = result.error_field("n")
        error.table = result.error_field("t")
        error.column = result.error_field("c")
        error.position = _number(result.error_field("P"))
        return error^

    def name(self) -> String:
        """Returns the name of the kind, as in the text form.

        Returns:
            A word such as `server` or `connection_lost`.
        """
        comptime for i in range(len(_KINDS)):
            if self.kind == i:
                return String(comptime (_KINDS[i]))
        return String("unknown")

    def is_unique_violation(self) -> Bool:
        """Returns whether a unique constraint was violated.

        Returns:
            True for 23505.
        """
        return self.sqlstate == "23505"

    def is_foreign_key_violation(self) -> Bool:
        """Returns whether a foreign key refers to no row, or a row is still
        referred to.

        Returns:
            True for 23503.
        """
        return self.sqlstate == "23503"

    def is_check_violation(self) -> Bool:
        """Returns whether a CHECK constraint was violated.

        Returns:
            True for 23514.
        """
        return self.sqlstate == "23514"

    def is_not_null_violation(self) -> Bool:
        """Returns whether a column may not be NULL.

        Returns:
            True for 23502.
        """
        return self.sqlstate == "23502"

    def is_serialization_failure(self) -> Bool:
        """Returns whether the whole transaction should be repeated.

        Returns:
            True for 40001 and for a deadlock, 40P01.
        """
        return self.sqlstate == "40001" or self.sqlstate == "40P01"

    def is_transient(self) -> Bool:
        """Returns whether the same work may succeed later. Whether an earlier
        attempt had an effect, `sent` tells.

        Returns:
            True without a connection, after a deadline, and for conflicts with
            others (class 40, 55P03). True too for a server without resources
            (class 53), and one that stops or starts (57P01 to 57P05).
        """
        if (
            self.kind == Self.CONNECTION_LOST
            or self.kind == Self.TIMEOUT
            or self.kind == Self.ACQUIRE_TIMEOUT
        ):
            return True
        if self.kind == Self.CONNECT and self.sqlstate == "":
            return True
        return (
            self.sqlstate.startswith("40")
            or self.sqlstate.startswith("53")
            or self.sqlstate.startswith("57P")
            or self.sqlstate == "55P03"
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text form.

        Args:
            writer: The destination.
        """
        var text = String("postgres.", self.name())
        if self.sqlstate:
            text += " "
            append_field(text, "", self.sqlstate)
        append_field(text, "message", self.message)
        append_field(text, "detail", self.detail)
        append_field(text, "hint", self.hint)
        append_field(text, "constraint", self.constraint)
        append_field(text, "table", self.table)
        append_field(text, "column", self.column)
        if self.position > 0:
            append_field(text, "position", String(self.position))
        var says_sent = self.sent and self.kind != Self.SERVER
        if (
            says_sent
            or self.kind == Self.CONNECTION_LOST
            or self.kind == Self.TIMEOUT
        ):
            append_field(text, "sent", "true" if self.sent else "false")
        writer.write(text)

    @staticmethod
    def _from_fields(kind: Int, fields: ErrorFields) -> Self:
        var error = Self(kind, fields.get("message"))
        error.sqlstate = fields.code
        error.detail = fields.get("detail")
        error.hint = fields.get("hint")
        error.constraint = fields.get("constraint")
        error.table = fields.get("table")
        error.column = fields.get("column")
        error.position = _number(fields.get("position"))
        error.sent = kind == Self.SERVER or fields.get("sent") == "true"
        return error^


def is_stale(error: PostgresError, result: PgResult) -> Bool:
    """Returns whether the server lacks the plan of a prepared statement.

    Args:
        error: The error of the statement.
        result: The result that it was read from.

    Returns:
        True if the statement did not run, and may be prepared again.
    """
    # A procedure may raise these codes too, after it has committed. It has a
    # context.
    if result.error_field("W") != "":
        return False
    if error.sqlstate == "26000":
        return True
    # "cached plan must not change result type": its text is translated.
    return (
        error.sqlstate == "0A000"
        and result.error_field("R") == "RevalidateCachedQuery"
    )


def _number(text: StringSlice) -> Int:
    try:
        return Int(text)
    except:
        return 0
