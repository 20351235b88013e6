"""Loads libpq, the client library of PostgreSQL, at first use, and calls it.

No call of a connection blocks, except those that look up names or files:
`start` and `poll_connect`. A connection is used by one thread at a time.
"""

from std.ffi import _Global, c_int

from flare.core import Erased, OctetPointer, PointerTo

from .dynamic_library import LibraryFunctions, OptionalErased, library_names
from .openssl import openssl
from .pg_parameters import PgParameters, TextTable

comptime LIBPQ_NAMES: List[StaticString] = library_names[
    "libpq.so.5", "libpq.5.dylib"
]()
"""The names of the library, in the order in which they are tried."""

comptime _FUNCTIONS: List[StaticString] = [
    "PQbackendPID",
    "PQcancel",
    "PQclear",
    "PQcmdTuples",
    "PQconnectPoll",
    "PQconnectStartParams",
    "PQconnectionUsedPassword",
    "PQconsumeInput",
    "PQenterPipelineMode",
    "PQerrorMessage",
    "PQfformat",
    "PQfinish",
    "PQflush",
    "PQfname",
    "PQfreeCancel",
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
    "PQntuples",
    "PQpipelineSync",
    "PQresultErrorField",
    "PQresultErrorMessage",
    "PQresultStatus",
    "PQsendPrepare",
    "PQsendQueryParams",
    "PQsendQueryPrepared",
    "PQserverVersion",
    "PQsetErrorVerbosity",
    "PQsetNoticeReceiver",
    "PQsetnonblocking",
    "PQsocket",
    "PQsslInUse",
    "PQstatus",
    "PQtransactionStatus",
]
comptime _SYNC_FUNCTIONS: List[StaticString] = ["PQsendPipelineSync"]

comptime _LIBRARY = _Global["flare_libpq", _load_for_the_process]
comptime _CANCEL_TEXT_OCTETS = 256
comptime _VERBOSE = c_int(2)

comptime _ConnectionFunction = def(Erased) thin abi("C") -> c_int
comptime _ConnectionAction = def(Erased) thin abi("C") -> None
comptime _TextFunction = def(Erased) thin abi("C") -> OptionalErased
comptime _CellFunction = def(Erased, c_int, c_int) thin abi("C") -> c_int
comptime _Addresses = PointerTo[Int]
comptime _Numbers = PointerTo[Int32]


struct PgPolling:
    """What a connection that is being opened waits for."""

    comptime FAILED = 0
    """It has failed."""
    comptime READING = 1
    """Its descriptor to become readable."""
    comptime WRITING = 2
    """Its descriptor to become writable."""
    comptime DONE = 3
    """Nothing: it is open."""


struct PgStatus:
    """The kinds of results."""

    comptime EMPTY = 0
    """The statement was empty."""
    comptime COMMAND = 1
    """A command ended that returns no rows."""
    comptime ROWS = 2
    """The rows of a statement."""
    comptime COPY_OUT = 3
    """The server wants to send a copy."""
    comptime COPY_IN = 4
    """The server waits for a copy."""
    comptime FAILED = 7
    """An error."""
    comptime COPY_BOTH = 8
    """A copy in both directions."""
    comptime SYNC = 10
    """The end of a statement's part of the pipeline."""
    comptime SKIPPED = 11
    """The statement was skipped after an error before it."""


struct PgTransaction:
    """The states of a connection's transaction."""

    comptime IDLE = 0
    """No transaction is open."""
    comptime ACTIVE = 1
    """A statement is running."""
    comptime OPEN = 2
    """A transaction is open."""
    comptime FAILED = 3
    """A transaction is open, and can only be rolled back."""


struct LibpqState(Movable):
    """The loaded library; it lives as long as the process."""

    var functions: LibraryFunctions[_FUNCTIONS]
    """The functions of version 15."""
    var sync: LibraryFunctions[_SYNC_FUNCTIONS]
    """The function of version 17 that ends a part of a pipeline without
    sending it at once.
    """
    var version: Int
    """The version, as 150018 for 15.18; 0 if the library is missing."""

    def __init__(out self, name: StringSlice):
        """Loads a library.

        Args:
            name: Its file name, or its path.
        """
        self.functions = LibraryFunctions[_FUNCTIONS](name)
        self.sync = LibraryFunctions[_SYNC_FUNCTIONS](name)
        self.version = 0
        if not self.functions.is_loaded:
            return
        # OpenSSL is prepared here, where it reads no configuration. Without
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


