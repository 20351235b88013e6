"""Defines where sessions are kept: by the client, or in a store."""

from flare.core.base64url import write_base64url
from flare.core.sha256 import sha256_digest
from flare.http import Request
from flare.sys.random import fill_random

from .record import SessionRecord

comptime SESSION_DATA_OCTETS_MAX = 65_536
"""The longest data of a session in a store: it is read for each request that
uses the session."""
comptime _ID_OCTETS = 24
comptime _ID_LETTERS = 32


@fieldwise_init
struct SessionChange(Movable):
    """The outcome of a change."""

    var is_kept: Bool
    """Whether the session still existed. A request that ends after another one
    has destroyed the session must not bring it back."""
    var cookie: Optional[String]
    """The new value of the cookie; `None` if the client's one stays right."""


trait SessionKeeping(Copyable, Deinitable, Movable):
    """A place for sessions. The value of a cookie leads to each of them.

    All workers use the same object. Its methods may wait.
    """

    def find(
        self, req: Request, cookie_name: StringSlice, value: StringSlice
    ) raises -> Optional[SessionRecord]:
        """Finds the session of a cookie.

        Args:
            req: The request.
            cookie_name: The name of the cookie.
            value: Its value, from anyone.

        Returns:
            The record, also if its time is over; `None` if there is no such
            session.

        Raises:
            Error: If the store cannot be asked. A value that leads nowhere is
                no error.
        """
        ...

    def create(
        self, req: Request, cookie_name: StringSlice, record: SessionRecord
    ) raises -> String:
        """Keeps a new session.

        Args:
            req: The request.
            cookie_name: The name of the cookie.
            record: The record to keep.

        Returns:
            The value of its cookie, which no client could know before.

        Raises:
            Error: `session.too_large`, or an error of the store.
        """
        ...

    def change(
        self,
        req: Request,
        cookie_name: StringSlice,
        value: StringSlice,
        record: SessionRecord,
        *,
        renews: Bool,
    ) raises -> SessionChange:
        """Replaces the record of a session.

        Args:
            req: The request.
            cookie_name: The name of the cookie.
            value: The value of the cookie that has led to it.
            record: The record to keep.
            renews: Whether it gets a new cookie, and the old one leads nowhere.

        Returns:
            Whether the session still existed, and its new cookie.

        Raises:
            Error: `session.too_large`, or an error of the store.
        """
        ...

    def extend(
        self,
        req: Request,
        cookie_name: StringSlice,
        value: StringSlice,
        record: SessionRecord,
    ) raises -> SessionChange:
        """Sets the end of a session, and leaves its data as they are.

        Args:
            req: The request.
            cookie_name: The name of the cookie.
            value: The value of the cookie that has led to it.
            record: The record that was found, with the new end.

        Returns:
            The new cookie, if it needs one.

        Raises:
            Error: An error of the store.
        """
        ...

    def drop(self, req: Request, value: StringSlice) raises:
        """Forgets a session.

        Args:
            req: The request.
            value: The value of the cookie that has led to it.

        Raises:
            Error: An error of the store.
        """
        ...


trait SessionStore(SessionKeeping):
    """A store in which sessions have keys. The client gets a random id of 192
    bits, and the store its SHA-256. So a copy of the store contains no id.

    A store of your own has the five methods below. Each is one atomic step.
    """

    def load(self, req: Request, key: String) raises -> Optional[SessionRecord]:
        """Returns the record under a key.

        Args:
            req: The request, which leads to the state of the program.
            key: 43 letters, digits, `-` and `_`.

        Returns:
            The record, also if its time is over; `None` without one.

        Raises:
            Error: If the store cannot be asked.
        """
        ...

    def insert(self, req: Request, key: String, record: SessionRecord) raises:
        """Adds a record. It also deletes some of those whose time is over.

        Args:
            req: The request.
            key: A key that the store does not have.
            record: The record to keep.

        Raises:
            Error: If it cannot be kept.
        """
        ...

    def update(
        self,
        req: Request,
        key: String,
        new_key: String,
        record: SessionRecord,
    ) raises -> Bool:
        """Replaces a record, and perhaps its key.

        Args:
            req: The request.
            key: The key.
            new_key: The new key, or the same one.
            record: The record to keep.

        Returns:
            False if there is no such record. Then nothing is kept: the session
            was destroyed by another request.

        Raises:
            Error: If it cannot be kept.
        """
        ...

    def touch(self, req: Request, key: String, expires_at: Int) raises:
        """Sets the end of a record, if there is one. The data stay as another
        request may have changed them.

        Args:
            req: The request.
            key: The key.
            expires_at: The end, in seconds since 1970.

        Raises:
            Error: If the store cannot be asked.
        """
        ...

    def remove(self, req: Request, key: String) raises:
        """Deletes a record, if there is one.

        Args:
            req: The request.
            key: The key.

        Raises:
            Error: If the store cannot be asked.
        """
        ...

    def find(
        self, req: Request, cookie_name: StringSlice, value: StringSlice
    ) raises -> Optional[SessionRecord]:
        """Finds the session of a cookie.

        Args:
            req: The request.
            cookie_name: Not used.
            value: The value of the cookie.

        Returns:
            The record. A value that cannot be an id does not reach the
            store.

        Raises:
            Error: If the store cannot be asked.
        """
        if value.byte_length() != _ID_LETTERS:
            return None
        return self.load(req, key_of(value))

    def create(
        self, req: Request, cookie_name: StringSlice, record: SessionRecord
    ) raises -> String:
        """Keeps a new session.

        Args:
            req: The request.
            cookie_name: Not used.
            record: The record to keep.

        Returns:
            A new id.

        Raises:
            Error: `session.too_large`, `session.no_random`, or an error of the
                store.
        """
        _check_length(record)
        var id = _new_id()
        self.insert(req, key_of(id), record)
        return id^

    def change(
        self,
        req: Request,
        cookie_name: StringSlice,
        value: StringSlice,
        record: SessionRecord,
        *,
        renews: Bool,
    ) raises -> SessionChange:
        """Replaces the record of a session.

        Args:
            req: The request.
            cookie_name: Not used.
            value: The id.
            record: The record to keep.
            renews: Whether it gets a new id.

        Returns:
            Whether the session still existed, and its new id.

        Raises:
            Error: `session.too_large`, `session.no_random`, or an error of the
                store.
        """
        _check_length(record)
        var key = key_of(value)
        if not renews:
            return SessionChange(self.update(req, key, key, record), None)
        var id = _new_id()
        if self.update(req, key, key_of(id), record):
            return SessionChange(True, id^)
        return SessionChange(False, None)

    def extend(
        self,
        req: Request,
        cookie_name: StringSlice,
        value: StringSlice,
        record: SessionRecord,
    ) raises -> SessionChange:
        """Sets the end of a session.

        Args:
            req: The request.
            cookie_name: Not used.
            value: The id.
            record: The record that was found, with the new end.

        Returns:
            No new cookie.

        Raises:
            Error: An error of the store.
        """
        self.touch(req, key_of(value), record.expires_at)
        return SessionChange(True, None)

    def drop(self, req: Request, value: StringSlice) raises:
        """Forgets a session.

        Args:
            req: The request.
            value: The id.

        Raises:
            Error: An error of the store.
        """
        self.remove(req, key_of(value))


def key_of(id: StringSlice) -> String:
    """Returns the key of a session.

    Args:
        id: The id that the client has.

    Returns:
        The SHA-256 of the id, in base64url.
    """
    var digest = sha256_digest(id.as_bytes())
    var octets = List[UInt8](capacity=32)
    for i in range(32):
        octets.append(digest[i])
    return write_base64url(Span(octets))


def _new_id() raises -> String:
    var octets = List[UInt8](length=_ID_OCTETS, fill=0)
    if fill_random(Span(octets)) != _ID_OCTETS:
        raise Error("session.no_random octets of the system")
    return write_base64url(Span(octets))


def _check_length(record: SessionRecord) raises:
    if record.data.byte_length() > SESSION_DATA_OCTETS_MAX:
        raise Error(
            "session.too_large ",
            record.data.byte_length(),
            " octets of JSON; at most ",
            SESSION_DATA_OCTETS_MAX,
        )
