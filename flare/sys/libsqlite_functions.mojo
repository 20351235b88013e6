"""Finds the functions of SQLite's library."""

from std.ffi import c_int

from flare.core import Erased, OctetPointer

from .dynamic_library import LibraryFunctions, OptionalErased, library_names

comptime SQLITE_NAMES: List[StaticString] = library_names[
    "libsqlite3.so.0", "libsqlite3.dylib"
]()
"""The names of the library, in the order in which they are tried."""

comptime _FUNCTIONS: List[StaticString] = [
    "sqlite3_bind_blob64",
    "sqlite3_bind_double",
    "sqlite3_bind_int64",
    "sqlite3_bind_null",
    "sqlite3_bind_parameter_count",
    "sqlite3_bind_parameter_name",
    "sqlite3_bind_text64",
    "sqlite3_busy_handler",
    "sqlite3_changes",
    "sqlite3_clear_bindings",
    "sqlite3_close_v2",
    "sqlite3_column_blob",
    "sqlite3_column_bytes",
    "sqlite3_column_count",
    "sqlite3_column_decltype",
    "sqlite3_column_double",
    "sqlite3_column_int64",
    "sqlite3_column_name",
    "sqlite3_column_text",
    "sqlite3_column_type",
    "sqlite3_db_readonly",
    "sqlite3_errmsg",
    "sqlite3_extended_errcode",
    "sqlite3_extended_result_codes",
    "sqlite3_finalize",
    "sqlite3_get_autocommit",
    "sqlite3_libversion_number",
    "sqlite3_open_v2",
    "sqlite3_prepare_v3",
    "sqlite3_progress_handler",
    "sqlite3_reset",
    "sqlite3_set_authorizer",
    "sqlite3_step",
    "sqlite3_stmt_readonly",
    "sqlite3_stmt_status",
    "sqlite3_threadsafe",
]
comptime _OFFSET_FUNCTIONS: List[StaticString] = ["sqlite3_error_offset"]
comptime ObjectFunction = def(Erased) thin abi("C") -> c_int
"""Takes a connection or a statement, and returns a number."""
comptime IndexFunction = def(Erased, c_int) thin abi("C") -> c_int
"""Takes a statement and the index of a column, and returns a number."""
comptime IndexAddress = def(Erased, c_int) thin abi("C") -> OptionalErased
"""Takes a statement and an index, and returns octets or NULL."""
comptime SqliteTextFunction = def(Erased) thin abi("C") -> OptionalErased
"""Takes a connection, and returns a text."""


struct SqliteLibrary(Movable):
    """The loaded library; it lives as long as the process."""

    var functions: LibraryFunctions[_FUNCTIONS]
    """The functions of version 3.20."""
    var offset: LibraryFunctions[_OFFSET_FUNCTIONS]
    """The function of version 3.38 that finds the place of an error."""
    var version: Int
    """The version, as 3040001 for 3.40.1; 0 if the library is missing, or was
    built for a single thread.
    """

    def __init__(out self, name: StringSlice):
        """Loads a library.

        Args:
            name: Its file name, or its path.
        """
        self.functions = LibraryFunctions[_FUNCTIONS](name)
        self.offset = LibraryFunctions[_OFFSET_FUNCTIONS](name)
        self.version = 0
        if not self.functions.is_loaded:
            return
        comptime NumberFunction = def() thin abi("C") -> c_int
        if (
            self.functions.function["sqlite3_threadsafe", NumberFunction]()()
            == 0
        ):
            return
        self.version = Int(
            self.functions.function[
                "sqlite3_libversion_number", NumberFunction
            ]()()
        )


@always_inline
def address_of_octets(octets: Span[UInt8, _]) -> OctetPointer:
    """Returns the address of octets on the heap, for a call of C.

    Args:
        octets: The octets; they must outlive the address.

    Returns:
        The address.
    """
    return (
        octets.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )


def text_of_c(address: OptionalErased) -> String:
    """Copies a text of C.

    Args:
        address: Its first octet, or NULL.

    Returns:
        The octets up to NUL; those that are not UTF-8 are replaced.
    """
    if not address:
        return String()
    var first = address.value().unsafe_bitcast[UInt8]()
    var length = 0
    while first[unsafe_offset=length] != 0:
        length += 1
    return String(from_utf8_lossy=Span(unsafe_ptr=first, length=length))