@fieldwise_init
struct Libpq(TrivialRegisterPassable):
    """A handle to the loaded library."""

    var state: PointerTo[LibpqState]
    """The library."""

    def version(self) -> Int:
        """Returns the version.

        Returns:
            The version, as 150018 for 15.18.
        """
        return self.state[].version

    def start(
        self, keywords: TextTable, values: TextTable
    ) -> Optional[PgConnection]:
        """Begins to open a connection.

        It may read files and look up names, so it blocks.

        Args:
            keywords: The names of the parameters.
            values: Their values.

        Returns:
            The connection, which the caller finishes also if it has failed;
            `None` without memory.
        """
        var names = keywords.pointers()
        var texts = values.pointers()
        var opened = self.state[].functions.function[
            "PQconnectStartParams",
            def(_Addresses, _Addresses, c_int) thin abi("C") -> OptionalErased,
        ]()(_addresses(names), _addresses(texts), c_int(0))
        _ = names^
        _ = texts^
        if not opened:
            return None
        var connection = PgConnection(self.state, opened.value())
        # The default one writes to the standard error stream.
        _ = self.state[].functions.function[
            "PQsetNoticeReceiver",
            def(
                Erased,
                def(OptionalErased, Erased) thin abi("C") -> None,
                OptionalErased,
            ) thin abi("C") -> OptionalErased,
        ]()(opened.value(), _ignore_notice, OptionalErased(None))
        # An error of connecting has its code in the text alone.
        _ = self.state[].functions.function[
            "PQsetErrorVerbosity", def(Erased, c_int) thin abi("C") -> c_int
        ]()(opened.value(), _VERBOSE)
        return connection


@fieldwise_init
struct PgConnection(Equatable, TrivialRegisterPassable):
    """A handle to a connection."""

    var library: PointerTo[LibpqState]
    """The library."""
    var connection: Erased
    """The `PGconn`."""

    def poll_connect(self) -> Int:
        """Continues to open a connection. It may block for milliseconds.

        Returns:
            One of `PgPolling`.
        """
        return self._call["PQconnectPoll"]()

    def begin_pipeline(self) -> Bool:
        """Prepares an open connection for calls that never block.

        Returns:
            False without memory.
        """
        var set = self.library[].functions.function[
            "PQsetnonblocking", def(Erased, c_int) thin abi("C") -> c_int
        ]()(self.connection, c_int(1))
        return set == 0 and self._call["PQenterPipelineMode"]() == 1

    def is_open(self) -> Bool:
        """Returns whether the connection is usable as far as is known.

        Returns:
            False after it has broken.
        """
        return self._call["PQstatus"]() == 0

    def descriptor(self) -> Int:
        """Returns the socket, which may change while a connection is opened.

        Returns:
            The descriptor, or -1.
        """
        return self._call["PQsocket"]()

    def process_id(self) -> Int:
        """Returns the process of the server that serves the connection.

        Returns:
            The id of the process.
        """
        return self._call["PQbackendPID"]()

    def server_version(self) -> Int:
        """Returns the version of the server.

        Returns:
            The version, as 150018 for 15.18.
        """
        return self._call["PQserverVersion"]()

    def uses_tls(self) -> Bool:
        """Returns whether the connection is encrypted.

        Returns:
            True inside of TLS.
        """
        return self._call["PQsslInUse"]() == 1

    def used_password(self) -> Bool:
        """Returns whether the server has asked for a password.

        Returns:
            True if a password was sent, or a proof of one.
        """
        return self._call["PQconnectionUsedPassword"]() == 1

    def transaction(self) -> Int:
        """Returns the state of the transaction.

        Returns:
            One of `PgTransaction`, or 4 if the connection is broken.
        """
        return self._call["PQtransactionStatus"]()

    def error_text(self) -> String:
        """Returns the last error of the connection.

        Returns:
            Octets of the library and of the server.
        """
        return text_at(
            self.library[].functions.function[
                "PQerrorMessage", _TextFunction
            ]()(self.connection)
        )

    def flush(self) -> Int:
        """Sends as many queued octets as the socket takes.

        Returns:
            0 if all were sent, 1 if some are left, -1 for an error.
        """
        return self._call["PQflush"]()

    def consume(self) -> Bool:
        """Receives the octets that have arrived.

        Returns:
            False if the connection is broken. Results may be left.
        """
        return self._call["PQconsumeInput"]() == 1

    def is_busy(self) -> Bool:
        """Returns whether `take_result` would block.

        Returns:
            False if it would not.
        """
        return self._call["PQisBusy"]() == 1

    def take_result(self) -> Optional[PgResult]:
        """Returns the next result of the pipeline.

        Returns:
            The result, which the caller clears. `None` after the last result
            of a statement.
        """
        var result = self.library[].functions.function[
            "PQgetResult", _TextFunction
        ]()(self.connection)
        if not result:
            return None
        return PgResult(self.library, result.value())

    def send_prepare(
        self, name: TextTable, sql: TextTable, parameters: PgParameters
    ) -> Bool:
        """Appends the preparation of a statement to the pipeline.

        Args:
            name: The name of the statement.
            sql: The statement.
            parameters: Its parameters, of which only the types matter.

        Returns:
            False if the connection is broken or without memory.
        """
        return (
            self.library[].functions.function[
                "PQsendPrepare",
                def(
                    Erased, OctetPointer, OctetPointer, c_int, _Numbers
                ) thin abi("C") -> c_int,
            ]()(
                self.connection,
                name.first(),
                sql.first(),
                c_int(parameters.count()),
                _numbers(parameters.types),
            )
            == 1
        )

    def send_prepared(self, name: TextTable, parameters: PgParameters) -> Bool:
        """Appends the execution of a prepared statement to the pipeline.

        Args:
            name: The name of the statement.
            parameters: Its parameters.

        Returns:
            False if the connection is broken or without memory.
        """
        var addresses = parameters.pointers()
        var sent = self.library[].functions.function[
            "PQsendQueryPrepared",
            def(
                Erased,
                OctetPointer,
                c_int,
                _Addresses,
                _Numbers,
                _Numbers,
                c_int,
            ) thin abi("C") -> c_int,
        ]()(
            self.connection,
            name.first(),
            c_int(parameters.count()),
            _addresses(addresses),
            _numbers(parameters.lengths),
            _numbers(parameters.formats),
            c_int(1),
        )
        _ = addresses^
        return sent == 1

    def send_unnamed(self, sql: TextTable, parameters: PgParameters) -> Bool:
        """Appends a statement to the pipeline that is not kept.

        Args:
            sql: The statement.
            parameters: Its parameters.

        Returns:
            False if the connection is broken or without memory.
        """
        var addresses = parameters.pointers()
        var sent = self.library[].functions.function[
            "PQsendQueryParams",
            def(
                Erased,
                OctetPointer,
                c_int,
                _Numbers,
                _Addresses,
                _Numbers,
                _Numbers,
                c_int,
            ) thin abi("C") -> c_int,
        ]()(
            self.connection,
            sql.first(),
            c_int(parameters.count()),
            _numbers(parameters.types),
            _addresses(addresses),
            _numbers(parameters.lengths),
            _numbers(parameters.formats),
            c_int(1),
        )
        _ = addresses^
        return sent == 1

    def send_sync(self) -> Bool:
        """Appends the end of a statement's part of the pipeline. An error
        before it does not affect the statements after it.

        Returns:
            False if the connection is broken or without memory.
        """
        if self.library[].sync.is_loaded:
            return (
                self.library[].sync.function[
                    "PQsendPipelineSync", _ConnectionFunction
                ]()(self.connection)
                == 1
            )
        return self._call["PQpipelineSync"]() == 1

    def cancel_handle(self) -> Optional[PgCancel]:
        """Returns a handle that cancels the running statement.

        Returns:
            The handle, which the caller frees; `None` without memory.
        """
        var handle = self.library[].functions.function[
            "PQgetCancel", _TextFunction
        ]()(self.connection)
        if not handle:
            return None
        return PgCancel(self.library, handle.value())

    def finish(self):
        """Closes the connection and frees it."""
        self.library[].functions.function["PQfinish", _ConnectionAction]()(
            self.connection
        )

    @always_inline
    def _call[name: StaticString](self) -> Int:
        return Int(
            self.library[].functions.function[name, _ConnectionFunction]()(
                self.connection
            )
        )


@fieldwise_init
struct PgCancel(TrivialRegisterPassable):
    """A handle that cancels the running statement of a connection."""

    var library: PointerTo[LibpqState]
    """The library."""
    var cancel: Erased
    """The `PGcancel`."""

    def run(self) -> Bool:
        """Asks the server to cancel the statement that is running.

        It opens a connection and waits until the server has closed it, so it
        blocks. It may run on any thread.

        Returns:
            Whether the server has read the request.
        """
        var text = List[UInt8](length=_CANCEL_TEXT_OCTETS, fill=0)
        var done = self.library[].functions.function[
            "PQcancel", def(Erased, OctetPointer, c_int) thin abi("C") -> c_int
        ]()(
            self.cancel,
            text.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
            c_int(_CANCEL_TEXT_OCTETS),
        )
        _ = text^
        return done == 1

    def free(self):
        """Frees the handle."""
        self.library[].functions.function["PQfreeCancel", _ConnectionAction]()(
            self.cancel
        )


@fieldwise_init
struct PgResult(TrivialRegisterPassable):
    """A handle to a result."""

    var library: PointerTo[LibpqState]
    """The library."""
    var result: Erased
    """The `PGresult`."""

    def status(self) -> Int:
        """Returns the kind of the result.

        Returns:
            One of `PgStatus`.
        """
        return self._call["PQresultStatus"]()

    def rows(self) -> Int:
        """Returns the number of rows.

        Returns:
            The number.
        """
        return self._call["PQntuples"]()

    def columns(self) -> Int:
        """Returns the number of columns.

        Returns:
            The number.
        """
        return self._call["PQnfields"]()

    def column_name(self, column: Int) -> String:
        """Returns the name of a column.

        Args:
            column: The index of the column.

        Returns:
            The name.
        """
        return text_at(
            self.library[].functions.function[
                "PQfname", def(Erased, c_int) thin abi("C") -> OptionalErased
            ]()(self.result, c_int(column))
        )

    def column_type(self, column: Int) -> Int:
        """Returns the type of a column.

        Args:
            column: The index of the column.

        Returns:
            The object id of the type.
        """
        return Int(
            self.library[].functions.function[
                "PQftype", def(Erased, c_int) thin abi("C") -> UInt32
            ]()(self.result, c_int(column))
        )

    def is_null(self, row: Int, column: Int) -> Bool:
        """Returns whether a value is NULL.

        Args:
            row: The index of the row.
            column: The index of the column.

        Returns:
            True for NULL.
        """
        return self._cell["PQgetisnull"](row, column) == 1

    def value(
        self, row: Int, column: Int
    ) -> Span[mut=False, UInt8, ImmUntrackedOrigin]:
        """Returns the octets of a value.

        Args:
            row: The index of the row.
            column: The index of the column.

        Returns:
            The octets, valid until the result is cleared.
        """
        var address = self.library[].functions.function[
            "PQgetvalue",
            def(Erased, c_int, c_int) thin abi("C") -> OptionalErased,
        ]()(self.result, c_int(row), c_int(column))
        if not address:
            return {}
        return Span(
            unsafe_ptr=address.value()
            .unsafe_bitcast[UInt8]()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=self._cell["PQgetlength"](row, column),
        )

    def affected(self) -> String:
        """Returns the number of rows that a command has changed or returned.

        Returns:
            Digits; empty for a command that has no such number.
        """
        return text_at(
            self.library[].functions.function["PQcmdTuples", _TextFunction]()(
                self.result
            )
        )

    def error_field(self, code: StringSlice) -> String:
        """Returns a field of an error.

        Args:
            code: The letter of the field in the protocol.

        Returns:
            Octets of the server; empty if the error lacks the field.
        """
        return text_at(
            self.library[].functions.function[
                "PQresultErrorField",
                def(Erased, c_int) thin abi("C") -> OptionalErased,
            ]()(self.result, c_int(Int(code.as_bytes()[0])))
        )

    def error_text(self) -> String:
        """Returns the text of an error.

        Returns:
            Octets of the library or of the server.
        """
        return text_at(
            self.library[].functions.function[
                "PQresultErrorMessage", _TextFunction
            ]()(self.result)
        )

    def clear(self):
        """Frees the result."""
        self.library[].functions.function["PQclear", _ConnectionAction]()(
            self.result
        )

    @always_inline
    def _call[name: StaticString](self) -> Int:
        return Int(
            self.library[].functions.function[name, _ConnectionFunction]()(
                self.result
            )
        )

    @always_inline
    def _cell[name: StaticString](self, row: Int, column: Int) -> Int:
        return Int(
            self.library[].functions.function[name, _CellFunction]()(
                self.result, c_int(row), c_int(column)
            )
        )


def libpq() -> Optional[Libpq]:
    """Returns the library of the process, and loads it the first time.

    Returns:
        The library; `None` if the machine has none of version 14 or later.
    """
    try:
        var state = _LIBRARY.get_or_create_ptr()
        if state[].version == 0:
            return None
        return Libpq(state.unsafe_origin_cast[MutUntrackedOrigin]())
    except:
        return None


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


def _load_for_the_process() -> LibpqState:
    comptime for i in range(1, len(LIBPQ_NAMES)):
        var state = LibpqState(comptime (LIBPQ_NAMES[i - 1]))
        if state.version > 0:
            return state^
    return LibpqState(comptime (LIBPQ_NAMES[len(LIBPQ_NAMES) - 1]))


def _ignore_notice(argument: OptionalErased, result: Erased) abi("C") -> None:
    pass


@always_inline
def _addresses(list: List[Int]) -> PointerTo[Int]:
    return (
        list.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def _numbers(list: List[Int32]) -> PointerTo[Int32]:
    return (
        list.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )
