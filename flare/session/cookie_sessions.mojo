"""Keeps sessions in the cookies of the clients themselves."""

from flare.http import Request
from flare.sys.clock import unix_seconds

from .keeping import SessionChange, SessionKeeping
from .protection import Protection
from .record import COOKIE_SECONDS_MAX, SessionRecord

comptime COOKIE_SESSION_OCTETS_MAX = 3072
"""The longest cookie with a session. Browsers keep 4,096 octets with name and
attributes, and all cookies share the head of a request."""


struct CookieSessions[P: Protection](SessionKeeping):
    """Keeps each session in its cookie, signed or encrypted.

    It needs no memory and no database, and any number of servers with the same
    keys share it. But only the client forgets a session that was destroyed
    or renewed: a copy of its cookie can be used to its end.

    Parameters:
        P: The type of the protection: `Signer`, if the client may read the
            data, or `Encryptor`.
    """

    var _protection: Self.P

    def __init__(out self, var protection: Self.P):
        """Creates a place for sessions in cookies.

        Args:
            protection: The signer or encryptor.
        """
        self._protection = protection^

    def find(
        self, req: Request, cookie_name: StringSlice, value: StringSlice
    ) raises -> Optional[SessionRecord]:
        """Finds the session in a cookie.

        Args:
            req: Not used.
            cookie_name: The name of the cookie.
            value: Its value, from anyone.

        Returns:
            The session; `None` if none of the keys has protected it.

        Raises:
            Never.
        """
        if value.byte_length() > COOKIE_SESSION_OCTETS_MAX:
            return None
        # The record has an end of its own.
        var text = self._protection.reveal(
            _purpose_of(cookie_name),
            value,
            max_age_seconds=COOKIE_SECONDS_MAX,
            now_seconds=unix_seconds(),
        )
        if not text:
            return None
        return _record_of(text.unsafe_value())

    def create(
        self, req: Request, cookie_name: StringSlice, record: SessionRecord
    ) raises -> String:
        """Writes a session into a cookie.

        Args:
            req: Not used.
            cookie_name: The name of the cookie.
            record: The session.

        Returns:
            The value of the cookie.

        Raises:
            Error: `session.too_large` if it is longer than
                `COOKIE_SESSION_OCTETS_MAX`, or that of the protection.
        """
        var value = self._protection.protect(
            _purpose_of(cookie_name),
            String(record.created_at, " ", record.expires_at, " ", record.data),
            now_seconds=unix_seconds(),
        )
        if value.byte_length() > COOKIE_SESSION_OCTETS_MAX:
            raise Error(
                "session.too_large a cookie of ",
                value.byte_length(),
                " octets; at most ",
                COOKIE_SESSION_OCTETS_MAX,
            )
        return value^

    def change(
        self,
        req: Request,
        cookie_name: StringSlice,
        value: StringSlice,
        record: SessionRecord,
        *,
        renews: Bool,
    ) raises -> SessionChange:
        """Writes a session into a new cookie.

        Args:
            req: Not used.
            cookie_name: The name of the cookie.
            value: Not used.
            record: The session.
            renews: Not used: the value of the cookie differs each time.

        Returns:
            The new cookie.

        Raises:
            Error: As `create` does.
        """
        return SessionChange(True, self.create(req, cookie_name, record))

    def extend(
        self,
        req: Request,
        cookie_name: StringSlice,
        value: StringSlice,
        record: SessionRecord,
    ) raises -> SessionChange:
        """Writes a session with a new end into a new cookie.

        Args:
            req: Not used.
            cookie_name: The name of the cookie.
            value: Not used.
            record: The session.

        Returns:
            The new cookie.

        Raises:
            Error: As `create` does.
        """
        return SessionChange(True, self.create(req, cookie_name, record))

    def drop(self, req: Request, value: StringSlice) raises:
        """Does nothing: the client forgets the cookie.

        Args:
            req: Not used.
            value: Not used.

        Raises:
            Never.
        """
        pass


def _purpose_of(cookie_name: StringSlice) -> String:
    # A cookie that the program signs itself is no session.
    return String("session ", cookie_name)


def _record_of(text: String) -> Optional[SessionRecord]:
    var parts = text.split(" ", 2)
    if len(parts) != 3:
        return None
    try:
        return SessionRecord(String(parts[2]), Int(parts[0]), Int(parts[1]))
    except:
        return None
