"""Defines the error of a file that is written, and its text form.

    file.<operation> errno=<number> <name>: <path>

It is the detail of a `ClientError` of the kind `FILE`.
"""

from flare.core import index_of_text, text_at, write_escaped
from flare.sys.errno import errno_name

from ...client_error import ClientError

comptime _PREFIX: StaticString = "file."
comptime _ERRNO: StaticString = " errno="
comptime _OPERATIONS: List[StaticString] = [
    "open",
    "lock",
    "truncate",
    "read",
    "write",
    "sync",
    "rename",
    "remove",
]


@fieldwise_init
struct FileError(Copyable, Movable, Writable):
    """Describes a file operation that failed."""

    comptime OPEN: StaticString = "open"
    """The file cannot be opened or created."""
    comptime LOCK: StaticString = "lock"
    """Another download is writing the file."""
    comptime TRUNCATE: StaticString = "truncate"
    """The file cannot be emptied."""
    comptime READ: StaticString = "read"
    """The file cannot be read; for example, it is too long."""
    comptime WRITE: StaticString = "write"
    """The file cannot be written; for example, the disk is full."""
    comptime SYNC: StaticString = "sync"
    """The octets did not reach the disk."""
    comptime RENAME: StaticString = "rename"
    """The file cannot take the place of another one."""
    comptime REMOVE: StaticString = "remove"
    """The file cannot be removed."""

    var operation: StaticString
    """The operation, one of the constants."""
    var errno: Int
    """The kernel's error number."""
    var path: String
    """The path. Octets that are not printable ASCII are escaped in errors that
    were raised.
    """

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Returns the fields of an error that the client raised.

        Args:
            e: An error of the kind `ClientError.FILE`, or its detail.

        Returns:
            The fields; `None` if the error has another origin.
        """
        var client = ClientError.of(e)
        if client and client.value().kind != ClientError.FILE:
            return None
        var text = client.value().detail if client else String(e)
        var blank = text.find(" ")
        var colon = text.find(": ")
        if not text.startswith(_PREFIX) or blank < 0 or colon < blank:
            return None
        var octets = text.as_bytes()
        var operation = index_of_text[_OPERATIONS](
            octets[_PREFIX.byte_length() : blank]
        )
        var number = blank + _ERRNO.byte_length()
        if not operation or number > colon:
            return None
        var errno = 0
        for octet in octets[number:colon]:
            if octet - 48 > 9:
                break
            errno = errno * 10 + Int(octet - 48)
        return Self(
            text_at[_OPERATIONS](operation.value()),
            errno,
            String(StringSlice(unsafe_from_utf8=octets[colon + 2 :])),
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `of` reads.

        Args:
            writer: The destination.
        """
        writer.write(_PREFIX, self.operation, _ERRNO, self.errno, " ")
        writer.write(errno_name(self.errno), ": ")
        write_escaped(self.path.as_bytes(), writer)


@no_inline
def file_failure(
    phase: StaticString,
    operation: StaticString,
    problem: Int,
    path: StringSlice,
) -> Error:
    """Returns the error `client.file` of a failed operation.

    Args:
        phase: The phase, one of `Phase`.
        operation: The operation, one of the constants of `FileError`.
        problem: The errno, or its negation as `flare.sys` returns it.
        path: The path.

    Returns:
        The error.
    """
    return Error(
        ClientError(
            ClientError.FILE,
            phase,
            String(FileError(operation, abs(problem), String(path))),
        )
    )
