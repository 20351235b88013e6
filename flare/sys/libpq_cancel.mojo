"""Cancels the statement that a connection of libpq runs."""

from std.ffi import c_int

from flare.core import Erased, OctetPointer, PointerTo

from .libpq_functions import (
    ConnectionAction,
    ConnectionFunction,
    LibpqState,
    TextFunction,
)

comptime _CANCEL_TEXT_OCTETS = 256


@fieldwise_init
struct PgCancel(TrivialRegisterPassable):
    """A handle that cancels the running statement of a connection, and blocks.
    """

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
        self.library[].functions.function["PQfreeCancel", ConnectionAction]()(
            self.cancel
        )


@fieldwise_init
struct PgCancelRequest(TrivialRegisterPassable):
    """A cancel request of version 17, which does not block."""

    var library: PointerTo[LibpqState]
    """The library."""
    var request: Erased
    """The `PGcancelConn`."""

    @staticmethod
    def start(
        library: PointerTo[LibpqState], connection: Erased
    ) -> Optional[Self]:
        """Begins to open the connection of a request.

        Args:
            library: The library.
            connection: The `PGconn`.

        Returns:
            The request, which the caller finishes; `None` if the library is
            older, or it could not be begun.
        """
        ref functions = library[].cancel
        if not functions.is_loaded:
            return None
        var request = functions.function["PQcancelCreate", TextFunction]()(
            connection
        )
        if not request:
            return None
        var started = Self(library, request.value())
        if functions.function["PQcancelStart", ConnectionFunction]()(
            request.value()
        ) != c_int(1):
            started.finish()
            return None
        return started

    def poll(self) -> Int:
        """Returns the next wait of the request.

        Returns:
            One of `PgPolling`.
        """
        return Int(
            self.library[].cancel.function[
                "PQcancelPoll", ConnectionFunction
            ]()(self.request)
        )

    def descriptor(self) -> Int:
        """Returns the socket.

        Returns:
            The descriptor, or -1.
        """
        return Int(
            self.library[].cancel.function[
                "PQcancelSocket", ConnectionFunction
            ]()(self.request)
        )

    def finish(self):
        """Closes the socket and frees the request."""
        self.library[].cancel.function["PQcancelFinish", ConnectionAction]()(
            self.request
        )
