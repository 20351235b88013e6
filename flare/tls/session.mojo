"""Stores a session with which a client can resume a connection."""

from std.memory import ArcPointer

from flare.core import Erased
from flare.sys.openssl_bio import free_session

from .context import Generation


struct TlsSession(Movable):
    """A session that a server offered (RFC 8446 section 2.2).

    It is good for one more connection to the same name from the same context.
    The server does not present its certificate again, so the earlier check
    must apply. An eavesdropper could link two connections that use the same
    ticket. A connection that ended without `close` leaves no session to
    resume.
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
        """Takes ownership of a session.

        Args:
            unsafe_session: An SSL_SESSION.
            generation: The contexts that the connection was made from.
            name: The name that the certificate was verified for.

        Safety:
            No other code frees it.
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
        """Returns whether a connection may resume the session.

        Args:
            generation: The contexts that the connection is created from.
            name: The name that the certificate would be verified for.

        Returns:
            True if both are the same as for the session.
        """
        return (
            Pointer(to=self._generation[]) == Pointer(to=generation[])
            and name == self._name
        )

    def unsafe_address(self) -> Erased:
        """Returns the library's session, which this value still owns.

        Returns:
            The SSL_SESSION.

        Safety:
            Do not use it after this value is destroyed.
        """
        return self._address
