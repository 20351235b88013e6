"""Finds the functions of libpq, the client library of PostgreSQL."""

from std.ffi import c_int

from flare.core import Erased, PointerTo

from .dynamic_library import LibraryFunctions, OptionalErased, library_names
from .openssl import openssl

comptime LIBPQ_NAMES: List[StaticString] = library_names[
    "libpq.so.5", "libpq.5.dylib"
]()
"""The names of the library, in the order in which they are tried."""

comptime _FUNCTIONS: List[StaticString] = [
    "PQcancel",
    "PQclear",
    "PQcmdStatus",
    "PQcmdTuples",
    "PQconnectPoll",
    "PQconnectStartParams",
    "PQconnectionUsedPassword",
    "PQconsumeInput",
    "PQenterPipelineMode",
    "PQerrorMessage",
    "PQexitPipelineMode",
    "PQfinish",
    "PQflush",
    "PQfname",
    "PQfreeCancel",
    "PQfreemem",
    "PQftype",
    "PQgetCancel",
    "PQgetResult",
    "PQgetisnull",
    "PQgetlength",
    "PQgetvalue",
    "PQinitOpenSSL",
    "PQisBusy",
    "PQlibVersion",
    "PQnfields",
    "PQnotifies",
    "PQntuples",
    "PQpipelineSync",
    "PQputCopyData",
    "PQputCopyEnd",
    "PQresultErrorField",
    "PQresultErrorMessage",
    "PQresultStatus",
    "PQsendPrepare",
    "PQsendQueryParams",
    "PQsendQueryPrepared",
    "PQsetErrorVerbosity",
    "PQsetNoticeReceiver",
    "PQsetnonblocking",
    "PQsocket",
    "PQstatus",
    "PQtransactionStatus",
]
comptime _SYNC_FUNCTIONS: List[StaticString] = ["PQsendPipelineSync"]
comptime _CANCEL_FUNCTIONS: List[StaticString] = [
    "PQcancelCreate",
    "PQcancelFinish",
    "PQcancelPoll",
    "PQcancelSocket",
    "PQcancelStart",
]
comptime ConnectionFunction = def(Erased) thin abi("C") -> c_int
"""Takes a connection or a result, and returns a number."""
comptime ConnectionAction = def(Erased) thin abi("C") -> None
"""Takes a connection, a result or a cancel handle."""
comptime TextFunction = def(Erased) thin abi("C") -> OptionalErased
"""Takes a connection or a result, and returns a text or an object."""
comptime Addresses = PointerTo[Int]
"""An array of pointers."""
comptime Numbers = PointerTo[Int32]
"""An array of numbers."""


struct LibpqState(Movable):
    """The loaded library; it lives as long as the process."""

    var functions: LibraryFunctions[_FUNCTIONS]
    """The functions of version 15."""
    var sync: LibraryFunctions[_SYNC_FUNCTIONS]
    """The function of version 17 that ends a part of a pipeline without
    sending it at once.
    """
    var cancel: LibraryFunctions[_CANCEL_FUNCTIONS]
    """The functions of version 17 that cancel without blocking."""
    var version: Int
    """The version, as 150018 for 15.18; 0 if the library is missing."""

    def __init__(out self, name: StringSlice):
        """Loads a library.

        Args:
            name: Its file name, or its path.
        """
        self.functions = LibraryFunctions[_FUNCTIONS](name)
        self.sync = LibraryFunctions[_SYNC_FUNCTIONS](name)
        self.cancel = LibraryFunctions[_CANCEL_FUNCTIONS](name)
        self.version = 0
        if not self.functions.is_loaded:
            return
        # The call of `openssl` prepares OpenSSL without its configuration. Without
        # this call, libpq would let it read its configuration.
        if openssl():
            self.functions.function[
                "PQinitOpenSSL", def(c_int, c_int) thin abi("C") -> None
            ]()(c_int(0), c_int(0))
        self.version = Int(
            self.functions.function[
                "PQlibVersion", def() thin abi("C") -> c_int
            ]()()
        )


def text_at(address: OptionalErased) -> String:
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


@always_inline
def address_of(list: List[Int]) -> PointerTo[Int]:
    """Returns the address of an array of pointers.

    Args:
        list: The pointers; it must outlive the address.

    Returns:
        The address.
    """
    return (
        list.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def numbers_of(list: List[Int32]) -> PointerTo[Int32]:
    """Returns the address of an array of numbers.

    Args:
        list: The numbers; it must outlive the address.

    Returns:
        The address.
    """
    return (
        list.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )
