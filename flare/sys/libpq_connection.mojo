"""Calls libpq for one connection.

No call blocks, except `poll_connect`, which may read files. A connection is
used by one thread at a time.
"""

from std.ffi import c_int

from flare.core import Erased, OctetPointer, PointerTo

from .dynamic_library import OptionalErased
from .libpq_cancel import PgCancel
from .libpq_functions import (
    Addresses,
    ConnectionAction,
    ConnectionFunction,
    LibpqState,
    Numbers,
    TextFunction,
    address_of,
    numbers_of,
    text_at,
)
from .libpq_result import PgResult
from .pg_parameters import CStringTable, PgParameters


struct PgPolling:
    """The waits of a connection that is being opened."""

    comptime FAILED = 0
    """It has failed."""
    comptime READING = 1
    """Its descriptor to become readable."""
    comptime WRITING = 2
    """Its descriptor to become writable."""
    comptime DONE = 3
    """It is open, and does not wait."""


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


@fieldwise_init
struct PgNotification(Copyable, Movable):
    """A message of NOTIFY."""

    var channel: String
    """The name of the channel."""
    var payload: String
    """The text."""
    var process_id: Int
    """The process of the server that serves the sender."""


@fieldwise_init
struct PgConnection(Equatable, TrivialRegisterPassable):
    """A handle to a connection."""

    var library: PointerTo[LibpqState]
    """The library."""
    var connection: Erased
    """The `PGconn`."""

    def poll_connect(self) -> Int:
        """Returns the next wait of connecting, after a step that may take
        milliseconds.

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

    def has_failed(self) -> Bool:
        """Returns whether the connection is of no use any more.

        Returns:
            True if it could not be begun, or has broken.
        """
        return self._call["PQstatus"]() == 1

    def descriptor(self) -> Int:
        """Returns the socket, which may change while a connection is opened.

        Returns:
            The descriptor, or -1.
        """
        return self._call["PQsocket"]()

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
            self.library[].functions.function["PQerrorMessage", TextFunction]()(
                self.connection
            )
        )

    def flush(self) -> Int:
        """Returns whether octets are queued, after sending all for which the
        socket has room.

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
            "PQgetResult", TextFunction
        ]()(self.connection)
        if not result:
            return None
        return PgResult(self.library, result.value())

    def send_prepare(
        self, name: CStringTable, sql: CStringTable, parameters: PgParameters
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
                    Erased, OctetPointer, OctetPointer, c_int, Numbers
                ) thin abi("C") -> c_int,
            ]()(
                self.connection,
                name.first(),
                sql.first(),
                c_int(parameters.count()),
                numbers_of(parameters.types),
            )
            == 1
        )

    def send_prepared(
        self, name: CStringTable, parameters: PgParameters
    ) -> Bool:
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
                Addresses,
                Numbers,
                Numbers,
                c_int,
            ) thin abi("C") -> c_int,
        ]()(
            self.connection,
            name.first(),
            c_int(parameters.count()),
            address_of(addresses),
            numbers_of(parameters.lengths),
            numbers_of(parameters.formats),
            c_int(1),
        )
        _ = addresses^
        return sent == 1

    def send_unnamed(self, sql: CStringTable, parameters: PgParameters) -> Bool:
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
                Numbers,
                Addresses,
                Numbers,
                Numbers,
                c_int,
            ) thin abi("C") -> c_int,
        ]()(
            self.connection,
            sql.first(),
            c_int(parameters.count()),
            numbers_of(parameters.types),
            address_of(addresses),
            numbers_of(parameters.lengths),
            numbers_of(parameters.formats),
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
                    "PQsendPipelineSync", ConnectionFunction
                ]()(self.connection)
                == 1
            )
        return self._call["PQpipelineSync"]() == 1

    def end_pipeline(self) -> Bool:
        """Leaves the pipeline mode, for COPY. `begin_pipeline` returns to it.

        Returns:
            False unless all results were taken.
        """
        return self._call["PQexitPipelineMode"]() == 1

    def put_copy_data(self, octets: Span[UInt8, _]) -> Int:
        """Sends content of COPY.

        Args:
            octets: The content, at most 1 GiB.

        Returns:
            1 if it was taken, 0 if the socket has no room, -1 for an error.
        """
        return Int(
            self.library[].functions.function[
                "PQputCopyData",
                def(Erased, OctetPointer, c_int) thin abi("C") -> c_int,
            ]()(
                self.connection,
                octets.unsafe_ptr()
                .unsafe_mut_cast[True]()
                .unsafe_origin_cast[MutUntrackedOrigin](),
                c_int(len(octets)),
            )
        )

    def put_copy_end(self) -> Int:
        """Ends the content of COPY.

        Returns:
            1 if the end was taken, 0 if the socket has no room, -1 for an
            error.
        """
        return Int(
            self.library[].functions.function[
                "PQputCopyEnd",
                def(Erased, OptionalErased) thin abi("C") -> c_int,
            ]()(self.connection, None)
        )

    def cancel_handle(self) -> Optional[PgCancel]:
        """Returns a handle that cancels the running statement.

        Returns:
            The handle, which the caller frees; `None` without memory.
        """
        var handle = self.library[].functions.function[
            "PQgetCancel", TextFunction
        ]()(self.connection)
        if not handle:
            return None
        return PgCancel(self.library, handle.value())

    def finish(self):
        """Closes the connection and frees it."""
        self.library[].functions.function["PQfinish", ConnectionAction]()(
            self.connection
        )

    def take_notification(self) -> Optional[PgNotification]:
        """Takes the next message of NOTIFY that has arrived.

        Returns:
            The message; `None` if there is none.
        """
        var found = self.library[].functions.function[
            "PQnotifies", TextFunction
        ]()(self.connection)
        if not found:
            return None
        # A `PGnotify`: a text, a number, a text.
        var words = found.value().unsafe_bitcast[OptionalErased]()
        var notification = PgNotification(
            text_at(words[unsafe_offset=0]),
            text_at(words[unsafe_offset=2]),
            Int(found.value().unsafe_bitcast[Int32]()[unsafe_offset=2]),
        )
        self.library[].functions.function["PQfreemem", ConnectionAction]()(
            found.value()
        )
        return notification^

    @always_inline
    def _call[name: StaticString](self) -> Int:
        return Int(
            self.library[].functions.function[name, ConnectionFunction]()(
                self.connection
            )
        )
