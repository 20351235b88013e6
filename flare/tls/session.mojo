"""Keeps what a client needs to come back with a short handshake."""

from std.memory import ArcPointer

from flare.core import Erased
from flare.sys.openssl_bio import free_session

from .context import Generation


struct TlsSession(Movable):
    """Owns a session that a server has offered (RFC 8446 section 2.2).

    It is good for one more connection to the same name from the same context:
    the certificate is not shown again, so what was checked must be what would
    be checked. A ticket that is used twice lets who listens link the two. A
    connection that ended without `close` leaves nothing to go on with.
    """

    var _address: Erased
    var _generation: ArcPointer[Generation]
    var _name: String

    def __init__(
        out self,
        *,
        unsafe_session: Erased,
        var generation: ArcPointer[Generation],
        var name: String,
    ):
        """Takes a session over.

        Args:
            unsafe_session: An SSL_SESSION.
            generation: The contexts that the connection was made from.
            name: The name that was checked.

        Safety:
            Nobody else frees it.
        """
        self._address = unsafe_session
        self._generation = generation^
        self._name = name^

    def __deinit__(deinit self):
        """Frees the session."""
        free_session(self._generation[].library, self._address)

    def is_for(
        self, generation: ArcPointer[Generation], name: StringSlice
    ) -> Bool:
        """Returns whether a connection may go on with the session.

        Args:
            generation: The contexts that the connection is made from.
            name: The name that would be checked.

        Returns:
            Whether both are the same as they were.
        """
        return (
            Pointer(to=self._generation[]) == Pointer(to=generation[])
            and name == self._name
        )

    def unsafe_address(self) -> Erased:
        """Lends the session to the library.

        Returns:
            The SSL_SESSION.

        Safety:
            It is used while this lives.
        """
        return self._address
